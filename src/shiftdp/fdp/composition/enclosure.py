"""A product of tradeoff functions, enclosed between two laws of its privacy loss on a grid.

One law leaks at least as much as the product, the other at most as much, so the exact epsilon lies
between theirs. The finer the mesh of the grid, the closer they are: it is refined until an accuracy
is met. A composition is precise at the deltas to which its tilt has moved the mass, some twelve
decades of them: whole curves are read off one for each such range, and an epsilon off one that is
made for its delta. `Enclosures` makes them when they are first needed. What a product answers does
not depend on what it was asked before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import EIGHTEEN_ROUNDINGS, LEAST_FLOAT
from shiftdp.fdp.composition.connect_the_dots import LossAtoms, connect_the_dots
from shiftdp.fdp.composition.grid import MOST_ATOMS, GridTooFine, compose_atoms
from shiftdp.fdp.composition.grid_law import GridLaw
from shiftdp.fdp.search.saddle import Saddle, find_saddle
from shiftdp.fdp.tradeoff import TradeoffFunction

Factors = Sequence[tuple[TradeoffFunction, int]]

_DECADES = 12.0  # of delta that one composition serves: a range
RANGES = 26  # down to 1e-312
_TYPICAL = 1e-3  # the delta on which the curve of the first range is centred
_BELOW = 0.01  # masses are kept down to this part of the smallest delta asked for
_LOST = 0.8  # of the accuracy: what losses that are cut off may move epsilon by
_KEPT = 16  # enclosures of single deltas, some megabytes each
_COARSE = 30.0  # how much coarser a composition is that only has to show "clearly below"
# points that cost next to nothing, and how much finer a mesh is for their sake; atoms that lie off
# the grid, which cost in proportion to the mesh, are no work to evaluate
_FREE, _FINER, _FINER_OFF_GRID = 45_000, 0.4, 0.05
_WINDOW = 16.0  # about how many standard deviations of the total loss a grid spans
# The mesh h at which (theta + 1) h^2 / 8 a factor uses up the accuracy has h^2 of 8 of these; some
# is left to rounding, and more to lopsided factors.
_EIGHTHS, _LOPSIDED_EIGHTHS = 6.8, 5.2
_ROUNDS = 6  # refinements of a mesh
# A mesh that was too wide is refined by the root of what the interval has to shrink by, or by all
# of it where atoms lie off the grid; with a little to spare, more in each round.
_SPARE, _MORE, _SPARE_OFF_GRID, _MOST_REFINED = 0.95, 0.8, 0.9, 0.02
_BETWEEN = 2  # meshes tried between one that was too wide and one that had too many points
_COARSER, _COARSEST = 4.0, 8  # by what, and how often, a mesh is widened that has too many points


class _LossesTooLarge(GridTooFine):
    """No grid can hold them, however coarse."""


@dataclass(frozen=True, eq=False)
class Enclosure:
    """An upper and a lower law of one product, for one range of delta.

    `narrow` says that they meet the accuracy at the deltas that they were made for.
    """

    above: GridLaw
    below: GridLaw
    narrow: bool = False

    def interval(self, delta: Array) -> tuple[Array, Array]:
        """Bounds on epsilon from below and from above."""
        high = self.above.epsilon(delta)
        return self.below.epsilon(delta, near=high), high

    def width(self, delta: Array) -> float:
        """How well epsilon is known at the worst of these deltas."""
        low, high = self.interval(delta)
        return float(np.max(high - low))


class Enclosures:
    """The enclosures of one product, by the range of delta that they serve."""

    def __init__(self, factors: Factors, accuracy: float) -> None:
        self.factors, self.accuracy = factors, accuracy
        self.curves: dict[int, Enclosure | None] = {}
        self._made: dict[tuple[float, float], Enclosure | None] = {}
        self._saddles: dict[tuple[float, float, bool], Saddle | None] = {}

    def curve(self, number: int) -> Enclosure | None:
        """The enclosure that whole curves are read off, tilted for a typical delta of the range."""
        if number not in self.curves:
            typical = 10.0 ** (-_DECADES * (number + 0.5)) if number else _TYPICAL
            smallest = least_of(number) if number == 0 else _BELOW * typical
            saddle = self._saddle(typical, smallest, cut=False)
            if saddle is not None and number == 0:
                # a curve is read at all deltas of the range: the mass is moved little
                saddle = replace(saddle, theta=min(saddle.theta, saddle.central))
            self.curves[number] = self._enclosed(np.array([typical]), saddle)
        return self.curves[number]

    def at(self, deltas: Array) -> Enclosure | None:
        """An enclosure whose interval is narrow at all of these deltas, or as narrow as it gets.

        They are of one range. None where nothing can be composed.
        """
        ends = deltas if deltas.size == 1 else np.array([deltas.min(), deltas.max()])
        asked = float(ends[0]), float(ends[-1])
        if asked not in self._made:
            # the root of each, as their product may underflow
            single = ends.size == 1
            centre = asked[0] if single else math.sqrt(asked[0]) * math.sqrt(asked[1])
            saddle = self._saddle(centre, _BELOW * float(ends.min()))
            if len(self._made) >= _KEPT:
                del self._made[next(iter(self._made))]
            self._made[asked] = self._enclosed(ends, saddle)
        return self._made[asked]

    def coarse(self, delta: float) -> GridLaw | None:
        """A quick upper law for this delta, on a grid that is coarser than the accuracy asks for.

        None where it does not fit into memory, or where a whole curve is known already.
        """
        if self.curves:
            return None
        saddle = self._saddle(delta, _BELOW * delta)
        if saddle is None:
            return None
        mesh = _first_mesh(self.factors, min(1.0, _COARSE * self.accuracy), saddle)
        try:
            return _compose(self.factors, mesh, saddle, (+1,))[0]
        except GridTooFine:
            return None

    def _saddle(self, delta: float, smallest: float, *, cut: bool = True) -> Saddle | None:
        """None where losses are too large for any grid. Rare ones are cut off if it does no harm.

        A part of delta that is lost to infinite losses moves epsilon by about that part over theta.
        """
        key = delta, smallest, cut
        if key not in self._saddles:
            try:
                found = find_saddle(self.factors, delta, smallest, cut=cut)
                if found.lost > _LOST * self.accuracy * found.theta * delta:
                    found = find_saddle(self.factors, delta, smallest)
                self._saddles[key] = found
            except OverflowError:
                self._saddles[key] = None
        return self._saddles[key]

    def _enclosed(self, deltas: Array, saddle: Saddle | None) -> Enclosure | None:
        if saddle is None:
            return None
        return _enclose(self.factors, self.accuracy, deltas, saddle)


def range_of(delta: float) -> int:
    """The number of the range in which this delta lies."""
    return max(0, math.floor(-math.log10(max(delta, LEAST_FLOAT)) / _DECADES))


def least_of(number: int) -> float:
    """The least delta of a range."""
    return math.pow(10.0, -_DECADES * (number + 1))


def infinite_loss(f: TradeoffFunction) -> float:
    """The probability of an infinite loss, rounded up."""
    return 0.0 if f._smooth else float(f._delta(np.array([math.inf]))[0])


def revealed(factors: Factors) -> float:
    """The probability 1 - (1 - q_1)^{k_1} (1 - q_2)^{k_2} ... that some loss is infinite, rounded
    up: delta(inf).
    """
    shares = [(infinite_loss(f), k) for f, k in factors]
    if any(q >= 1.0 for q, _ in shares):
        return 1.0
    kept = math.fsum(k * math.log1p(-q) for q, k in shares)
    return min(1.0, -math.expm1(kept) * (1.0 + EIGHTEEN_ROUNDINGS))


def _enclose(factors: Factors, accuracy: float, deltas: Array, saddle: Saddle) -> Enclosure | None:
    """Refine the mesh until epsilon is known to the accuracy at these deltas.

    If that takes more points than fit, the narrowest enclosure that was found; None if no mesh
    fits. A mesh that has too many points is widened until one fits; if it was already a refinement,
    meshes between it and the last that fitted are tried.
    """
    mesh, best, least = _first_mesh(factors, accuracy, saddle), None, math.inf
    smooth = all(f._smooth for f, _ in factors)
    fitted, widened, between = mesh, 0, _BETWEEN
    for attempt in range(_ROUNDS + _COARSEST):
        try:
            above, below = _compose(factors, mesh, saddle)
        except _LossesTooLarge:
            break
        except GridTooFine:
            if best is not None:
                if between == 0:
                    break
                mesh, between = math.sqrt(mesh * fitted), between - 1
                continue
            if widened == _COARSEST:
                break
            mesh, widened = mesh * _COARSER, widened + 1
            continue
        fitted = mesh
        found = Enclosure(above, below)
        width = found.width(deltas)
        if best is not None and math.isinf(width):
            break  # a finer grid did not help, and the next would not either
        if best is not None and smooth and width >= least:
            break  # nor here: what is left is not the mesh's doing
        if best is None or width < least:
            best, least = found, width
        if above.beyond >= float(deltas.min()):
            break  # losses beyond all grids are more likely than that
        if width <= accuracy:
            return replace(found, narrow=True)
        if widened or between < _BETWEEN or attempt + 1 >= _ROUNDS:
            break
        # the width falls as the square of the mesh, or in proportion where atoms lie off it
        ratio = accuracy / width if math.isfinite(width) else 0.0
        shrink = _SPARE * _MORE**attempt * math.sqrt(ratio)
        if not smooth:
            shrink = min(0.5, _SPARE_OFF_GRID * ratio)
        mesh *= max(shrink, _MOST_REFINED)
    return best


def _first_mesh(factors: Factors, accuracy: float, saddle: Saddle) -> float:
    """A mesh h widens the interval by about (theta + 1) h^2 / 8 a factor, or by half as much
    again if the factors are lopsided.

    It is made finer, down to _FINER of that or less, where it costs little: transforms of fewer
    than _FREE points take less time than all else.
    """
    count = sum(k for _, k in factors)
    eighths = _EIGHTHS if all(f.symmetric for f, _ in factors) else _LOPSIDED_EIGHTHS
    mesh = math.sqrt(eighths * accuracy / ((saddle.theta + 1.0) * count))
    free = _WINDOW * saddle.spread * len(factors) / _FREE
    finer = _FINER if any(f._smooth for f, _ in factors) else _FINER_OFF_GRID
    return max(min(mesh, free), finer * mesh)


def _compose(
    factors: Factors, mesh: float, saddle: Saddle, sides: tuple[int, ...] = (+1, -1)
) -> list[GridLaw]:
    """The upper and the lower law, or one of them; raises `GridTooFine`."""
    if revealed(factors) >= 1.0:  # then no finite loss is left to be put on a grid
        raise _LossesTooLarge("all losses are infinite")
    mesh = _aligned(factors, min(mesh, 0.25 * saddle.farthest))
    parts: list[tuple[list[LossAtoms], int]] = []
    for (f, k), (right, left), coarsening in zip(
        factors, saddle.reaches, saddle.coarsenings, strict=True
    ):
        atoms = max(right, left) / mesh
        if atoms > MOST_ATOMS / 4:
            raise GridTooFine(f"{atoms:.2g} atoms for {f}, more than {MOST_ATOMS // 4}")
        up, down = connect_the_dots(f, mesh, right, left, coarsening)
        if up.infinite > 0.5 + infinite_loss(f):
            raise _LossesTooLarge(f"losses above {right:g}, which {f} has")
        parts.append(([up if side > 0 else down for side in sides], k))
    return compose_atoms(parts, saddle.theta, sides)


def _aligned(factors: Factors, mesh: float) -> float:
    """A mesh no coarser, that puts the largest loss of a factor with atoms on the grid."""
    for f, _ in factors:
        largest = f._largest_loss()
        # a loss beyond every count of meshes is beyond every grid
        if math.isfinite(largest / mesh) and largest > 0.0:
            return largest / math.ceil(largest / mesh)
    return mesh
