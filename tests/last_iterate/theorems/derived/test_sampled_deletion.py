"""Deletion after sampled training, against exact laws over all patterns of participation."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from shiftdp import (
    Certificate,
    Geometry,
    NoisySGD,
    Unlearning,
    UnmetHypothesis,
    VerificationFailed,
    certify,
)
from shiftdp.last_iterate import THEOREMS
from shiftdp.last_iterate.certification import bound_by, certificate_of, evaluate
from shiftdp.last_iterate.theorems.derived import sampled_deletion as module
from shiftdp.last_iterate.theorems.derived.sampled_deletion import shared_cap
from shiftdp.last_iterate.theorems.sampled.batch_cap import passed

EPSILONS = (0.0, 0.1, 0.5, 1.0, 2.0)
ALONE: dict[str, Any] = {"sensitivity": 1.0, "adjacency": "zero_out"}
BOTH: dict[str, Any] = {"sensitivity": 2.0, "gradient_bound": 1.0}
KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "poisson, zero_out": ("poisson", ALONE),
    "poisson, replace_one": ("poisson", BOTH),
    "random allocation": ("random_allocation", ALONE),
    "without replacement": ("without_replacement", BOTH),
}


def patterns(run: NoisySGD, records: int = 1) -> list[tuple[float, Any]]:
    """All counts of a person's records in the steps of training, with their probabilities."""
    T = run.steps
    if run.sampling == "random_allocation":
        l = run.batches  # noqa: E741
        places = itertools.product(range(l), repeat=T // l)
        one = [
            (float(l) ** -(T // l), np.bincount([e * l + j for e, j in enumerate(place)], None, T))
            for place in places
        ]
    else:
        p = run.batch_size / run.n
        one = [
            (math.prod(p if bit else 1 - p for bit in bits), np.array(bits))
            for bits in itertools.product((0, 1), repeat=T)
        ]
    found: list[tuple[float, Any]] = list(one)
    for _ in range(records - 1):
        found = [(p * q, v + w) for p, v in found for q, w in one]
    return found


def exact_deltas(run: Unlearning, geometry: Geometry, rounding: float = 0.0) -> list[float]:
    """Of ridge losses with a constant slope beside it: linear steps, so that laws are mixtures.

    A rounded restart moves the two runs apart by `rounding`, whatever they have come to: more than
    a grid can do, and covered by every bound that follows the steps.
    """
    training: Any = run.training
    eta, m = training.learning_rate, geometry.strong_convexity
    c, steps = 1.0 - eta * m, training.steps + run.further_steps
    weight = c ** np.arange(steps - 1, -1, -1.0)
    sd = eta * training.noise * math.sqrt(float(np.sum(weight**2)))
    moved = rounding * c**run.further_steps
    s = eta / training.batch_size * weight[: training.steps] / sd
    cases = patterns(training, max(run.records, training.records_per_person))
    chance = np.array([p for p, _ in cases])
    mean = np.array([float(s @ v) for _, v in cases])
    x = np.linspace(-12.0, 12.0 + 2.0 * float(mean.max()), 6001)
    shift = moved / sd
    with_it = chance @ norm.pdf(x[None, :] - mean[:, None] - shift)
    without = norm.pdf(x)
    if geometry.adjacency == "replace_one":
        without = chance @ norm.pdf(x[None, :] + mean[:, None])
    width = x[1] - x[0]
    return [
        max(
            float(np.maximum(with_it - math.exp(e) * without, 0.0).sum()) * width,
            float(np.maximum(without - math.exp(e) * with_it, 0.0).sum()) * width,
        )
        for e in EPSILONS
    ]


def small(kind: str, T: int, K: int, m: float, noise: float, **more: Any) -> Any:
    sampling, losses = KINDS[kind]
    steps = T - T % 3 or 3 if sampling == "random_allocation" else T
    training = NoisySGD(
        n=6, batch_size=2, steps=steps, learning_rate=0.5, noise=noise, sampling=sampling
    )
    # a batch of all six records contracts as well
    geometry = Geometry(strong_convexity=m, smoothness=m + 0.2, **losses)
    return Unlearning(training=training, further_steps=K, **more), geometry


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(sorted(KINDS)),
    st.integers(1, 6),
    st.integers(1, 30),
    st.sampled_from([0.0, 0.01, 0.1, 0.3, 0.6, 1.0]),
    st.floats(0.3, 3.0),
    st.sampled_from([0.0, 0.02]),
)
def test_exact_laws_are_a_floor(
    kind: str, T: int, K: int, m: float, noise: float, grid: float
) -> None:
    run, geometry = small(kind, T, K, m, noise, grid=grid)
    certificate = certify(run, geometry)
    if certificate.bound.startswith("Theorem V3 (after"):
        grid = 0.0  # rounding is post-processing of training, and cannot move the runs by choice
    for epsilon, exact in zip(EPSILONS, exact_deltas(run, geometry, grid), strict=True):
        assert certificate.delta(epsilon) >= exact * (1 - 1e-6) - 1e-9


@pytest.mark.parametrize("base", ["Theorem B3", "Theorem B3 (Poisson)", "Theorem B6", "Theorem B7"])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_each_theorem_by_itself_is_above_exact_laws(base: str, kind: str) -> None:
    (theorem,) = (item for item in THEOREMS if item.name == f"Theorem V3 ({base})")
    tried = 0
    for T, K, m, noise in ((4, 1, 0.5, 1.0), (6, 8, 0.3, 0.6), (6, 40, 0.1, 1.5)):
        run, geometry = small(kind, T, K, m, noise)
        try:
            bound = bound_by(theorem, run, geometry, 1e-3)
        except UnmetHypothesis:
            continue
        certificate = certificate_of(bound, run, geometry)
        Certificate.from_json(certificate.to_json()).verify()
        tried += 1
        for epsilon, exact in zip(EPSILONS, exact_deltas(run, geometry), strict=True):
            assert certificate.delta(epsilon) >= exact * (1 - 1e-6) - 1e-9
    known = base == "Theorem B7" or kind != "random allocation"
    assert tried == 3 or not known or ("Poisson" in base) != kind.startswith("poisson")


@pytest.mark.parametrize("kind", ["poisson, zero_out", "poisson, replace_one", "random allocation"])
def test_a_person_and_several_records(kind: str) -> None:
    run, geometry = small(kind, 3, 6, 0.4, 1.0, records=2)
    certificate = certify(run, geometry)
    assert certificate.bound == "Theorem V3 (Theorem V4 (hidden))"
    certificate.verify()
    for epsilon, exact in zip(EPSILONS, exact_deltas(run, geometry), strict=True):
        assert certificate.delta(epsilon) >= exact * (1 - 1e-6) - 1e-9
    person = type(run.training)(**{**vars(run.training), "records_per_person": 2})
    same = certify(Unlearning(training=person, further_steps=6), geometry)
    assert same.delta(0.5) == pytest.approx(certificate.delta(0.5), rel=1e-9)


def test_the_bound_is_close_to_an_exact_law_of_one_participation() -> None:
    """One step of training: the pair of Theorem B7 is attained, whatever follows."""
    run, geometry = small("poisson, zero_out", 1, 9, 0.5, 0.4)
    certificate = certify(run, geometry)
    for epsilon, exact in zip(EPSILONS, exact_deltas(run, geometry), strict=True):
        assert certificate.delta(epsilon) == pytest.approx(exact, rel=2e-3, abs=1e-8)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_further_steps_gain_and_none_is_the_certificate_of_training(kind: str) -> None:
    sampling, losses = KINDS[kind]
    training = NoisySGD(
        n=400, batch_size=20, steps=60, learning_rate=0.3, noise=0.3, sampling=sampling
    )
    geometry = Geometry(strong_convexity=0.3, smoothness=0.8, **losses)
    costs = [
        certify(Unlearning(training=training, further_steps=k), geometry).epsilon(1e-5)
        for k in (0, 5, 40, 200)
    ]
    assert costs[0] == pytest.approx(certify(training, geometry).epsilon(1e-5), rel=1e-9)
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < 1e-3 * costs[0]


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("contraction", [0.999, 0.7])
def test_theorems_that_are_not_tried_would_gain_little(kind: str, contraction: float) -> None:
    """Estimates decide between bounds that are within about a per cent of each other."""
    sampling, losses = KINDS[kind]
    training = NoisySGD(
        n=160, batch_size=8, steps=20, learning_rate=0.3, noise=0.3, sampling=sampling
    )
    geometry = Geometry(strong_convexity=(1 - contraction) / 0.3, smoothness=1.5, **losses)
    run = Unlearning(training=training, further_steps=4)
    least = min(bound.f.epsilon(1e-5) for bound in evaluate(run, geometry).found)
    assert certify(run, geometry).epsilon(1e-5) <= 1.02 * least


def test_a_cap_covers_further_steps_too() -> None:
    training = NoisySGD(
        n=400, batch_size=20, steps=60, learning_rate=0.9, noise=0.3, sampling="poisson",
        batch_cap=60,
    )  # fmt: skip
    geometry = Geometry(strong_convexity=0.3, smoothness=0.8, **ALONE)
    run = Unlearning(training=training, further_steps=50)
    certificate = certify(run, geometry)
    failure = certificate.f.split_failure()[1]
    assert shared_cap(run, geometry, 1e-5) == 60
    both = passed(training, 60, 60) + passed(training, 60, 50)
    assert failure == pytest.approx(both, rel=1e-9)
    assert failure > passed(training, 60, 60)
    # the probability that training alone passes it is too little
    low = replace(certificate, f=type(certificate.f)(certificate.f.split_failure()[0], failure / 2))  # type: ignore[call-arg]
    with pytest.raises(VerificationFailed):
        low.verify()
    with pytest.raises(VerificationFailed):
        replace(certificate, run=Unlearning(training=training, further_steps=60)).verify()
    (theorem,) = (item for item in THEOREMS if item.name == "Theorem V3 (Theorem B7)")
    often = Unlearning(training=training, further_steps=10**12)
    with pytest.raises(UnmetHypothesis, match="batch_cap"):
        theorem.bound(often, geometry, 1e-15)


def test_a_long_training_is_merged_once() -> None:
    """All noises of training are listed for it: that is not to be done for each theorem."""
    module.merged_run.cache_clear()
    training = NoisySGD(n=1_000, batch_size=25, steps=200, learning_rate=0.1, noise=0.05)
    losses = Geometry(strong_convexity=0.1, smoothness=1.0, sensitivity=1.0)
    assert certify(Unlearning(training=training, further_steps=3), losses).epsilon(1e-5) > 0.0
    assert module.merged_run.cache_info().misses == 1
