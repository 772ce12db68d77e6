"""A theorem that hands on another one says the same, of another run."""

from __future__ import annotations

from shiftdp import NoisyCGD, Unlearning, certify
from shiftdp.last_iterate.certification import bound_by
from shiftdp.last_iterate.theorems.registry import theorem_of
from tests.last_iterate.theorems.usual import CGD, RIDGE


def test_the_base_is_asked_and_named() -> None:
    run = Unlearning(training=CGD, further_steps=3)
    theorem = theorem_of("Theorem V3 (after Theorem B1)")
    assert theorem.citation == "Theorem V3"
    bound = bound_by(theorem, run, RIDGE, 1e-5)
    assert bound.theorem is theorem
    assert bound.f == certify(CGD, RIDGE).f


def test_hypotheses_are_those_of_the_base_and_more() -> None:
    several = NoisyCGD(**{**vars(CGD), "records_per_person": 2})
    certificate = certify(several, RIDGE)
    names = [item.name for item in certificate.assumptions]
    assert names == [*(item.name for item in certify(CGD, RIDGE).assumptions), "people"]
