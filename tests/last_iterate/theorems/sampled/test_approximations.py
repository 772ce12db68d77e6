"""Two more results of the paper: its general theorem, and its approximations."""

from __future__ import annotations

import math

import numpy as np
import pytest

import shiftdp as sdp
from shiftdp.last_iterate.certification import evaluate
from shiftdp.last_iterate.theorems.proofs import StochasticProof
from shiftdp.last_iterate.theorems.sampled.approximations import (
    sgd_proj_approx,
    sgd_sc_approx,
    sgd_sc_gen,
)
from tests.last_iterate.theorems.sampled.cases import BALL, DELTA, LONG, RIDGE, rebuild


class TestPaperExtras:
    def test_general_theorem_contains_sgd_sc(self) -> None:
        run = sdp.NoisySGD(n=1000, batch_size=10, steps=300, learning_rate=0.1, noise=3.0)
        geometry = sdp.Geometry(strong_convexity=0.5, smoothness=1, sensitivity=10)
        tau, full = 200, 0.1 * 10 / 10
        a = np.where(np.arange(1, 300) >= tau, full, 0.0)
        general = sgd_sc_gen(run, geometry, a)
        special = rebuild(
            "Thm sgd-sc", run, geometry, StochasticProof(tau, split=math.sqrt(2.0)), 1e-3
        )
        assert general.epsilon(DELTA) == pytest.approx(special.epsilon(DELTA), abs=1e-3)
        z = [0.0]
        for value in a:
            z.append(0.95 * z[-1] + full - value)
        assert sgd_sc_gen(run, geometry, a, z[1:]) == general
        with pytest.raises(sdp.UnmetHypothesis, match="does not follow"):
            sgd_sc_gen(run, geometry, a, np.array(z[1:]) * 0.9)
        with pytest.raises(sdp.UnmetHypothesis, match="more than there is"):
            sgd_sc_gen(run, geometry, 2.0 * a)
        with pytest.raises(sdp.InvalidInput, match="is not a_1"):
            sgd_sc_gen(run, geometry, a[1:])

    def test_clt_constrained(self) -> None:
        found = sgd_proj_approx(LONG, BALL)
        assert isinstance(found, sdp.Uncertified)
        assert found.kind == "approximation"
        s = 1 / 3
        phi = 0.5 * (1 + math.erf(3 * s)), 0.5 * (1 + math.erf(-s))
        root = math.sqrt(math.exp(8 * s * s) * phi[0] + 3 * phi[1] - 2)
        closed = 1 * 1000 / (10 * 0.1 * 3 * root)
        assert abs(found.value.steps_back - closed) <= 1.0
        T = found.value.steps_back
        mu = math.sqrt(2 / (0.3**2 * T) + 2 * 1e-4 * T * root**2)
        assert found.value.mu == pytest.approx(mu, rel=1e-9)

    def test_clt_strongly_convex(self) -> None:
        run = sdp.NoisySGD(n=1000, batch_size=10, steps=10**5, learning_rate=0.1, noise=3.0)
        found = sgd_sc_approx(run, RIDGE).value
        s, c = 1 / 3, 0.998
        phi = 0.5 * (1 + math.erf(3 * s / math.sqrt(2))), 0.5 * (1 + math.erf(-s / math.sqrt(2)))
        root = math.sqrt(math.exp(4 * s * s) * phi[0] + 3 * phi[1] - 2)
        rate = math.log(1 / c)
        inner = (1 - c) / (2 * math.sqrt(2) * 100 * s * math.sqrt(rate)) * root
        closed = -math.log(inner) / rate - 1
        # the paper's b^2 sigma / (n L) is (b/n) / s
        assert abs(found.steps_back - closed) <= 1.0 + 1e-9 * closed
        certified = sdp.certify(run, RIDGE, bounds="paper").epsilon(DELTA)
        assert sdp.GaussianTradeoff(found.mu).epsilon(DELTA) == pytest.approx(certified, rel=0.3)

    def test_never_in_a_certificate(self) -> None:
        names = {bound.name for bound in evaluate(LONG, BALL, "paper").found}
        assert names == {"Thm sgd (composition)", "Thm sgd-proj"}
