"""Every kind of certificate is found by its source and by its format."""

from __future__ import annotations

import json

from shiftdp.privacy.selection.kinds import FORMATS, WHOLE, only_in_python
from tests.privacy.selection.examples import score, search


def test_kinds_are_found_by_name_and_by_format() -> None:
    for name, made in (("selection", search()), ("score", score())):
        assert WHOLE[name] is type(made)
        assert FORMATS[json.loads(made.to_json())["format"]] is type(made)


def test_a_theorem_of_the_library_needs_no_author() -> None:
    assert only_in_python('{"kind": "conditional", "bound": "Theorem B1"}') is None
    assert only_in_python('{"kind": "certified", "bound": "Mine"}') is None
    assert only_in_python('{"kind": "conditional", "bound": 3}') is None
    assert only_in_python("[1]") is only_in_python("no JSON") is None
    assert "'Mine'" in str(only_in_python('{"kind": "conditional", "bound": "Mine"}'))
