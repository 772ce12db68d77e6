"""Everything of the paper is there: all tables, all figures, trained or not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shiftdp.ui.reproduce.contents import published_tables
from shiftdp.ui.reproduce.experiment import (
    PUBLISHED,
    RIGOROUS,
    Results,
    experiment,
)
from shiftdp.ui.reproduce.figures.picture import Picture
from shiftdp.ui.reproduce.grid import Table
from shiftdp.ui.reproduce.images import digits
from shiftdp.ui.reproduce.tables.mnist_accuracy import rigorous_table
from tests.ui.shell import said


@pytest.mark.slow
def test_the_quick_rehearsal(tmp_path: Path) -> None:
    document = said("reproduce", "--quick", "--out", str(tmp_path), "--json")
    assert document["tables"] == 13
    assert document["runs"] == 2
    assert document["verdicts"]["not compared"] == 30
    assert "differs" not in document["verdicts"]


def test_all_ten_and_two_more(pictures: list[Picture]) -> None:
    numbers = [picture.number for picture in pictures]
    assert numbers == [*range(1, 11), None, None]
    assert len({picture.label for picture in pictures}) == 12


def test_the_accuracy_tables() -> None:
    images = digits()
    short = replace(images, setting=replace(images.setting, epochs=(1, 2, 3)))
    found: dict[str, Results] = {
        variant.name: experiment(short, variant, 2, 1) for variant in (*PUBLISHED, *RIGOROUS)
    }
    tables = [*published_tables(short, found), rigorous_table(short, found)]
    assert [table.number for table in tables] == [2, 5, 6, None]
    assert {e.verdict for table in tables for e in table.entries} == {"not compared"}
    assert len(tables[3].grid.rows) == 6
    # as if they were the paper's: digits after three epochs are not
    posing = published_tables(replace(short, published=True), found)
    assert {e.verdict for table in posing for e in table.entries} == {"differs"}


def test_the_tables_without_training(tables: dict[int, Table]) -> None:
    assert sorted(tables) == [1, 3, 4, 7, 8, 9, 10, 11, 12]
