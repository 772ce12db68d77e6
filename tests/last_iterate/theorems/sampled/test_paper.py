"""The paper's theorems on NoisySGD, which split the noise."""

from __future__ import annotations

import math

import pytest

import shiftdp as sdp
from shiftdp.last_iterate.theorems.proofs import StochasticProof
from tests.last_iterate.theorems import usual
from tests.last_iterate.theorems.sampled.cases import BALL, DELTA, LONG, rebuild

EXAMPLES: usual.Examples = {
    "Thm sgd-sc": (usual.SGD, usual.LOSSES),
    "Thm sgd-proj": (usual.SGD, usual.BODY),
}


def test_an_endless_run_on_a_ball_has_the_figure_of_the_paper() -> None:
    cert = sdp.certify(LONG, BALL, bounds="paper")
    assert cert.bound == "Thm sgd-proj"
    assert cert.epsilon(DELTA) == pytest.approx(1.46, abs=0.01)


def test_an_equal_split_of_the_noise_costs_a_little_more() -> None:
    best = min(
        rebuild(
            "Thm sgd-proj",
            LONG,
            BALL,
            StochasticProof(LONG.steps - T, split=math.sqrt(2.0)),
            1e-3,
        ).epsilon(DELTA)
        for T in range(300, 500, 20)
    )
    assert best == pytest.approx(1.50, abs=0.01)
