"""Certified against attained: exact where Theorem B5 is, explained elsewhere, never crossed."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiftdp import InvalidInput
from shiftdp.last_iterate.theorems.registry import THEOREMS
from shiftdp.trials.exact.table import Row, exact_audit

EXACT = ["Thm gd-sc", "Thm mgd-sc", "Theorem V1", "Theorem V3", "Theorem V4", "Prop lmc"]
GAPS = {"Theorem B4": 1.3, "Theorem V2": 1.6, "Thm gd-proj": 6.0}


def test_what_is_proved_exact_is_attained() -> None:
    table = exact_audit(theorems=EXACT)
    assert {row.theorem for row in table.rows} == set(EXACT)
    for row in table.rows:
        assert 1.0 <= row.ratio < 1.0005, row
        assert row.gap == "nothing is left: the bound is exact"


def test_theorem_b1_is_exact_for_full_and_cyclic_batches_without_a_set() -> None:
    rows = exact_audit(theorems=["Theorem B1"]).rows
    ratios = {row.run: row.ratio for row in rows}
    assert f"{ratios['full batches']:.3f}" == f"{ratios['batches in turn']:.3f}" == "1.000"
    assert ratios["full batches, bounded set"] > 1.5


def test_gaps_are_of_known_size_and_explained() -> None:
    for row in exact_audit(theorems=GAPS).rows:
        assert 1.0005 < row.ratio < GAPS[row.theorem], row
        assert "nothing is left" not in row.gap
        assert row.instance != "none"


def test_delta_is_asked_for() -> None:
    small, large = (exact_audit(theorems=["Theorem V2"], delta=d).rows[0] for d in (1e-9, 1e-3))
    assert small.lower > large.lower
    assert small.upper > large.upper


def test_it_prints_aligned_and_rounds_to_the_private_side() -> None:
    table = exact_audit(theorems=["Thm gd-sc"])
    head, rule, line = str(table).splitlines()
    assert head.split()[:3] == ["theorem", "run", "certified"]
    assert set(rule) == {"-"}
    assert "1.000" in line
    (row,) = table.rows
    assert float(table.cells()[0][2]) >= row.upper
    assert float(table.cells()[0][3]) <= row.lower
    assert table.to_dict()["consistent"] is True


def test_a_bound_that_is_crossed_is_no_longer_consistent() -> None:
    from shiftdp.trials.exact.table import ExactAudit

    crossed = Row("Theorem B1", "full batches", 1.0, 1.1, "linear recursion", "")
    assert not ExactAudit(1e-5, (crossed,)).consistent


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    exact_audit(theorems=["Thm gd-sc"], progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 1)]


def test_unknown_theorems_are_refused() -> None:
    with pytest.raises(InvalidInput, match="theorems='Theorem Z9' is no theorem"):
        exact_audit(theorems=["Theorem Z9"])


@pytest.mark.slow
@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-8])
def test_no_instance_crosses_any_theorem_and_none_is_without(delta: float) -> None:
    table = exact_audit(delta=delta)
    assert {row.theorem for row in table.rows} == {theorem.name for theorem in THEOREMS}
    for row in table.rows:
        assert 0.0 < row.lower <= row.upper, row


DOCUMENTED = {
    "full batches": ("Theorem B1", "full batches"),
    "batches in turn": ("Theorem B1", "batches in turn"),
    "the same, several releases": ("Theorem V1", "batches in turn, several releases"),
    "the same, a record deleted, 7 further steps": ("Theorem V3", "full batches, 7 further steps"),
    "two records a person, in different batches": (
        "Theorem V4",
        "batches in turn, 2 records a person",
    ),
    "Langevin Monte Carlo": ("Prop lmc", "Langevin, 30 steps"),
    "reshuffled": ("Theorem B4", "batches in turn, reshuffled"),
    "reshuffled, a release after each epoch": (
        "Theorem V1 (independent segments)",
        "batches in turn, reshuffled, several releases",
    ),
    "shuffled stream": ("Theorem V2", "stream, shuffled"),
    "random batches, without replacement": ("Theorem B6", "without replacement"),
    "Poisson": ("Theorem B6", "poisson"),
    "random allocation": ("Theorem B7", "random allocation"),
    "random batches, a record deleted": (
        "Theorem V3 (Theorem B7)",
        "without replacement, 7 further steps",
    ),
    "full batches on a bounded set": ("Theorem B1", "full batches, bounded set"),
    "batches in turn on a bounded set": ("Theorem B1", "batches in turn, bounded set"),
    "exponential mechanism, small set": ("pure DP", "exponential mechanism, bounded set"),
}


@pytest.mark.slow
def test_the_figures_of_the_page_are_those_of_the_command() -> None:
    page = (Path(__file__).parents[3] / "docs" / "audit.md").read_text()
    table = exact_audit(theorems=sorted({name for name, _ in DOCUMENTED.values()}))
    rows = {(row.theorem, row.run): row for row in table.rows}
    for label, place in DOCUMENTED.items():
        (line,) = (line for line in page.splitlines() if line.startswith(f"| {label} | "))
        upper, lower, ratio = (float(cell) for cell in line.split("|")[3:6])
        row = rows[place]
        assert f"{row.ratio:.3f}" == f"{ratio:.3f}", label
        assert row.upper <= upper < row.upper * 1.001, label
        assert row.lower * 0.999 < lower <= row.lower, label


@pytest.mark.parametrize("name", ["V3", "v3", "Theorem V3", "theorem v3"])
def test_theorems_have_short_names(name: str) -> None:
    assert {row.theorem for row in exact_audit(theorems=[name]).rows} == {"Theorem V3"}


def test_the_nearest_theorem_is_suggested() -> None:
    with pytest.raises(InvalidInput, match=r"theorems='V99' .*; did you mean 'Theorem V"):
        exact_audit(theorems=["V99"])
