"""Numbers in print: rounded to the private side, and never far."""

import io
import json
import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shiftdp.ui.output import column, down, plain, print_json, print_pairs, print_table, up

positive = st.floats(min_value=5e-324, max_value=1.7e308)


@given(positive, st.integers(1, 12))
@example(0.1, 3)
@example(9.9999999, 3)
@example(123456789.4, 3)
@example(1e-4, 5)
def test_bounds_are_rounded_up_by_less_than_a_unit(value: float, digits: int) -> None:
    high, low = (Fraction(f(value, digits)) for f in (up, down))
    exact = Fraction(repr(value))
    assert low <= exact <= high
    unit = Fraction(10) ** (math.floor(math.log10(value)) + 2 - digits)
    assert high - low <= unit


@given(st.lists(st.one_of(st.none(), st.floats(1e-12, 1e12)), min_size=1, max_size=6))
def test_columns_are_rounded_the_same_way(values: list[float | None]) -> None:
    above, below = column(values), column(values, "down")
    for value, high, low in zip(values, above, below, strict=True):
        if value is None:
            assert high == low == "-"
        else:
            assert Fraction(low) <= Fraction(repr(value)) <= Fraction(high)


@given(st.lists(st.floats(1e-3, 1e5), min_size=2, max_size=6))
def test_points_stand_below_one_another(values: list[float]) -> None:
    assert len({len(cell.partition(".")[2]) for cell in column(values)}) == 1


def test_extremes() -> None:
    assert [up(x) for x in (0.0, math.inf, None, math.nan)] == ["0", "inf", "-", "-"]
    assert column([0.0, math.inf, None]) == ["0", "inf", "-"]
    assert plain(1e300) == "1e+300"
    assert plain(5.0) == "5"


def test_json_has_no_infinity(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": math.inf, "b": [-math.inf, (math.nan,)], "c": {1: 0.1}})
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found == {"a": "inf", "b": ["-inf", [None]], "c": {"1": 0.1}}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("name", "value", "colour", "bold"),
    [("TERM", "xterm", True, True), ("NO_COLOR", "1", False, True), ("TERM", "dumb", False, False),
     ("NO_COLOR", "", True, True)],
)  # fmt: skip
def test_no_color_and_dumb_terminals_are_honoured(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, colour: bool, bold: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(name, value)
    shown = Terminal()
    monkeypatch.setattr("sys.stdout", shown)
    print_pairs("title", [("epsilon", "1")])
    print_table(("a", "b"), [("1", "2")], strong=(0,))
    text = shown.getvalue()
    assert ("\x1b[36m" in text) is colour
    assert ("\x1b[" in text) is bold
    assert "epsilon" in text
