"""What a function that is made of another one keeps of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shiftdp.fdp import GaussianTradeoff, PoissonZeroOut, TradeoffFunction, WithFailure
from shiftdp.fdp.functions.group import GroupTradeoff

LOPSIDED = PoissonZeroOut(0.1, 0.2, 1.0)
Made = Callable[[TradeoffFunction], TradeoffFunction]
MADE: dict[str, Made] = {
    "failure": lambda f: WithFailure(f, 1e-6),
    "group": lambda f: GroupTradeoff(f, 3),
}
every_kind = pytest.mark.parametrize("made", MADE.values(), ids=MADE.keys())


@every_kind
def test_a_symmetric_base_has_one_direction(made: Made) -> None:
    f = made(GaussianTradeoff(0.5))
    assert f.symmetric
    assert f.inverse() is f
    assert f.directions == (f, f)


@every_kind
def test_each_direction_is_made_of_that_of_the_base(made: Made) -> None:
    f = made(LOPSIDED.worse_direction())
    assert f.directions == tuple(made(part) for part in LOPSIDED.worse_direction().directions)
    assert made(LOPSIDED).inverse() == made(LOPSIDED.inverse())


@every_kind
def test_it_is_as_accurate_as_its_base(made: Made) -> None:
    base = LOPSIDED.power(9)
    assert base.composed
    assert made(base).composed
    assert made(base).accuracy == base.accuracy
