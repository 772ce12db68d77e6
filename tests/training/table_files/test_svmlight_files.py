"""No line of an svmlight file changes how another is read, and each is one record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shiftdp import InvalidInput
from shiftdp.training.table_files.reading import read, shape_of
from shiftdp.training.table_files.rules import Rules, Table
from tests.training.table_files.one_record import (
    HEAD,
    RULES,
    TAIL,
    cells,
    every_rule,
    many,
    refused_or_unchanged,
)


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


@pytest.mark.parametrize("line", ["", "# 1 1:2", "  "])
def test_a_line_of_an_svmlight_file_is_one_record(tmp_path: Path, line: str) -> None:
    path = tmp_path / "data.svm"
    path.write_text(f"1 1:2\n{line}\n0 1:3 # a note\n")
    for reader in (read, shape_of):
        with pytest.raises(InvalidInput, match="without a label"):
            reader(str(path), Rules(None, features=2))
