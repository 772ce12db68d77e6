"""What theorems on NoisySGD share: one proof, of the kind of the theorem, with its hypotheses."""

from __future__ import annotations

from dataclasses import replace

import pytest

import shiftdp as sdp
from shiftdp.last_iterate.theorems.registry import theorem_of
from tests.last_iterate.theorems.sampled.cases import RIDGE, certificate_by

RUN = sdp.NoisySGD(n=1000, batch_size=10, steps=20, learning_rate=0.1, noise=3.0)
ALONE = replace(RIDGE, adjacency="zero_out")


def test_one_proof_of_the_right_kind_is_checked() -> None:
    led, hidden = (certificate_by(name, RUN, RIDGE) for name in ("Theorem B3", "Theorem B7"))
    led.verify()
    with pytest.raises(sdp.VerificationFailed, match="one proof is enough"):
        replace(led, proofs=led.proofs * 2).verify()
    with pytest.raises(sdp.VerificationFailed, match="of another kind"):
        replace(led, proofs=hidden.proofs).verify()


def test_a_batch_cap_is_among_the_hypotheses() -> None:
    """Of the stated proof: what a batch of random size may be is a condition of the bound."""
    run = sdp.NoisySGD(**{**vars(RUN), "sampling": "poisson"})
    led = certificate_by("Theorem B3 (Poisson)", run, ALONE)
    assert "batch cap" in [item.name for item in led.assumptions]
    composed = theorem_of("Poisson (composition)").hypotheses(run, ALONE, ())
    assert {"batch cap", "losses"}.isdisjoint(item.name for item in composed)


def test_composition_says_nothing_of_the_losses_but_their_sensitivity() -> None:
    composed = theorem_of("Thm sgd (composition)").hypotheses(RUN, RIDGE, ())
    names = [item.name for item in composed]
    assert names == ["sensitivity", "adjacency", "sampling", "noise", "hidden iterates"]
