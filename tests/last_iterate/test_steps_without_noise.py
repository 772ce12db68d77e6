"""Runs with noise in some of their steps only: certified, checked, and refused where it is bare."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp._errors import InvalidInput, UnmetHypothesis, VerificationFailed
from shiftdp.last_iterate import Certificate, Geometry, NoisyCGD, NoisyGD, certify
from shiftdp.last_iterate.attained import attained_mu
from shiftdp.last_iterate.certification import mu_by_position
from shiftdp.last_iterate.runs import Order
from shiftdp.privacy import calibrate_noise, compare
from tests.last_iterate.brute_force import linear_shift, mu_of_visits, positions
from tests.last_iterate.random_runs import ORDERS, cyclic_runs, full_batch_runs

CONVEX = Geometry(strong_convexity=0.0, smoothness=2.0, sensitivity=3.0)


def silenced(run: Any, seed: int) -> Any:
    """The run without noise in some of its steps; the last one keeps it."""
    rng = np.random.default_rng(seed)
    noise = np.broadcast_to(run.noise, run.steps).copy()
    noise[:-1][rng.random(run.steps - 1) < rng.uniform()] = 0.0
    return type(run)(**{**vars(run), "noise": noise})


@settings(max_examples=150)
@given(
    st.one_of(full_batch_runs(), cyclic_runs("fixed", most_batches=5)),
    st.floats(0.0, 1.0),
    st.integers(0, 2**32),
)
def test_quadratics_are_a_floor(setting: tuple[Any, Geometry], share: float, seed: int) -> None:
    run, geometry = silenced(setting[0], seed), setting[1]
    cert = certify(run, geometry)
    assert cert.mu is not None
    slow = max(mu_of_visits(run, geometry, visits) for _, visits in positions(run))
    assert cert.mu == pytest.approx(slow, rel=1e-9)
    cert.verify()
    Certificate.from_json(cert.to_json()).verify()
    lower = cert.lower_mu
    assert lower is None or lower <= cert.mu
    if not geometry.bounded:
        m, M = geometry.strong_convexity, geometry.smoothness
        for curvature in (m, M, m + share * (M - m)):
            laws = [linear_shift(run, geometry, visits, curvature) for _, visits in positions(run)]
            assert cert.mu >= max(laws) * (1 - 1e-14)


@settings(max_examples=60)
@given(
    st.one_of(cyclic_runs("shuffled_once"), cyclic_runs("reshuffled", most_epochs=2)),
    st.integers(0, 2**32),
)
def test_a_random_order_is_never_worse_than_the_worst(
    setting: tuple[NoisyCGD, Geometry], seed: int
) -> None:
    run, geometry = silenced(setting[0], seed), setting[1]
    cert = certify(run, geometry)
    cert.verify()
    Certificate.from_json(cert.to_json()).verify()
    if run.order == "shuffled_once":
        fixed = certify(NoisyCGD(**{**vars(run), "order": "fixed"}), geometry)
        assert cert.delta(1.0) <= fixed.delta(1.0) * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize("order", ORDERS)
def test_noise_at_the_ends_of_passes_costs_what_full_batches_would(order: Order) -> None:
    """c = 1, equal rates: E displacements of s, over E noises of sd, whatever the position."""
    ell, E, eta, sigma = 50, 4, 0.5, 2.0
    noise = np.zeros(ell * E)
    noise[ell - 1 :: ell] = sigma
    run = NoisyCGD(
        n=200, batch_size=4, epochs=E, learning_rate=eta, noise=noise.tolist(), order=order
    )
    mu = math.sqrt(E) * 3.0 / (4 * sigma)
    cert = certify(run, CONVEX)
    exact = certify(NoisyGD(n=4, steps=E, learning_rate=eta, noise=sigma), CONVEX)
    assert cert.epsilon(1e-5) == pytest.approx(exact.epsilon(1e-5), rel=1e-9)
    if order == "fixed":
        assert cert.mu == pytest.approx(mu, rel=1e-11)
        assert cert.lower_mu == pytest.approx(mu, rel=1e-11)
        assert set(mu_by_position(run, CONVEX)) == set(range(1, ell + 1))


@pytest.mark.parametrize("noise", [(1.0, 0.0), (0.0, 0.0)])
@pytest.mark.parametrize("order", ORDERS)
def test_a_run_that_ends_without_noise_is_refused(noise: tuple[float, ...], order: Order) -> None:
    run = NoisyCGD(n=4, batch_size=2, epochs=1, learning_rate=0.5, noise=noise, order=order)
    for diameter in (math.inf, 1.0):
        geometry = Geometry(
            strong_convexity=0.0, smoothness=2.0, sensitivity=3.0, diameter=diameter
        )
        with pytest.raises(UnmetHypothesis, match=r"noise=0.0.*give noise to the last step, 2"):
            certify(run, geometry)
        with pytest.raises(UnmetHypothesis, match="noise"):
            compare(run, geometry, delta=1e-5)
    if order == "fixed":
        with pytest.raises(UnmetHypothesis, match="noise"):
            mu_by_position(run, CONVEX)
        assert attained_mu(run, CONVEX) == math.inf
    harmless = Geometry(strong_convexity=0.0, smoothness=2.0, sensitivity=0.0)
    assert certify(run, harmless).epsilon(1e-9) == 0.0


def test_composition_names_the_step_that_has_none() -> None:
    run = NoisyGD(n=4, steps=3, learning_rate=0.5, noise=[1.0, 0.0, 1.0])
    with pytest.raises(UnmetHypothesis, match=r"noise=0.0 is the noise of step 2, and composition"):
        certify(run, CONVEX, bounds="composition")
    with pytest.raises(UnmetHypothesis):
        certify(run, CONVEX, bounds="paper")
    rows = {row.name: row.epsilon for row in compare(run, CONVEX, delta=1e-5)}
    assert rows["composition"] is None
    assert rows["best"] is not None


def test_zeros_are_for_sequences_of_noise_alone() -> None:
    parts = {"n": 4, "steps": 2, "learning_rate": 0.5, "noise": [0.0, 1.0]}
    assert NoisyGD(**parts).noise == (0.0, 1.0)  # type: ignore[arg-type]
    for changed in (
        {"noise": 0.0},
        {"noise": [0.0, -1.0]},
        {"noise": [1e-50, 1.0]},
        {"noise": [math.nan, 1.0]},
        {"learning_rate": [0.0, 0.5]},
        {"steps": math.inf},
    ):
        with pytest.raises(InvalidInput):
            NoisyGD(**{**parts, **changed})  # type: ignore[arg-type]


def test_a_certificate_whose_noise_was_struck_out_is_refused() -> None:
    run = NoisyGD(n=4, steps=3, learning_rate=0.5, noise=[1.0, 0.5, 2.0])
    document = json.loads(certify(run, CONVEX).to_json())
    for k in range(3):
        noise = list(run.noise)  # type: ignore[arg-type]
        noise[k] = 0.0
        document["run"]["noise"] = noise
        with pytest.raises(VerificationFailed):
            Certificate.from_json(json.dumps(document)).verify()


def test_calibration_scales_what_there_is() -> None:
    run = NoisyGD(n=4, steps=3, learning_rate=0.5, noise=[0.0, 1.0, 2.0])
    found = calibrate_noise(run, CONVEX, mu=0.5)
    assert isinstance(found.noise, tuple)
    assert found.noise[0] == 0.0
    assert found.noise[2] == pytest.approx(2 * found.noise[1], rel=1e-15)
    assert certify(found, CONVEX).mu == pytest.approx(0.5, rel=1e-6)
    bare = NoisyGD(n=4, steps=2, learning_rate=0.5, noise=[0.0, 0.0])
    with pytest.raises(InvalidInput, match="at every step"):
        calibrate_noise(bare, CONVEX, mu=0.5)
