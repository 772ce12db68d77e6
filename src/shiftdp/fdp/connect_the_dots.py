"""Discrete privacy-loss laws on a grid that dominate, or are dominated by, a tradeoff function.

A profile H(gamma) = delta(log gamma) is convex in gamma. The function that is linear between the
values of H at gamma_j = e^{jh} is above it, so the law with atoms at the losses jh that has this
profile *dominates*: it leaks at least as much, also after composition. Lowering the values by the
most that H can sag below a chord gives one that is *dominated*. Either way the atoms are the
changes of slope; the values are made convex first (rounding must not cost positivity) by taking
their greatest convex minorant, which is still above H in the first case and below it in the second.

Only eps >= 0 is ever evaluated: the left half of the law is the right half for f^-1, whose atoms
have the weight e^{-jh} there, so nothing cancels in either tail.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from shiftdp._checks import Array
from shiftdp.fdp.tradeoff import TradeoffFunction

__all__ = ["Dots", "connect_the_dots"]

# _delta rounds up, by less than this
_SLACK = 1e-11
_ULP = 2.0**-52


@dataclass(frozen=True, eq=False)
class Dots:
    """Atoms of a loss law under Q: `right[j]` at (j+1) h, `left[j]` at -(j+1) h, `infinite` beyond.

    What is missing to 1 sits at 0. The `_error` arrays bound the rounding of each atom.
    """

    mesh: float
    right: Array
    left: Array
    right_error: Array
    left_error: Array
    infinite: float

    @property
    def centre(self) -> float:
        """The atom at 0."""
        return 1.0 - float(self.right.sum()) - float(self.left.sum()) - self.infinite


def connect_the_dots(f: TradeoffFunction, mesh: float, reach: float) -> tuple[Dots, Dots]:
    """A dominating and a dominated law with losses on multiples of `mesh`, up to about `reach`.

    >>> from shiftdp.fdp import GaussianTradeoff
    >>> above, below = connect_the_dots(GaussianTradeoff(1.0), 0.1, 9.0)
    >>> above.right.size, bool(above.infinite > 0), below.infinite
    (90, True, 0.0)
    """
    j = np.arange(max(2, int(np.ceil(reach / mesh))) + 1)
    gamma = np.exp(mesh * j)
    cells = _Cells(mesh, gamma, gamma[:-1] * np.expm1(mesh))
    functions = (f,) if f.symmetric else (f, f.inverse())
    values = [g._delta(np.asarray(mesh * j, dtype=np.float64)) for g in functions]
    lower = [
        _lowered(g, v, w, cells) for g, v, w in zip(functions, values, values[::-1], strict=True)
    ]
    # both sides meet at gamma = 1, and must be convex across it
    values[0][0] = values[-1][0] = max(values[0][0], values[-1][0])
    lower[0][0] = lower[-1][0] = _at_one(lower[0], lower[-1], mesh)
    above = _law(cells, [_atoms(v, cells) for v in values], float(values[0][-1]))
    below = _law(cells, [_atoms(v, cells) for v in lower], 0.0)
    return above, below if below.centre >= 0.0 else _jointly(lower[0], lower[-1], cells)


@dataclass(frozen=True, eq=False)
class _Cells:
    """The grid gamma_0 = 1, gamma_1, ... and the widths of its cells."""

    mesh: float
    gamma: Array
    width: Array


def _atoms(values: Array, cells: _Cells) -> tuple[Array, Array]:
    """Q-weights gamma_j (slope_j - slope_{j-1}) of the convex minorant, and their rounding."""
    slopes = np.diff(values) / cells.width
    slopes = np.minimum(scipy.optimize.isotonic_regression(slopes, weights=cells.width).x, 0.0)
    gamma = cells.gamma[1:]
    # a jump errs by ulps of the slopes that it is the difference of
    return gamma * np.diff(slopes, append=0.0), (-8.0 * _ULP) * (gamma * slopes)


def _lowered(f: TradeoffFunction, values: Array, other: Array, cells: _Cells) -> Array:
    """Values, zero at the end, whose chords stay below H.

    Tangents at the middle of the cells, where f knows its slope: at a grid point, the lower of the
    two that meet there. Otherwise chords, less what H can sag below them.
    """
    middle = np.log(0.5 * (cells.gamma[:-1] + cells.gamma[1:]))
    tail = f._tail(middle)
    if tail is None:
        sag = _sag(values, _slope_across(other[0], other[1], cells.mesh), cells)
        left, right = values[:-1] - sag, values[1:] - sag
    else:
        at, rise = f._delta(middle), 0.5 * cells.width * tail
        left, right = at + rise * (1.0 - _SLACK), at - rise * (1.0 + _SLACK)
    # a line that ends below 0 says nothing there, and clipping one end would lift the other
    void = right < 0.0
    left[void] = right[void] = 0.0
    lower = np.empty(values.size)
    lower[:-1], lower[-1] = left, 0.0
    lower[1:-1] = np.minimum(lower[1:-1], right[:-1])
    # what is known is H up to the rounding of _delta, here and at two neighbours
    return np.maximum(lower - 4.0 * _SLACK * values, 0.0)


def _sag(values: Array, across: float, cells: _Cells) -> Array:
    """The most by which H can lie below its chord in each cell.

    H is above the chords of both neighbouring cells, extended; where these meet, the chord of the
    cell is above them by `width (s_j - s_{j-1})(s_{j+1} - s_j) / (s_{j+1} - s_{j-1})`.
    """
    slopes = np.diff(values) / cells.width
    rise = np.maximum(np.diff(slopes, prepend=across), 0.0)
    fall = np.maximum(np.diff(slopes, append=0.0), 0.0)
    both = rise + fall
    sag = np.zeros(slopes.size)
    np.divide(cells.width * rise * fall, both, out=sag, where=both > 0.0)
    return sag


def _slope_across(at_one: float, at_next: float, mesh: float) -> float:
    """Slope of H between e^-h and 1, from H^-1 at 1 and e^h: H(g) = 1 - g + g H^-1(1/g)."""
    left = np.exp(-mesh)
    return float((at_one - (1.0 - left + left * at_next)) / (1.0 - left))


def _at_one(right: Array, left: Array, mesh: float) -> float:
    """A value at gamma = 1 below both sides' and below the chord between its neighbours."""
    before, after = np.exp(-mesh), np.exp(mesh)
    value_before = 1.0 - before + before * left[1]
    share = (1.0 - before) / (after - before)
    chord = value_before + share * (right[1] - value_before)
    return float(max(0.0, min(right[0], left[0], chord)))


