"""Random batches with several records a person: counts are binomial, laws add up."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy

from shiftdp import Geometry, NoisySGD, certify
from shiftdp.fdp import HiddenReplaceOne, HiddenZeroOut
from shiftdp.last_iterate.certification import bound_by
from shiftdp.last_iterate.theorems.derived.sampled_people import binomial_law, summed_law
from shiftdp.last_iterate.theorems.registry import theorem_of
from tests.last_iterate.theorems import usual

EXAMPLES: usual.Examples = {
    "Theorem V4 (Poisson composition)": (usual.with_people(usual.POISSON), usual.ALONE),
    "Theorem V4 (hidden)": (usual.with_people(usual.POISSON), usual.ALONE),
}

ALONE = Geometry(strong_convexity=0.2, smoothness=1, sensitivity=5, adjacency="zero_out")
EXCHANGED = Geometry(strong_convexity=0.2, smoothness=1, sensitivity=10, gradient_bound=5)
SHAPE: dict[str, Any] = {"n": 200, "batch_size": 10, "learning_rate": 0.1, "noise": 1.0}


def exact_delta(weights: np.ndarray, means: np.ndarray, epsilon: float, both: bool) -> float:
    """Hockey-stick divergence of a mixture of unit Gaussians, worse direction, by quadrature."""
    x = np.linspace(means.min() - 12, means.max() + 12, 200_001)
    first = (weights[:, None] * scipy.stats.norm.pdf(x[None], means[:, None])).sum(axis=0)
    second = scipy.stats.norm.pdf(x)
    if both:
        second = (weights[:, None] * scipy.stats.norm.pdf(x[None], -means[:, None])).sum(axis=0)
    gamma = math.exp(epsilon)
    parts = (np.maximum(p - gamma * q, 0.0) for p, q in ((first, second), (second, first)))
    return max(float(np.trapezoid(part, x)) for part in parts)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_a_step_is_the_mixture_over_the_count(k: int) -> None:
    p, s = 0.3, 0.8
    values, weights = binomial_law(k, p, s)
    counts = scipy.stats.binom.pmf(np.arange(k + 1), k, p)
    assert np.allclose(weights, counts, rtol=1e-8)
    assert all(w >= c for w, c in zip(weights[1:], counts[1:], strict=True))
    for epsilon in (0.1, 1.0):
        exact = exact_delta(counts, s * np.arange(k + 1), epsilon, both=False)
        mine = HiddenZeroOut(values, weights).worse_direction().delta(epsilon)
        assert exact * (1 - 1e-7) <= mine <= exact * (1 + 1e-6)
        exact = exact_delta(counts, s * np.arange(k + 1), epsilon, both=True)
        mine = HiddenReplaceOne(values, weights).delta(epsilon)
        assert exact * (1 - 1e-7) <= mine <= exact * (1 + 1e-6)


@pytest.mark.parametrize("p", [1.0, 1.0 - 1e-12, 1.0 - 1e-5])
def test_records_that_are_almost_always_drawn_have_a_law(p: float) -> None:
    values, weights = binomial_law(3, p, 0.8)
    assert math.fsum(weights) == pytest.approx(1.0, abs=1e-14)
    above, at = np.cumsum(weights[::-1])[::-1], np.array(values)
    for count in range(1, 4):
        exact = scipy.stats.binom.sf(count - 1, 3, p)
        assert above[np.searchsorted(at, 0.8 * count)] >= exact * (1.0 - 1e-12)
    assert HiddenZeroOut(values, weights).worse_direction().delta(1.0) > 0.0


@pytest.mark.parametrize("k", [2, 3])
def test_the_sum_of_laws_dominates_by_enumeration(k: int) -> None:
    mu, weight = (0.0, 0.37, 1.1, 2.9), (0.5, 0.3, 0.15, 0.05)
    values, weights = summed_law(mu, weight, k)
    sums = [(sum(v for v, _ in draw), math.prod(w for _, w in draw))
            for draw in product(zip(mu, weight, strict=True), repeat=k)]  # fmt: skip
    for x in sorted({value for value, _ in sums}):
        true = sum(w for value, w in sums if value >= x)
        mine = sum(w for value, w in zip(values, weights, strict=True) if value >= x)
        assert mine >= true * (1 - 1e-15)
    mean = sum(v * w for v, w in sums)
    assert sum(v * w for v, w in zip(values, weights, strict=True)) <= mean * 1.01


@pytest.mark.parametrize("geometry", [ALONE, EXCHANGED], ids=["zero_out", "replace_one"])
def test_one_record_is_composition_as_before(geometry: Geometry) -> None:
    """Two people of one record each, or one of two: the bound for k = 1 is that of Poisson."""
    run = NoisySGD(**SHAPE, steps=30, sampling="poisson")
    pair = NoisySGD(**SHAPE, steps=30, sampling="poisson", records_per_person=2)
    single = bound_by(theorem_of("Poisson (composition)"), run, geometry, 1e-5)
    double = bound_by(theorem_of("Theorem V4 (Poisson composition)"), pair, geometry, 1e-5)
    grouped = bound_by(theorem_of("Group privacy of Poisson (composition)"), pair, geometry, 1e-5)
    assert single.f.epsilon(1e-5) < double.f.epsilon(1e-5) <= grouped.f.epsilon(1e-5) * 1.001


@pytest.mark.slow
def test_the_last_iterate_of_a_linear_recursion_is_covered() -> None:
    """All patterns of two records in three steps, exactly; the contraction being attained."""
    geometry = Geometry(strong_convexity=0.2, smoothness=0.2, sensitivity=5, adjacency="zero_out")
    run = NoisySGD(
        n=4, batch_size=1, steps=3, learning_rate=1.0, noise=4.0, sampling="poisson",
        records_per_person=2,
    )  # fmt: skip
    certificate = certify(run, geometry)
    certificate.verify()
    c, s, sd, p = 0.8, 5.0, 4.0, 0.25
    weights = np.array([c**2, c, 1.0])
    deviation = sd * math.sqrt(float((weights**2).sum()))
    counts = np.array(list(product(range(3), repeat=3)))
    chance = scipy.stats.binom.pmf(counts, 2, p).prod(axis=1)
    means = (counts * weights * s).sum(axis=1) / deviation
    for epsilon in (0.2, 1.0, 2.0):
        assert (
            certificate.delta(epsilon) >= exact_delta(chance, means, epsilon, both=False) * 0.999999
        )


@pytest.mark.slow
@pytest.mark.parametrize("sampling", ["poisson", "random_allocation", "without_replacement"])
def test_every_sampling_has_a_certificate_that_is_verified(sampling: Any) -> None:
    geometry = EXCHANGED if sampling == "without_replacement" else ALONE
    costs = []
    for k in (1, 2, 3):
        run = NoisySGD(**SHAPE, steps=40, sampling=sampling, records_per_person=k)
        certificate = certify(run, geometry)
        certificate.verify()
        costs.append(certificate.epsilon(1e-5))
    assert costs == sorted(costs)
