"""Noise where Theorem B1 needs it: the schedule that leaves least noise in the last iterate.

Let `V_k = (eta_k sigma_k)^2` be the variance of the noise on the iterate in step k, c_k the
Lipschitz constant of the step, `w_k = prod_{j>k} c_j` what is left of a displacement at the end,
and `p_k = w_k s_k` what a record that is used in step k displaces the last iterate by. Counted is

    sum_k w_k^2 V_k,

*the variance of the noise that is left in the last iterate* if steps contract no more than is
proved. At contraction 1 it is the plain sum of the variances. Beyond, the plain sum would count
noise that is contracted away long before the end as if it hurt the model.

**Theorem P1.** Cut the run into passes, in each of which a record is used at most once. In pass e
let `m_k` be the largest p_j of the steps j >= k of the pass (0 behind its end) and M_e that of the
whole pass. Then the noise

    w_k^2 V_k = (m_k^2 - m_{k+1}^2) / r_e^2,       r_e^2 = mu^2 M_e / (M_1 + ... + M_E),

makes the run mu-GDP, with `(M_1 + ... + M_E)^2 / mu^2` left at the end. No schedule leaves less if
one position of the batches has the largest p in every pass: in one pass, with rates that do not
rise at contraction 1, with rates that do not fall at contraction <= 1. [docs/theory.md]

Of all schedules that leave so little it has the noise as early as possible: losses that contract
more than is proved remove more of it.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeVar, Unpack

import numpy as np

from shiftdp._checks import Array, number_in
from shiftdp._errors import InvalidInput
from shiftdp._rounding import AMPLE, GENEROUS
from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.certification import certify
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisyCGD, NoisyGD, has_releases
from shiftdp.last_iterate.schedules.releases import number_of_releases
from shiftdp.privacy.budget import BudgetKeywords, budget_of
from shiftdp.privacy.calibration import calibrate_noise, scaled

BatchedRun = TypeVar("BatchedRun", NoisyGD, NoisyCGD)

_FAINT = 1e-3
"""The first passes have no noise while they displace the last iterate by less than this part of the
most that one does: it would be 30 times as large as the other noise, to hide next to nothing. What
they do is carried to the first pass that has noise, which costs the same."""
_LEAST_WEIGHT = 1e-6
"""No noise is expected to count for less than this part of its variance."""
_LOOSE = 1.02
"""A certificate that asks for more than so many times the noise of Theorem P1 does not tell all
positions apart. Less is worth it, as noise that comes earlier has more time to fade."""
_MOST_LEVELS = 128
"""Of noise within the passes, about: positions between two of them share a proof. What is left in
the end does not change; noise comes later by a few hundredths of the logarithm of the rate."""
_ROOM, _EXACT = 1.0 + 1e-10, 1.0 - 1e-9
"""Noise is this much larger than the formula says, which leaves room for the roundings of a
certificate; and a certificate that is this close to its budget just meets it."""
_TRIES = 4
"""How often the noise is multiplied: twice, unless rounding is worse than that."""
_MOST_STEPS = 1 << 24
"""More steps than this no verifier follows one by one."""


def placed_noise(
    run: BatchedRun,
    geometry: Geometry,
    *,
    expected_curvature: float | None = None,
    **budget: Unpack[BudgetKeywords],
) -> BatchedRun:
    """The same run with the noise that leaves least of it in the last iterate, for a budget.

    Its learning rates, batches and order stay; its noise is not looked at. What comes back has one
    noise a step, with zeros in it for small batches, and a certificate that just meets the budget.

    Args:
        run: what is run. Small cyclic batches with few passes gain most.
        geometry: what is assumed of the losses.
        expected_curvature: h, between the strong convexity and the smoothness, if you expect the
            losses to contract by `1 - eta h` a step. It proves nothing and need not be right: more
            of the noise moves to earlier passes, after which it is expected to fade.
        budget: such as `mu=1.0`, or `epsilon=1.0, delta=1e-5`.

    >>> from shiftdp import NoisyCGD, NoisyGD, certify
    >>> geometry = Geometry(strong_convexity=0.0, smoothness=2.0, sensitivity=1.0)
    >>> run = NoisyCGD(n=12, batch_size=4, epochs=2, learning_rate=0.5, noise=1.0)
    >>> placed = placed_noise(run, geometry, mu=1.0)
    >>> [round(sigma, 6) for sigma in placed.noise]
    [0.0, 0.0, 0.353553, 0.0, 0.0, 0.353553]
    >>> full = NoisyGD(n=4, steps=2, learning_rate=0.5, noise=placed.noise[2])
    >>> round(certify(placed, geometry).mu, 9), round(certify(full, geometry).mu, 9)
    (1.0, 1.0)
    """
    _check(run, geometry)
    wanted = budget_of(**budget)
    mu = wanted.mu(wanted.limit)
    if not 0.0 < mu < math.inf:
        raise InvalidInput(
            wanted.measure, wanted.limit, "is met by no noise, or by any", "give another budget"
        )
    steps = _steps_of(run, geometry)
    expected = None
    if expected_curvature is not None:
        m, M = geometry.strong_convexity, geometry.smoothness
        h = number_in("expected_curvature", expected_curvature, m, M)
        expected = np.abs(1.0 - steps.rates * h)

    def with_noise(at_ends: int) -> tuple[BatchedRun, float]:
        """The run by Theorem P1, scaled to what is certified, and by how much it was."""
        variances = placed_variances(
            steps.contraction,
            steps.sensitivity,
            run.batches,
            diameter=geometry.diameter,
            expected=expected,
            at_ends=at_ends,
        )
        noise = np.sqrt(variances) / (steps.rates * mu)
        first = _with_noise(run, noise)
        found = _meeting(first, geometry, mu, budget)
        return found, _last(found) / _last(first)

    passes = -(-run.steps // run.batches)
    # reshuffled, a record is anywhere in the earlier passes: it counts as if used at their ends
    found, factor = with_noise(passes - 1 if run.order == "reshuffled" else 0)
    if factor > _LOOSE:
        found = min(found, with_noise(passes)[0], key=steps.left_by)
    return found


def placed_variances(
    contraction: Array,
    sensitivity: Array,
    batches: int,
    *,
    diameter: float = math.inf,
    expected: Array | None = None,
    at_ends: int = 0,
) -> Array:
    """The variances V_k of Theorem P1 for mu = 1; for another, divide by mu^2.

    Args:
        contraction: c_k of each step.
        sensitivity: s_k, what a record that is used in the step displaces the iterate by.
        batches: steps in a pass.
        diameter: of the constraint set. Passes before the best start from it have no noise.
        expected: by how much each step is expected to contract, if more than is proved. Then
            `r_e^2` is in proportion to the root of what is expected to be left, at `r_e = 1`, of
            the noise of pass e.
        at_ends: how many of the first passes have all their noise in their last step, where as much
            is left of it at the end: for records that may be used anywhere in them.

    >>> placed_variances(np.ones(3), np.array([3.0, 2.0, 1.0]), 3)  # one pass, falling rates
    array([5., 3., 1.])
    >>> placed_variances(np.ones(4), np.array([2.0, 2.0, 1.0, 1.0]), 2)  # two, s_e (s_1 + s_2)
    array([0., 6., 0., 3.])
    """
    log_w = _log_left(contraction)
    log_p = _in_passes(log_w + _log(sensitivity), batches)
    passes = log_p.shape[0]
    ends = np.minimum(np.arange(1, passes + 1) * batches, log_w.size) - 1
    top = float(np.max(log_p))
    if top == -math.inf:
        return np.zeros(log_w.size)
    largest = np.max(log_p, axis=1)
    silent, carried = _silent(np.exp(largest - top), np.exp(log_w[ends] - top) * diameter)
    if carried > 0.0:
        more = np.logaddexp(log_p[silent], math.log(carried) + top)
        log_p[silent] = np.where(log_p[silent] > -math.inf, more, -math.inf)
    largest = np.max(log_p, axis=1)
    log_p[:at_ends] = -math.inf
    log_p.reshape(-1)[ends[:at_ends]] = largest[:at_ends]
    log_p[:silent] = largest[:silent] = -math.inf
    heaviest = np.maximum.accumulate(log_p[:, ::-1], axis=1)[:, ::-1]  # log m_k
    heaviest = _in_levels(heaviest, largest)
    following = np.append(heaviest[:, 1:], np.full((passes, 1), -math.inf), axis=1)
    with np.errstate(invalid="ignore"):  # of steps that are not there, or do nothing
        drop = 1.0 - np.exp(2.0 * (following - heaviest))
        part = np.exp(2.0 * (heaviest - largest[:, None]))
        own = np.exp(2.0 * (heaviest - _in_passes(log_w, batches)))
    has = drop > AMPLE  # rounding asks for no noise of its own
    count = _counted(log_w, expected, batches)
    size = np.exp(largest - top) * np.sqrt(np.sum(np.where(has, count * drop * part, 0.0), axis=1))
    share = size / np.sum(size)  # r_e^2
    variances = np.zeros_like(drop)
    np.divide(own * drop, share[:, None], out=variances, where=has)
    return variances.reshape(-1)[: log_w.size]


def _in_levels(heaviest: Array, largest: Array) -> Array:
    """log m_k, rounded up to few levels below log M_e where it has more: it falls as far in all."""
    lowest = np.min(np.where(heaviest > -math.inf, heaviest, math.inf), axis=1)
    with np.errstate(invalid="ignore"):
        width = float(np.sum(np.where(lowest < largest, largest - lowest, 0.0))) / _MOST_LEVELS
        falls = np.count_nonzero(heaviest[:, 1:] < heaviest[:, :-1])
        if not falls > _MOST_LEVELS:
            return heaviest
        level = np.floor((largest[:, None] - heaviest) / width) * width
        return np.where(heaviest > -math.inf, largest[:, None] - level, -math.inf)


def _silent(largest: Array, reach: Array) -> tuple[int, float]:
    """How many of the first passes have no noise, and the displacement that they leave behind.

    `largest` is M_e, and `reach` what the diameter after each pass displaces the end by.
    """
    first = int(np.argmax(largest >= _FAINT * np.max(largest)))
    behind = np.append(0.0, np.minimum(np.cumsum(largest), reach))[:-1]
    ahead = np.cumsum(largest[::-1])[::-1]
    total = (behind + ahead)[first:]
    # the first of those that are as good as the best
    silent = first + int(np.argmax(total <= np.min(total) * (1.0 + GENEROUS)))
    return silent, float(behind[silent])


def _counted(log_w: Array, expected: Array | None, batches: int) -> Array:
    """What the noise of each step is expected to count for, of what is proved to be left of it."""
    if expected is None:
        return np.ones(())
    with np.errstate(invalid="ignore", over="ignore"):
        part = np.exp(2.0 * (_log_left(expected) - log_w))
    return _in_passes(np.where(part > _LEAST_WEIGHT, np.minimum(part, 1.0), _LEAST_WEIGHT), batches)


def _log(x: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(x)


def _log_left(contraction: Array) -> Array:
    """log w_k, the sum of log c_j over the steps after k."""
    return np.append(np.cumsum(_log(contraction[:0:-1]))[::-1], 0.0)


def _in_passes(x: Array, batches: int) -> Array:
    """One row a pass; minus infinity for steps that an unfinished one lacks."""
    rows = np.full((-(-x.size // batches), batches), -math.inf)
    rows.reshape(-1)[: x.size] = x
    return rows


class _Steps(NamedTuple):
    """Rates, Lipschitz constants and displacements, one a step."""

    rates: Array
    contraction: Array
    sensitivity: Array

    def left_by(self, run: NoisyGD | NoisyCGD) -> float:
        """The variance of the noise of a run that is left in its last iterate."""
        with np.errstate(under="ignore"):
            w = np.exp(_log_left(self.contraction))
            return float(np.sum((w * self.rates * np.array(run.noise)) ** 2))


def _steps_of(run: NoisyGD | NoisyCGD, geometry: Geometry) -> _Steps:
    rates = np.broadcast_to(np.asarray(run.learning_rate, dtype=np.float64), run.steps)
    distinct, where = np.unique(rates, return_inverse=True)
    c = np.array([geometry.contraction(float(rate)) for rate in distinct])[where]
    divisors = np.full(run.batches, float(run.divisor_of(1)))
    divisors[-1] = run.divisor_of(run.batches)
    return _Steps(rates, c, rates * geometry.sensitivity / np.resize(divisors, run.steps))


def _meeting(run: BatchedRun, geometry: Geometry, mu: float, budget: BudgetKeywords) -> BatchedRun:
    """The run with its noise multiplied so that its certificate just meets the budget."""
    wanted = budget_of(**budget)
    factor = _ROOM
    for _ in range(_TRIES):
        found = scaled(run, "noise", factor)
        certificate = certify(found, geometry)
        certified = certificate.mu
        if certified is None or not 0.0 < certified < math.inf:
            break
        if wanted.met(certificate) and certified >= mu * _EXACT:
            return found
        # mu is proportional to 1 / noise, up to rounding
        factor *= certified / mu * _ROOM
    return calibrate_noise(run, geometry, **budget)


def _with_noise(run: BatchedRun, noise: Array) -> BatchedRun:
    return type(run)(**{**vars(run), "noise": tuple(noise.tolist())})


def _last(run: NoisyGD | NoisyCGD) -> float:
    """The noise of the last step, which always has some."""
    return run.noise if isinstance(run.noise, float) else run.noise[-1]


def _check(run: NoisyGD | NoisyCGD, geometry: Geometry) -> None:
    if not isinstance(run, (NoisyGD, NoisyCGD)):
        raise InvalidInput(
            "run",
            type(run).__name__,
            "has no steps whose visits are known beforehand",
            "give NoisyGD or NoisyCGD",
        )
    if has_releases(run):
        raise InvalidInput(
            "releases",
            f"<{number_of_releases(run)} steps>",
            "are several, and noise is placed for the last iterate alone",
            "give a run that releases its last iterate",
        )
    if run.steps > _MOST_STEPS:
        raise InvalidInput(
            "steps", run.steps, "is too long for noise of its own in each step", "give fewer"
        )
    if geometry.sensitivity == 0.0:
        raise InvalidInput("sensitivity", 0.0, "leaks nothing: no noise is needed", "train without")
    given.require_smooth(geometry)
    given.require_contractive(run.learning_rate, geometry)
