"""One line of integration for a product: where it runs, how far, and what is known of its error.

`estimate` has the formulas; here is what they need: quadratures of the laws that leave out no more
than is allowed (`Survey`), the cumulant K on points around the saddle (`Tilts`), and the integrand
on the nodes of the trapezoid rule (`Line`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._errors import ShiftdpError
from shiftdp._rounding import (
    INVERTIBLE_EXPONENT,
    LARGEST_EXPONENT,
    NINE_ROUNDINGS,
    NOT_ZERO,
    THREE_ROUNDINGS,
    ULP,
)
from shiftdp.fdp.losses import LossLaw
from shiftdp.fdp.losses.quadrature import Quadrature

ACCEPTED = 1e-10
"""Relative error of delta above which an estimate is refused."""

_TARGET = 36.0  # minus the log of the part of delta that each approximation may take
_CUT = 1e-14  # what may be cut off, as a part of delta
_FRACTIONS = np.linspace(0.0, 1.0, 20)  # of an interval of tilts, in log c
_SLOW = 256  # nodes from which on what is cut off need only be small enough to be accepted
_MOST_NODES = 1 << 13  # of the trapezoid rule
_MOST_TERMS = 2_000_000  # nodes of the rule times those of all laws
_MOMENT_ERROR = NINE_ROUNDINGS  # relative, of M - 1
_LONG_ENOUGH = 30.0  # standard deviations of 1/tau beyond which the bulk of the loss is integrated
_ENOUGH_IF_SLOW = 0.01  # part of the accepted error that may be cut off from a long line
# Tilts right of the pole, in units of 1/sigma: from _NEAREST on, and finer between the K at which a
# wall begins and the K at which it is one.
_NEAREST, _FOOT, _WALL = 0.1, 30.0, 100.0
# Tilts in (-1, 0): from the smaller of these, the second in units of 1/sigma, and a few near -1.
_NEAREST_LEFT, _NEAREST_LEFT_SIGMA = 0.02, 0.05
_NEAR_MINUS_ONE = (-1.0, -0.9, -0.75, -0.6)  # where K is flat


class ContourRefusal(ShiftdpError):
    """No reliable estimate: the reason says which test failed."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason}; compose on a grid instead")
        self.reason = reason


@dataclass(frozen=True, eq=False)
class Line:
    """The integrand on c + i tau, without the factor e^{K(c) - c eps}, and what is known of it."""

    c: float
    log_scale: float  # K(c)
    tau: Array
    terms: NDArray[np.complex128]
    period: float
    width: float  # the standard deviation of the tilted loss, or so
    tail: float  # what was cut off, in units of the sum
    rounding: float
    tilts: Array  # c' and K(c') for Chernoff's bound
    heights: Array

    def sums(self, epsilon: Array) -> Array:
        """The trapezoid sum without e^{K(c) - c eps}."""
        phase = np.exp(-1j * np.multiply.outer(epsilon, self.tau))
        # not by BLAS, whose threads cost more than they gain here
        sums: Array = np.einsum("ij,j->i", phase, self.terms).real
        return sums

    @cached_property
    def _lost(self) -> float:
        """A bound on the error of the sum: the terms that were cut off, and rounding."""
        return self.tail + THREE_ROUNDINGS * float(np.abs(self.terms).sum())

    @cached_property
    def _alias(self) -> tuple[Array, Array, int]:
        """What Chernoff's bound says of aliases, the copies of delta a period away.

        c' - c for the tabulated tilts c', the logarithms of the bounds at eps = 0, and how many of
        the tilts are below c.
        """
        away = self.tilts - self.c
        rise = self.heights - self.log_scale - np.abs(away) * self.period
        return away, rise, int(np.searchsorted(self.tilts, self.c))

    def error_at(self, epsilon: float, total: float) -> float:
        """The relative error of the sum at one eps, as far as it is known."""
        away, rise, split = self._alias
        bound = rise - epsilon * away
        aliases = math.exp(min(float(bound[:split].min()), LARGEST_EXPONENT))
        aliases += math.exp(min(float(bound[split:].min()), LARGEST_EXPONENT))
        error = (self._lost + aliases) / abs(total) + self.rounding
        error += ULP * abs(self.c * epsilon)
        return error if math.isfinite(error) else math.inf

    def error(self, epsilon: Array, total: Array) -> Array:
        """`error_at` for many eps at once."""
        size = np.abs(total)
        away, rise, split = self._alias
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            error = self._lost / size + self.rounding
            error = error + ULP * np.abs(self.c * epsilon)
            bound = rise - np.multiply.outer(epsilon, away)
            aliases = np.exp(bound[:, :split].min(axis=1)) + np.exp(bound[:, split:].min(axis=1))
            error = error + aliases / size
        return np.where(np.isfinite(error), error, math.inf)


