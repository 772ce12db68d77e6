"""What certificates of whole releases share."""

from __future__ import annotations

from typing import Any

import pytest

from shiftdp import InvalidInput
from shiftdp.privacy.selection.release_certificate import (
    read_document,
    read_sum,
    require_fields,
    require_format,
    sum_document,
)
from tests.privacy.selection.examples import ACCURACY, search


def test_a_sum_is_written_and_read() -> None:
    assert read_sum(sum_document(ACCURACY)) == ACCURACY


def test_fields_are_all_there_and_no_others() -> None:
    require_fields({"a": 1}, ("a",))
    wrong: list[Any] = [{}, {"a": 1, "b": 2}, [], None]
    for document in wrong:
        with pytest.raises(ValueError, match="fields"):
            require_fields(document, ("a",))


def test_a_document_of_another_format_is_refused() -> None:
    def read(found: Any) -> Any:
        require_format(found, "x/1")
        return found["format"]

    assert read_document('{"format": "x/1"}', "x/1", read) == "x/1"
    for text in ('{"format": "y/1"}', "{}", "[1]", '{"format": "x/1", "format": "x/1"}'):
        with pytest.raises(InvalidInput):
            read_document(text, "x/1", read)


def test_delta_is_checked() -> None:
    with pytest.raises(InvalidInput):
        search().epsilon(0.0)
    assert search().mu is None
