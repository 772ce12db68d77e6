"""Theorem V4 against exact linear recursions, its figures, and what must not change."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from shiftdp import (
    Geometry,
    InvalidInput,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    VerificationFailed,
    certify,
    compare,
)
from shiftdp.last_iterate.certification import mu_by_position
from shiftdp.last_iterate.theorems.derived.people import scaled_losses
from tests.last_iterate.theorems import usual

ARRANGED = NoisyCGD(**usual.CYCLIC, epochs=6, **usual.SEVERAL, arrangement="one_per_batch")
EXAMPLES: usual.Examples = {
    "Theorem V4": (ARRANGED, usual.RIDGE),
    "Theorem V4 (composition, one per batch)": (ARRANGED, usual.RIDGE),
}

MNIST = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
SHAPE: dict[str, Any] = {
    "n": 60_000, "batch_size": 1_500, "epochs": 50, "learning_rate": 0.05, "noise": 0.01,
}  # fmt: skip


@pytest.mark.parametrize(
    ("k", "anywhere", "apart"), [(2, 1.985, 1.7468), (5, 4.9625, 3.9677), (10, 9.925, 7.6520)]
)
def test_the_figures_of_the_mnist_setting(k: int, anywhere: float, apart: float) -> None:
    together = certify(NoisyCGD(**SHAPE, records_per_person=k), MNIST)
    assert together.mu == pytest.approx(anywhere, abs=1e-4)
    one = certify(NoisyCGD(**SHAPE, records_per_person=k, arrangement="one_per_batch"), MNIST)
    assert one.mu == pytest.approx(apart, abs=6e-5)
    for certificate in (together, one):
        certificate.verify()
        assert certificate.lower_mu == pytest.approx(certificate.mu, rel=1e-9)


@pytest.mark.parametrize("order", ["fixed", "shuffled_once", "reshuffled"])
def test_one_record_a_person_changes_nothing(order: Any) -> None:
    plain = certify(NoisyCGD(**SHAPE, order=order), MNIST)
    for arrangement in ("anywhere", "one_per_batch"):
        run = NoisyCGD(
            **SHAPE,
            order=order,
            records_per_person=1,
            arrangement=arrangement,
        )
        assert certify(run, MNIST).to_json() == plain.to_json()


def test_no_linear_recursion_leaks_more_than_is_certified() -> None:
    """Thousands of instances: random positions, slopes and signs; two Gaussians each."""
    rng = np.random.default_rng(7)
    for _ in range(40):
        l, epochs, k = int(rng.integers(2, 6)), int(rng.integers(1, 5)), 2  # noqa: E741
        steps = l * epochs - int(rng.integers(0, l))
        apart = bool(rng.integers(2))
        run = NoisyCGD(
            n=3 * l, batch_size=3, steps=steps, learning_rate=0.4, noise=0.7,
            records_per_person=k, arrangement="one_per_batch" if apart else "anywhere",
        )  # fmt: skip
        geometry = Geometry(
            strong_convexity=float(rng.uniform(0.0, 1.0)), smoothness=4.9, sensitivity=1.0
        )
        mu = certify(run, geometry).mu
        assert mu is not None
        c, s, sd = geometry.contraction(0.4), 0.4 / 3, 0.4 * 0.7
        many = 100
        slopes = rng.uniform(0.0, c, (many, steps)) ** rng.integers(0, 2, (many, 1)) * 1.0
        slopes = np.where(rng.random((many, 1)) < 0.5, c, np.minimum(slopes, c))
        weights = np.cumprod(np.hstack([np.ones((many, 1)), slopes[:, :0:-1]]), axis=1)[:, ::-1]
        places = np.stack([rng.permutation(l)[:k] for _ in range(many)])
        if not apart:
            places = rng.integers(0, l, (many, k))
        counts = (places[:, :, None] == np.arange(steps) % l).sum(axis=1)
        means = (weights * counts * s).sum(axis=1)
        exact = means / (sd * np.sqrt((weights**2).sum(axis=1)))
        assert float(exact.max()) <= mu


def test_random_orders_are_between_one_record_and_the_worst_case() -> None:
    for order in ("shuffled_once", "reshuffled"):
        costs = []
        for arrangement in ("one_per_batch", "anywhere"):
            run = NoisyCGD(
                **SHAPE,
                order=order,
                records_per_person=3,
                arrangement=arrangement,
            )
            certificate = certify(run, MNIST)
            certificate.verify()
            costs.append(certificate.epsilon(1e-5))
        worst = certify(NoisyCGD(**SHAPE, records_per_person=3), MNIST).epsilon(1e-5)
        assert certify(NoisyCGD(**SHAPE), MNIST).epsilon(1e-5) < costs[0] < costs[1] < worst


@pytest.mark.parametrize("diameter", [math.inf, 0.05])
def test_full_batches_and_bounded_sets(diameter: float) -> None:
    geometry = Geometry(strong_convexity=0, smoothness=4, sensitivity=3, diameter=diameter)
    shape: dict[str, Any] = {"n": 30, "steps": 40, "learning_rate": 0.2, "noise": 0.4}
    one, three = (certify(NoisyGD(**shape, records_per_person=k), geometry) for k in (1, 3))
    three.verify()
    assert one.mu is not None
    assert three.mu is not None
    assert three.mu <= 3 * one.mu * (1 + 1e-12)
    # the set bounds what three records can do
    assert (three.mu < 2.9 * one.mu) == math.isfinite(diameter)


def test_steps_that_expand_rely_on_group_privacy() -> None:
    shape: dict[str, Any] = {"n": 30, "batch_size": 10, "epochs": 6, "noise": 0.4}
    rates = [0.2 * 0.97**k for k in range(18)]
    geometry = Geometry(strong_convexity=0.1, smoothness=4, sensitivity=3)
    run = NoisyCGD(**shape, learning_rate=rates, records_per_person=2, arrangement="one_per_batch")
    certificate = certify(run, geometry)
    certificate.verify()
    assert certificate.bound == "Group privacy of Theorem B1"
    one = certify(NoisyCGD(**shape, learning_rate=rates), geometry)
    assert certificate.mu == pytest.approx(2 * (one.mu or 0.0), rel=1e-12)


def test_a_certificate_of_fewer_records_is_refused() -> None:
    two = NoisyCGD(**SHAPE, records_per_person=2, arrangement="one_per_batch")
    three = NoisyCGD(**SHAPE, records_per_person=3, arrangement="one_per_batch")
    with pytest.raises(VerificationFailed):
        replace(certify(two, MNIST), run=three).verify()
    with pytest.raises(VerificationFailed):
        replace(certify(NoisyCGD(**SHAPE), MNIST), run=three).verify()


@pytest.mark.slow
def test_a_certificate_of_a_smaller_group_is_refused() -> None:
    group = NoisySGD(n=100, batch_size=5, steps=20, learning_rate=0.05, noise=1.0)
    losses = Geometry(strong_convexity=0.1, smoothness=4, sensitivity=3)
    pair = NoisySGD(**{**vars(group), "records_per_person": 2})
    three = NoisySGD(**{**vars(group), "records_per_person": 3})
    with pytest.raises(VerificationFailed):
        replace(certify(pair, losses), run=three).verify()


def test_runs_without_end_are_covered() -> None:
    endless = {**SHAPE, "epochs": math.inf}
    run = NoisyCGD(**endless, records_per_person=3, arrangement="one_per_batch")
    certificate = certify(run, MNIST)
    certificate.verify()
    long = {**SHAPE, "epochs": 5000}
    finite = certify(NoisyCGD(**long, records_per_person=3, arrangement="one_per_batch"), MNIST)
    assert certificate.mu == pytest.approx(finite.mu, rel=1e-6)
    assert (certificate.mu or 0.0) >= (finite.mu or 0.0) * (1 - 1e-11)


def test_everybody_is_compared_alike() -> None:
    table = compare(NoisyCGD(**SHAPE, records_per_person=2), MNIST, delta=1e-5)
    assert table["prior Renyi"].epsilon is not None
    assert table["composition"].mu == pytest.approx(2 * 4.714045, rel=1e-6)
    apart = NoisyCGD(**SHAPE, records_per_person=2, arrangement="one_per_batch")
    table = compare(apart, MNIST, delta=1e-5)
    assert table["composition"].mu == pytest.approx(math.sqrt(2) * 4.714045, rel=1e-6)
    assert table["prior Renyi"].epsilon is None


def test_scaled_losses_are_rounded_to_the_safe_side() -> None:
    tenth = Geometry(strong_convexity=0, smoothness=1, sensitivity=0.1)
    assert scaled_losses(tenth, 3).sensitivity >= 0.3
    assert scaled_losses(tenth, 3, side=-math.inf).sensitivity <= 0.30000000000000004


def test_people_have_no_position() -> None:
    run = NoisyCGD(**SHAPE, records_per_person=2)
    with pytest.raises(InvalidInput, match="records_per_person"):
        mu_by_position(run, MNIST)
