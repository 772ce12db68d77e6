"""The list of the theorems."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiftdp import InvalidInput
from shiftdp.last_iterate import (
    ExponentialMechanism,
    LangevinMC,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    theorems,
)
from shiftdp.last_iterate.theorems.registry import THEOREMS, family_of, proof_types, theorem_of
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


def test_theorems_stand_in_their_places_and_those_of_modules_are_all_there() -> None:
    places = [theorem.place for theorem in THEOREMS]
    assert places == sorted(places)
    listed = {type(theorem).__module__ for theorem in THEOREMS}
    room = Path(theorems.__path__[0])
    modules = [file for file in room.rglob("*.py") if "\nTHEOREMS = " in file.read_text()]
    names = {".".join(file.relative_to(room).with_suffix("").parts) for file in modules}
    assert listed >= {f"{theorems.__name__}.{name}" for name in names if name != "registry"}


def test_group_privacy_and_deletion_follow_from_theorems_on_training() -> None:
    names = {theorem.name for theorem in THEOREMS}
    for theorem in THEOREMS:
        one_record = theorem.place < 100 and not theorem.needs_releases
        if one_record and {NoisyGD, NoisyCGD, NoisySGD}.intersection(theorem.runs):
            assert f"Group privacy of {theorem.name}" in names
            assert f"Theorem V3 (after {theorem.name})" in names


def test_proofs_are_told_apart_by_their_fields() -> None:
    fields = [frozenset(kind.form["required"]) for kind in proof_types()]
    assert len(set(fields)) == len(fields) == 6
