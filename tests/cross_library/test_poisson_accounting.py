"""Poisson sampling, zero-out, composed: dp_accounting brackets the same number."""

from __future__ import annotations

import warnings

import pytest

import shiftdp as sdp

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from dp_accounting.pld import privacy_loss_distribution as pld


@pytest.mark.parametrize(
    ("p", "multiplier", "steps", "delta"),
    [(0.01, 1.0, 1000, 1e-5), (0.1, 2.0, 100, 1e-6), (0.02, 0.7, 50, 1e-5)],
)
def test_zero_out(p: float, multiplier: float, steps: int, delta: float) -> None:
    n = 1000
    size = round(n * p)
    run = sdp.NoisySGD(
        n=n,
        batch_size=size,
        steps=steps,
        learning_rate=0.1,
        noise=multiplier / size,
        sampling="poisson",
    )
    geometry = sdp.Geometry(strong_convexity=0, smoothness=1, sensitivity=1, adjacency="zero_out")
    cert = sdp.certify(run, geometry, bounds="composition")
    low, high = cert.epsilon_interval(delta)
    ends = [
        pld.from_gaussian_mechanism(
            multiplier,
            sampling_prob=p,
            value_discretization_interval=1e-4,
            pessimistic_estimate=pessimistic,
        )
        .self_compose(steps)
        .get_epsilon_for_delta(delta)
        for pessimistic in (False, True)
    ]
    assert low <= ends[1]
    assert ends[0] <= high
    assert high - low < 1.1e-3
