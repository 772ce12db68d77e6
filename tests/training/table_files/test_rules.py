"""What is public about a file: its columns are what the rules say."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiftdp import InvalidInput
from shiftdp.training.table_files.reading import read, shape_of
from shiftdp.training.table_files.rules import Rules, place_of


def test_the_number_of_features_is_held_to(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b,y\n1,1,1\n2,3,0\n")
    assert shape_of(str(path), Rules("y", features=2)) == (2, 2)
    for ask in (read, shape_of):
        with pytest.raises(InvalidInput, match="features=3"):
            ask(str(path), Rules("y", features=3))


def test_a_target_that_is_not_there_is_refused_with_the_names_that_are() -> None:
    assert place_of("t", ["a", "b"], "b") == 1
    with pytest.raises(InvalidInput, match=r"there are a, b, c, d, e, f, \.\.\."):
        place_of("t", list("abcdefg"), "y")
    with pytest.raises(InvalidInput, match="target=None is missing"):
        place_of("t", ["a"], None)


def test_a_mistyped_target_is_guessed() -> None:
    with pytest.raises(InvalidInput, match=r"there are age, income; did you mean income\?"):
        place_of("a.parquet", ["age", "income"], "incme")
    with pytest.raises(InvalidInput, match=r"there are age, income$"):
        place_of("a.parquet", ["age", "income"], "x")
