"""Check the parameters of proofs on NoisySGD, without the searches that found them.

All arithmetic is exact, or as good as exact: rational numbers for the constants of a run, decimals
of 80 digits and exponents up to 10^17 for powers, roots and logarithms, so that nothing overflows
and nothing is lost to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

from shiftdp._rounding import NOT_ZERO
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisySGD, people
from shiftdp.last_iterate.schedules.led_verification import meeting_starts, verify_prefix
from shiftdp.last_iterate.theorems.checks import require
from shiftdp.last_iterate.theorems.proofs import LEAST_SPLIT, MOST_SPLIT, StochasticProof
from shiftdp.last_iterate.theorems.sampled.shifts import StochasticSteps, require_equal_steps

if TYPE_CHECKING:
    from shiftdp.last_iterate.theorems.prefix import PrefixProof

_ALL = slice(None)  # steps
# far more digits than the 1e-12 by which shifts are rounded up
_DIGITS = Context(prec=80, Emin=-(10**17), Emax=10**17)
_SLACK = Decimal("1e-60")
_SAME = Fraction(1, 2**49)  # how much more a constant may be than what it rounds
_SAME_FAILURE = 1 + Decimal("1e-2")  # the same for the probability of a failure
# What the forgotten steps of a run without end may add to a distance; shifts are rounded up by far
# more. See `shiftdp.last_iterate.endless`.
_LONGER = Decimal("1e-20")
_TINY = Decimal("1e-30")
_MOST_TERMS = 100_000  # of a binomial tail; those after them are bounded by a geometric series
# A Gaussian factor that no float can hold: it moves delta by less than 1e-300.
_UNDERFLOW = Decimal("1e-300")


def verify_constants(
    run: NoisySGD,
    geometry: Geometry,
    p: float,
    charged: Sequence[tuple[float, int]],
    steps: slice = _ALL,
) -> None:
    """Raise unless p and s, with which steps are charged, are those of the run, rounded up.

    They may not be less: a step may only be more private than what it is charged for. `charged` has
    s, in units of the noise, and how many steps are charged with it. The steps with the least noise
    must be charged most, the next ones with the next, and so on. `steps` are those that are meant
    where they differ; all of them if not given.
    """
    move = geometry.sensitivity
    if run.has_random_sizes and geometry.adjacency == "replace_one":
        # the norm of one gradient, of which the distance of two says nothing
        require(geometry.gradient_bound is not None, "no bound on the norm of a gradient is given")
        move = geometry.gradient_bound or 0.0
    _require_not_less(p, _participation(run), "participation")
    equal = isinstance(run.noise, float)
    noises = [] if isinstance(run.noise, float) else sorted(run.noise[steps])
    meant = len(range(run.steps)[steps])
    require(sum(n for _, n in charged) == meant, "not each step is charged once")
    first = 0
    for s, n in sorted(charged, reverse=True):
        noise = run.noise if isinstance(run.noise, float) else noises[first]
        exact = Fraction(move) / (run.batch_size * Fraction(noise))
        _require_not_less(s, exact, "sensitivity", same=equal)
        first += n


def verify_allocation(
    run: NoisySGD, geometry: Geometry, charged: Sequence[tuple[float, int]]
) -> None:
    """Raise unless each epoch of random allocation is charged with its largest move, or more.

    `charged` has moves, in units of the noise, and how many epochs are charged with each.
    """
    batches = -(-run.n // run.batch_size)
    epochs = run.steps // batches
    require(sum(n for _, n in charged) == epochs, "not each epoch is charged once")
    equal, noise = isinstance(run.noise, float), run.noise
    if isinstance(noise, float):
        noises = [noise] * epochs
    else:
        noises = sorted(min(noise[k * batches : (k + 1) * batches]) for k in range(epochs))
    first = 0
    for s, n in sorted(charged, reverse=True):
        exact = Fraction(geometry.sensitivity) / (run.batch_size * Fraction(noises[first]))
        _require_not_less(s, exact, "sensitivity", same=equal)
        first += n


def _participation(run: NoisySGD) -> Fraction:
    """b/n, or one in l of random allocation."""
    if run.in_epochs:
        return Fraction(1, -(-run.n // run.batch_size))
    return Fraction(run.batch_size, run.n)


def verify_groups(
    run: NoisySGD,
    geometry: Geometry,
    proof: StochasticProof,
    failure: float,
    *,
    endless: bool = False,
) -> None:
    """Raise unless the shifts of Theorem B3 bring the two runs together.

    The distance of the two runs is followed group by group to the last step, in 80 digits, and must
    not be positive there; step by step where they differ. `failure` may be more than the batch cap
    makes it, not less. `endless`: the run stands in for every longer one, in which more than tau
    steps may come before these. So they start from the diameter, or from a distance that more steps
    would not increase.
    """
    tau, groups, cap = proof.tau, proof.groups, proof.cap
    require(0 <= tau < run.steps, f"tau={tau} is not among 0 to {run.steps - 1}")
    require(bool(groups), "there are no shifts")
    require(all(n >= 1 for _, n in groups), "a group of steps is empty")
    require(sum(n for _, n in groups) == run.steps - tau, "the groups are not the steps after tau")
    require(all(0.0 <= a < math.inf for a, _ in groups), "a shift is negative or infinite")
    require(run.has_random_sizes == (cap is not None), "batches of random size have a batch cap")
    if cap is not None:
        require(geometry.convex, "batches of random size are covered for convex losses only")
    if not (isinstance(run.learning_rate, float) and isinstance(run.noise, float)):
        together = meeting_starts(run, geometry, tau, groups, cap)
        _verify_meeting(run, together, cap, failure)
        return
    c, apart = _lipschitz(run, geometry, cap), _apart(run, geometry)
    with localcontext(_DIGITS):
        slope = _decimal(c)
        # the distance at tau, and how many steps have to keep to the batch cap for it
        starts = []
        if not endless or ((cap is None or cap >= run.n) and _forgotten(slope, tau)):
            starts.append((_separation(slope, _decimal(apart), tau), run.steps))
        if geometry.bounded:
            starts.append((_decimal(_diameter(run, geometry)), run.steps - tau))
        together = [counted for start, counted in starts if _meet(slope, start, groups)]
    _verify_meeting(run, together, cap, failure)


def verify_led_from_one(
    run: NoisySGD, geometry: Geometry, steps: StochasticSteps, proof: PrefixProof
) -> None:
    """Raise unless shifts in proportion to a distance at tau bring the two runs together.

    `steps` has the numbers, not below those of the run, that the bucket is computed with.
    """
    groups, cap = proof.groups, proof.cap
    verify_prefix(run, proof)
    require(cap is None or geometry.convex, "batches of random size need convex losses")
    require(Fraction(steps.c) >= _lipschitz(run, geometry, cap), "the steps contract less")
    require(Fraction(steps.apart) >= _apart(run, geometry), "a participation moves more")
    if geometry.bounded:
        require(Fraction(steps.diameter) >= _diameter(run, geometry), "the set is larger")
    with localcontext(_DIGITS):
        together = _meet(Decimal(steps.c), Decimal(1), groups)
    require(together, "the shifts do not bring the two runs together")


def _verify_meeting(run: NoisySGD, together: list[int], cap: int | None, failure: float) -> None:
    """Raise unless the runs meet, and the batch cap fails as often as stated in the steps that have
    to keep to it."""
    require(bool(together), "the shifts do not bring the two runs together")
    verify_failure(run, cap, failure, min(together))


def verify_failure(run: NoisySGD, cap: int | None, failure: float, steps: int) -> None:
    """Raise unless the batch cap is passed in so many steps as often as stated, or less."""
    require(cap is not None or not failure, "there is no batch cap that could be passed")
    with localcontext(_DIGITS):
        least = Decimal(0) if cap is None else _failure(run, cap, steps)
        require(Decimal(failure) >= least, "the batch cap fails more often than stated")
        require(Decimal(failure) <= least * _SAME_FAILURE + _TINY, "the batch cap fails less often")


def verify_gap(
    run: NoisySGD, geometry: Geometry, proof: StochasticProof, gap: float, *, projected: bool
) -> None:
    """Raise unless `gap` is at least mu of the Gaussian factor of Thm sgd-proj, or of Thm sgd-sc.

    With 1/alpha^2 + 1/beta^2 = 1, T = t - tau and the exact constants of the run: alpha D'/sqrt(T),
    or 2 alpha s (c^{T+1} - c^t)/(1 - c).
    """
    beta, count = proof.split, run.steps - proof.tau
    require(0 <= proof.tau < run.steps, f"tau={proof.tau} is not among 0 to {run.steps - 1}")
    require(beta is not None and LEAST_SPLIT <= beta <= MOST_SPLIT, f"beta={beta!r} is no split")
    with localcontext(_DIGITS):
        alpha = 1 / (1 - 1 / Decimal(beta or 1) ** 2).sqrt()
        if projected:
            exact = alpha * _decimal(_diameter(run, geometry)) / Decimal(count).sqrt()
        else:
            slope = _decimal(_lipschitz(run, geometry, None))
            require(slope < 1, "the steps do not contract")
            tail = max(0, run.steps - count - 1)
            exact = 2 * alpha * _separation(slope, _decimal(_apart(run, geometry)), tail)
            exact *= slope ** (count + 1) if slope else 0
        # it may be more: next to c = 1, rounding c up alone raises it by parts of 1e-9 and above
        require(
            exact * (1 + _LONGER) <= Decimal(gap) + _UNDERFLOW,
            f"the Gaussian factor has mu={gap!r}, which is less than that of the split",
        )


def _apart(run: NoisySGD, geometry: Geometry) -> Fraction:
    """L / (b sigma): what the coupled runs separate by in a step, in units of its noise."""
    _, noise = require_equal_steps(run)
    return Fraction(geometry.sensitivity) / (run.batch_size * Fraction(noise))


def _diameter(run: NoisySGD, geometry: Geometry) -> Fraction:
    """D / (eta sigma)."""
    rate, noise = require_equal_steps(run)
    return Fraction(geometry.diameter) / (Fraction(rate) * Fraction(noise))


def _meet(slope: Decimal, start: Decimal, groups: tuple[tuple[float, int], ...]) -> bool:
    """Whether the distance, followed group by group, is gone at the end."""
    distance = scale = start * (1 + _LONGER)
    for a, n in groups:
        power = slope**n if slope else Decimal(0)
        distance = power * distance - Decimal(a) * _series(slope, power, n)
        scale = power * scale
    return distance <= -_SLACK * scale


def _lipschitz(run: NoisySGD, geometry: Geometry, cap: int | None) -> Fraction:
    """max |1 - eta m|, |1 - eta M|; a learning rate of 2/M in floats means just that."""
    require(math.isfinite(geometry.smoothness), "the losses are not known to be smooth")
    m, M = Fraction(geometry.strong_convexity), Fraction(geometry.smoothness)
    if cap is not None:
        require(m >= 0, "batches of random size are covered for convex losses only")
        M = m + (M - m) * min(cap, run.n) / run.batch_size
    eta = Fraction(require_equal_steps(run)[0])
    slow, fast = abs(1 - eta * m), abs(1 - eta * M)
    if 1 < fast <= 1 + Fraction(1, 2**50):
        fast = Fraction(1)
    return max(slow, fast)


def _separation(slope: Decimal, gap: Decimal, steps: int) -> Decimal:
    """How far apart coupled runs are after so many steps."""
    power = slope**steps if slope or not steps else Decimal(0)
    return gap * _series(slope, power, steps) if steps else Decimal(0)


def _forgotten(slope: Decimal, steps: int) -> bool:
    """Whether what came before so many steps adds less to the distance than is allowed for."""
    return slope < 1 and (not slope or slope**steps <= _LONGER / 10)


def _series(slope: Decimal, power: Decimal, n: int) -> Decimal:
    """1 + c + ... + c^{n-1}."""
    return Decimal(n) if slope == 1 else (1 - power) / (1 - slope)


def _failure(run: NoisySGD, cap: int, steps: int) -> Decimal:
    """1 - (1 - P[Bin(n-k, p) >= B-k+1])^steps from above, within a part of 1e-3 or so.

    k is the number of records of a person, 1 as a rule, and the others are those of other people.
    Under random allocation the steps are not independent, and their probabilities are added up.
    The first terms of the tail are summed, each from the last by the ratio of binomials, which
    falls: a geometric series is above the rest. The first term is from above as well, by Robbins'
    bounds on factorials.
    """
    N, B = run.n - people(run), cap - people(run) + 1
    if B > N:
        return Decimal(0)
    p = _decimal(_participation(run))
    if p == 1 or N * p + 1 >= B:
        return Decimal(1)
    if B == N:
        tail = p**N
    else:
        log_first = -(B * (B / (N * p)).ln() + (N - B) * ((N - B) / (N * (1 - p))).ln())
        inverse = 1 / (12 * Decimal(N)) - 1 / (12 * Decimal(B) + 1)
        inverse -= 1 / (12 * Decimal(N - B) + 1)
        pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494")
        term = (log_first + inverse).exp() * (N / (2 * pi * B * (N - B))).sqrt() * (1 + _SLACK)
        tail = term
        for k in range(B, N):
            ratio = (N - k) * p / ((k + 1) * (1 - p))
            rest = term * ratio / (1 - ratio)
            if rest < tail / 1000 or k - B >= _MOST_TERMS:
                tail += rest
                break
            term *= ratio
            tail += term
    if tail >= 1:
        return Decimal(1)
    # in a product of so many factors next to 1 the digits of a tiny tail would be lost
    added = run.in_epochs or tail * steps < _TINY
    return min(Decimal(1), tail * steps if added else 1 - (1 - tail) ** steps)


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _require_not_less(stated: float, least: Fraction, what: str, *, same: bool = True) -> None:
    """`same`: nor much more, which it may be where different steps are charged alike."""
    require(math.isfinite(stated), f"the {what} is not finite")
    require(Fraction(stated) >= least, f"the {what} {stated!r} is less than that of the run")
    require(
        not same or Fraction(stated) <= least * (1 + _SAME) or stated <= NOT_ZERO,
        f"the {what} {stated!r} is that of another run",
    )
