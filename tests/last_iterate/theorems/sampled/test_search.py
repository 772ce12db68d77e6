"""The search for the parameters of the bounds on NoisySGD."""

from __future__ import annotations

import shiftdp as sdp
from shiftdp.last_iterate.theorems.proofs import StochasticProof
from shiftdp.last_iterate.theorems.sampled.shifts import grouped_shifts, start_distance, steps_of
from tests.last_iterate.theorems.sampled.cases import BALL, DELTA, LONG, rebuild


def test_the_search_is_as_good_as_a_scan() -> None:
    found = sdp.certify(LONG, BALL).epsilon(DELTA)
    steps = steps_of(LONG, BALL)
    scanned = []
    for T in range(700, 1200, 50):
        z = start_distance(steps, LONG.steps - T)
        proof = StochasticProof(LONG.steps - T, grouped_shifts(steps.c, z, T))
        scanned.append(rebuild("Theorem B3", LONG, BALL, proof, 1e-3).epsilon(DELTA))
    assert found <= min(scanned) + 1e-3
