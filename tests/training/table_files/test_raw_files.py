"""Raw tables from CSV and Parquet: names, types, entries as they stand there."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from shiftdp import InvalidInput
from shiftdp.training.table_files.raw_files import columns_of, read_raw, records_in

CSV = 'a,b,c\n1,"x, y",true\n,,\n"3","say ""hi""",no\n'


def test_quotes_and_missing_entries_of_a_csv_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(CSV)
    raw = read_raw(str(path), ["b", "a"])
    assert raw.columns["a"].tolist() == ["1", "", "3"]
    assert raw.columns["b"].tolist() == ["x, y", "", 'say "hi"']
    assert (raw.n, records_in(str(path))) == (3, 3)
    assert [(c.name, c.kind) for c in columns_of(str(path))] == [
        ("a", None),
        ("b", None),
        ("c", None),
    ]
    assert raw.table(["a"]).dtype.names == ("a",)


def test_names_of_a_csv_file_are_found_without_its_records(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a,b\n"never closed\n')
    assert [column.name for column in columns_of(str(path))] == ["a", "b"]


def test_parquet_has_types_and_nulls(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame({"a": [1.5, None], "b": ["x", None], "c": [True, False], "d": [1, 2]})
    frame.to_parquet(path)
    kinds = [column.kind for column in columns_of(str(path))]
    assert kinds == ["number", "category", "true_false", "number"]
    raw = read_raw(str(path), ["a", "b"])
    assert raw.columns["a"].tolist() == [1.5, None]
    assert raw.columns["b"].tolist() == ["x", None]
    assert records_in(str(path)) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,a\n1,2\n", "different names"),
        ("", "different names"),
        ("a,z\n1,2\n", "has no column 'b'"),
        ("a,b\n1\n", "lines of different length"),
        ('a,b\n1,"secret\n', "quotation mark"),
    ],
)
def test_tables_that_cannot_be_read_are_refused(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=words) as refusal:
        read_raw(str(path), ["a", "b"])
    assert "secret" not in str(refusal.value)


def test_formats_without_names_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.svm"
    path.write_text("1 1:2\n")
    with pytest.raises(InvalidInput, match="no names of columns"):
        columns_of(str(path))
