"""Theorem B3: from where on, and by how much a step, the two runs are led together.

In units of the noise of a step, let the coupled runs be at most z apart at step tau, and let each
step be c-Lipschitz. Shifts a_k >= 0 with

    sum_{tau < k <= t} c^{t-k} a_k >= c^{t-tau} z

make NoisySGD f-DP with f = S_p(a_{tau+1}, s) (x) ... (x) S_p(a_t, s). Any nonnegative c will do.

The least sum of squares has a_k proportional to c^{t-k}. Few distinct shifts are cheaper to
compose: among schedules that are constant on given groups of steps, the least sum of squares has a
proportional to the mean of c^{t-k} over the group, and it meets the same inequality. Groups whose
ends are equally spaced in c^{2(t-k)/3} lose about .56 / (number of groups)^2 of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from shiftdp._checks import Array
from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import EIGHT_ROUNDINGS, LARGEST_EXPONENT, ULP
from shiftdp.last_iterate.geometry import Geometry, contraction_of, contractions_of
from shiftdp.last_iterate.runs import NoisySGD
from shiftdp.last_iterate.schedules.led_together import (
    MOST_LAWS,
    Groups,
    UnequalSteps,
    few_distinct,
    group_laws,
)

UP, DOWN = 1.0 + EIGHT_ROUNDINGS, 1.0 - EIGHT_ROUNDINGS  # of products of a few factors
MOST_GROUPS = 6  # of steps with one shift: each is one more law to compose
_MOST_ALLOCATED = 8  # different epochs of random allocation: the law of each takes about .1 s
_ROUNDING = 1.0 + 1e-12  # more than the roundings of the sums below
_FAINTEST = math.log(1e-100)  # weights below it are those of steps too long ago to matter


Laws = Sequence[tuple[float, float, int]]
"""Shift and sensitivity of steps, in units of their noise, and the number of such steps."""


@dataclass(frozen=True)
class StochasticSteps:
    """A run of equal steps in units of its noise.

    p: participation; c: Lipschitz constant of a step; s: what the record moves a step by; apart:
    what the coupled runs separate by in a step; diameter: of the set; steps: t.
    """

    p: float
    c: float
    s: float
    apart: float
    diameter: float
    steps: int


@dataclass(frozen=True)
class StepArrays:
    """A run with random batches step by step, in units of the iterate and rounded to the safe side.

    Of equal steps c, s, apart and sd are numbers; else they are arrays in time order, one entry a
    step. p is the same at each step of every sampling.

    Args:
        p: participation: the probability that the record takes part (rounded up).
        c: the Lipschitz constant of the step (up).
        s: how far the record moves the iterate when it takes part, against when it does not (up).
        apart: how far coupled runs, of equal batches and noise, separate in the step (up).
        sd: the deviation of the noise on the iterate (down).
        diameter: of the constraint set.
        steps: t.
    """

    p: float
    c: float | Array
    s: float | Array
    apart: float | Array
    sd: float | Array
    diameter: float
    steps: int

    @property
    def equal(self) -> bool:
        """Whether all steps are alike, so that numbers take the place of arrays."""
        return isinstance(self.sd, float)


def step_arrays(run: NoisySGD, geometry: Geometry, cap: int | None = None) -> StepArrays:
    """The steps of a run, in batches of at most `cap` records where their size is random.

    >>> run = NoisySGD(n=100, batch_size=10, steps=3, learning_rate=0.5, noise=[1.0, 1.0, 2.0])
    >>> steps = step_arrays(run, Geometry(strong_convexity=1, smoothness=1, sensitivity=4))
    >>> [round(float(x), 6) for x in (*steps.c, *steps.s, *steps.sd)]
    [0.5, 0.5, 0.5, 0.2, 0.2, 0.2, 0.5, 0.5, 1.0]
    """
    m, M, b = geometry.strong_convexity, capped_smoothness(run, geometry, cap), run.batch_size
    L, moved = geometry.sensitivity, record_move(run, geometry)
    p, D, eta = participation_up(run), geometry.diameter, run.learning_rate
    if isinstance(eta, float) and isinstance(run.noise, float):
        c = contraction_of(m, M, eta)
        s, apart, sd = eta * moved / b * UP, eta * L / b * UP, eta * run.noise * DOWN
        return StepArrays(p, c, s, apart, sd, D, run.steps)
    rates = np.full(run.steps, eta) if isinstance(eta, float) else np.array(eta)
    slopes = contractions_of(m, M, rates)
    noise = rates * np.asarray(run.noise) * DOWN
    return StepArrays(p, slopes, rates * moved / b * UP, rates * L / b * UP, noise, D, run.steps)


def charged_steps(run: NoisySGD, geometry: Geometry) -> tuple[tuple[float, int], ...]:
    """What the record moves a step by, in units of its noise and rounded up, and in how many steps.

    The learning rate does not matter here. Very many different steps are charged as a few.

    >>> run = NoisySGD(n=100, batch_size=10, steps=3, learning_rate=0.5, noise=[1.0, 1.0, 2.0])
    >>> steps = charged_steps(run, Geometry(strong_convexity=1, smoothness=1, sensitivity=4))
    >>> [(round(s, 6), n) for s, n in steps]
    [(0.2, 1), (0.4, 2)]
    """
    if isinstance(run.noise, float):
        return ((record_move(run, geometry) / (run.batch_size * run.noise) * UP, run.steps),)
    return few_distinct(charged_each(run, geometry))


def charged_each(run: NoisySGD, geometry: Geometry) -> Array:
    """`charged_steps` step by step, none of them rounded to another."""
    noise = np.broadcast_to(np.asarray(run.noise, dtype=np.float64), run.steps)
    return np.asarray(record_move(run, geometry) / (run.batch_size * noise) * UP)


def allocated_moves(run: NoisySGD, geometry: Geometry) -> tuple[tuple[float, int], ...]:
    """The largest `charged_steps` of an epoch of random allocation, and in how many epochs it is.

    >>> run = NoisySGD(
    ...     n=20,
    ...     batch_size=10,
    ...     epochs=2,
    ...     learning_rate=0.5,
    ...     noise=[1.0, 1.0, 2.0, 4.0],
    ...     sampling="random_allocation",
    ... )
    >>> losses = Geometry(strong_convexity=1, smoothness=1, sensitivity=4, adjacency="zero_out")
    >>> [(round(s, 6), n) for s, n in allocated_moves(run, losses)]
    [(0.2, 1), (0.4, 1)]
    """
    if isinstance(run.noise, float):
        ((s, steps),) = charged_steps(run, geometry)
        return ((s, steps // run.batches),)
    each = charged_each(run, geometry).reshape(-1, run.batches)
    return few_distinct(each.max(axis=1), _MOST_ALLOCATED)


def charged_in_groups(
    run: NoisySGD, geometry: Geometry, groups: Groups, most: int = MOST_LAWS
) -> list[list[tuple[float, int]]]:
    """`charged_steps` for each group of the last steps by itself."""
    if isinstance(run.noise, float):
        ((s, _),) = charged_steps(run, geometry)
        return [[(s, n)] for _, n in groups]
    return group_laws(charged_each(run, geometry), groups, most)


def shifted_laws(run: NoisySGD, geometry: Geometry, groups: Groups, most: int = MOST_LAWS) -> Laws:
    """The laws of the steps with these shifts."""
    charged = zip(groups, charged_in_groups(run, geometry, groups, most), strict=True)
    return [(a, s, n) for (a, _), parts in charged for s, n in parts]


def unequal_steps(run: NoisySGD, geometry: Geometry, cap: int | None = None) -> UnequalSteps | None:
    """The steps where they differ, for Theorem B3; None where they are equal."""
    steps = step_arrays(run, geometry, cap)
    if steps.equal:
        return None
    c, s, apart, sd = map(np.asarray, (steps.c, steps.s, steps.apart, steps.sd))
    return UnequalSteps.of(c, s, apart, sd, geometry.diameter)


def require_equal_steps(run: NoisySGD) -> tuple[float, float]:
    """The learning rate and the noise of a theorem for equal steps."""
    for name, value in (("learning_rate", run.learning_rate), ("noise", run.noise)):
        if not isinstance(value, float):
            raise UnmetHypothesis(
                name,
                f"<{len(value)} entries>",
                "changes from step to step, and this theorem is for equal steps",
                "give one number for all steps, or use composition, which holds for any schedule",
            )
    return float(run.learning_rate), float(run.noise)  # type: ignore[arg-type]


def steps_of(run: NoisySGD, geometry: Geometry, cap: int | None = None) -> StochasticSteps:
    """The constants of B3, rounded up, with at most `cap` records in a batch."""
    rate, noise = require_equal_steps(run)
    M = capped_smoothness(run, geometry, cap)
    return StochasticSteps(
        p=participation_up(run),
        c=contraction_of(geometry.strong_convexity, M, rate),
        s=record_move(run, geometry) / (run.batch_size * noise) * UP,
        apart=geometry.sensitivity / (run.batch_size * noise) * UP,
        diameter=geometry.diameter / (rate * noise) * UP,
        steps=run.steps,
    )


def capped_smoothness(run: NoisySGD, geometry: Geometry, cap: int | None) -> float:
    """The smoothness of a batch of B records, m + B M_l / b, rounded up; M without a cap."""
    if cap is None:
        return geometry.smoothness
    m = geometry.strong_convexity
    own = (geometry.smoothness - m) * UP
    return m + min(cap, run.n) / run.batch_size * own * UP


def record_move(run: NoisySGD, geometry: Geometry) -> float:
    """How far a record that takes part moves the sum of gradients, against when it does not.

    Without replacement another record is there instead, so it is the distance L of two gradients.
    Under Poisson sampling and random allocation nothing is, and it is the norm of one gradient,
    which L does not bound: gradients v and v + u have distance |u|, however long v is.
    """
    if not run.has_random_sizes:
        return geometry.sensitivity
    norm = geometry.record_bound
    if norm is None:
        raise UnmetHypothesis(
            "gradient_bound",
            None,
            "is not given, and Poisson sampling with replace_one needs it: the sensitivity is the "
            "distance of two gradients, which says nothing of the norm of one",
            f"give gradient_bound={geometry.sensitivity / 2.0:g} if no gradient is longer than "
            "half the sensitivity, as clipped ones are, or else the bound that holds; or "
            "adjacency='zero_out' with that bound as sensitivity, which add/remove figures mean",
        )
    return norm


def refuse_adjacency(run: NoisySGD, geometry: Geometry) -> None:
    """Pairs of a sampling and an adjacency for which the sensitivity says too little.

    Without replacement, another record takes the place of the one that is zeroed out. Poisson
    sampling needs the norm of one gradient. Under random allocation the theorems are
    about a record and nothing: of two versions of it, hidden in different batches of an epoch, none
    speaks.
    """
    refusal = run.sampler.refused.get(geometry.adjacency)
    if refusal is not None:
        raise UnmetHypothesis("adjacency", geometry.adjacency, *refusal)
    record_move(run, geometry)


def participation_up(run: NoisySGD) -> float:
    """b/n, or 1/l, not below it."""
    drawn, out_of = run.odds
    p = drawn / out_of
    if drawn == out_of or p.as_integer_ratio() == _lowest(drawn, out_of):
        return p
    return min(1.0, p * (1.0 + ULP))


def start_distance(steps: StochasticSteps, tau: int) -> float:
    """z_tau = min(D, s (1 - c^tau)/(1 - c)), rounded up; the distance of the coupled runs."""
    return min(steps.diameter, _coupled(steps, tau))


def starts_from_diameter(steps: StochasticSteps, tau: int) -> bool:
    """Whether nothing need be known of the steps up to tau, because z_tau is the diameter."""
    return steps.diameter <= _coupled(steps, tau)


def _coupled(steps: StochasticSteps, tau: int) -> float:
    if steps.c == 1.0:
        return steps.apart * tau * UP
    if steps.c == 0.0:
        return steps.apart if tau else 0.0
    log_c = math.log(steps.c)
    if tau * log_c > LARGEST_EXPONENT:
        return math.inf
    return steps.apart * (math.expm1(tau * log_c) / math.expm1(log_c)) * _ROUNDING


def longest(steps: StochasticSteps) -> int:
    """The most steps that are worth looking back: before, everything has been forgotten."""
    most = steps.steps
    if steps.c == 0.0:
        return 1
    if steps.c != 1.0:
        most = min(most, max(1, math.ceil(_FAINTEST / -abs(math.log(steps.c)))))
    return most


def grouped_shifts(
    c: float, z: float, count: int, most: int = MOST_GROUPS
) -> tuple[tuple[float, int], ...]:
    """Shifts over `count` steps that lead runs z apart together, in at most `most` groups.

    >>> grouped_shifts(1.0, 3.0, 100)
    ((0.030..., 100),)
    >>> [n for _, n in grouped_shifts(0.9, 3.0, 40)]
    [18, 8, 5, 4, 3, 2]
    """
    if z == 0.0 or c == 0.0:
        return ((0.0, count),)
    if c == 1.0:
        return ((z / count * _ROUNDING, count),)
    log_c = math.log(c)
    ends = _ends(abs(log_c), count, most)  # counted from the side where the weights are large
    if c > 1.0:
        ends = [count - end for end in reversed(ends)]
    # the weights c^{t-k}, less their largest factor if c > 1
    shift = max(0.0, (count - 1) * log_c)
    sums = []
    for low, high in pairwise(ends):
        series = math.expm1((high - low) * log_c) / math.expm1(log_c)
        sums.append((math.exp(low * log_c - shift) * series, high - low))
    need = math.exp(count * log_c - shift) * z
    total = math.fsum(w * w / n for w, n in sums)
    return tuple((need * (w / n) / total * _ROUNDING, n) for w, n in reversed(sums))


def last_shift(
    c: float, z: float, count: int, most: int = MOST_GROUPS
) -> tuple[tuple[float, int], ...]:
    """All of the shift in the last step, as in [BSA24, Thm sgd-sc]."""
    need = z if c == 1.0 else 0.0 if c == 0.0 else math.exp(count * math.log(c)) * z * _ROUNDING
    return ((0.0, count - 1), (need, 1)) if count > 1 else ((need, 1),)


def _ends(rate: float, count: int, most: int) -> list[int]:
    """0 = j_0 < j_1 < ... = count, equally spaced in e^{-2 rate j/3}."""
    last = math.exp(-2.0 * rate * count / 3.0)
    ends = {0, count}
    for i in range(1, most):
        j = -math.log(1.0 - (1.0 - last) * i / most) * 1.5 / rate
        ends.add(min(count, max(i, round(j))) if i < count else count)
    return sorted(ends)


def _lowest(numerator: int, denominator: int) -> tuple[int, int]:
    common = math.gcd(numerator, denominator)
    return numerator // common, denominator // common
