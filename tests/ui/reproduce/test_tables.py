"""The privacy tables: every printed figure, and what stands beside it."""

from __future__ import annotations

import csv
import io
import re

import pytest

from shiftdp.ui.reproduce.contents import all_tables
from shiftdp.ui.reproduce.grid import Grid, Table, entries_csv, grid_csv, grid_latex


@pytest.fixture(scope="module")
def tables() -> dict[int, Table]:
    return {table.number: table for table in all_tables() if table.number is not None}


def test_the_tables_without_training(tables: dict[int, Table]) -> None:
    assert sorted(tables) == [1, 3, 4, 7, 8, 9, 10, 11, 12]


def test_every_entry_agrees_or_is_corrected(tables: dict[int, Table]) -> None:
    verdicts = [entry.verdict for table in tables.values() for entry in table.entries]
    # 9 + 12 + 18 on MNIST, 18 + 18 of NoisyGD, 30 + 27 mu* and 27 E* of NoisyCGD
    assert len(verdicts) == 159
    assert verdicts.count("corrected") == 27
    assert verdicts.count("agrees") == 132


def test_only_epochs_are_corrected(tables: dict[int, Table]) -> None:
    for number, table in tables.items():
        wrong = {e.quantity for e in table.entries if e.verdict == "corrected"}
        assert wrong == ({"E*"} if number >= 10 else set())


def test_random_order_stands_beside_the_fixed_one(tables: dict[int, Table]) -> None:
    """The figures of Theorem B4, rounded up."""
    rows = tables[1].beside[0].rows
    assert [row[2][:5] for row in rows] == ["3.482", "4.792", "6.881"]
    assert [row[3][:5] for row in rows] == ["3.491", "4.809", "6.900"]


def test_bounds_beside_what_is_attained_leave_no_room(tables: dict[int, Table]) -> None:
    for row in tables[7].beside[0].rows:
        for upper, lower in zip(row[1::2], row[2::2], strict=True):
            assert 0.0 <= float(upper) - float(lower) <= 1e-4


@pytest.mark.parametrize("number", [1, 3, 4, 7, 8, 9, 10, 11, 12])
def test_files_of_a_table(tables: dict[int, Table], number: int) -> None:
    table = tables[number]
    for grid in (table.grid, *table.beside):
        assert all(len(row) == len(grid.columns) for row in grid.rows)
        assert not grid.groups or sum(width for _, width in grid.groups) == len(grid.columns)
        rows = list(csv.reader(io.StringIO(grid_csv(grid))))
        assert [tuple(row) for row in rows[1:]] == list(grid.rows)
        tex = grid_latex(grid, table.label, table.title)
        assert tex.isascii() or not set(tex) & set("μελησ±∞≥")
        body = re.search(r"\\midrule\n(.*)\\bottomrule", tex, re.DOTALL)
        assert body is not None
        lines = body[1].splitlines()
        assert len(lines) == len(grid.rows)
        assert {line.count("&") for line in lines} == {len(grid.columns) - 1}
    rows = list(csv.reader(io.StringIO(entries_csv(table.entries))))
    assert rows[0][2:6] == ["published", "here", "difference", "verdict"]
    assert len(rows) == len(table.entries) + 1


def test_common_headings_are_kept_in_csv() -> None:
    grid = Grid(("E", "a", "b"), (("1", "2", "3"),), (("", 1), ("RDP", 2)))
    assert grid_csv(grid) == 'E,"RDP, a","RDP, b"\n1,2,3\n'
