"""Every flaw of the loop is caught at 99% confidence, and the loop without it is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.trials.mutants import MUTANTS, audited


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_trainer_is_caught(name: str) -> None:
    report = audited(MUTANTS[name])
    assert report.violated, str(report)


@pytest.mark.parametrize("name", MUTANTS)
def test_without_its_flaw_it_is_not(name: str) -> None:
    honest = replace(MUTANTS[name], trained=None, spoil=None, leaks=())
    quick = min(honest.runs, 200)
    report = audited(honest, runs=quick, confidence=0.9999)
    assert not report.violated, str(report)


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_trainer_is_caught_ten_times_of_ten(name: str) -> None:
    """Not by luck: at the same confidence, with twice the runs."""
    mutant = MUTANTS[name]
    assert all(audited(mutant, runs=2 * mutant.runs).violated for _ in range(10))
