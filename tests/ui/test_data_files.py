"""No record changes how another is read: in every format it is read the same, or the file is not.

Files are written twice, with one record replaced by something nasty, and all other records compared
bit by bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from shiftdp import InvalidInput
from shiftdp.ui import data_files
from shiftdp.ui.data_files import Rules, Table, read, shape_of
from shiftdp.ui.labels import label

many = settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
HEAD = [("0.1", "3", "0"), ("-2.5e-3", "9007199254740993", "1")]
TAIL = [("1", "0.30000000000000004", "01"), (" 7 ", "-0", "0.0"), ("5e-324", "2", "1")]
CELLS = [
    "", " ", "x", "nan", "NaN", "inf", "-Infinity", "NA", "null", "None", "?", "1,5", '"1,5"',
    "1_000", "1.0", "01", "+1", "1e400", "-0.0", "0x10", "True", "2020-01-01", "1e2", "1.5",
    "9007199254740993", '"', '""', '"a', 'a"', "'", "#", ";", "\t1", "\ufeff1", "\uff11",
    "1\u00a0", "1 2", "\x00", "\u00e9", "yes",
]  # fmt: skip
RULES = {
    "classes": Rules("y", classes=[0, 1]),
    "words": Rules("y", classes=["0", "1", "yes"]),
    "fractions": Rules("y", classes=[0.0, 1.0, 1.5]),
    "learnt": Rules("y"),
    "numbers": Rules("y", numbers=True),
}
every_rule = pytest.mark.parametrize("rules", RULES)
cells = st.sampled_from(CELLS) | st.text(max_size=6)
records = st.tuples(cells, cells, cells)


def same(first: Any, second: Any) -> bool:
    """Features equal in every bit, and labels that are the same whatever they are called."""
    X, Z = (
        np.asarray(one.todense() if hasattr(one, "todense") else one) for one, _ in (first, second)
    )
    if X.dtype != Z.dtype or X.tobytes() != Z.tobytes():
        return False
    return [label(one) for one in first[1]] == [label(one) for one in second[1]]


def unchanged(plain: Table, other: Table) -> bool:
    """Whether all records but the one after the head are as they were."""
    h, t = len(HEAD), len(TAIL)
    return same((plain.X[:h], plain.y[:h]), (other.X[:h], other.y[:h])) and same(
        (plain.X[-t:], plain.y[-t:]), (other.X[-t:], other.y[-t:])
    )


def refused_or_unchanged(path: Path, rules: Rules, plain: Table) -> None:
    try:
        other = read(str(path), rules)
    except InvalidInput:
        return
    assert unchanged(plain, other)


def csv_file(path: Path, line: str) -> Path:
    rows = [",".join(row) for row in (("a", "b", "y"), *HEAD)] + [line]
    text = "\n".join([*rows, *(",".join(row) for row in TAIL)]) + "\n"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return path


@every_rule
@many
@given(line=records.map(",".join) | st.text(max_size=30))
@example(line='1,2,"0')
@example(line='1,"2')
@example(line='1,"2\n3,4",1')
@example(line="1,2,yes")
@example(line="1,2,1.5")
@example(line="1.5,2,nan")
@example(line="1,2,9007199254740993")
def test_a_line_of_a_csv_file(tmp_path: Path, rules: str, line: str) -> None:
    plain = read(str(csv_file(tmp_path / "plain.csv", "1,1,1")), RULES[rules])
    refused_or_unchanged(csv_file(tmp_path / "data.csv", line), RULES[rules], plain)


def svm_file(path: Path, line: str) -> Path:
    rows = [f"{y} 1:{a} 3:{b}" for a, b, y in HEAD] + [line]
    rows += [f"{y} 1:{a.strip()} 3:{b}" for a, b, y in TAIL]
    path.write_bytes(("\n".join(rows) + "\n").encode("utf-8", "surrogatepass"))
    return path


PAIRS = [
    "0:1",
    "1:2",
    "2:x",
    "3:1",
    "4:1",
    "9:1",
    "qid:3",
    "-1:2",
    "99999999999:1",
    "1:nan",
    "1:",
    ":1",
]


@every_rule
@many
@given(
    line=st.builds(
        lambda y, pairs: " ".join([y, *pairs]),
        cells,
        st.lists(st.sampled_from(PAIRS) | cells, max_size=4),
    )
)
@example(line="1 0:5")
@example(line="1 4:5")
@example(line="1.5 1:2")
@example(line="1 3:1 1:2")
@example(line="yes 1:1")
@example(line="1,0 1:1")
@pytest.mark.parametrize("first", [0, 1])
def test_a_line_of_an_svmlight_file(tmp_path: Path, rules: str, first: int, line: str) -> None:
    given = RULES[rules]._replace(features=4, first_index=first)
    plain = read(str(svm_file(tmp_path / "plain.svm", "1 1:1")), given)
    refused_or_unchanged(svm_file(tmp_path / "data.svm", line), given, plain)


TYPED: list[Any] = [
    None, math.nan, math.inf, True, False, "x", "1", "", 1.5, 2, 2**40, -0.0, np.float32(0.1), b"1",
    1e308, 5e-324, "nan", 1 + 2j, np.datetime64("2020-01-01"),
]  # fmt: skip


def typed_rows(record: tuple[Any, Any, Any]) -> tuple[list[list[Any]], list[Any]]:
    rows = [*HEAD, record, *TAIL]
    numbers = [[float(v) if isinstance(v, str) and row is not record else v for v in row[:2]]
               for row in rows]  # fmt: skip
    names = [label(row[2]) if row is not record else row[2] for row in rows]
    return numbers, names


def npz_file(path: Path, record: tuple[Any, Any, Any]) -> Path:
    rows, names = typed_rows(record)
    np.savez(path, X=np.array(rows), y=np.array(names))
    return path


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
@pytest.mark.parametrize("write", [npz_file, parquet_file])
def test_a_row_of_a_typed_file(
    tmp_path: Path, rules: str, write: Callable[[Path, tuple[Any, Any, Any]], Path], record: Any
) -> None:
    ending = {"npz_file": "npz", "parquet_file": "parquet"}[write.__name__]
    plain = read(str(write(tmp_path / f"plain.{ending}", (1.0, 1.0, 1))), RULES[rules])
    try:
        path = write(tmp_path / f"data.{ending}", record)
    except (TypeError, ValueError, OverflowError, pa.ArrowException):
        return  # no such file can be written
    refused_or_unchanged(path, RULES[rules], plain)


# --- what is read, and what is not ---


@pytest.fixture
def svm(tmp_path: Path) -> Callable[..., Table]:
    def reading(text: str, **rules: Any) -> Table:
        (tmp_path / "data.svm").write_text(text)
        return read(str(tmp_path / "data.svm"), Rules(None, **rules))

    return reading


def test_svmlight_counts_from_one_unless_told(svm: Callable[..., Table]) -> None:
    text = "1 1:5\n0 2:6\n"
    assert svm(text, features=2).X.toarray().tolist() == [[5, 0], [0, 6]]
    assert svm(text, features=3, first_index=0).X.toarray().tolist() == [[0, 5, 0], [0, 0, 6]]
    # one record more does not move the others, as it did where the first index was guessed
    with pytest.raises(InvalidInput, match="from 1 to 2"):
        svm(text + "1 0:7\n", features=2)
    with pytest.raises(InvalidInput, match="from 1 to 2"):
        svm(text + "1 3:7\n", features=2)
    with pytest.raises(InvalidInput, match="features=None is missing"):
        svm(text)


def test_the_number_of_features_is_held_to(tmp_path: Path) -> None:
    path = str(csv_file(tmp_path / "data.csv", "1,1,1"))
    assert shape_of(path, Rules("y", features=2)) == (6, 2)
    for ask in (read, shape_of):
        with pytest.raises(InvalidInput, match="features=3"):
            ask(path, Rules("y", features=3))


def test_a_file_without_names_is_refused_without_its_first_record(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("Smith,7391.25,yes\nJones,2,no\n")
    with pytest.raises(InvalidInput) as refusal:
        read(str(path), Rules("y"))
    assert "first line" in str(refusal.value)
    for word in ("Smith", "7391", "yes"):
        assert word not in str(refusal.value)


def test_a_quoted_line_is_read(tmp_path: Path) -> None:
    path = csv_file(tmp_path / "data.csv", '"4"," 5","1"')
    assert read(str(path), RULES["classes"]).X[2].tolist() == [4.0, 5.0]


def test_a_column_of_the_folder_is_no_column_of_the_file(tmp_path: Path) -> None:
    """A Parquet file in a folder that is called like a partition has the columns it has."""
    folder = tmp_path / "site=7391"
    folder.mkdir()
    path = parquet_file(folder / "data.parquet", (1.0, 1.0, 1))
    assert read(str(path), RULES["classes"]).X.shape == shape_of(str(path), RULES["classes"])


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("1,2,0\r1,2,1", "carriage return"),
        ("1,2,0\r\r", "carriage return"),
        ("", "blank line"),
        (" \t", "blank line"),
    ],
)
def test_a_line_of_a_csv_file_is_one_record(tmp_path: Path, line: str, problem: str) -> None:
    path = str(csv_file(tmp_path / "data.csv", line))
    for reader in (read, shape_of):
        with pytest.raises(InvalidInput, match=problem):
            reader(path, Rules("y"))


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_lines_of_a_csv_file_end_as_on_any_system(tmp_path: Path, ending: str, last: bool) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes((ending.join(["a,y", "1,0", "2,1"]) + ending * last).encode())
    assert shape_of(str(path), Rules("y")) == (2, 1)
    assert read(str(path), Rules("y")).X.tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize("line", ["", "# 1 1:2", "  "])
def test_a_line_of_an_svmlight_file_is_one_record(tmp_path: Path, line: str) -> None:
    path = tmp_path / "data.svm"
    path.write_text(f"1 1:2\n{line}\n0 1:3 # a note\n")
    for reader in (read, shape_of):
        with pytest.raises(InvalidInput, match="without a label"):
            reader(str(path), Rules(None, features=2))


@pytest.mark.parametrize("rows", [-3, 0, 2**40, 2**62])
def test_a_parquet_file_that_misstates_its_length_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    """Found by fuzzing: NumPy's own error about negative dimensions came through."""
    path = tmp_path / "table.parquet"
    pyarrow.parquet.write_table(pa.table({"a": [1.0, 2.0], "y": [0, 1]}), path)
    honest = data_files._parquet_head(str(path), Rules(target="y"))
    forged = honest._replace(n=rows)
    monkeypatch.setitem(data_files._HEADS, "parquet", lambda path, rules: forged)
    with pytest.raises(InvalidInput, match=r"has no records|more records|was changed"):
        read(str(path), Rules(target="y"))
