"""The page: whole by itself."""

from __future__ import annotations

import re
from pathlib import Path


def test_the_page_needs_nothing_from_elsewhere(folder: Path) -> None:
    text = (folder / "index.html").read_text()
    assert "<script" not in text
    assert not re.search(r"(src|href)=\"(https?:)?//|url\(|@import", text)
    linked = re.findall(r"(?:src|href)=\"([^\"#]+)\"", text)
    assert len([name for name in linked if name.endswith(".svg")]) == 2 * 12
    for name in linked:
        assert (folder / name).is_file(), name
    for anchor in re.findall(r"href=\"#([^\"]+)\"", text):
        assert f'id="{anchor}"' in text
    for word in ("published", "here", "difference", "verdict", "corrected"):
        assert word in text
