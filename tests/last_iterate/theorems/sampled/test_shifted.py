"""Theorem B3 against other bounds and against exact laws."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import shiftdp as sdp
from shiftdp.fdp.composition.composite import Composite
from shiftdp.last_iterate.certification import evaluate
from shiftdp.last_iterate.theorems.proofs import StochasticProof
from shiftdp.last_iterate.theorems.sampled.shifts import (
    grouped_shifts,
    start_distance,
    steps_of,
)
from tests.last_iterate.quadratic_run import QuadraticRun
from tests.last_iterate.theorems import usual
from tests.last_iterate.theorems.sampled.cases import (
    BALL,
    DELTA,
    LONG,
    RIDGE,
    b3_of,
    certificate_by,
    rebuild,
)

EXAMPLES: usual.Examples = {
    "Theorem B3": (usual.SGD, usual.LOSSES),
    "Theorem B3 (Poisson)": (usual.POISSON, usual.ALONE),
}
SCHEDULED: usual.Examples = {"Theorem B3": (usual.COOLED, usual.LOSSES)}


class TestEndless:
    """D = 1, sigma = 3, eta = .1, b/n = .01, L/b = 1: what is left as t grows."""

    def test_b3(self) -> None:
        cert = certificate_by("Theorem B3", LONG, BALL)
        assert 0.82 < cert.epsilon(DELTA) <= 0.835

    def test_length_does_not_matter(self) -> None:
        longer = sdp.NoisySGD(n=1000, batch_size=10, steps=10**9, learning_rate=0.1, noise=3.0)
        assert certificate_by("Theorem B3", longer, BALL).epsilon(DELTA) == pytest.approx(
            certificate_by("Theorem B3", LONG, BALL).epsilon(DELTA), abs=1e-3
        )


class TestOrder:
    """Never above composition, Thm sgd-sc and Thm sgd-proj; B3 contains the first."""

    @pytest.mark.parametrize(
        ("c", "diameter", "steps", "s", "p"),
        [
            (1.0, 1.0, 200, 0.5, 0.02),
            pytest.param(1.0, 0.1, 2000, 2.0, 0.01, marks=pytest.mark.slow),
            pytest.param(0.95, math.inf, 300, 1.0, 0.05, marks=pytest.mark.slow),
            (0.5, math.inf, 50, 3.0, 0.1),
            (0.99, 0.1, 300, 0.3, 0.2),
            (0.9, math.inf, 2, 0.3, 0.2),
        ],
    )
    def test_certified(self, c: float, diameter: float, steps: int, s: float, p: float) -> None:
        run = sdp.NoisySGD(
            n=1000, batch_size=round(1000 * p), steps=steps, learning_rate=0.1, noise=1.0
        )
        m = (1.0 - c) / 0.1
        geometry = sdp.Geometry(
            strong_convexity=m,
            smoothness=max(m, 1.0),
            sensitivity=s * run.batch_size,
            diameter=diameter,
        )
        best = sdp.certify(run, geometry)
        best.verify()
        for bound in evaluate(run, geometry, "paper").found:
            if bound.guess is None or bound.guess < 50.0:
                assert best.epsilon(DELTA) <= bound.f.epsilon(DELTA) + 1e-3, bound.name

    def test_tau_0_is_composition(self) -> None:
        run = sdp.NoisySGD(n=100, batch_size=5, steps=40, learning_rate=0.1, noise=1.0)
        f = rebuild("Theorem B3", run, RIDGE, StochasticProof(0, ((0.0, 40),)), 1e-3)
        assert f == sdp.certify(run, RIDGE, bounds="composition").f.within(1e-3)  # type: ignore[attr-defined]

    def test_full_batches(self) -> None:
        """At p = 1, B3 is above B1, and below composition; certify takes B1."""
        run = sdp.NoisySGD(n=10, batch_size=10, steps=200, learning_rate=0.1, noise=1.0)
        geometry = sdp.Geometry(strong_convexity=0.5, smoothness=10, sensitivity=3)
        steps = steps_of(run, geometry)
        b3 = math.inf
        for T in range(1, 200):
            groups = grouped_shifts(steps.c, start_distance(steps, 200 - T), T)
            f = rebuild("Theorem B3", run, geometry, StochasticProof(200 - T, groups), 1e-3)
            assert isinstance(f, sdp.GaussianTradeoff)
            b3 = min(b3, f.mu)
        best = sdp.certify(run, geometry)
        composition = sdp.certify(run, geometry, bounds="composition")
        assert best.bound == "Theorem B1"
        assert best.mu is not None
        assert composition.mu is not None
        assert best.mu < b3 < composition.mu
        assert b3 < 1.25 * best.mu
        best.verify()
        composition.verify()


class TestExactLaws:
    """No bound is below what some run really leaks."""

    @pytest.mark.parametrize(
        ("slope", "p", "s", "half", "steps"),
        [
            (1.0, 0.1, 1.0, 1.0, 6),
            pytest.param(1.0, 0.5, 0.5, 0.5, 5, marks=pytest.mark.slow),
            pytest.param(0.5, 0.1, 2.0, 8.0, 4, marks=pytest.mark.slow),
            pytest.param(0.3, 0.5, 1.0, 8.0, 3, marks=pytest.mark.slow),
            (-0.8, 0.2, 1.0, 8.0, 5),
            pytest.param(0.9, 0.02, 3.0, 12.0, 3, marks=pytest.mark.slow),
            pytest.param(0.7, 0.3, 1.0, 1.0, 6, marks=pytest.mark.slow),
        ],
    )
    @pytest.mark.parametrize("sampling", ["without_replacement", "poisson"])
    def test_quadratics(
        self, slope: float, p: float, s: float, half: float, steps: int, sampling: str
    ) -> None:
        exact = QuadraticRun(slope, p, 1.0, half, steps)
        eta, size = 0.1, round(1000 * p)
        run = sdp.NoisySGD(
            n=1000,
            batch_size=size,
            steps=steps,
            learning_rate=eta,
            noise=1.0 / eta,
            sampling=sampling,  # type: ignore[arg-type]
        )
        curvature = (1.0 - slope) / eta
        # a set so wide that it is never left is as good as none
        wide = half >= 8.0
        pairs = [(s, 0.0), (s / 2, -s / 2)]
        for pull, other in pairs:
            adjacency = "zero_out" if sampling == "poisson" and other == 0.0 else "replace_one"
            geometry = sdp.Geometry(
                strong_convexity=curvature,
                smoothness=curvature,
                sensitivity=s * size / eta,
                diameter=math.inf if wide else 2.0 * half,
                adjacency=adjacency,  # type: ignore[arg-type]
                gradient_bound=max(abs(pull), abs(other)) * size / eta,
            )
            leaks = {eps: exact.delta(pull, other, eps) for eps in (0.0, 0.1, 0.5, 1.0, 2.0)}
            for cert in [
                _verified_b3(run, geometry),
                sdp.certify(run, geometry, delta=1e-3),
                sdp.certify(run, geometry, bounds="paper", delta=1e-3),
            ]:
                for epsilon, leaked in leaks.items():
                    assert leaked <= cert.delta(epsilon) * (1 + 1e-3) + 1e-6, (cert.bound, epsilon)

    def test_the_distance_of_two_gradients_does_not_bound_the_norm_of_one(self) -> None:
        """Two long gradients near each other: what not to be drawn moves is the whole of one."""
        p, long, short, steps = 0.3, 3.0, 2.5, 3
        exact = QuadraticRun(1.0, p, 1.0, 24.0, steps, cells=1201)
        run = sdp.NoisySGD(
            n=10, batch_size=3, steps=steps, learning_rate=1.0, noise=1.0, sampling="poisson"
        )
        L = 3 * (long - short)
        flat: dict[str, Any] = {"strong_convexity": 0.0, "smoothness": 0.0, "sensitivity": L}
        with pytest.raises(sdp.UnmetHypothesis, match=r"gradient_bound=0\.75 if no gradient"):
            sdp.certify(run, sdp.Geometry(**flat))
        true = sdp.certify(run, sdp.Geometry(**flat, gradient_bound=3 * long))
        half = sdp.certify(run, sdp.Geometry(**flat, gradient_bound=L / 2))
        leaked = exact.delta(long, short, 1.0)
        assert half.delta(1.0) < 0.5 * leaked <= leaked <= true.delta(1.0)

    def test_the_grid_knows_one_gaussian_step(self) -> None:
        exact = QuadraticRun(1.0, 1.0, 1.0, 12.0, 1, cells=2001)
        assert exact.delta(1.0, 0.0, 0.5) == pytest.approx(
            sdp.GaussianTradeoff(1.0).delta(0.5), rel=1e-3
        )


def _verified_b3(run: sdp.NoisySGD, geometry: sdp.Geometry) -> sdp.Certificate:
    cert = certificate_by(b3_of(run), run, geometry)
    cert.verify()
    return cert


class TestPoisson:
    def test_zero_out_is_better_than_replace_one(self) -> None:
        run = sdp.NoisySGD(
            n=1000, batch_size=10, steps=2000, learning_rate=0.1, noise=3.0, sampling="poisson"
        )
        epsilon = {}
        for adjacency, L in (("zero_out", 5.0), ("replace_one", 10.0)):
            geometry = sdp.Geometry(
                strong_convexity=0.05,
                smoothness=1,
                sensitivity=L,
                adjacency=adjacency,  # type: ignore[arg-type]
                gradient_bound=5.0,
            )
            cert = certificate_by("Theorem B3 (Poisson)", run, geometry)
            assert cert.epsilon(DELTA) < sdp.certify(run, geometry, bounds="composition").epsilon(
                DELTA
            )
            cert.verify()
            epsilon[adjacency] = cert.epsilon(DELTA)
        assert epsilon["zero_out"] < 0.6 * epsilon["replace_one"]

    def test_cap_is_paid_for(self) -> None:
        run = sdp.NoisySGD(
            n=1000, batch_size=10, steps=2000, learning_rate=0.1, noise=3.0, sampling="poisson",
            batch_cap=40,
        )  # fmt: skip
        geometry = sdp.Geometry(
            strong_convexity=0.05, smoothness=1, sensitivity=5, adjacency="zero_out"
        )
        cert = certificate_by("Theorem B3 (Poisson)", run, geometry)
        (proof,) = cert.proofs
        assert isinstance(proof, StochasticProof)
        assert proof.cap is not None
        assert isinstance(cert.f, sdp.fdp.WithFailure)
        assert 0.0 < cert.f.failure <= 1e-8
        # the failure is a floor under delta
        assert cert.f.failure <= cert.f.delta(0.5) <= 1.5 * cert.f.failure
        capped = sdp.NoisySGD(**{**vars(run), "batch_cap": 50})
        (proof,) = certificate_by("Theorem B3 (Poisson)", capped, geometry).proofs
        assert isinstance(proof, StochasticProof)
        assert proof.cap == 50


class TestComposed:
    def test_what_a_certificate_answers(self) -> None:
        cert = certificate_by("Theorem B3", LONG, BALL)
        assert isinstance(cert.f, Composite)
        assert cert.mu is None
        assert cert.lower_mu is None
        low, high = cert.epsilon_interval(DELTA)
        assert low <= high == cert.epsilon(DELTA) < low + 1e-3
        assert cert.delta(high) == pytest.approx(DELTA, rel=2e-2)
        assert 0.0 < cert.advantage() < 0.2
        assert 0.01 < cert.tpr(0.01) < 0.05
        assert np.all(np.diff(np.asarray(cert.tradeoff(np.linspace(0, 1, 11)))) < 0)
        assert 0.0 < cert.renyi(2.0) < cert.renyi(8.0) < math.inf
        assert "Theorem B3" in cert.statement()

    def test_valid_at_every_delta(self) -> None:
        """Aiming elsewhere changes tau, and helps there only."""
        near, far = (certificate_by("Theorem B3", LONG, BALL, delta) for delta in (1e-2, 1e-12))
        assert near.epsilon(1e-2) <= far.epsilon(1e-2) + 1e-3
        assert far.epsilon(1e-12) <= near.epsilon(1e-12) + 1e-3

    def test_more_noise_never_leaks_more(self) -> None:
        noisier = sdp.NoisySGD(**{**vars(LONG), "noise": 3.3})
        more, less = (certificate_by("Theorem B3", run, BALL) for run in (noisier, LONG))
        assert more.epsilon(DELTA) < less.epsilon(DELTA)

    def test_compare(self) -> None:
        run = sdp.NoisySGD(n=1000, batch_size=10, steps=5_000, learning_rate=0.1, noise=3.0)
        table = sdp.compare(run, replace(BALL, diameter=0.1), delta=DELTA)
        epsilon = [table[name].epsilon for name in ("composition", "paper", "best")]
        assert all(value is not None for value in epsilon)
        assert sorted(epsilon, reverse=True) == epsilon  # type: ignore[type-var]
        assert table["prior Renyi"].epsilon is None
        assert "not covered" in table["prior Renyi"].note
        lower, best = table["lower bound"], table["best"].epsilon
        assert lower.bound == "Theorem B8"
        assert lower.epsilon is not None
        assert best is not None
        assert 0.0 < lower.epsilon < best
