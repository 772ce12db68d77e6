"""What is printed of a bound is never smaller than the bound; and runs in print."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp import Geometry, NoisyCGD, NoisyGD, NoisySGD, NoisyStream, certify
from shiftdp._printed import column, down, percent, schedule, trimmed, up

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


@given(st.lists(st.floats(1e-30, 1e30), min_size=11, max_size=300))
def test_a_long_schedule_is_short_in_print(values: list[float]) -> None:
    text = schedule(tuple(values))
    assert len(text) < 60
    assert text.startswith(f"<{len(values)} values, ")
    ends = [float(word) for word in re.findall(r"[\d.]+(?:e[+-]\d+)?", text.partition(",")[2])]
    assert ends[0] == pytest.approx(min(values), rel=1e-3)
    assert ends[-1] == pytest.approx(max(values), rel=1e-3)


@pytest.mark.parametrize(
    ("run", "shape"),
    [
        (NoisyGD, {"n": 100, "steps": 1_000}),
        (NoisyCGD, {"n": 100, "batch_size": 10, "steps": 1_000}),
        (NoisySGD, {"n": 100, "batch_size": 10, "steps": 1_000}),
        (NoisyStream, {"batch_size": 10, "batches_per_release": 1_000}),
    ],
)
def test_runs_are_short_in_print_and_can_be_read_back(run: Any, shape: dict[str, int]) -> None:
    noise = [2.248] * 999 + [17.98]
    long = run(**shape, learning_rate=[0.1] * 1_000, noise=noise)
    assert "learning_rate=<1000 values, all 0.1>" in repr(long)
    assert "noise=<1000 values, 2.248 to 17.98>" in repr(long)
    assert len(repr(long)) < 300
    short = run(**shape, learning_rate=0.1, noise=1.0)
    names = {each.__name__: each for each in (NoisyGD, NoisyCGD, NoisySGD, NoisyStream)}
    assert eval(repr(short), names) == short


def test_certificates_print_ten_releases_and_no_stray_comma() -> None:
    geometry = Geometry(strong_convexity=0.1, smoothness=1.0, sensitivity=1.0)
    shape: dict[str, Any] = {"learning_rate": 0.1, "noise": 1.0}
    few = NoisyGD(n=100, steps=50, releases=range(5, 50, 5), **shape)
    assert "releases=(5, 10, 15, 20, 25, 30, 35, 40, 45, 50)" in certify(few, geometry).statement()
    many = NoisyGD(n=100, steps=50, releases=range(2, 50, 2), **shape)
    text = certify(many, geometry).statement()
    assert "releases=<25 values, 2 to 50>" in text
    stream = certify(NoisyStream(batch_size=5, batches_per_release=4, **shape), geometry)
    assert "however long it is [certified bound]" in stream.statement()


@given(st.floats(1.0, 1e8))
def test_a_bound_reads_the_same_alone_and_in_a_table(value: float) -> None:
    assert [up(value), down(value)] == column([value]) + column([value], "down")
