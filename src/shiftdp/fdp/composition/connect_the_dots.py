"""Discrete privacy-loss laws on a grid that dominate, or are dominated by, a tradeoff function.

A profile H(gamma) = delta(log gamma) is convex in gamma. The function that is linear between the
values of H at gamma_j = e^{jh} is above it, so the law with atoms at the losses jh that has this
profile *dominates*: it leaks at least as much, also after composition. Lowering the values by the
most that H can sag below a chord gives one that is *dominated*. Either way the atoms are the
changes of slope; the values are made convex first (rounding must not cost positivity) by taking
their greatest convex minorant, which is still above H in the first case and below it in the second.

Only eps >= 0 is ever evaluated: the left half of the law is the right half for f^-1, whose atoms
have the weight e^{-jh} there, so nothing cancels in either tail.

All of this holds for any increasing gamma_j. Where a profile is smooth and has little mass, it is
enough to use every eighth point of the grid, or every sixty-fourth (`Coarsening`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._rounding import ULP
from shiftdp.fdp.tradeoff import TradeoffFunction

Coarsening = tuple[tuple[float, int], ...]
"""Pairs (start, stride): from the loss `start` on, keep every `stride`-th point of the grid.

Below the first start all points are kept."""

_SLACK = 2e-11  # the relative error by which computed values of H may be too large


@dataclass(frozen=True, eq=False)
class LossAtoms:
    """A discrete law of the privacy loss under Q, on multiples of the mesh h.

    The loss `right_place[j] h` has probability `right[j]`, the loss `-left_place[j] h` has
    `left[j]`, an infinite loss has `infinite`, and the loss 0 has the rest. The `_error` arrays
    bound the rounding error of each probability.
    """

    mesh: float
    right_place: NDArray[np.int64]
    left_place: NDArray[np.int64]
    right: Array
    left: Array
    right_error: Array
    left_error: Array
    infinite: float

    @property
    def centre(self) -> float:
        """The probability of the loss 0."""
        return 1.0 - float(self.right.sum()) - float(self.left.sum()) - self.infinite


def connect_the_dots(
    f: TradeoffFunction,
    mesh: float,
    right: float,
    left: float | None = None,
    coarsening: tuple[Coarsening, Coarsening] = ((), ()),
) -> tuple[LossAtoms, LossAtoms]:
    """A dominating and a dominated law with losses on multiples of `mesh`.

    Args:
        right: about the largest loss; larger ones count as infinite in the first law and are
            lowered in the second.
        left: about minus the smallest loss; as `right` unless given.
        coarsening: of the positive and of the negative losses.

    >>> from shiftdp.fdp import GaussianTradeoff
    >>> above, below = connect_the_dots(GaussianTradeoff(1.0), 0.1, 9.0)
    >>> above.right.size, bool(above.infinite > 0), below.infinite
    (90, True, 0.0)
    """
    functions = (f,) if f.symmetric else (f, f.inverse())
    reaches = (right,) if f.symmetric else (right, right if left is None else left)
    cells = [_cells(mesh, reach, part) for reach, part in zip(reaches, coarsening, strict=False)]
    lines = [_lines(g, c) for g, c in zip(functions, cells, strict=True)]
    values = [line.values for line in lines]
    lower = [
        _lowered(line, other, c) for line, other, c in zip(lines, values[::-1], cells, strict=True)
    ]
    # both sides meet at gamma = 1, and must be convex across it
    values[0][0] = values[-1][0] = max(values[0][0], values[-1][0])
    lower[0][0] = lower[-1][0] = _at_one(lower[0], lower[-1], mesh)
    above = _law(cells, values, float(values[0][-1]))
    below = _law(cells, lower, 0.0)
    return above, below if below.centre >= 0.0 else _jointly(lower, cells)


@dataclass(frozen=True, eq=False)
class _Cells:
    """The points gamma_0 = 1, gamma_1, ... at which a profile is evaluated, and the cells between.

    gamma_j is e^{place_j h}; the cell from gamma_j to gamma_{j+1} has the width
    gamma_j growth_j.
    """

    mesh: float
    place: NDArray[np.int64]
    gamma: Array
    growth: Array
    width: Array


def _cells(mesh: float, reach: float, coarsening: Coarsening) -> _Cells:
    place = _places(mesh, reach, coarsening)
    gamma, growth = np.exp(mesh * place), np.expm1(mesh * (place[1:] - place[:-1]))
    return _Cells(mesh, place, gamma, growth, gamma[:-1] * growth)


def _places(mesh: float, reach: float, coarsening: Coarsening) -> NDArray[np.int64]:
    """The grid points from 0 to about `reach` that are used, ascending."""
    last, at, stride = max(2, math.ceil(reach / mesh)), 0, 1
    pieces = []
    for begin, next_stride in (*coarsening, (math.inf, 0)):
        end = last if begin >= reach else max(math.ceil(begin / mesh), at, 1)
        pieces.append(np.arange(at, end, stride))
        at, stride = at + stride * pieces[-1].size, next_stride
        if at >= last:
            break
    return np.concatenate([*pieces, [last]])


@dataclass(frozen=True, eq=False)
class _Lines:
    """H at the grid points, and its tangents in the middle of the cells where they are known."""

    values: Array
    middle: Array | None
    slopes: Array | None


def _lines(f: TradeoffFunction, cells: _Cells) -> _Lines:
    grid = np.asarray(cells.mesh * cells.place, dtype=np.float64)
    if not f._smooth:
        return _Lines(f._delta(grid), None, None)
    # log of the mean of gamma_j and gamma_{j+1}
    middle = grid[:-1] + np.log1p(0.5 * cells.growth)
    delta, slope = f._tangents(np.concatenate([grid, middle]))
    n = grid.size
    return _Lines(delta[:n], delta[n:], slope[n:])


def _atoms(values: Array, cells: _Cells) -> tuple[Array, Array]:
    """Q-probabilities gamma_j (slope_j - slope_{j-1}) of the convex minorant, and their errors."""
    slopes = np.minimum(_rising((values[1:] - values[:-1]) / cells.width, cells.width), 0.0)
    gamma = cells.gamma[1:]
    # a jump errs by ulps of the slopes that it is the difference of
    weighted = gamma * slopes
    atoms = -weighted
    atoms[:-1] += gamma[:-1] * slopes[1:]
    return atoms, (-8.0 * ULP) * weighted


def _rising(slopes: Array, weights: Array) -> Array:
    """The slopes of the greatest convex minorant."""
    if np.all(slopes[1:] >= slopes[:-1]):
        return slopes
    rising: Array = scipy.optimize.isotonic_regression(slopes, weights=weights).x
    return rising


def _lowered(lines: _Lines, other: Array, cells: _Cells) -> Array:
    """Values, zero at the end, whose chords stay below H.

    Tangents at the middle of the cells, where f knows its slope: at a grid point, the lower of the
    two that meet there. Otherwise chords, less what H can sag below them.
    """
    values = lines.values
    if lines.middle is None or lines.slopes is None:
        sag = _sag(values, _slope_across(other[0], other[1], cells.mesh), cells)
        left, right = values[:-1] - sag, values[1:] - sag
    else:
        rise = 0.5 * cells.width * lines.slopes
        left = lines.middle + rise * (1.0 - _SLACK)
        right = lines.middle - rise * (1.0 + _SLACK)
    # a line that ends below 0 says nothing there, and clipping one end would lift the other
    void = right < 0.0
    left[void] = right[void] = 0.0
    lower = np.empty(values.size)
    lower[:-1], lower[-1] = left, 0.0
    lower[1:-1] = np.minimum(lower[1:-1], right[:-1])
    # the values of H are rounded, here and at both neighbours
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
    left, gap = math.exp(-mesh), -math.expm1(-mesh)
    return float((at_one - (gap + left * at_next)) / gap)


def _at_one(right: Array, left: Array, mesh: float) -> float:
    """The value at gamma = 1 of the lowered profile, where its two halves meet.

    At most the value that each half has there, and at most the chord between the neighbouring grid
    points, so that the whole is convex at 1.
    """
    gap = -math.expm1(-mesh)
    value_before = gap + math.exp(-mesh) * left[1]
    share = gap / (gap + math.expm1(mesh))
    chord = value_before + share * (right[1] - value_before)
    return float(max(0.0, min(right[0], left[0], chord)))


def _jointly(lower: list[Array], cells: list[_Cells]) -> LossAtoms:
    """The dominated law from one convex minorant of the whole profile.

    Needed where a kink at gamma = 1 leaves the minorants of the two sides not convex together.
    """
    inner = 1.0 / cells[-1].gamma[:0:-1]
    gap = -np.expm1(-cells[-1].mesh * cells[-1].place[:0:-1])  # 1 - inner
    values = np.concatenate([[1.0], gap + inner * lower[-1][:0:-1], lower[0]])
    gamma = np.concatenate([inner, cells[0].gamma])
    growth = np.concatenate([cells[-1].growth[::-1], cells[0].growth])
    width = np.append(gamma[0], gamma[:-1] * growth)
    slopes = np.clip(_rising(np.diff(values) / width, width), -1.0, 0.0)
    atoms = gamma * np.diff(slopes, append=0.0)
    error = (-8.0 * ULP) * (gamma * slopes)
    n = inner.size  # the atom at 0 has n others on its left
    return LossAtoms(
        cells[0].mesh, cells[0].place[1:], cells[-1].place[1:],
        atoms[n + 1 :], atoms[:n][::-1], error[n + 1 :], error[:n][::-1], 0.0,
    )  # fmt: skip


def _law(cells: list[_Cells], values: list[Array], infinite: float) -> LossAtoms:
    sides = [_atoms(v, c) for v, c in zip(values, cells, strict=True)]
    (right, right_error), (left, left_error) = sides[0], sides[-1]
    shrink = 1.0 / cells[-1].gamma[1:]
    return LossAtoms(
        cells[0].mesh, cells[0].place[1:], cells[-1].place[1:],
        right, left * shrink, right_error, left_error * shrink, max(0.0, infinite),
    )  # fmt: skip
