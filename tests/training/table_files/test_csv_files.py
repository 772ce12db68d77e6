"""No line of a CSV file changes how another is read, and each is one record."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shiftdp import InvalidInput
from shiftdp.training.table_files.reading import read, shape_of
from shiftdp.training.table_files.rules import Rules
from tests.training.table_files.one_record import (
    HEAD,
    RULES,
    TAIL,
    every_rule,
    many,
    records,
    refused_or_unchanged,
)


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


def test_a_file_without_names_is_refused_without_its_first_record(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("Smith,7391.25,yes\nJones,2,no\n")
    with pytest.raises(InvalidInput) as refusal:
        read(str(path), Rules("y"))
    assert "first line" in str(refusal.value)
    for word in ("Smith", "7391", "yes"):
        assert word not in str(refusal.value)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("größe,y\n7391,1\n".encode("latin-1"), "is not text in UTF-8; save it as UTF-8"),
        ("a,y\n7391,1\n".encode("utf-16"), "is not text in UTF-8; save it as UTF-8"),
        (b"a;y\n7391;1\n", "has semicolons, and no comma, in its first line; write it with commas"),
        (b"a\ty\n7391\t1\n", "has tabs, and no comma, in its first line"),
        (b'a,y\n"7391,1\n', "a quotation mark is not closed.*; double a mark within"),
        (b'a,y\n"7391"3,1\n', "or text follows a closed one"),
    ],
)
def test_a_file_of_another_program_says_what_to_change(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=problem) as refusal:
        read(str(path), Rules("y"))
    assert "7391" not in str(refusal.value)
    assert refusal.value.__context__ is None


def test_a_quoted_line_is_read(tmp_path: Path) -> None:
    path = csv_file(tmp_path / "data.csv", '"4"," 5","1"')
    assert read(str(path), RULES["classes"]).X[2].tolist() == [4.0, 5.0]


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


def test_a_mistyped_target_is_guessed_without_a_word_of_the_first_line(tmp_path: Path) -> None:
    """It may be a record, in a file without names."""
    path = tmp_path / "table.csv"
    path.write_text("age,secret1,z\n1,2,3\n")
    rules = Rules("secret", numbers=True)
    with pytest.raises(InvalidInput, match="that of column 2 is nearly this one") as caught:
        shape_of(str(path), rules)
    assert "secret1" not in str(caught.value)
