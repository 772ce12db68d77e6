"""Two more results of the paper on NoisySGD: its general theorem, and its approximations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from numpy.typing import ArrayLike

from shiftdp._checks import array_in, number_in
from shiftdp._errors import InvalidInput, UnmetHypothesis
from shiftdp._kinds import Uncertified
from shiftdp._rounding import EIGHT_ROUNDINGS
from shiftdp.fdp import GaussianTradeoff, TradeoffFunction, subsampled_clt
from shiftdp.fdp.tradeoff import DEFAULT_ACCURACY
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisySGD
from shiftdp.last_iterate.theorems.sampled.composition import product, subsampled
from shiftdp.last_iterate.theorems.sampled.paper import SGD_PROJ, other_split, require_paper
from shiftdp.last_iterate.theorems.sampled.shifts import (
    UP,
    StochasticSteps,
    require_equal_steps,
    steps_of,
)

_ROUNDING = 1e-9  # in comparisons of sequences that users computed


def sgd_sc_gen(
    run: NoisySGD,
    geometry: Geometry,
    a: ArrayLike,
    z: ArrayLike | None = None,
    *,
    split: float = math.sqrt(2.0),
    accuracy: float = DEFAULT_ACCURACY,
) -> TradeoffFunction:
    """[BSA24, Thm sgd-sc-gen] with sequences of the user's choice.

    G(2 alpha c z_{t-1}/(eta sigma)) (x) C_p(G(2 beta L/(b sigma))) (x) prod_k C_p(G(2 a_k/(eta
    sigma))), k = 1 to t - 1, where z_0 = 0, z_{k+1} = c z_k + eta L/b - a_{k+1} >= 0 and
    a_k <= eta L/b.

    Args:
        a: a_1 to a_{t-1}, in units of the iterate.
        z: z_1 to z_{t-1}; they follow from a, and are only checked.
        split: beta; 1/alpha^2 + 1/beta^2 = 1.
    """
    steps = _strongly_convex(run, geometry)
    beta = number_in("split", split, 1.0, open_low=True, open_high=True)
    unit = math.prod(require_equal_steps(run))
    count = run.steps - 1
    shifts = array_in("a", a, 0.0, open_high=True).tolist() if count else []
    if len(shifts) != count:
        raise InvalidInput(
            "a", f"<{len(shifts)} entries>", f"is not a_1 to a_{count}", "give those"
        )
    stated = None if z is None else array_in("z", z, 0.0, open_high=True).tolist()
    if stated is not None and len(stated) != count:
        raise InvalidInput(
            "z", f"<{len(stated)} entries>", f"is not z_1 to z_{count}", "give those"
        )
    most, distance = steps.s, 0.0
    for k, value in enumerate(shifts):
        shift = value / unit
        distance = (steps.c * distance + most) * UP - shift * (1.0 - EIGHT_ROUNDINGS)
        if shift > most * (1.0 + _ROUNDING) or distance < -_ROUNDING * most:
            raise UnmetHypothesis(
                f"a_{k + 1}",
                value,
                "is more than there is to shift",
                f"give at most {most * unit:g}",
            )
        distance = max(distance, 0.0)
        if stated is not None and abs(stated[k] / unit - distance) > _ROUNDING * (most + distance):
            raise UnmetHypothesis(
                f"z_{k + 1}", stated[k], "does not follow from a", f"give {distance * unit:.9g}"
            )
    parts: list[tuple[TradeoffFunction, int]] = [
        (GaussianTradeoff(2.0 * other_split(beta) * steps.c * distance * UP), 1),
        (subsampled(steps.p, 2.0 * beta * most * UP), 1),
    ]
    counts = Counter(value / unit * UP for value in shifts)
    parts += [(subsampled(steps.p, 2.0 * shift), n) for shift, n in sorted(counts.items())]
    return product(parts, accuracy)


@dataclass(frozen=True)
class Approximation:
    """What the central limit theorem suggests: look back `steps_back` steps, be `mu`-GDP."""

    steps_back: int
    mu: float


def sgd_sc_approx(run: NoisySGD, geometry: Geometry) -> Uncertified[Approximation]:
    """[BSA24, Prop sgd-sc-approx]: Thm sgd-sc with its best t - tau, by the central limit theorem.

    mu^2 = 8 (s c^{T+1}/(1-c))^2 + T v, where v is the squared limit of one C_p(G(2 s)).
    """
    steps = _strongly_convex(run, geometry)
    variance = _limit(steps, 2.0)
    rate, first = -math.log(steps.c), 8.0 * (steps.s * steps.c / (1.0 - steps.c)) ** 2
    # of first c^{2T} + T v: 2 rate first c^{2T} = v
    best = math.log(2.0 * rate * first / variance) / (2.0 * rate)
    return _at_best(
        run, best, lambda T: first * math.exp(-2.0 * rate * T) + T * variance, "Prop sgd-sc-approx"
    )


def sgd_proj_approx(run: NoisySGD, geometry: Geometry) -> Uncertified[Approximation]:
    """[BSA24, Prop sgd-proj-approx]: Thm sgd-proj with its best t - tau, likewise.

    mu^2 = 2 D'^2/T + T v, where v is the squared limit of one C_p(G(2 sqrt(2) s)).
    """
    SGD_PROJ.require(run, geometry)
    steps = steps_of(run, geometry)
    variance, gap = _limit(steps, 2.0 * math.sqrt(2.0)), 2.0 * steps.diameter**2
    best = math.sqrt(gap / variance)
    return _at_best(run, best, lambda T: gap / T + T * variance, "Prop sgd-proj-approx")


def _at_best(
    run: NoisySGD, best: float, square: Callable[[int], float], source: str
) -> Uncertified[Approximation]:
    """The better of the whole numbers around the optimum, among 1 to t."""
    below = max(1, min(run.steps, math.floor(best)))
    T = min((below, min(run.steps, below + 1)), key=square)
    value = Approximation(T, math.sqrt(square(T)))
    return Uncertified(value, "approximation", f"CLT, [BSA24, {source}]")


def _limit(steps: StochasticSteps, factor: float) -> float:
    variance = subsampled_clt(steps.p, factor * steps.s, 1).value.mu ** 2
    if not 0.0 < variance < math.inf:
        raise UnmetHypothesis(
            "sensitivity",
            steps.s,
            "in units of the noise has no central limit in floats",
            "give one that is neither 0 nor huge",
        )
    return variance


def _strongly_convex(run: NoisySGD, geometry: Geometry) -> StochasticSteps:
    require_paper(run, geometry)
    steps = steps_of(run, geometry)
    if not 0.0 < steps.c < 1.0:
        raise UnmetHypothesis(
            "strong_convexity",
            geometry.strong_convexity,
            f"with this learning rate gives contraction {steps.c:g}, not between 0 and 1",
            "change the ridge, or the learning rate",
        )
    return steps
