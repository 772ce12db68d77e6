"""Tables from several files: columns by name, types by all parts, and files that do not change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from shiftdp import InvalidInput
from shiftdp.training.table_files import csv_files, reading
from shiftdp.training.table_files.parquet_files import parquet_head
from shiftdp.training.table_files.reading import read
from shiftdp.training.table_files.rules import Rules

RULES = Rules("y", classes=[0, 1])


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [f"{i},{i % 2}" for i in range(100)]
    Path("data.csv").write_text("\n".join(["x,y", *lines]) + "\n")


def parquet(path: str, columns: dict[str, Any]) -> None:
    pa.parquet.write_table(pa.table(columns), path)


def test_columns_of_parts_are_found_by_name() -> None:
    parquet("a.parquet", {"u": [1.0], "v": [2.0], "y": [0]})
    parquet("b.parquet", {"y": [1], "v": [4.0], "u": [3.0]})
    found = read(("a.parquet", "b.parquet"), RULES)
    assert found.X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert found.names == ("u", "v")


def test_float32_columns_stay_float32_by_the_types_of_all_parts() -> None:
    short = pa.array([0.1], pa.float32())
    parquet("a.parquet", {"u": short, "y": [0]})
    parquet("b.parquet", {"u": [0.1], "y": [1]})
    assert read("a.parquet", RULES).X.dtype == np.float32
    assert read(("a.parquet", "b.parquet"), RULES).X[:, 0].tolist() == [float(np.float32(0.1)), 0.1]


@pytest.mark.parametrize("change", [-1, 1, 40])
def test_a_file_that_changes_while_it_is_read_is_refused(
    monkeypatch: pytest.MonkeyPatch, change: int
) -> None:
    counted = csv_files.count_lines
    monkeypatch.setattr(csv_files, "count_lines", lambda path: counted(path) - change)
    with pytest.raises(InvalidInput):
        read("data.csv", RULES)


def test_a_target_beyond_all_floats_is_refused_as_such() -> None:
    Path("far.csv").write_text(f"x,y\n1,1{'0' * 400}\n2,1\n")
    with pytest.raises(InvalidInput, match="not finite numbers"):
        read("far.csv", Rules("y", numbers=True))


@pytest.mark.parametrize("rows", [-3, 0, 2**40, 2**62])
def test_a_parquet_file_that_misstates_its_length_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    """Found by fuzzing: NumPy's own error about negative dimensions came through."""
    path = tmp_path / "table.parquet"
    pa.parquet.write_table(pa.table({"a": [1.0, 2.0], "y": [0, 1]}), path)
    honest = parquet_head(str(path), Rules(target="y"))
    forged = honest._replace(n=rows)
    monkeypatch.setitem(reading._HEADS, "parquet", lambda path, rules: forged)
    with pytest.raises(InvalidInput, match=r"has no records|more records|was changed"):
        read(str(path), Rules(target="y"))