def _jointly(right: Array, left: Array, cells: _Cells) -> Dots:
    """The dominated law from one minorant of both sides, for kinks that meet at gamma = 1."""
    inner = 1.0 / cells.gamma[:0:-1]
    values = np.concatenate([[1.0], 1.0 - inner + inner * left[:0:-1], right])
    gamma = np.concatenate([inner, cells.gamma])
    width = np.append(gamma[0], gamma[:-1] * np.expm1(cells.mesh))
    slopes = scipy.optimize.isotonic_regression(np.diff(values) / width, weights=width).x
    slopes = np.clip(slopes, -1.0, 0.0)
    atoms = gamma * np.diff(slopes, append=0.0)
    error = (-8.0 * _ULP) * (gamma * slopes)
    n = cells.width.size  # the atom at 0 has n others on its left
    return Dots(cells.mesh, atoms[n + 1 :], atoms[:n][::-1], error[n + 1 :], error[:n][::-1], 0.0)


def _law(cells: _Cells, sides: list[tuple[Array, Array]], infinite: float) -> Dots:
    (right, right_error), (left, left_error) = sides[0], sides[-1]
    shrink = 1.0 / cells.gamma[1:]
    return Dots(
        cells.mesh, right, left * shrink, right_error, left_error * shrink, max(0.0, infinite)
    )
