"""Every kind of certificate is found by its source and by its format."""

from __future__ import annotations

import json

from shiftdp.privacy.selection.kinds import FORMATS, WHOLE
from tests.privacy.selection.examples import score, search


def test_kinds_are_found_by_name_and_by_format() -> None:
    for name, made in (("selection", search()), ("score", score())):
        assert WHOLE[name] is type(made)
        assert FORMATS[json.loads(made.to_json())["format"]] is type(made)
