"""Threads that share out a batch: every part is done once, and errors come out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp.training.descent.threads import Crew


@given(size=st.integers(1, 4), first=st.integers(0, 9), number=st.integers(0, 30))
def test_parts_cover_everything_once(size: int, first: int, number: int) -> None:
    seen: list[tuple[int, int, int]] = []
    with Crew(size, limited=False) as crew:
        crew.share(lambda *part: seen.append(part), first, first + number)
    assert [k for k, _, _ in sorted(seen)] == list(range(size))
    covered = [i for _, start, stop in sorted(seen) for i in range(start, stop)]
    assert covered == list(range(first, first + number))


def test_an_error_in_another_thread_comes_out() -> None:
    def fail(k: int, start: int, stop: int) -> None:
        if k == 1:
            raise ValueError("here")

    with Crew(2, limited=False) as crew, pytest.raises(ValueError, match="here"):
        crew.share(fail, 0, 10)
