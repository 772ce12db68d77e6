"""The types of the options: what is typed is read exactly, in one way only."""

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp.ui.refusals import Refused
from shiftdp.ui.types import (
    CHECKPOINTS,
    COOLDOWN,
    IMAGE,
    NUMBER,
    NUMBERS,
    REQUEST,
    VALUES,
    CoolDown,
    InFile,
    OutFile,
    OutFolder,
    Values,
    Word,
)


@given(st.integers(-(10**30), 10**30))
def test_whole_numbers_stay_exact(number: int) -> None:
    read = NUMBER.convert(str(number), None, None)
    assert isinstance(read, int)
    assert read == number


@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=5))
def test_numbers_are_read_as_they_are_written(numbers: list[float]) -> None:
    assert NUMBERS.convert(", ".join(map(repr, numbers)), None, None) == tuple(numbers)
    assert NUMBERS.convert(numbers, None, None) == tuple(numbers)
    assert NUMBERS.convert(repr(numbers[0]), None, None) == numbers[0]


@pytest.mark.parametrize("text", ["", "nan", "much", "1..2", "0x10", True])
def test_what_is_no_number_is_refused(text: object) -> None:
    with pytest.raises(Refused, match="is not a number"):
        NUMBER.convert(text, None, None)


@given(st.integers(-50, 50), st.integers(1, 100), st.integers(2, 30))
def test_a_range_has_equal_steps_and_both_ends(low: int, width: int, count: int) -> None:
    found = VALUES.convert(f"{low}:{low + width}:{count}", None, None).numbers()
    exact = [low + Fraction(width * i, count - 1) for i in range(count)]
    assert (found[0], found[-1]) == (low, low + width)
    assert found == pytest.approx([float(x) for x in exact], rel=1e-14, abs=1e-13)


def test_a_range_by_ratios_and_numbers_beside_it() -> None:
    found = VALUES.convert("1:1000:4:log, inf", None, None).numbers()
    assert found == pytest.approx([1.0, 10.0, 100.0, 1000.0, float("inf")], rel=1e-14)


def test_counts_are_whole_and_said_once() -> None:
    found = Values((1.2, 0.9, 2.6, 2.5, float("inf")), (True, True, True, False, False))
    assert found.numbers(whole=True) == [1, 3, 2.5, float("inf")]
    assert Values((1.2, 0.9, 1.2), (False,) * 3).numbers() == [1.2, 0.9]


def test_a_word_may_have_dashes_and_a_near_one_is_suggested() -> None:
    order = Word(("fixed", "shuffled_once"))
    assert order.convert("shuffled-once", None, None) == "shuffled_once"
    with pytest.raises(Refused, match="did you mean fixed"):
        order.convert("fixd", None, None)


def test_files_and_folders_are_looked_at_before_anything_is_computed(tmp_path: Path) -> None:
    file = tmp_path / "there.json"
    file.write_text("{}")
    assert InFile().convert(str(file), None, None) == str(file)
    assert OutFile().convert(str(file), None, None) == str(file)
    assert OutFolder().convert(str(tmp_path / "a" / "b"), None, None) == str(tmp_path / "a" / "b")
    assert not (tmp_path / "a").exists()
    for kind, path, why in (
        (InFile(), tmp_path / "absent.json", "there is no such file"),
        (InFile(), tmp_path, "is a folder"),
        (OutFile(), tmp_path / "a" / "b.json", "there is no folder"),
        (OutFile(), tmp_path, "may not be written"),
        (IMAGE, tmp_path / "plot.gif", "one of .png, .svg, .pdf"),
        (OutFolder(), file, "is no folder"),
        (OutFolder(), file / "inside", "is no folder"),
    ):
        with pytest.raises(Refused, match=why):
            kind.convert(str(path), None, None)


def test_a_cool_down_is_a_number_of_steps_and_a_factor() -> None:
    assert COOLDOWN.convert("30:3", None, None) == CoolDown(30, 3)
    assert COOLDOWN.convert("5:1.5", None, None) == CoolDown(5, 1.5)
    assert COOLDOWN.convert(CoolDown(5, 2), None, None) == CoolDown(5, 2)


@pytest.mark.parametrize("text", ["30", "30:", ":3", "1.5:3", "3:0.5", "-1:3", "3:inf", "a:b", 3])
def test_what_is_no_cool_down_is_refused(text: object) -> None:
    with pytest.raises(Refused, match="is not LAST:FACTOR"):
        COOLDOWN.convert(text, None, None)


@pytest.mark.parametrize("value", ["inf", "1e400", "2.5", "x"])
def test_checkpoints_are_counted(value: str) -> None:
    """Found by fuzzing: infinity is no whole number."""
    with pytest.raises(Refused, match="is no checkpoints"):
        CHECKPOINTS.convert(value, None, None)


def test_requests_are_steps_and_records() -> None:
    assert REQUEST.convert("200:1", None, None) == (200, 1)
    assert REQUEST.convert([300, 2], None, None) == (300, 2)
    for odd in ("200", "0:1", "200:0", "200:1:1", "200:1.5", "many:1", [200], 200):
        with pytest.raises(Refused, match="STEPS:RECORDS"):
            REQUEST.convert(odd, None, None)
