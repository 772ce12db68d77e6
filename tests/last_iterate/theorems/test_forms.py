"""JSON forms, and values that are read by them."""

from __future__ import annotations

from typing import Any

import pytest

from shiftdp import InvalidInput
from shiftdp._strict_json import mismatch
from shiftdp.last_iterate.theorems.forms import (
    COUNT,
    NULL,
    POSITIVE,
    either,
    fields_of,
    fits,
    listed,
    pair,
    typed,
)

FORM = fields_of(
    {"steps": listed(pair(POSITIVE, COUNT), 1), "cap": either(COUNT, NULL)}, optional=("cap",)
)


def test_whole_numbers_floats_and_tuples_are_told_apart() -> None:
    found = typed({"steps": [[1, 2.0]], "cap": None}, FORM)
    assert found == {"steps": ((1.0, 2),), "cap": None}
    assert [type(item) for item in found["steps"][0]] == [float, int]
    assert typed({"steps": [], "cap": 3.0}, FORM) == {"steps": (), "cap": 3}


@pytest.mark.parametrize("fields", [{}, {"steps": [], "more": 1}, {"cap": 1}])
def test_a_form_is_told_by_its_fields(fields: dict[str, Any]) -> None:
    assert fits({"steps": []}, FORM)
    assert not fits(fields, FORM)
    assert mismatch(fields, FORM, FORM) is not None


def test_a_fraction_is_no_count() -> None:
    with pytest.raises(InvalidInput, match=r"steps=1\.5"):
        typed({"steps": [[1.0, 1.5]]}, FORM)
