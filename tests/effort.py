"""How much work something is, by a measure that no clock and no other process can change."""

from __future__ import annotations

import sys
from collections.abc import Callable

__all__ = ["effort"]


def effort(work: Callable[[], object]) -> int:
    """The number of calls of functions that it takes: a million are about half a second.

    The second time: the first may load what is loaded on first use.
    """
    work()
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls
