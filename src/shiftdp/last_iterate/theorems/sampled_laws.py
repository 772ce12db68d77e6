"""The tradeoff functions of the bounds on NoisySGD, from the parameters that prove them.

With p = b/n, s = L/(b sigma), D' = D/(eta sigma), c the Lipschitz constant of a step and
T = t - tau steps looked back:

    [BSA24, Thm sgd]       C_p(G(s))^t
    [BSA24, Thm sgd-sc]    G(2 alpha s (c^{T+1} - c^t)/(1-c)) (x) C_p(G(2 beta s)) (x) C_p(G(2 s))^T
    [BSA24, Thm sgd-proj]  G(alpha D'/sqrt(T)) (x) C_p(G(2 beta s))^T
    [Theorem B3]           S_p(a_{tau+1}, s) (x) ... (x) S_p(a_t, s)

for any tau, any split 1/alpha^2 + 1/beta^2 = 1 of the noise, and any shifts that
`stochastic_shifts` allows. Poisson sampling has other laws of a step (see `fdp.poisson`) and needs
a batch cap as soon as contraction is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from shiftdp._errors import InvalidInput
from shiftdp.fdp import GaussianTradeoff, Minimum, TradeoffFunction, WithFailure
from shiftdp.fdp.composition.composite import Composite
from shiftdp.fdp.functions.poisson import PoissonReplaceOne, PoissonZeroOut
from shiftdp.fdp.functions.shifted_subsampling import shifted_subsampled
from shiftdp.fdp.functions.subsampling import subsample
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.sampled_run import NoisySGD
from shiftdp.last_iterate.theorems.batch_cap import cap_failure
from shiftdp.last_iterate.theorems.sampled_shifts import (
    LEAST_SPLIT,
    MOST_SPLIT,
    UP,
    StochasticProof,
    StochasticSteps,
    starts_from_diameter,
    steps_of,
)

__all__ = [
    "accuracy_of",
    "beyond_cap",
    "capped_steps",
    "composition_of",
    "gap_proj",
    "gap_sc",
    "other_split",
    "product",
    "rebuild",
    "series_tail",
    "subsampled",
]

Groups = Sequence[tuple[float, int]]
Builder = Callable[[NoisySGD, Geometry, StochasticProof, float], TradeoffFunction]


def rebuild(
    name: str, run: NoisySGD, geometry: Geometry, proof: StochasticProof | None, accuracy: float
) -> TradeoffFunction:
    """The tradeoff function of the named theorem with these parameters."""
    return _BUILDERS[name](run, geometry, proof or StochasticProof(0), accuracy)


def composition_of(run: NoisySGD, geometry: Geometry) -> TradeoffFunction:
    """All steps composed, which asks nothing of the losses but their sensitivity."""
    name = "Poisson (composition)" if run.sampling == "poisson" else "Thm sgd (composition)"
    return rebuild(name, run, geometry, None, 1e-3)


def _build_sgd(
    run: NoisySGD, geometry: Geometry, _: StochasticProof, acc: float
) -> TradeoffFunction:
    steps = steps_of(run, geometry)
    return product([(subsampled(steps.p, steps.s), steps.steps)], acc)


def _build_poisson(
    run: NoisySGD, geometry: Geometry, _: StochasticProof, accuracy: float
) -> TradeoffFunction:
    return _poisson(run, geometry, ((0.0, run.steps),), accuracy)


def _build_sc(
    run: NoisySGD, geometry: Geometry, proof: StochasticProof, accuracy: float
) -> TradeoffFunction:
    steps, beta = steps_of(run, geometry), _split(proof)
    parts = [
        (GaussianTradeoff(gap_sc(steps, proof)), 1),
        (subsampled(steps.p, 2.0 * beta * steps.s * UP), 1),
        (subsampled(steps.p, 2.0 * steps.s), steps.steps - proof.tau),
    ]
    return product(parts, accuracy)


def gap_sc(steps: StochasticSteps, proof: StochasticProof) -> float:
    """mu of the Gaussian factor of Thm sgd-sc, rounded up."""
    return 2.0 * other_split(_split(proof)) * series_tail(steps, steps.steps - proof.tau) * UP


def _build_proj(
    run: NoisySGD, geometry: Geometry, proof: StochasticProof, accuracy: float
) -> TradeoffFunction:
    steps, beta = steps_of(run, geometry), _split(proof)
    parts = [
        (GaussianTradeoff(gap_proj(steps, proof)), 1),
        (subsampled(steps.p, 2.0 * beta * steps.s * UP), steps.steps - proof.tau),
    ]
    return product(parts, accuracy)


def gap_proj(steps: StochasticSteps, proof: StochasticProof) -> float:
    """mu of the Gaussian factor of Thm sgd-proj, rounded up."""
    count = steps.steps - proof.tau
    return other_split(_split(proof)) * steps.diameter / math.sqrt(count) * UP


def _build_b3(
    run: NoisySGD, geometry: Geometry, proof: StochasticProof, accuracy: float
) -> TradeoffFunction:
    steps = steps_of(run, geometry)
    laws = [(shifted_subsampled(steps.p, a, steps.s), n) for a, n in proof.groups]
    return product(laws, accuracy)


def _build_b3_poisson(
    run: NoisySGD, geometry: Geometry, proof: StochasticProof, accuracy: float
) -> TradeoffFunction:
    if proof.cap is None:
        raise InvalidInput("cap", None, "is missing", "give a batch cap")
    f = _poisson(run, geometry, proof.groups, accuracy)
    steps = capped_steps(run, geometry, proof.cap)
    failure = beyond_cap(run, steps, proof.cap, proof.tau)
    return WithFailure(f, failure) if failure > 0.0 else f


_BUILDERS: dict[str, Builder] = {
    "Thm sgd (composition)": _build_sgd,
    "Poisson (composition)": _build_poisson,
    "Thm sgd-sc": _build_sc,
    "Thm sgd-proj": _build_proj,
    "Theorem B3": _build_b3,
    "Theorem B3 (Poisson)": _build_b3_poisson,
}


def _poisson(
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


def series_tail(steps: StochasticSteps, count: int) -> float:
    """s (c^{T+1} - c^t)/(1 - c), rounded up; not below 0."""
    if steps.c == 0.0 or count + 1 >= steps.steps:
        return 0.0
    log_c = math.log(steps.c)
    series = math.expm1((steps.steps - count - 1) * log_c) / math.expm1(log_c)
    return steps.s * math.exp((count + 1) * log_c) * series * (1.0 + 1e-12)


def _split(proof: StochasticProof) -> float:
    if proof.split is None or not LEAST_SPLIT <= proof.split <= MOST_SPLIT:
        raise InvalidInput(
            "split",
            proof.split,
            "is no split of the noise",
            f"give beta between {LEAST_SPLIT:g} and {MOST_SPLIT:g}",
        )
    return proof.split


def other_split(beta: float) -> float:
    """alpha with 1/alpha^2 + 1/beta^2 = 1, rounded up."""
    return beta / math.sqrt((beta - 1.0) * (beta + 1.0)) * UP


def capped_steps(run: NoisySGD, geometry: Geometry, cap: int) -> StochasticSteps:
    """The steps with at most B records: smoothness m + B M_l / b, rounded up."""
    m = geometry.strong_convexity
    own = (geometry.smoothness - m) * UP
    return steps_of(run, geometry, m + min(cap, run.n) / run.batch_size * own * UP)


def beyond_cap(run: NoisySGD, steps: StochasticSteps, cap: int, tau: int) -> float:
    """The probability that the cap is passed in a step that counts."""
    count = run.steps - tau if starts_from_diameter(steps, tau) else run.steps
    return cap_failure(run.n, steps.p, cap, count)


def accuracy_of(f: TradeoffFunction) -> float:
    """The accuracy to which a bound was composed; any number where it was not."""
    if isinstance(f, Composite):
        return f.accuracy
    if isinstance(f, Minimum):
        return accuracy_of(f.components[0])
    return accuracy_of(f.base) if isinstance(f, WithFailure) else 1e-3