@dataclass(frozen=True, eq=False)
class Survey:
    """The laws on their nodes, and the size of the total loss."""

    laws: tuple[tuple[LossLaw, int], ...]
    mu: float
    rules: list[Quadrature]
    log_floor: float
    mean: float
    lost: float

    @classmethod
    def of(
        cls, laws: tuple[tuple[LossLaw, int], ...], mu: float, log_delta: float, margin: float
    ) -> Survey:
        """Quadratures that leave out no more than e^-margin of delta."""
        steps = sum(k for _, k in laws)
        log_floor = log_delta - margin - math.log(max(steps, 1))
        rules = [law.quadrature(log_floor, 1.0) for law, _ in laws]
        counts = [k for _, k in laws]
        mean = 0.5 * mu**2
        mean += math.fsum(k * rule.mean() for k, rule in zip(counts, rules, strict=True))
        if not 0.0 < mean < math.inf:
            raise ContourRefusal(f"the mean privacy loss {mean:g} is no positive number")
        if any(math.isinf(rule.error) for rule in rules):
            raise ContourRefusal("a privacy loss spreads too widely")
        log_kept = math.fsum(
            k * math.log1p(-rule.missing[0]) for k, rule in zip(counts, rules, strict=True)
        )
        return cls(laws, mu, rules, log_floor, mean, -math.expm1(log_kept))

    @property
    def sigma(self) -> float:
        """The standard deviation of a Gaussian loss with this mean."""
        return math.sqrt(2.0 * self.mean)

    @property
    def log_left_out(self) -> float:
        """The logarithm of the mass beyond the last nodes, of all factors together."""
        steps = sum(k for _, k in self.laws)
        return self.log_floor + math.log(steps) if steps else -math.inf

    def fine(self, reach: float) -> list[Quadrature]:
        """Quadratures of all laws, fine enough for M(s) with |s| <= reach."""
        return [
            rule if rule.reach >= reach else law.quadrature(self.log_floor, reach)
            for rule, (law, _) in zip(self.rules, self.laws, strict=True)
        ]

    def cumulant(self, c: Array) -> Array:
        """K(c) for real c, roughly."""
        total = 0.5 * self.mu**2 * c * (c + 1.0)
        for (_, k), rule in zip(self.laws, self.rules, strict=True):
            total = total + k * np.log1p(rule.rough_excess(c))
        return total

    def error(self, excess: list[float], rules: list[Quadrature]) -> float:
        """A bound on the error of K that the quadratures and the roundings of M - 1 cause."""
        total = 0.0
        for (_, k), rule, m in zip(self.laws, rules, excess, strict=True):
            total += k * abs(m) * (rule.error + _MOMENT_ERROR) / (1.0 + m)
        return total

    def tilts(self, right: bool, spread: float) -> Tilts:
        """K on points around the saddle: c in units of 1/sigma up to `spread`, or in (-1, 0)."""
        unit = 1.0 / self.sigma
        if right:
            c = np.append(0.0, _NEAREST * unit * (spread / _NEAREST) ** _FRACTIONS)
            height = self.cumulant(c)
            # where a rare, large loss takes over, K climbs a wall, and the saddle is at its foot
            for _ in range(3):
                foot = int(np.searchsorted(height, _FOOT)) - 1
                if foot < 1 or foot + 1 == c.size or height[foot + 1] < _WALL:
                    break
                more = c[foot] * (c[foot + 1] / c[foot]) ** _FRACTIONS[1:-1]
                c = np.concatenate([c[: foot + 1], more, c[foot + 1 :]])
                height = np.concatenate(
                    [height[: foot + 1], self.cumulant(more), height[foot + 1 :]]
                )
            return Tilts(c, height, True)
        nearest = min(_NEAREST_LEFT, _NEAREST_LEFT_SIGMA * unit)
        inner = -nearest * (0.5 / nearest) ** _FRACTIONS[::-1]
        c = np.concatenate([_NEAR_MINUS_ONE, inner, [0.0]])
        return Tilts(c, self.cumulant(c), False)

    def draw(
        self,
        tilts: Tilts,
        c: float,
        epsilon: float,
        goal: float,
        period: float | None = None,
    ) -> Line:
        """The trapezoid rule on the line through c, for eps with log delta(eps) about `goal`."""
        excess = [rule.excess(c) for rule in self.rules]
        log_scale = 0.5 * self.mu**2 * c * (c + 1.0)
        log_scale += math.fsum(
            k * math.log1p(m) for (_, k), m in zip(self.laws, excess, strict=True)
        )
        if not math.isfinite(log_scale):
            raise ContourRefusal("the moment generating function overflows")
        period = period or tilts.period(c, epsilon, goal)
        step = 2.0 * math.pi / period
        # the atoms at 0, all together, have delta(eps) = 0 for eps >= 0 and need not be integrated
        still = -math.inf
        if c > 0.0 and self.mu == 0.0 and all(rule.spikes is None for rule in self.rules):
            log_atoms = math.fsum(
                k * math.log(rule.atom) if rule.atom > 0.0 else -math.inf
                for (_, k), rule in zip(self.laws, self.rules, strict=True)
            )
            still = log_atoms - log_scale
        log_known = goal + c * epsilon - log_scale  # of the sum
        known = math.exp(min(max(log_known, -INVERTIBLE_EXPONENT), INVERTIBLE_EXPONENT))
        width = tilts.width(c)
        first, last = 0, math.ceil(min(9.0 / (width * step), _MOST_NODES)) + 4
        pieces: list[NDArray[np.complex128]] = []
        before, bulk = math.inf, _LONG_ENOUGH / self.sigma
        while True:
            tau: Array = step * np.arange(first, last, dtype=np.float64)
            rules = self.fine(math.hypot(c + 1.0, float(tau[-1])))
            if tau.size * sum(rule.loss.size for rule in rules) > _MOST_TERMS:
                if pieces:  # what has been summed may do
                    break
                raise ContourRefusal("the integrand decays too slowly")
            modulus = -0.5 * self.mu**2 * tau * tau
            phase = (c + 0.5) * self.mu**2 * tau
            outlook = float(modulus[-1])
            for (_, k), rule, m in zip(self.laws, rules, excess, strict=True):
                tilted = rule.tilted(c)
                ahead = tilted.ahead(float(tau[-1]))
                log_modulus, argument = tilted.line(m, np.concatenate([tau, ahead]))
                modulus = modulus + k * (log_modulus[: tau.size] - math.log1p(m))
                phase = phase + k * argument[: tau.size]
                beyond = log_modulus[tau.size :], argument[tau.size :]
                outlook += k * tilted.outlook(m, ahead, beyond)
            s = c + 1j * tau
            values: NDArray[np.complex128] = np.exp(modulus + 1j * phase)
            left = math.exp(outlook)
            if still > -math.inf:
                values = values - math.exp(still)
                left *= -math.expm1(min(still - outlook, 0.0))
            left = max(left, float(np.abs(values[-4:]).max()))
            pieces.append(values * (step / math.pi) / (s * (s + 1.0)))
            tail = left * abs(1.0 / (s[-1] * (s[-1] + 1.0))) * (step / math.pi) * last
            slow = last >= _SLOW
            enough = _ENOUGH_IF_SLOW * ACCEPTED if slow else _CUT
            if tail < enough * known or last >= _MOST_NODES:
                break
            # the next doublings will not gain more than the last one did, by much
            doublings = math.log2(_MOST_NODES / last)
            if tau[-1] > bulk and tail * (0.5 * tail / before) ** doublings > ACCEPTED * known:
                raise ContourRefusal("the integrand decays too slowly")
            before = tail
            first, last = last, (2 * last if slow else last + last // 2)
        terms = np.concatenate(pieces)
        terms[0] *= 0.5
        if c < 0.0:
            terms = -terms
        rounding = THREE_ROUNDINGS * (4.0 + abs(log_scale)) + self.error(excess, rules)
        every: Array = step * np.arange(terms.size, dtype=np.float64)
        return Line(
            c, log_scale, every, terms, period, width, tail, rounding, tilts.c, tilts.height
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Tilts:
    """Values of K on one side of the pole at 0, ascending in c."""

    c: Array
    height: Array
    right: bool

    @cached_property
    def _inner(self) -> tuple[Array, Array, Array]:
        """c, K and the width of the integrand's peak at the points with two neighbours."""
        c, height = self.c, self.height
        usable = np.isfinite(height)
        c, height = c[usable], height[usable]
        if c.size < 5:  # of which three have two neighbours
            raise ContourRefusal("the moment generating function overflows")
        slope = (height[1:] - height[:-1]) / (c[1:] - c[:-1])
        bend = 2.0 * (slope[1:] - slope[:-1]) / (c[2:] - c[:-2])
        c, height = c[1:-1], height[1:-1]
        return c, height, np.maximum(bend, 0.0) + 1.0 / c**2 + 1.0 / (c + 1.0) ** 2

    def _log_peak(self) -> tuple[Array, Array]:
        """c, and the log of the integrand's peak at eps = 0."""
        c, height, _ = self._inner
        return c, height - np.log(np.abs(c * (c + 1.0)))

    def width(self, c: float) -> float:
        points, _, bend = self._inner
        return math.sqrt(float(np.interp(c, points, bend)))

    def for_delta(self, goal: float) -> tuple[float, float]:
        """The best c, and eps, for log delta = goal."""
        c, peak = self._log_peak()
        sign = 1.0 if self.right else -1.0
        log_c, bound = _vertex(np.log(np.abs(c)), sign * (peak - goal) / c)
        at = sign * math.exp(log_c)
        return at, sign * bound - self._log_spread(at) / at

    def for_epsilon(self, epsilon: float) -> tuple[float, float]:
        """The best c, and log delta, for eps."""
        c, peak = self._log_peak()
        at, value = _vertex(c, peak - c * epsilon)
        return at, value - self._log_spread(at)

    def _log_spread(self, c: float) -> float:
        """log of (the integrand's peak / its integral), as if it were Gaussian around the peak."""
        return 0.5 * math.log(2.0 * math.pi) + math.log(self.width(c))

    def period(self, c: float, epsilon: float, goal: float) -> float:
        """The least T for which the neighbours of delta(eps) are e^-_TARGET of it."""
        away = np.abs(self.c - c)
        need = (self.height - self.c * epsilon + (_TARGET - goal)) / np.maximum(away, NOT_ZERO)
        split = int(np.searchsorted(self.c, c))
        if not 0 < split < self.c.size:
            raise ContourRefusal("the saddle point is out of reach")
        period = max(float(need[:split].min()), float(need[split:].min()))
        if not 0.0 < period < math.inf:
            raise ContourRefusal("the saddle point is out of reach")
        return period


def _vertex(x: Array, y: Array) -> tuple[float, float]:
    """The minimum of y, by a parabola through the three lowest points."""
    i = min(max(int(np.argmin(y)), 1), x.size - 2)
    (x0, x1, x2), (y0, y1, y2) = x[i - 1 : i + 2].tolist(), y[i - 1 : i + 2].tolist()
    low, high = (y1 - y0) / (x1 - x0), (y2 - y1) / (x2 - x1)
    bend = (high - low) / (x2 - x0)
    if not bend > 0.0:
        return x1, y1
    at = 0.5 * (x0 + x1) - 0.5 * low / bend
    at = min(max(at, min(x0, x2)), max(x0, x2))
    return at, y0 + (at - x0) * (low + bend * (at - x1))
