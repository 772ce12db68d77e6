"""What is printed of a bound is never smaller than the bound."""

from hypothesis import given
from hypothesis import strategies as st

from shiftdp._printed import column, down, percent, trimmed, up

POSITIVE = st.floats(1e-300, 1e300)


@given(POSITIVE)
def test_bounds_are_rounded_up_and_what_is_attained_down(x: float) -> None:
    for text in (up(x), trimmed(up(x)), column([x])[0]):
        assert x <= float(text)
    assert float(up(x)) <= x * (1 + 1e-3)
    for text in (down(x), trimmed(down(x)), column([x], "down")[0]):
        assert float(text) <= x


@given(st.floats(0.0, 1.0))
def test_shares_are_rounded_up_and_at_most_all(share: float) -> None:
    shown = float(percent(share).removesuffix("%"))
    assert 100.0 * share <= shown <= 100.0
