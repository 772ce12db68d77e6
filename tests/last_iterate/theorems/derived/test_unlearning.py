"""Theorem V3 against exact laws of retraining, its figures, and what must not change."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from shiftdp import (
    Certificate,
    Geometry,
    InvalidInput,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    Unlearning,
    VerificationFailed,
    certify,
)
from tests.last_iterate.theorems import usual

EXAMPLES: usual.Examples = {"Theorem V3": (usual.deleted(usual.CGD), usual.RIDGE)}

MNIST = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
SHAPE: dict[str, Any] = {
    "n": 60_000, "batch_size": 1_500, "epochs": 50, "learning_rate": 0.05, "noise": 0.01,
}  # fmt: skip
RUN = NoisyCGD(**SHAPE)


@pytest.mark.parametrize(
    ("epochs", "mu", "epsilon"),
    [
        (0, 0.9925, 4.339),
        (1, 0.7424, 3.111),
        (5, 0.7083, 2.949),
        (10, 0.6704, 2.771),
        (50, 0.4738, 1.877),
        (200, 0.2070, 0.753),
    ],
)
def test_the_figures_of_the_mnist_setting(epochs: int, mu: float, epsilon: float) -> None:
    certificate = certify(Unlearning(training=RUN, further_epochs=epochs), MNIST)
    assert certificate.mu == pytest.approx(mu, abs=5e-5)
    assert certificate.epsilon(1e-5) == pytest.approx(epsilon, abs=6e-4)
    assert certificate.lower_mu == pytest.approx(certificate.mu, rel=1e-9)
    Certificate.from_json(certificate.to_json()).verify()


@pytest.mark.parametrize("order", ["fixed", "shuffled_once", "reshuffled"])
def test_no_further_step_is_the_certificate_of_training(order: Any) -> None:
    training = NoisyCGD(**SHAPE, order=order)
    certificate = certify(Unlearning(training=training, further_steps=0), MNIST)
    assert certificate.f == certify(training, MNIST).f


def test_sampled_training_without_further_steps() -> None:
    training = NoisySGD(n=500, batch_size=10, steps=60, learning_rate=0.05, noise=0.5)
    geometry = Geometry(strong_convexity=0.5, smoothness=4, sensitivity=3)
    plain = certify(training, geometry).epsilon(1e-5)
    costs = [
        certify(Unlearning(training=training, further_steps=k), geometry).epsilon(1e-5)
        for k in (0, 5, 100, 400)
    ]
    assert costs[0] == pytest.approx(plain, rel=1e-9)
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < 0.1


def test_exact_laws_of_retraining_are_never_closer_than_certified() -> None:
    """Linear recursions with and without the records: thousands of pairs of Gaussians."""
    rng = np.random.default_rng(11)
    for _ in range(60):
        l, T, K = int(rng.integers(1, 5)), int(rng.integers(1, 12)), int(rng.integers(1, 9))  # noqa: E741
        records, grid = int(rng.integers(1, 3)), float(rng.choice([0.0, 0.05]))
        geometry = Geometry(
            strong_convexity=float(rng.uniform(0.0, 1.0)), smoothness=4.9, sensitivity=1.0
        )
        training = NoisyCGD(n=3 * l, batch_size=3, steps=T, learning_rate=0.4, noise=0.7)
        run = Unlearning(
            training=training, further_steps=K, records=records, grid=grid, dimension=4
        )
        certificate = certify(run, geometry)
        certificate.verify()
        c, s, sd, many = geometry.contraction(0.4), 0.4 / 3, 0.4 * 0.7, 60
        slopes = np.where(rng.random((many, T + K)) < 0.6, c, rng.uniform(0, c, (many, T + K)))
        slopes[0] = c
        weights = np.cumprod(np.hstack([np.ones((many, 1)), slopes[:, :0:-1]]), axis=1)[:, ::-1]
        step = np.arange(T + K)
        places = rng.integers(0, l, (many, records))
        counts = ((places[:, :, None] == step % l) & (step < T)).sum(axis=1)
        # in one dimension rounding moves two points by the mesh at most
        moved = counts * s + np.where(step == T, slopes * grid, 0.0)
        exact = (weights * moved).sum(axis=1) / (sd * np.sqrt((weights**2).sum(axis=1)))
        assert certificate.mu is not None
        assert float(exact.max()) <= certificate.mu


def test_several_requests_against_exact_laws() -> None:
    rng = np.random.default_rng(3)
    geometry = Geometry(strong_convexity=0.4, smoothness=4.9, sensitivity=1.0)
    training = NoisyCGD(n=9, batch_size=3, epochs=4, learning_rate=0.4, noise=0.7)
    run = Unlearning(training=training, further_steps=12, later_requests=[(4, 1), (7, 2)])
    certificate = certify(run, geometry)
    Certificate.from_json(certificate.to_json()).verify()
    alone = certify(Unlearning(training=training, further_steps=12), geometry)
    assert certificate.mu is not None
    assert alone.mu is not None
    assert certificate.mu > alone.mu
    c, s, sd, t = geometry.contraction(0.4), 0.4 / 3, 0.4 * 0.7, 24
    step = np.arange(t)
    for _ in range(300):
        slopes = np.where(rng.random(t) < 0.7, c, rng.uniform(0, c, t))
        weights = np.append(np.cumprod(slopes[:0:-1])[::-1], 1.0)
        moved = np.zeros(t)
        for end, records in ((12, 1), (16, 1), (19, 2)):
            for place in rng.integers(0, 3, records):
                moved += np.where((step % 3 == place) & (step < end), s, 0.0)
        assert (weights * moved).sum() / (sd * np.linalg.norm(weights)) <= certificate.mu


def test_more_steps_forget_more_and_more_records_are_harder_to_forget() -> None:
    mus = [
        certify(Unlearning(training=RUN, further_steps=k), MNIST).mu or 0 for k in range(1, 400, 57)
    ]
    assert mus == sorted(mus, reverse=True)
    three = certify(Unlearning(training=RUN, further_epochs=10, records=3), MNIST)
    one = certify(Unlearning(training=RUN, further_epochs=10), MNIST)
    assert three.mu == pytest.approx(3 * (one.mu or 0), rel=1e-9)


def test_a_person_is_deleted_as_a_whole() -> None:
    training = NoisyCGD(**SHAPE, records_per_person=2, arrangement="one_per_batch")
    certificate = certify(Unlearning(training=training, further_epochs=10), MNIST)
    certificate.verify()
    one = certify(Unlearning(training=RUN, further_epochs=10), MNIST)
    assert (one.mu or 0) < (certificate.mu or 0) <= 2 * (one.mu or 0)
    with pytest.raises(InvalidInput, match="records"):
        Unlearning(training=training, further_epochs=1, records=2)


def test_a_certificate_of_another_deletion_is_refused() -> None:
    certificate = certify(Unlearning(training=RUN, further_steps=400), MNIST)
    for other in (
        Unlearning(training=RUN, further_steps=399),
        Unlearning(training=RUN, further_steps=400, records=2),
        Unlearning(training=RUN, further_steps=400, grid=1e-5, dimension=100),
        Unlearning(training=RUN, further_steps=400, noise=0.009),
        Unlearning(training=NoisyCGD(**SHAPE, order="reshuffled"), further_steps=400),
    ):
        with pytest.raises(VerificationFailed):
            replace(certificate, run=other).verify()


def test_bounded_sets_forget_from_the_diameter() -> None:
    ball = Geometry(strong_convexity=0, smoothness=4, sensitivity=3, diameter=0.05)
    training = NoisyGD(n=30, steps=500, learning_rate=0.2, noise=0.4)
    costs = [
        certify(Unlearning(training=training, further_steps=k), ball).mu or 0 for k in (1, 100)
    ]
    assert costs[1] <= 0.05 / (0.2 * 0.4 * 10) * (1 + 1e-9)
    assert costs[0] > costs[1]


def test_a_million_steps_take_little() -> None:
    for training in (
        NoisyGD(n=1500, steps=10**6, learning_rate=0.05, noise=0.01),
        NoisyCGD(**{**SHAPE, "epochs": 25_000}),
    ):
        began = time.process_time()
        certificate = certify(Unlearning(training=training, further_steps=10**6), MNIST)
        assert time.process_time() - began < 2.0
        assert certificate.bound == "Theorem V3"


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidInput, match="training"):
        Unlearning(training=MNIST, further_steps=1)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="further_steps, further_epochs"):
        Unlearning(training=RUN)
    with pytest.raises(InvalidInput, match="later_requests"):
        Unlearning(training=RUN, further_steps=5, later_requests=[(6, 1)])


@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize("diameter", [np.inf, 0.5])
def test_a_prox_counts_with_the_rate_of_its_own_step(batch_size: int, diameter: float) -> None:
    # prox, step, prox: the first one contracts by 1 + 3/10, not by the 1 + 3 of the further step
    training = NoisySGD(n=4, batch_size=batch_size, steps=1, learning_rate=0.1, noise=1.0)
    losses = Geometry(
        strong_convexity=0, smoothness=1, sensitivity=1, prox_convexity=3.0, diameter=diameter
    )
    run = Unlearning(training=training, further_steps=1, learning_rate=1.0, noise=0.3)
    certificate = certify(run, losses)
    distance = 0.1 / batch_size / 1.3
    mu = distance / np.hypot(0.1 / 1.3, 0.3)
    # of a linear instance, total variation: the record takes part with probability b/n
    assert certificate.delta(0.0) >= batch_size / 4 * (2 * norm.cdf(mu / 2) - 1)
    certificate.verify()


def test_one_batch_an_epoch_and_records_that_are_dropped() -> None:
    # of 4 records 3 are used: of a person with 2 of them, both with probability 1/2, else one
    training = NoisyCGD(
        n=4, batch_size=3, steps=1, learning_rate=1.0, noise=0.5, order="shuffled_once",
        last_batch="drop", records_per_person=2,
    )  # fmt: skip
    losses = Geometry(strong_convexity=0, smoothness=1, sensitivity=1, adjacency="zero_out")
    certificate = certify(Unlearning(training=training, further_steps=5), losses)
    deviation = 0.5 * np.sqrt(6)
    shown = [norm.cdf(moved / deviation / 2) * 2 - 1 for moved in (1 / 3, 2 / 3)]
    at_zero = norm.cdf(0.25 / deviation)  # a test at 1/4, against both
    both = np.mean([norm.sf((0.25 - moved) / deviation) for moved in (1 / 3, 2 / 3)])
    assert both - (1 - at_zero) > 0.75 * shown[1]  # more than one record's share of it
    assert certificate.delta(0.0) >= both - (1 - at_zero)
    certificate.verify()


def test_two_requests_at_once_are_one_of_as_many_records() -> None:
    losses = Geometry(strong_convexity=0.2, smoothness=1, sensitivity=1)
    training = NoisyGD(n=6, steps=3, learning_rate=1.0, noise=0.5)
    shape: dict[str, Any] = {"training": training, "further_steps": 6, "grid": 0.01}
    twice = certify(Unlearning(**shape, later_requests=((5, 1), (5, 2))), losses)
    once = certify(Unlearning(**shape, later_requests=((5, 3),)), losses)
    assert twice.mu == pytest.approx(once.mu, rel=1e-12)
    twice.verify()


@pytest.mark.parametrize("order", ["fixed", "shuffled_once", "reshuffled"])
def test_several_requests_through_batches_that_are_cut_anew(order: Any) -> None:
    """Further steps go through the records that are left, from the first of their batches on."""
    rng = np.random.default_rng(17)
    geometry = Geometry(strong_convexity=0.4, smoothness=4.9, sensitivity=1.0)
    for _ in range(12):
        l, epochs, b = int(rng.integers(1, 4)), int(rng.integers(1, 4)), 2  # noqa: E741
        gone = [int(rng.integers(1, 3)), int(rng.integers(1, 3))]
        n, first = l * b + 4, int(rng.integers(1, 8))
        n -= n % b
        training = NoisyCGD(
            n=n, batch_size=b, epochs=epochs, learning_rate=0.4, noise=0.7, order=order
        )
        T, K = training.steps, first + int(rng.integers(1, 8))
        run = Unlearning(
            training=training, further_steps=K, records=gone[0], later_requests=[(first, gone[1])]
        )
        certificate = certify(run, geometry)
        certificate.verify()
        c, s, sd, t = geometry.contraction(0.4), 0.4 / b, 0.4 * 0.7, T + K
        for _ in range(80):
            ids = rng.permutation(n)
            ids = ids if order != "fixed" or rng.random() < 0.7 else np.arange(n)
            lost = [ids[-gone[0] :], ids[-sum(gone) : -gone[0]]]
            moved = np.zeros(t)
            at = rng.permutation(n)
            for e in range(epochs):
                at = rng.permutation(n) if order == "reshuffled" else at
                for j in range(training.batches):
                    batch = at[j * b : (j + 1) * b]
                    moved[e * training.batches + j] += (
                        s * np.isin(batch, np.concatenate(lost)).sum()
                    )
            left = rng.permutation(np.setdiff1d(np.arange(n), lost[0]))
            rows = -(-left.size // b)
            for k in range(first):
                batch = left[(k % rows) * b : (k % rows + 1) * b]
                moved[T + k] += s * np.isin(batch, lost[1]).sum()
            slopes = np.where(rng.random(t) < 0.8, c, rng.uniform(0, c, t))
            weights = np.append(np.cumprod(slopes[:0:-1])[::-1], 1.0)
            exact = float(weights @ moved) / (sd * float(np.linalg.norm(weights)))
            assert exact <= (certificate.mu or 0) * (1 + 1e-12)


@pytest.mark.parametrize("diameter", [0.3, 0.8, 2.0])
@pytest.mark.parametrize(("T", "K"), [(3, 1), (6, 4), (10, 12)])
def test_projected_runs_in_one_dimension_are_a_floor(diameter: float, T: int, K: int) -> None:
    """Laws on an interval by numerical convolution, with the mass at its ends."""
    losses = Geometry(strong_convexity=0.2, smoothness=1.0, sensitivity=2.0, diameter=diameter)
    training = NoisyGD(n=4, steps=T, learning_rate=0.5, noise=0.6)
    certificate = certify(Unlearning(training=training, further_steps=K), losses)
    x = np.linspace(-diameter / 2, diameter / 2, 401)
    edges = np.concatenate([[-np.inf], (x[1:] + x[:-1]) / 2, [np.inf]])

    def step(law: Any, moved: float) -> Any:
        """One step with slope 1 - eta m, from each cell into each."""
        inside = norm.cdf((edges[None, :] - (0.9 * x + moved)[:, None]) / 0.3)
        return law @ np.diff(inside, axis=1)

    with_it, without = np.zeros(x.size), np.zeros(x.size)
    with_it[0] = without[0] = 1.0  # the end from which the record pushes away
    for k in range(T + K):
        with_it = step(with_it, 0.25 if k < T else 0.0)
        without = step(without, 0.0)
    for epsilon in (0.0, 0.3, 1.0):
        exact = max(
            float(np.maximum(p - np.exp(epsilon) * q, 0.0).sum())
            for p, q in ((with_it, without), (without, with_it))
        )
        assert certificate.delta(epsilon) >= exact - 1e-4


_CORNERS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "endless": (
        {"n": 20, "batch_size": 20, "steps": math.inf, "sampling": "poisson"},
        {"further_steps": 50},
        {"strong_convexity": 0.01, "sensitivity": 20.0, "adjacency": "zero_out"},
    ),
    "shares that underflow": (
        {"n": 200, "batch_size": 5, "steps": 2500, "sampling": "poisson"},
        {"further_steps": 1},
        {
            "strong_convexity": 0.01,
            "sensitivity": 5.0,
            "adjacency": "zero_out",
            "diameter": 2.0,
        },
    ),
    "old epochs within one unit": (
        {"n": 20, "batch_size": 5, "steps": 300, "sampling": "random_allocation"},
        {"further_steps": 5, "noise": 3.0},
        {"strong_convexity": 0.2, "sensitivity": 5.0, "adjacency": "zero_out", "diameter": 2.0},
    ),
}


@pytest.mark.parametrize("corner", _CORNERS)
def test_corners_of_sampled_training_are_certified(corner: str) -> None:
    trained, further, losses = _CORNERS[corner]
    training = NoisySGD(**trained, learning_rate=0.5, noise=1.0)
    geometry = Geometry(smoothness=1.0, **losses)
    cert = certify(Unlearning(training=training, **further), geometry, delta=1e-6)
    Certificate.from_json(cert.to_json()).verify()
    if math.isfinite(training.steps):
        alone = certify(training, geometry, delta=1e-6).epsilon(1e-6)
        assert cert.epsilon(1e-6) <= alone * (1.0 + 1e-6)


@pytest.mark.parametrize(
    ("n", "batch_size", "steps", "diameter"), [(20, 1, 400, 2.0), (100, 10, 800, math.inf)]
)
def test_laws_of_equal_steps_are_tried_for_training_alone(
    n: int, batch_size: int, steps: int, diameter: float
) -> None:
    training = NoisySGD(n=n, batch_size=batch_size, steps=steps, learning_rate=0.5, noise=1.0)
    geometry = Geometry(
        strong_convexity=0.0, smoothness=1.0, sensitivity=0.5 * batch_size, diameter=diameter
    )
    after = certify(Unlearning(training=training, further_steps=1), geometry).epsilon(1e-5)
    assert after <= certify(training, geometry).epsilon(1e-5) * (1.0 + 1e-6)
