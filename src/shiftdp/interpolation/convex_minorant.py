"""The greatest convex minorant of a path, found from its last step backwards.

The path is a sum of steps, each with a rise p and a width v >= 0, and the minorant consists of
straight pieces, its *blocks*, on which the steps are pooled. A step without width is pooled with
those that follow it; the last one has a width. With slopes p / v and weights v this
is isotonic regression, which SciPy has. The stack of blocks here does two things more. It gives the
energy, the sum of (pooled p)^2 / (pooled v), of every end of the path with an extra rise in front
of it. And it works where p and v span more than the range of floats: they are given in units of
powers of two that change along the path.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import NDArray

from shiftdp._checks import Array

# Half the range of one unit, as an exponent of two. Products of a p and a v, the square of it, and
# of what they are compared with, stay far inside the range of floats.
_UNIT = 100.0
_LARGEST_POWER = 500  # 2^500 and its square, times a number of the order of 1, are floats
_ONE_BY_ONE = 4  # blocks that are tried one by one before bisection


def units_of(log_q: Sequence[float]) -> list[int]:
    """A unit, as an exponent of two, for every step: another only when the weight needs it."""
    units = []
    unit = math.floor(log_q[-1])
    for x in reversed(log_q):
        if abs(x - unit) > _UNIT:
            unit = math.floor(x)
        units.append(unit)
    units.reverse()
    return units


def blocks_of(p: Array, v: Array, unit: list[int] | None) -> NDArray[np.int64]:
    """The first entry of every block of the greatest convex minorant; `unit` as by `units_of`."""
    if unit is None:
        ends = np.flatnonzero(v)
        starts = np.append(0, ends[:-1] + 1)
        rise, width = np.add.reduceat(p, starts), v[ends]
        fit = scipy.optimize.isotonic_regression(rise / width, weights=width)
        return np.asarray(starts[fit.blocks[:-1]], dtype=np.int64)
    minorant = Minorant()
    steps = zip(p.tolist()[::-1], v.tolist()[::-1], unit[::-1], strict=True)
    for i, (pk, vk, uk) in enumerate(steps):
        minorant.prepend(p.size - 1 - i, pk, vk, uk)
    return np.array(minorant.first[::-1], dtype=np.int64)


class Minorant:
    """The greatest convex minorant of the last steps, as steps are put in front of it.

    A stack of blocks, the leftmost on top: its first step, pooled p and v in units of `2^unit`, the
    energy from it to the end, and sums of p and v down the stack as far as the unit is the same.
    """

    __slots__ = ("bottom", "energy", "first", "p", "sum_p", "sum_v", "unit", "v")

    def __init__(self) -> None:
        self.first: list[int] = []
        self.p: list[float] = []
        self.v: list[float] = []
        self.unit: list[int] = []
        self.energy: list[float] = []
        self.sum_p: list[float] = []
        self.sum_v: list[float] = []
        self.bottom: list[int] = []

    def prepend(self, k: int, p: float, v: float, unit: int) -> None:
        """Put one step in front, pooling while the slope ahead is not larger."""
        ps, vs, units = self.p, self.v, self.unit
        while ps:
            if units[-1] == unit:
                if p * vs[-1] < ps[-1] * v:
                    break
                p += ps.pop()
                v += vs.pop()
                units.pop()
            else:
                factor = _power(unit - units[-1])
                if p * vs[-1] < ps[-1] * v * factor:
                    break
                p2, v2, unit2 = ps.pop(), vs.pop(), units.pop()
                if unit2 > unit:  # the heavier unit is kept: the lighter one may underflow
                    p, p2, v, v2, unit, factor = p2, p, v2, v, unit2, 1.0 / factor
                p, v = p + p2 / factor, v + v2 / factor**2
            self.first.pop()
            self.energy.pop()
            self.sum_p.pop()
            self.sum_v.pop()
            self.bottom.pop()
        if ps and units[-1] == unit:
            self.sum_p.append(self.sum_p[-1] + p)
            self.sum_v.append(self.sum_v[-1] + v)
            self.bottom.append(self.bottom[-1])
        else:
            self.sum_p.append(p)
            self.sum_v.append(v)
            self.bottom.append(len(ps))
        self.first.append(k)
        self.energy.append(p * p / v + (self.energy[-1] if ps else 0.0))
        ps.append(p)
        vs.append(v)
        units.append(unit)

    def touch(self, q: float, unit: int) -> float:
        """The energy if a jump q comes first: it absorbs blocks while they are less steep."""
        ps, vs, sum_p, sum_v = self.p, self.v, self.sum_p, self.sum_v
        top = len(ps) - 1
        v = 0.0
        while True:
            if unit != self.unit[top]:
                factor = _power(unit - self.unit[top])
                if v > 0.0 and not q * vs[top] >= ps[top] * v * factor:
                    return q * q / v + self.energy[top]  # before v leaves the range of floats
                q, v, unit = q * factor, v * factor * factor, self.unit[top]
            # A few blocks one by one, which is exact and often enough.
            m = top
            low = max(self.bottom[top], top - _ONE_BY_ONE)
            while m >= low and q * vs[m] >= ps[m] * v:
                q += ps[m]
                v += vs[m]
                m -= 1
            if m >= low:
                return q * q / v + self.energy[m]
            low = self.bottom[top]
            if m >= low:
                # Blocks down to m + 1 are absorbed; find the first that is not.
                total_p, total_v = q + sum_p[m], v + sum_v[m]
                high = m + 1
                while low < high:
                    middle = (low + high) >> 1
                    if (total_p - sum_p[middle]) * vs[middle] >= ps[middle] * (
                        total_v - sum_v[middle]
                    ):
                        high = middle
                    else:
                        low = middle + 1
                # Blocks from `low` up are absorbed, the one below it is not (if it is in reach).
                bottom = self.bottom[top]
                if low > bottom:
                    q = total_p - sum_p[low - 1]
                    # Differences of sums may have lost v; the slope lies between its neighbours.
                    slope = ps[low - 1] / vs[low - 1]
                    rest = total_v - sum_v[low - 1]
                    if rest > 0.0:
                        slope = min(slope, q / rest)
                    return q * slope + self.energy[low - 1]
                q, v = total_p, total_v
            if self.bottom[top] == 0:
                return q * q / v
            top = self.bottom[top] - 1


def _power(exponent: int) -> float:
    """A power of two, held within the range of floats and of their squares."""
    return 2.0 ** max(-_LARGEST_POWER, min(_LARGEST_POWER, exponent))
