"""What a statement is made from."""

import json

import pytest

from shiftdp._errors import InvalidInput
from shiftdp.privacy.statement import ModelFacts
from shiftdp.privacy.statement.subject import statement_from, today
from tests.privacy.statement.examples import certificates, stated


def test_it_is_read_back() -> None:
    made = stated(about={"title": "T"}, model=ModelFacts("M", "d", ("leak",), ("why",)))
    assert statement_from(json.loads(made.to_json()), certificates()["gd"]) == made


@pytest.mark.parametrize("day", ["today", "2026-1-1", "20260101", ""])
def test_a_day_is_a_day(day: str) -> None:
    with pytest.raises(InvalidInput, match=r"date=.* is no day; give YYYY-MM-DD"):
        stated(date=day)


def test_today_is_one() -> None:
    assert stated(date=today()).day == today()


def test_what_is_said_has_a_name_and_is_text() -> None:
    with pytest.raises(InvalidInput, match="about='colour' is not one of the fields"):
        stated(about={"colour": "red"})
    with pytest.raises(InvalidInput, match="is no text of at most 2000"):
        stated(about={"title": "x" * 2001})


def test_delta_is_checked() -> None:
    with pytest.raises(InvalidInput, match="delta=2"):
        stated(delta=2)
