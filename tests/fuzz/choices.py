"""Decisions that are read off bytes: what makes an input of every target.

A target sees bytes only. So an input is a file of bytes, whoever found it (a random generator,
hypothesis, which shrinks it, or libFuzzer, which follows the branches that it takes), and it can be
kept and run again.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")

NUMBERS: tuple[Any, ...] = (
    0, 0.0, -0.0, 1, 1.0, -1, 0.5, 2.0, 5e-324, 1e-310, 2.3e-308, 1e-300, 1e-41, 1e-40, 1e-16,
    1.0 - 2**-53, 1.0 + 2**-52, 1e15, 2**53 - 1, 2**53, 2**53 + 1, 2**63, 10**30, 1e40, 1.1e40,
    1e154, 1e300, 1.7e308, -5e-324, -1e300, math.inf, -math.inf, math.nan,
)  # fmt: skip
"""Numbers at which arithmetic has its edges."""

STRANGE: tuple[Any, ...] = (
    None, True, False, "", "1", "nan", "all", "epochs", b"1", [], (), {}, [[]], [1.0, math.nan],
    [0.0], 1j, Decimal("0.1"), Decimal("nan"), Fraction(1, 3), 10**400, -(10**400),
    np.float32(0.1), np.int8(-1), np.uint64(2**64 - 1), np.float64("nan"), np.array(0.5),
    np.array([0.5, 0.5]), np.array([]), np.array(["a"]), object, range(3), {1: 2}, {1.0, 2.0},
    "\ud800", "x" * 500,
)  # fmt: skip
"""What is no number, or hardly one."""


class Choices:
    """Decisions in a row. When the bytes are used up, each further one is the first of its list."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def bytes(self, size: int) -> bytes:
        found = self._data[self._at : self._at + size]
        self._at += size
        return found.ljust(size, b"\0")

    def below(self, n: int) -> int:
        """A whole number from 0 to n - 1."""
        return int.from_bytes(self.bytes(1 if n <= 256 else 4), "little") % n

    def integer(self, low: int, high: int) -> int:
        return low + self.below(high - low + 1)

    def chance(self, one_in: int) -> bool:
        """Rarely true; false when the bytes are used up."""
        return self.below(one_in) == one_in - 1

    def pick(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def uniform(self, low: float, high: float) -> float:
        return low + (high - low) * self.below(2**16) / 65535.0

    def log_uniform(self, low: float, high: float) -> float:
        return float(math.exp(self.uniform(math.log(low), math.log(high))))

    def bits(self) -> float:
        """Any float, by its bits."""
        return float(struct.unpack("<d", self.bytes(8))[0])

    def hostile(self) -> Any:
        """A number at an edge, any float, or no number at all."""
        match self.below(4):
            case 0 | 1:
                return self.pick(NUMBERS)
            case 2:
                return self.bits()
            case _:
                return self.pick(STRANGE)

    def mostly(self, sensible: T, one_in: int = 24) -> T | Any:
        """What is sensible, or now and then anything."""
        return self.hostile() if self.chance(one_in) else sensible
