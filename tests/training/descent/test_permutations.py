"""Permutations: the one that is sorted on disk is the one in memory."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp.training.descent import disk, permutations
from shiftdp.training.descent.entropy import Seeded


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 400), seed=st.integers(0, 99), resident=st.integers(64, 5000))
def test_a_permutation_on_disk_is_the_one_in_memory(n: int, seed: int, resident: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(permutations, "RESIDENT", resident)
        patch.setattr(disk, "RESIDENT", resident)
        made = permutations.permutation_on_disk(n, Seeded(seed).open("batches"))
    assert made.tolist() == permutations.permutation(n, Seeded(seed).open("batches")).tolist()


class _Repeating:
    """A stream whose first keys are all equal."""

    def __init__(self, n: int) -> None:
        self.left = n
        self.rest = Seeded(0).open("batches")

    def draw(self, size: int) -> bytes:
        if self.left > 0:
            self.left -= size // 8
            return bytes(size)
        return self.rest.draw(size)


def test_equal_keys_are_drawn_again() -> None:
    stream: Any = _Repeating(9)
    made = permutations.permutation_on_disk(9, stream)
    assert made.tolist() == permutations.permutation(9, Seeded(0).open("batches")).tolist()
