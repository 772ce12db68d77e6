"""Proxes against their definition, in the loop, and Theorem V5 against exact laws."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy

from shiftdp import (
    Geometry,
    InvalidInput,
    NoisyCGD,
    NoisyGD,
    UnmetHypothesis,
    VerificationFailed,
    certify,
)
from shiftdp.last_iterate.certification import bound_by
from shiftdp.last_iterate.theorems.registry import theorem_of
from shiftdp.training import L1, Ball, ElasticNet, Huber, Logistic, Plan, Prox, descend
from shiftdp.training.descent.entropy import Seeded


@pytest.mark.parametrize("prox", [L1(0.3), ElasticNet(0.3, 0.7), ElasticNet(0.0, 2.0)])
def test_it_minimises_what_defines_it(prox: Any) -> None:
    v = np.linspace(-2.0, 2.0, 9)
    grid = np.linspace(-3.0, 3.0, 60_001)
    models = v.reshape(1, 1, -1).copy()
    prox.apply(models, 0.5, 0)
    for given, found in zip(v, models.ravel(), strict=True):
        h = prox.l1 * np.abs(grid) + 0.5 * getattr(prox, "l2", 0.0) * grid**2
        best = grid[np.argmin(h + (grid - given) ** 2 / (2 * 0.5))]
        assert found == pytest.approx(best, abs=2e-4)


@pytest.mark.parametrize("prox", [L1(0.3), ElasticNet(0.3, 0.7)])
def test_it_brings_points_together(prox: Prox) -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 500, 2, 3))
    before = np.linalg.norm((first - second).reshape(500, -1), axis=1)
    for models in (first, second):
        prox.apply(models, 0.5, 1)
    after = np.linalg.norm((first - second).reshape(500, -1), axis=1)
    assert np.all(after <= before / (1 + 0.5 * prox.strong_convexity) * (1 + 1e-12))


def test_intercepts_are_not_thresholded() -> None:
    models = np.array([[[0.1, 0.1]]])
    L1(1.0).apply(models, 1.0, intercepts=1)
    assert models.tolist() == [[[0.0, 0.1]]]
    with pytest.raises(InvalidInput, match="l1"):
        L1(-1.0)


def test_the_loop_leaves_exact_zeros_and_the_certificate_says_why() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 10)) / 4
    y = (X[:, 0] > 0).astype(int)
    run = NoisyGD(n=500, steps=200, learning_rate=0.5, noise=0.02)
    shape: dict[str, Any] = {"run": run, "loss": Logistic(), "feature_bound": 1.0}
    plain, sparse = Plan(**shape), Plan(**shape, prox=ElasticNet(0.1, 0.1))
    weights = descend(sparse, X, y)
    assert np.count_nonzero(weights[1:10] == 0.0) >= 5
    assert np.count_nonzero(descend(plain, X, y) == 0.0) == 0
    sparse.certificate.verify()
    assert (sparse.certificate.mu or 0) < (plain.certificate.mu or 0)
    assert Plan(**shape, prox=L1(0.1)).certificate.mu == plain.certificate.mu
    assert "prox of ElasticNet" in sparse.certificate.statement()


def test_a_stronger_prox_than_was_run_is_refused() -> None:
    run = NoisyGD(n=500, steps=20, learning_rate=0.5, noise=0.02)
    plan = Plan(run=run, loss=Logistic(), feature_bound=1.0, prox=ElasticNet(0.1, 0.1))
    certificate = plan.certificate
    better = certify(run, replace(plan.geometry, prox_convexity=0.2))
    with pytest.raises(VerificationFailed, match="prox_convexity"):
        replace(better, training=certificate.training).verify()


def test_rates_that_change_use_no_convexity_of_the_prox() -> None:
    run = NoisyGD(n=500, steps=2, learning_rate=[0.5, 0.4], noise=0.02)
    plan = Plan(run=run, loss=Logistic(), feature_bound=1.0, prox=ElasticNet(0.1, 0.1))
    assert plan.geometry.prox_convexity == 0.0
    losses = Geometry(strong_convexity=0, smoothness=1, sensitivity=1, prox_convexity=0.1)
    assert certify(run, losses).bound == "Thm gd (composition)"
    with pytest.raises(UnmetHypothesis, match="prox_convexity"):
        bound_by(theorem_of("Theorem B1"), run, losses, 1e-5)


def test_linear_recursions_with_a_ridge_in_the_prox_are_covered() -> None:
    """X <- (a X + s + Z) / (1 + eta m): two Gaussians, thousands of slopes."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        eta, ridge, l, epochs = 0.4, float(rng.uniform(0.0, 3.0)), int(rng.integers(1, 4)), 4  # noqa: E741
        geometry = Geometry(
            strong_convexity=0.2, smoothness=4.9, sensitivity=1.0, prox_convexity=ridge
        )
        run = NoisyCGD(n=2 * l, batch_size=2, epochs=epochs, learning_rate=eta, noise=0.7)
        mu = certify(run, geometry).mu
        assert mu is not None
        t, shrink, c = l * epochs, 1.0 / (1.0 + eta * ridge), 0.96
        slopes = np.where(rng.random((100, t)) < 0.6, c, rng.uniform(0, c, (100, t))) * shrink
        weights = np.cumprod(np.hstack([np.ones((100, 1)), slopes[:, :0:-1]]), axis=1)[:, ::-1]
        visited = np.arange(t) % l == rng.integers(0, l)
        exact = (weights * visited).sum(axis=1) * eta / 2
        exact /= eta * 0.7 * np.sqrt((weights**2).sum(axis=1))
        assert float(exact.max()) <= mu


def test_soft_thresholding_by_convolution_is_covered() -> None:
    """The laws of two steps of |X| shrinking in one dimension, on a fine grid."""
    eta, l1, sd, s, c = 1.0, 0.4, 1.0, 0.8, 0.9
    x = np.linspace(-14.0, 14.0, 5_601)
    dx = x[1] - x[0]

    def law(shift: float) -> np.ndarray:
        first = scipy.stats.norm.pdf(x, shift, sd)
        kept = np.sign(x) * np.maximum(np.abs(x) - eta * l1, 0.0)
        means = c * kept + shift
        moved = scipy.stats.norm.pdf(x[:, None], means[None], sd)
        return np.asarray((first[None] * moved).sum(axis=1) * dx)

    geometry = Geometry(strong_convexity=0.1, smoothness=1.9, sensitivity=2 * s)
    certificate = certify(NoisyGD(n=1, steps=2, learning_rate=1.0, noise=sd), geometry)
    p, q = law(s), law(-s)
    for epsilon in (0.0, 0.5, 1.5):
        exact = float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum() * dx)
        assert exact <= certificate.delta(epsilon)
        assert exact >= 0.4 * certificate.delta(epsilon)


def test_a_prox_and_a_projection_go_together() -> None:
    run = NoisyGD(n=4, steps=5, learning_rate=0.5, noise=0.2)
    plan = Plan(
        run=run, loss=Huber(), feature_bound=1.0, projection=Ball(0.5), prox=L1(0.1),
        entropy=Seeded(1),
    )  # fmt: skip
    weights = descend(plan, np.eye(4), np.arange(4.0))
    assert float(np.linalg.norm(weights)) <= 0.5
