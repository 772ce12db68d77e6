"""The page has every control once, and an address for everything that can be taken away."""

from __future__ import annotations

import pytest

pytest.importorskip("dash_mantine_components", reason="needs the extra `explore`")

from shiftdp.ui.explorer.downloads import FILES
from shiftdp.ui.explorer.fields import FIELDS
from shiftdp.ui.explorer.layout import page


def test_ids_are_unique_and_controls_are_complete() -> None:
    ids = [str(part.id) for part in page()._traverse() if getattr(part, "id", None) is not None]
    assert len(ids) == len(set(ids))
    assert {f"field-{name}" for name in FIELDS} <= set(ids)
    assert {f"link-{name.replace('.', '-')}" for name in FILES} <= set(ids)
