"""The list of the theorems."""

from __future__ import annotations

import pytest

from shiftdp import InvalidInput
from shiftdp.last_iterate import ExponentialMechanism, LangevinMC
from shiftdp.last_iterate.theorems.registry import THEOREMS, family_of, theorem_of
from tests.last_iterate.theorems.by_name import CGD, GD


def test_every_run_has_theorems_of_every_family() -> None:
    for run in (GD, CGD, LangevinMC(steps=3, learning_rate=0.1), ExponentialMechanism()):
        assert {theorem.family for theorem in THEOREMS if theorem.applies_to(run)} == {
            "composition",
            "paper",
            "ours",
        }


def test_a_theorem_is_found_by_exactly_its_name() -> None:
    for theorem in THEOREMS:
        assert theorem_of(theorem.name) is theorem
        for name in (theorem.name + " ", theorem.name.lower(), theorem.name[:-1]):
            with pytest.raises(InvalidInput, match="is no theorem that is known here"):
                theorem_of(name)


def test_a_family_is_that_of_the_theorem_of_exactly_this_name() -> None:
    assert all(family_of(theorem.name) == theorem.family for theorem in THEOREMS)
    assert family_of("composition of my own") == "user"
