"""Products of tradeoff functions without a closed form, composed numerically and certified."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array, count, number_in
from shiftdp._errors import ShiftdpError
from shiftdp._rounding import (
    EIGHTEEN_ROUNDINGS,
    GENEROUS,
    INVERTIBLE_EXPONENT,
    LEAST,
    NINE_ROUNDINGS,
    THREE_ROUNDINGS,
)
from shiftdp.fdp.composition.connect_the_dots import Dots, connect_the_dots
from shiftdp.fdp.composition.grid import MOST_ATOMS, GridTooFine, compose_dots
from shiftdp.fdp.composition.grid_law import GridLaw
from shiftdp.fdp.composition.loose_product import LooseProduct
from shiftdp.fdp.duality import smooth_tradeoff, tradeoff_from_profile
from shiftdp.fdp.search.saddle import Saddle, find_saddle
from shiftdp.fdp.tradeoff import DEFAULT_ACCURACY, TradeoffFunction, tradeoff

if TYPE_CHECKING:
    from shiftdp.fdp.composition.product import Product

__all__ = ["AccuracyNotMet", "Composite"]

_DECADES = 12.0  # of delta that one composition serves
_BUCKETS = 26  # down to 1e-312
_ROUNDS = 6  # refinements of a mesh
_COARSE = 30.0  # how much coarser a composition is that only has to show "clearly below"
_FREE, _FINER = 45_000, 0.4  # points that cost next to nothing, and how much finer for their sake
_FINEST = 1e-9  # the best accuracy of epsilon that may be asked for
_TYPICAL = 1e-3  # the delta on which the curve of the first twelve decades is centred
_BELOW = 0.01  # masses are kept down to this part of the smallest delta asked for
# The mesh h at which (theta + 1) h^2 / 8 a factor uses up the accuracy has h^2 of 8 of these; some
# is left to rounding, and more to lopsided factors.
_EIGHTHS, _LOPSIDED_EIGHTHS = 6.8, 5.2
# A mesh that was too wide is refined by the root of what the interval has to shrink by, or by all
# of it where atoms lie off the grid; with a little to spare, more in each round.
_SPARE, _MORE, _SPARE_OFF_GRID, _MOST_REFINED = 0.95, 0.8, 0.9, 0.02
_WINDOW = 16.0  # in standard deviations
_LATTICE = 64  # points of the grid a coefficient that counts, below which its points show
_BETWEEN = 2  # meshes tried between one that was too wide and one that had too many points
_COARSER, _COARSEST = 4.0, 8  # by what, and how often, a mesh is widened that has too many points


class AccuracyNotMet(ShiftdpError):
    """The interval that was asked for is narrower than the grid can give."""


class _LossesTooLarge(GridTooFine):
    """No grid can hold them, however coarse."""


@dataclass(frozen=True, eq=False)
class _Pair:
    """An upper and a lower law of one product, for one range of delta."""

    above: GridLaw
    below: GridLaw
    narrow: bool = False  # enough at the deltas that it was made for

    def width(self, delta: Array) -> float:
        """How well epsilon is known at the worst of these deltas."""
        above = self.above.epsilon(delta)
        return float(np.max(above - self.below.epsilon(delta, near=above)))


@dataclass(frozen=True)
class Composite(TradeoffFunction):
    """f_1^{k_1} (x) f_2^{k_2} (x) ..., certified.

    Queries run on a few compositions, one for every twelve decades of delta, made when first
    needed. `accuracy` is the width of `epsilon_interval`, which says so if it cannot be had. All
    other questions are answered whatever happens: where the grid would be too fine, by the finest
    one that is not, and by the bounds of `LooseProduct`, if those are less.

    >>> from shiftdp.fdp import GaussianTradeoff
    >>> f = GaussianTradeoff(2 / 3).subsample(0.025).power(2000)
    >>> low, high = f.epsilon_interval(1e-5)
    >>> low < 4.438137906 < high, high - low < 1e-3
    (True, True)
    """

    type_name = "product"

    factors: tuple[tuple[TradeoffFunction, int], ...]
    accuracy: float = DEFAULT_ACCURACY
    _pairs: dict[int, list[_Pair]] = field(default_factory=dict, repr=False, compare=False)
    _curves: dict[int, _Pair | None] = field(default_factory=dict, repr=False, compare=False)
    _failed: dict[tuple[int, float, float], _Pair | None] = field(
        default_factory=dict, repr=False, compare=False
    )
    _saddles: dict[tuple[float, float], Saddle] = field(
        default_factory=dict, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        number_in("accuracy", self.accuracy, _FINEST, 1.0)
        factors = ((tradeoff("factor", f), count("multiplicity", k)) for f, k in self.factors)
        object.__setattr__(self, "factors", tuple(factors))

    def within(self, accuracy: float) -> Composite:
        """The same product with intervals of another width."""
        return Composite(self.factors, accuracy)

    @property
    def symmetric(self) -> bool:
        return all(f.symmetric for f, _ in self.factors)

    @property
    def _curved(self) -> bool:
        return any(f._curved for f, _ in self.factors)

    @property
    def composed(self) -> bool:
        return True

    @property
    def _record_first(self) -> bool | None:
        """Known where all factors that are not symmetric agree."""
        found = {f._record_first for f, _ in self.factors if not f.symmetric}
        return found.pop() if len(found) == 1 else None

    def inverse(self) -> TradeoffFunction:
        if self.symmetric:
            return self
        return Composite(tuple((f.inverse(), k) for f, k in self.factors), self.accuracy)

    def _join(self, product: Product, k: int) -> None:
        for f, times in self.factors:
            f._join(product, k * times)

    def _log_moment(self, order: float) -> float:
        """Losses add up, so the moments of independent factors are multiplied."""
        return math.fsum(k * f._log_moment(order) for f, k in self.factors) * (1 + NINE_ROUNDINGS)

    def _gaussian_below(self) -> tuple[float, float]:
        return self._loose.gaussian._gaussian_below()

    # --- certified answers ---

    def _delta(self, epsilon: Array) -> Array:
        return self._delta_or(epsilon, np.zeros(epsilon.shape))

    def _delta_or(self, epsilon: Array, floor: Array) -> Array:
        least = np.maximum(-np.expm1(np.minimum(epsilon, 0.0)), floor)
        delta = np.where(epsilon == math.inf, self._revealed(), 1.0)
        todo = np.flatnonzero(np.isfinite(epsilon))
        for bucket in range(_BUCKETS):
            if todo.size == 0:
                break
            curve = self._curve(bucket)
            if curve is not None:
                delta[todo] = np.minimum(delta[todo], curve.above.delta(epsilon[todo]))
            if curve is None or not curve.narrow:
                # losses that end abruptly need ever finer meshes; what is known is still a bound
                delta[todo] = np.minimum(delta[todo], self._loose.delta(epsilon[todo]))
                break
            # the next composition is made for smaller deltas, and better there
            todo = todo[delta[todo] < 10.0 ** (-_DECADES * (bucket + 1))]
            todo = todo[delta[todo] > floor[todo]]
        return np.maximum(delta, least)

    def _epsilon_or(self, delta: Array, floor: Array) -> Array:
        larger = np.array(floor)
        open_ = ~self._clearly_below(delta, floor)
        if not open_.any():
            return larger
        larger[open_] = np.maximum(self._epsilon(delta[open_]), floor[open_])
        return larger

    def _clearly_below(self, delta: Array, epsilon: Array) -> NDArray[np.bool_]:
        """Whether delta(eps) is below delta by a bound so coarse that it costs little.

        One delta only: it decides where the mass is moved.
        """
        if delta.size != 1 or not 0.0 < delta[0] < 1.0 or self._curves:
            return np.zeros(delta.shape, dtype=np.bool_)
        coarse = Composite(self.factors, min(1.0, _COARSE * self.accuracy))
        saddle = self._saddle(float(delta[0]), _BELOW * float(delta[0]))
        try:
            above = coarse._compose(coarse._first_mesh(saddle), saddle, (+1,))[0]
        except GridTooFine:
            return np.zeros(delta.shape, dtype=np.bool_)
        return np.asarray(above.delta(epsilon) <= delta)

    def epsilon_interval(self, delta: float) -> tuple[float, float]:
        """Two certified bounds between which the exact epsilon of the product lies.

        They are `accuracy` apart, or nearer; raises `AccuracyNotMet` if they would be farther.
        """
        low, high = self.epsilon_between(delta)
        if low < math.inf and not high - low <= self.accuracy:
            remedy = f"; ask for within({2 * (high - low):.1g})" if high - low <= 0.5 else ""
            raise AccuracyNotMet(
                f"epsilon at delta={delta:g} is known to {high - low:.2g} only, not to "
                f"accuracy={self.accuracy:g}{remedy}"
            )
        return low, high

    def epsilon_between(self, delta: float) -> tuple[float, float]:
        """The same, however far apart they are."""
        delta = number_in("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
        if delta <= (infinite := self._infinite()):
            # 1 - prod (1 - q_i)^k_i >= 1 - exp(-sum k_i q_i), and the q_i are known to 1e-9
            surely = -math.expm1(-infinite) * (1.0 - GENEROUS)
            return math.inf if delta < surely else 0.0, math.inf
        at = np.array([delta])
        high = float(self._epsilon(at)[0])
        pair = self._pair(_bucket(delta), at)
        if pair is None:
            return 0.0, high
        return min(float(pair.below.epsilon(at, near=pair.above.epsilon(at))[0]), high), high

    def epsilon_below(self, delta: float, inflation: float = 0.0) -> float:
        return self.epsilon_between(delta)[0]

    def _epsilon(self, delta: Array) -> Array:
        epsilon = np.full(delta.shape, math.inf)
        # where a loss can be infinite, no epsilon does for less than its probability
        infinite = self._infinite()
        buckets = np.array([_bucket(d) if d > infinite else _BUCKETS for d in delta.tolist()])
        for bucket in set(buckets[buckets < _BUCKETS].tolist()):
            here = buckets == bucket
            pair = self._pair(bucket, delta[here])
            if pair is not None:
                epsilon[here] = pair.above.epsilon(delta[here])
            fine = epsilon[here] <= self.accuracy  # closed forms know small numbers better
            if fine.any():
                known = self._loose.gaussian._epsilon(delta[here])
                epsilon[here] = np.where(fine, np.minimum(epsilon[here], known), epsilon[here])
            if pair is None or not pair.narrow:
                epsilon[here] = np.minimum(epsilon[here], self._loose.epsilon(delta[here]))
        return epsilon

    def _beta(self, alpha: Array) -> Array:
        curve = self._curve(0)
        if curve is None:
            forth, back = self._loose, self._loose.inverse()
            return tradeoff_from_profile(forth.delta, back.delta, alpha)
        law = curve.above
        if self._curved and law.loud.size < law.size // _LATTICE:
            return smooth_tradeoff(self, alpha)
        return self._on_lattice(law, alpha)

    def _on_lattice(self, law: GridLaw, alpha: Array) -> Array:
        """1 - delta(eps) - e^eps alpha, or e^-eps (1 - delta(eps) - alpha) on the other half of a
        symmetric curve, at about the best eps: any one gives a line below f.
        """
        table = law.knots()
        if self.symmetric and law.low < 0.0:
            table = table[-law.start :]
        delta, slope = law.lines(table)
        known = delta < 1.0
        if not known.any():
            return np.zeros(alpha.shape)
        table, delta, slope = table[known], delta[known], slope[known]
        # the point (x, y) of the curve that each line touches, and on a symmetric one (y, x)
        x = (-slope / np.exp(np.minimum(table, INVERTIBLE_EXPONENT)))[::-1]
        signed = table[::-1]
        if self.symmetric:
            x = np.concatenate([x, np.maximum(1.0 - delta + slope, 0.0)])
            signed = np.concatenate([signed, -table])
        found = np.interp(alpha, np.maximum.accumulate(x), signed)
        mirrored = (found < 0.0) & self.symmetric
        eps = np.where(mirrored, -found, found)
        # a line follows a whole edge of f, and belongs to a point of the lattice
        near = [law.mesh * (np.rint(eps / law.mesh) + j) for j in (-1, 0, 1)]
        first, last = float(table[0]), float(table[-1])
        lines = [_line(law, np.clip(e, first, last), alpha, mirrored) for e in near]
        return np.asarray(np.max(lines, axis=0))

    @cached_property
    def _loose(self) -> LooseProduct:
        return LooseProduct(self.factors)

    def _infinite(self) -> float:
        """The probability that some loss is infinite, from above, by the union bound."""
        return math.fsum(k * _at_infinity(f) for f, k in self.factors)

    def _revealed(self) -> float:
        """The same probability, 1 - (1 - q_1)^{k_1} (1 - q_2)^{k_2} ..., rounded up: delta(inf)."""
        shares = [(_at_infinity(f), k) for f, k in self.factors]
        if any(q >= 1.0 for q, _ in shares):
            return 1.0
        kept = math.fsum(k * math.log1p(-q) for q, k in shares)
        return min(1.0, -math.expm1(kept) * (1.0 + EIGHTEEN_ROUNDINGS))

    # --- the compositions behind them ---

    def _curve(self, bucket: int) -> _Pair | None:
        """The composition from which curves are read: centred on a typical delta of the bucket."""
        if bucket not in self._curves:
            typical = 10.0 ** (-_DECADES * (bucket + 0.5)) if bucket else _TYPICAL
            self._curves[bucket] = self._refined(bucket, np.array([typical]), central=bucket == 0)
        return self._curves[bucket]

    def _pair(self, bucket: int, deltas: Array) -> _Pair | None:
        """A composition whose interval is narrow at all of these deltas, or as narrow as it gets.

        None where nothing can be composed.
        """
        at = deltas if deltas.size == 1 else np.array([deltas.min(), deltas.max()])
        known = self._pairs.setdefault(bucket, [])
        for pair in (*known, *filter(None, [self._curves.get(bucket)])):
            if pair.width(at) <= self.accuracy:
                return pair
        asked = (bucket, float(at[0]), float(at[-1]))
        if asked not in self._failed:
            found = self._refined(bucket, at)
            if found is not None and found.narrow:
                known.append(found)
                return found
            self._failed[asked] = found
        return self._failed[asked]

    def _refined(self, bucket: int, at: Array, central: bool = False) -> _Pair | None:
        """Refine the mesh until the interval is narrow enough; tilted little if `central`.

        If that is too fine, the narrowest interval that was found; None if there was no grid.
        """
        # their product underflows
        centre = float(at[0]) if at.size == 1 else math.sqrt(at[0]) * math.sqrt(at[-1])
        smallest = 10.0 ** (-_DECADES * (bucket + 1.0)) if central else _BELOW * float(at.min())
        saddle = self._saddle(centre, smallest)
        if central:
            saddle = replace(saddle, theta=min(saddle.theta, saddle.central))
        mesh, best, least = self._first_mesh(saddle), None, math.inf
        smooth = all(f._smooth for f, _ in self.factors)
        fits, widened, between = mesh, 0, _BETWEEN
        for attempt in range(_ROUNDS + _COARSEST):
            try:
                above, below = self._compose(mesh, saddle)
            except _LossesTooLarge:
                break
            except GridTooFine:
                if best is not None:
                    if between == 0:
                        break
                    mesh, between = math.sqrt(mesh * fits), between - 1
                    continue
                if widened == _COARSEST:
                    break
                mesh, widened = mesh * _COARSER, widened + 1
                continue
            fits = mesh
            pair = _Pair(above, below)
            width = pair.width(at)
            if best is not None and math.isinf(width):
                break  # a finer grid did not help, and the next would not either
            if best is None or width < least:
                best, least = pair, width
            if width <= self.accuracy:
                return replace(pair, narrow=True)
            if widened or between < _BETWEEN or attempt + 1 >= _ROUNDS:
                break
            # the width falls as the square of the mesh, or in proportion where atoms lie off it
            ratio = self.accuracy / width if math.isfinite(width) else 0.0
            shrink = _SPARE * _MORE**attempt * math.sqrt(ratio)
            if not smooth:
                shrink = min(0.5, _SPARE_OFF_GRID * ratio)
            mesh *= max(shrink, _MOST_REFINED)
        return best

    def _saddle(self, delta: float, smallest: float) -> Saddle:
        key = delta, smallest
        if key not in self._saddles:
            self._saddles[key] = find_saddle(self.factors, delta, smallest)
        return self._saddles[key]

    def _first_mesh(self, saddle: Saddle) -> float:
        """A mesh h widens the interval by about (theta + 1) h^2 / 8 a factor, or by half as much
        again if the factors are lopsided.

        It is made finer, down to _FINER of that, where it costs little: transforms of fewer than
        _FREE points take less time than all else.
        """
        count = sum(k for _, k in self.factors)
        eighths = _EIGHTHS if self.symmetric else _LOPSIDED_EIGHTHS
        mesh = math.sqrt(eighths * self.accuracy / ((saddle.theta + 1.0) * count))
        free = _WINDOW * saddle.spread * len(self.factors) / _FREE
        return max(min(mesh, free), _FINER * mesh)

    def _compose(
        self, mesh: float, saddle: Saddle, sides: tuple[int, ...] = (+1, -1)
    ) -> list[GridLaw]:
        """The upper and the lower law, or one of them; raises `GridTooFine`."""
        if self._revealed() >= 1.0:  # then no finite loss is left to be put on a grid
            raise _LossesTooLarge("all losses are infinite")
        return self._on_mesh(self._aligned(mesh, saddle), saddle, sides)

    def _aligned(self, mesh: float, saddle: Saddle) -> float:
        """A mesh no coarser, that puts the largest loss of a factor with atoms on the grid."""
        mesh = min(mesh, 0.25 * saddle.farthest)
        for f, _ in self.factors:
            largest = f._largest_loss()
            # a loss beyond every count of meshes is beyond every grid
            if math.isfinite(largest / mesh) and largest > 0.0:
                return largest / math.ceil(largest / mesh)
        return mesh

    def _on_mesh(self, mesh: float, saddle: Saddle, sides: tuple[int, ...]) -> list[GridLaw]:
        parts: list[tuple[list[Dots], int]] = []
        for (f, k), reaches, grades in zip(
            self.factors, saddle.reaches, saddle.grades, strict=True
        ):
            right, left = reaches
            atoms = max(right, left) / mesh
            if atoms > MOST_ATOMS / 4:
                raise GridTooFine(f"{atoms:.2g} atoms for {f}, more than {MOST_ATOMS // 4}")
            up, down = connect_the_dots(f, mesh, right, left, grades)
            if up.infinite > 0.5 + _at_infinity(f):
                raise _LossesTooLarge(f"losses above {right:g}, which {f} has")
            parts.append(([up if side > 0 else down for side in sides], k))
        return compose_dots(parts, saddle.theta, sides)


def _bucket(delta: float) -> int:
    """Which composition serves this delta."""
    return max(0, math.floor(-math.log10(max(delta, LEAST)) / _DECADES))


def _at_infinity(f: TradeoffFunction) -> float:
    """The probability of an infinite loss."""
    return 0.0 if f._smooth else float(f._delta(np.array([math.inf]))[0])


def _line(law: GridLaw, epsilon: Array, alpha: Array, mirrored: NDArray[np.bool_]) -> Array:
    """What one line each says of f(alpha), rounded down."""
    room, gamma = (
        1.0 - np.minimum(law.lines(epsilon)[0], 1.0),
        np.exp(np.minimum(epsilon, INVERTIBLE_EXPONENT)),
    )
    steep = room - gamma * alpha * (1 + NINE_ROUNDINGS)
    steep = np.where((epsilon <= INVERTIBLE_EXPONENT) | (alpha == 0.0), steep, 0.0)
    line = np.where(mirrored, (room - alpha) / gamma * (1 - NINE_ROUNDINGS), steep)
    return np.maximum(line - THREE_ROUNDINGS, 0.0)
