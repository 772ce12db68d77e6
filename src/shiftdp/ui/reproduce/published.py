"""What the paper printed."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["DELTA", "published"]

DELTA = 1e-5
"""Of every epsilon in the tables."""


@cache
def _document() -> dict[str, Any]:
    text = files("shiftdp.ui.reproduce").joinpath("published.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def published(name: str) -> Any:
    """One table, or one setting, by its name in published.json.

    >>> published("mnist_epsilon")["composition_cgd"]
    [30.51, 49.88, 83.83]
    """
    return _document()[name]
