"""No record of a Parquet file changes how another is read: it is read the same, or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from hypothesis import example, given
from hypothesis import strategies as st

from shiftdp.training.table_files.reading import read, shape_of
from tests.training.table_files.one_record import (
    RULES,
    TYPED,
    every_rule,
    many,
    refused_or_unchanged,
    typed_rows,
)


def parquet_file(path: Path, record: tuple[Any, Any, Any]) -> Path:
    rows, names = typed_rows(record)
    columns = {"a": [row[0] for row in rows], "b": [row[1] for row in rows], "y": names}
    pa.parquet.write_table(pa.table(columns), path)
    return path


@every_rule
@many
@given(record=st.tuples(*[st.sampled_from(TYPED)] * 3))
@example(record=(1.5, 2.0, "x"))
@example(record=(1.5, 2.0, 1.5))
def test_a_row_of_parquet_file(tmp_path: Path, rules: str, record: Any) -> None:
    plain = read(str(parquet_file(tmp_path / "plain.parquet", (1.0, 1.0, 1))), RULES[rules])
    try:
        path = parquet_file(tmp_path / "data.parquet", record)
    except (TypeError, ValueError, OverflowError, pa.ArrowException):
        return  # no such file can be written
    refused_or_unchanged(path, RULES[rules], plain)


def test_a_column_of_the_folder_is_no_column_of_the_file(tmp_path: Path) -> None:
    """A Parquet file in a folder that is called like a partition has the columns it has."""
    folder = tmp_path / "site=7391"
    folder.mkdir()
    path = parquet_file(folder / "data.parquet", (1.0, 1.0, 1))
    assert read(str(path), RULES["classes"]).X.shape == shape_of(str(path), RULES["classes"])
