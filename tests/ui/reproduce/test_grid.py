"""A table as CSV and as LaTeX."""

from __future__ import annotations

import csv
import io
import re

import pytest

from shiftdp.ui.reproduce.grid import Grid, Table, entries_csv, grid_csv, grid_latex


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
