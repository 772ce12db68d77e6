"""Runs at which theorems are shown."""

from __future__ import annotations

import pytest

from shiftdp import Unlearning
from shiftdp.last_iterate.theorems.registry import THEOREMS, theorem_of
from shiftdp.trials.exact.settings import settings, shown_by


def test_there_are_runs_of_every_kind() -> None:
    kinds = {type(run).__name__ for run, _ in settings()}
    assert kinds == {
        "ExponentialMechanism", "LangevinMC", "NoisyCGD", "NoisyGD", "NoisySGD", "NoisyStream",
        "Unlearning",
    }  # fmt: skip


def test_theorems_of_ours_are_shown_at_every_run_that_they_are_about() -> None:
    shown = shown_by(theorem_of("Theorem B1"))
    assert [type(cert.run).__name__ for cert in shown][:2] == ["NoisyGD", "NoisyCGD"]
    assert sum(cert.geometry.bounded for cert in shown) == 2
    assert {cert.bound for cert in shown} == {"Theorem B1"}


def test_theorems_on_deletion_are_shown_at_a_deletion() -> None:
    (cert,) = shown_by(theorem_of("Theorem V3"))
    assert isinstance(cert.run, Unlearning)


@pytest.mark.slow
def test_no_theorem_of_the_registry_is_left_out() -> None:
    assert [theorem.name for theorem in THEOREMS if not shown_by(theorem)] == []
