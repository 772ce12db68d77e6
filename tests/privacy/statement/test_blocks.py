"""Words and computed numbers, and characters that are not shown."""

import pytest

from shiftdp.privacy.statement.blocks import (
    Bound,
    clean,
    line,
    pairs,
    plain_line,
    printed,
    sentences,
)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 4.33910001, 123.4567, 1e-7])
@pytest.mark.parametrize("shape", ["number", "short"])
def test_a_bound_is_never_printed_smaller_than_it_is(value: float, shape: str) -> None:
    shown = float(Bound(value, shape).text)  # type: ignore[arg-type]
    assert value <= shown <= value * 1.01


def test_shares_are_per_cent() -> None:
    assert printed(0.5, "percent") == "50.00%"
    assert printed(0.123451, "percent") == "12.35%"


def test_a_line_is_read_as_plain_text() -> None:
    assert plain_line(line("epsilon ", Bound(1.0), " here")) == "epsilon 1 here"
    assert sentences("a", "b").lines == (("a",), ("b",))
    assert pairs([("n", "1")]).rows == (("n", ("1",)),)


@pytest.mark.parametrize(
    "char", ["\u202e", "\x07", "\u200b", "\ud800", "\ue000", "\u2028", "\u3164"]
)
def test_what_is_not_seen_is_marked(char: str) -> None:
    assert clean(f"1{char}0") == "1\ufffd0"


def test_lines_become_spaces() -> None:
    assert clean("a\nb\tc") == "a b c"


def test_a_heap_of_accents_does_not_cover_the_lines_around() -> None:
    assert clean("a" + 50 * "\u0301").count("\u0301") == 4
    assert clean("e\u0301te\u0301") == "e\u0301te\u0301"
