"""Random NoisySGD: the selected bound is never above the others, and its proof holds."""

from __future__ import annotations

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shiftdp as sdp
from shiftdp.last_iterate.certification import evaluate
from shiftdp.last_iterate.theorems.sampled.search import accuracy_for

DELTA = 1e-5


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(
    p=st.floats(-2.5, -0.3),
    s=st.floats(-1.5, 0.3),
    steps=st.integers(1, 20_000),
    contraction=st.sampled_from([1.0, 1.0, 0.9999, 0.99, 0.8, 0.2]),
    diameter=st.sampled_from([math.inf, 0.3, 3.0, 30.0]),
)
def test_never_above_the_paper(
    p: float, s: float, steps: int, contraction: float, diameter: float
) -> None:
    eta, n = 0.1, 10_000
    size = max(1, round(n * 10.0**p))
    run = sdp.NoisySGD(n=n, batch_size=size, steps=steps, learning_rate=eta, noise=1.0)
    m = (1.0 - contraction) / eta
    geometry = sdp.Geometry(
        strong_convexity=m,
        smoothness=max(m, 1.0),
        sensitivity=10.0**s * size,
        diameter=diameter * eta,
    )
    best = sdp.certify(run, geometry)
    best.verify()
    epsilon = best.epsilon(DELTA)
    for bound in evaluate(run, geometry, "paper").found:
        # what is estimated far above is far above
        if bound.guess is not None and bound.guess > max(20.0, 3.0 * epsilon):
            continue
        width = accuracy_for(bound.guess or 0.0)
        assert epsilon <= bound.f.epsilon(DELTA) + width, bound.name
