"""Labels: which records have the same does not depend on how the others are written."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp.training.table_files.labels import BadLabels, labels


def test_labels_without_classes_keep_who_has_the_same() -> None:
    assert labels(["0", "01", "1.0"]).tolist() == [0, 1, 1]
    assert labels(["0", "01", "1.5"]).tolist() == [0.0, 1.0, 1.5]
    assert labels(["0", "01", "x"]).tolist() == ["0", "1", "x"]
    big = 2**53 + 1
    assert labels([str(big), str(big - 1), "1.5"]).tolist() == [str(big), str(big - 1), "1.5"]


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=6))
def test_a_number_is_the_same_label_however_it_is_written(numbers: list[int]) -> None:
    for write in (str, "{}.0".format, " {} ".format, "{:+06d}".format, "{:.7e}".format):
        assert labels([write(number) for number in numbers]).tolist() == numbers


def test_only_what_is_empty_is_missing() -> None:
    assert labels(["NA", "nan", "?"]).tolist() == ["NA", "nan", "?"]
    for entry in ("", "  ", None, math.nan, b"1"):
        with pytest.raises(BadLabels, match="without a label"):
            labels(["1", entry])


def test_labels_are_looked_up_among_the_classes() -> None:
    assert labels(["01", "0.0"], [1, 0]).tolist() == [1, 0]
    with pytest.raises(BadLabels, match="not in classes") as refusal:
        labels(["1", "7391"], [0, 1])
    assert "7391" not in str(refusal.value)


def test_targets_are_finite_numbers() -> None:
    assert labels(["1", "2.5", "-1e3"], numbers=True).tolist() == [1.0, 2.5, -1000.0]
    for entry in ("x", "1" * 310):
        with pytest.raises(BadLabels, match="not finite numbers"):
            labels(["1", entry], numbers=True)
