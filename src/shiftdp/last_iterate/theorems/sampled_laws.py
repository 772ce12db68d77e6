"""The factors of the bounds on NoisySGD, and their products, every constant rounded up."""

from __future__ import annotations

import math
from collections.abc import Sequence

from shiftdp._errors import InvalidInput
from shiftdp.fdp import GaussianTradeoff, Minimum, TradeoffFunction, WithFailure
from shiftdp.fdp.composition.composite import Composite
from shiftdp.fdp.functions.poisson import PoissonReplaceOne, PoissonZeroOut
from shiftdp.fdp.functions.subsampling import subsample
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisySGD
from shiftdp.last_iterate.theorems.batch_cap import cap_failure
from shiftdp.last_iterate.theorems.proofs import LEAST_SPLIT, MOST_SPLIT, StochasticProof
from shiftdp.last_iterate.theorems.sampled_shifts import (
    UP,
    StochasticSteps,
    capped_steps,
    starts_from_diameter,
    steps_of,
)

__all__ = [
    "accuracy_of",
    "beyond_cap",
    "other_split",
    "poisson_steps",
    "product",
    "series_tail",
    "split_of",
    "subsampled",
]

Groups = Sequence[tuple[float, int]]


def poisson_steps(
    run: NoisySGD, geometry: Geometry, groups: Groups, accuracy: float
) -> TradeoffFunction:
    """Steps under Poisson sampling; zero-out is composed in each direction: the worse counts."""
    steps = steps_of(run, geometry)
    if geometry.adjacency == "replace_one":
        return product([(PoissonReplaceOne(steps.p, a, steps.s), n) for a, n in groups], accuracy)
    there = product([(PoissonZeroOut(steps.p, a, steps.s), n) for a, n in groups], accuracy)
    # first the direction whose losses have no end: it is the worse one almost everywhere
    return there if there.symmetric else Minimum((there.inverse(), there))


def product(parts: Sequence[tuple[TradeoffFunction, int]], accuracy: float) -> TradeoffFunction:
    """The composition: a Gaussian or a single step where it is one, else numerical."""
    factors: dict[TradeoffFunction, int] = {}
    gaussians: list[tuple[GaussianTradeoff, int]] = []
    for f, n in parts:
        plain = _gaussian_form(f)
        if plain is None:
            factors[f] = factors.get(f, 0) + n
        elif plain.mu > 0.0:
            gaussians.append((plain, n))
    if not factors:
        mu = math.hypot(*(f.mu * math.sqrt(n) for f, n in gaussians)) if gaussians else 0.0
        return GaussianTradeoff(mu * UP)
    if not gaussians and list(factors.values()) == [1]:
        return next(iter(factors))
    return Composite((*gaussians, *factors.items()), accuracy)


def _gaussian_form(f: TradeoffFunction) -> GaussianTradeoff | None:
    if isinstance(f, GaussianTradeoff):
        return f
    if isinstance(f, (PoissonZeroOut, PoissonReplaceOne)):
        return f._simple
    return None


def subsampled(p: float, mu: float) -> TradeoffFunction:
    return GaussianTradeoff(0.0) if mu == 0.0 else subsample(GaussianTradeoff(mu), p)


def split_of(proof: StochasticProof) -> float:
    """beta, which has to be in its range."""
    if proof.split is None or not LEAST_SPLIT <= proof.split <= MOST_SPLIT:
        raise InvalidInput(
            "split",
            proof.split,
            "is no split of the noise",
            f"give beta between {LEAST_SPLIT:g} and {MOST_SPLIT:g}",
        )
    return proof.split


def series_tail(steps: StochasticSteps, count: int) -> float:
    """s (c^{T+1} - c^t)/(1 - c), rounded up; not below 0."""
    if steps.c == 0.0 or count + 1 >= steps.steps:
        return 0.0
    log_c = math.log(steps.c)
    series = math.expm1((steps.steps - count - 1) * log_c) / math.expm1(log_c)
    return steps.s * math.exp((count + 1) * log_c) * series * (1.0 + 1e-12)


def other_split(beta: float) -> float:
    """alpha with 1/alpha^2 + 1/beta^2 = 1, rounded up."""
    return beta / math.sqrt((beta - 1.0) * (beta + 1.0)) * UP


def beyond_cap(run: NoisySGD, geometry: Geometry, proof: StochasticProof) -> float:
    """The probability that the batch cap is passed in a step that counts."""
    if proof.cap is None:
        raise InvalidInput("cap", None, "is missing", "give a batch cap")
    steps, tau = capped_steps(run, geometry, proof.cap), proof.tau
    count = run.steps - tau if starts_from_diameter(steps, tau) else run.steps
    return cap_failure(run.n, steps.p, proof.cap, count)


def accuracy_of(f: TradeoffFunction) -> float:
    """The accuracy to which a bound was composed; any number where it was not."""
    if isinstance(f, Composite):
        return f.accuracy
    if isinstance(f, Minimum):
        return accuracy_of(f.components[0])
    return accuracy_of(f.base) if isinstance(f, WithFailure) else 1e-3
