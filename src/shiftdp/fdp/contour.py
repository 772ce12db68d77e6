"""Products of tradeoff functions by contour integration: a fast estimate, never a certificate.

Let M_i be the moment generating function of the privacy loss of the factor f_i under Q, and
K(s) = sum k_i log M_i(s) + mu^2 s(s+1)/2 that of the product with a Gaussian. Then

    delta(eps) = (1/2 pi i) int_{c - i inf}^{c + i inf} e^{K(s) - s eps} / (s (s+1)) ds,    c > 0,

and for -1 < c < 0 the same integral is delta(eps) - 1. On a line near the saddle point the
trapezoid rule converges exponentially, and multiplicities enter only as factors of log M_i.

With period T = 2 pi / step, the rule returns sum_m e^{c m T} delta(eps + m T) instead of delta(eps)
[Poisson]. By Chernoff's bound delta(x) <= e^{K(c') - c' x} for every c' >= 0, so the terms m != 0
are known to be small before T is chosen. What is cut off is small when the integrand has become so
and cannot come back: a law with atoms away from 0 has a M that does, and is served only if its
atoms, all factors taken together, weigh little. Whatever fails one of these tests is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftdp._checks import Array, array_in, number_in
from shiftdp._errors import ShiftdpError
from shiftdp._kinds import Uncertified
from shiftdp.fdp.composition import Product
from shiftdp.fdp.loss_laws import loss_law
from shiftdp.fdp.moments import LossLaw, Quadrature
from shiftdp.fdp.tradeoff import TradeoffFunction

__all__ = ["ContourEstimate", "ContourRefusal", "Line", "estimate_delta", "estimate_epsilon"]

Result = TypeVar("Result")

_SOURCE = "contour integral"
_TARGET = 36.0  # minus the log of the part of delta that each approximation may take
_MARGINS = (
    37.0,
    27.0,
)  # minus the log of the part of delta that may be left out, at first and last
_FIRST_FLOOR, _LAST_FLOOR = -12.0, -1e4  # log delta, as it is first and last guessed
_CUT = 1e-14  # what may be cut off, as a part of delta
_ACCEPTED = 1e-10  # relative error of delta above which an estimate is refused
_FRACTIONS = np.linspace(0.0, 1.0, 20)
_SLOW = 256  # nodes from which on what is cut off need only be small enough to be accepted
_MOST_NODES = 1 << 13
_MOST_TERMS = 2_000_000
_ROUNDS = 6
_NEWTON = 60


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
        """What was cut off, or rounded in the sum."""
        return self.tail + 4e-16 * float(np.abs(self.terms).sum())

    @cached_property
    def _alias(self) -> tuple[Array, Array, int]:
        """c' - c, the logarithms of the bounds on aliases at eps = 0, and where c' passes c."""
        away = self.tilts - self.c
        rise = self.heights - self.log_scale - np.abs(away) * self.period
        return away, rise, int(np.searchsorted(self.tilts, self.c))

    def error_at(self, epsilon: float, total: float) -> float:
        """The relative error of the sum at one eps, as far as it is known."""
        away, rise, split = self._alias
        bound = rise - epsilon * away
        aliases = math.exp(min(float(bound[:split].min()), 700.0))
        aliases += math.exp(min(float(bound[split:].min()), 700.0))
        error = (self._lost + aliases) / abs(total) + self.rounding
        error += 2e-16 * abs(self.c * epsilon)
        return error if math.isfinite(error) else math.inf

    def error(self, epsilon: Array, total: Array) -> Array:
        """The same at many."""
        size = np.abs(total)
        away, rise, split = self._alias
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            error = self._lost / size + self.rounding
            error = error + 2e-16 * np.abs(self.c * epsilon)
            bound = rise - np.multiply.outer(epsilon, away)
            aliases = np.exp(bound[:, :split].min(axis=1)) + np.exp(bound[:, split:].min(axis=1))
            error = error + aliases / size
        return np.where(np.isfinite(error), error, math.inf)


@dataclass(frozen=True, eq=False)
class ContourEstimate:
    """delta(eps) and eps(delta) of a product, each an estimate or a refusal.

    >>> from shiftdp.fdp import GaussianTradeoff
    >>> step = GaussianTradeoff(2 / 3).subsample(0.025)
    >>> estimate = ContourEstimate.of([(step, 2000)])
    >>> estimate.epsilon(1e-5)
    estimate 4.4381379... (contour integral; not a bound)
    >>> estimate.delta(4.438137906).value
    1.00000000e-05
    """

    laws: tuple[tuple[LossLaw, int], ...]
    mu: float = 0.0
    failure: float = 0.0

    @classmethod
    def of(cls, factors: Product | Iterable[tuple[TradeoffFunction, int]]) -> ContourEstimate:
        """From a product in normal form, or from pairs of a factor and its multiplicity."""
        product = Product.of(factors)
        laws = tuple((loss_law(f), k) for f, k in product.factors.items())
        mu = math.sqrt(math.fsum(k * m * m for m, k in product.gaussians))
        failure = product.failure_probability if product.failures else 0.0
        return cls(laws, mu, failure)

    # --- what users ask ---

    def epsilon(self, delta: float) -> Uncertified[float]:
        """The least eps >= 0 with delta(eps) <= delta."""
        return Uncertified(self._epsilon(number_in("delta", delta, 0.0, 1.0)), "estimate", _SOURCE)

    def log_delta(self, epsilon: float) -> Uncertified[float]:
        """log delta(eps), eps >= 0: right also where delta underflows."""
        value = self._log_delta(np.array([number_in("epsilon", epsilon, 0.0, open_high=True)]))
        return Uncertified(float(value[0]), "estimate", _SOURCE)

    @overload
    def delta(self, epsilon: float) -> Uncertified[float]: ...
    @overload
    def delta(self, epsilon: ArrayLike) -> Uncertified[float] | Uncertified[Array]: ...
    def delta(self, epsilon: ArrayLike) -> Uncertified[float] | Uncertified[Array]:
        """delta(eps), eps >= 0; a whole curve shares a handful of lines."""
        points = array_in("epsilon", epsilon, 0.0, open_high=True)
        value = np.exp(self._log_delta(points.ravel()))
        if points.ndim == 0:
            return Uncertified(float(value[0]), "estimate", _SOURCE)
        return Uncertified(value.reshape(points.shape), "estimate", _SOURCE)

    # --- solving ---

    def _epsilon(self, delta: float) -> float:
        if delta >= 1.0:
            return 0.0
        rest = 1.0 - self.failure
        target = (delta - self.failure) / rest if rest > 0.0 else -1.0
        if target < 0.0:
            return math.inf
        if not self.laws and self.mu == 0.0:
            return 0.0
        if target == 0.0:
            raise ContourRefusal("delta is no more than the probability of failure")
        return self._least_refused(lambda margin: self._solve(target, margin))

    def _least_refused(self, attempt: Callable[[float], Result]) -> Result:
        """The attempt that leaves out least and is not refused."""
        for margin in _MARGINS[:-1]:
            try:
                return attempt(margin)
            except ContourRefusal:
                continue
        return attempt(_MARGINS[-1])

    def _solve(self, target: float, margin: float) -> float:
        """The eps with delta(eps) = target, failures aside."""
        survey = self._survey(math.log(target), margin)
        right = target < 0.5 or survey.lost > 0.0
        part = target - survey.lost if right else 1.0 - target
        if part <= 0.0:
            return math.inf
        goal = math.log(part)
        tilts = survey.tilts(right, 1.3 * math.sqrt(-2.0 * math.log(target)) + 8.0)
        c, epsilon = tilts.for_delta(goal)
        if epsilon < 0.5 * survey.sigma:
            if float(self._log_inner(np.zeros(1))[0]) <= math.log(target):
                return 0.0
            epsilon = max(epsilon, 0.0)
        for _ in range(2):
            line = self._draw(survey, tilts, c, epsilon, goal)
            epsilon, total = _newton(line, goal, epsilon)
            worst = line.error_at(epsilon, total) + math.exp(-margin)
            if worst < _ACCEPTED:
                return max(epsilon, 0.0)
            c, _ = tilts.for_epsilon(epsilon)  # eps was only known roughly
        raise ContourRefusal(f"the relative error of delta may be {worst:.1e}")

    def _log_delta(self, epsilon: Array) -> Array:
        if self.failure == 1.0:
            return np.zeros(epsilon.shape)
        if not self.laws and self.mu == 0.0:
            inner = np.full(epsilon.shape, -math.inf)
        else:
            inner = self._log_inner(epsilon)
        if self.failure == 0.0:
            return inner
        total: Array = np.log(self.failure + (1.0 - self.failure) * np.exp(inner))
        return total

    def _log_inner(self, epsilon: Array) -> Array:
        """log delta(eps) of the product without its failures."""
        result = np.full(epsilon.shape, math.nan)
        todo = np.argsort(epsilon)
        for _ in range(_MOST_LINES):
            at = float(epsilon[todo[todo.size // 2]])
            line, survey = self._least_refused(partial(self._line_at, at))
            near = np.abs(epsilon[todo] - at) <= _SHARED_WIDTH * line.width
            now = todo[near]
            value, error = self._read(line, survey, epsilon[now])
            own = epsilon[now] == at
            good = own | (error < min(max(_SHARED, 10.0 * float(error[own][0])), _ACCEPTED))
            result[now[good]] = np.minimum(value[good], 0.0)
            todo = np.concatenate([todo[~near], now[~good]])
            if todo.size == 0:
                break
            todo = todo[np.argsort(epsilon[todo])]
        else:
            raise ContourRefusal(f"the curve needs more than {_MOST_LINES} lines")
        order = np.argsort(epsilon)
        falling = np.minimum.accumulate(result[order])
        if np.any(result[order] > falling + 10.0 * _ACCEPTED):
            raise ContourRefusal("delta rises with eps")
        result[order] = falling
        return result

    def _read(self, line: Line, survey: _Survey, epsilon: Array) -> tuple[Array, Array]:
        """log delta(eps), and its error."""
        total = line.sums(epsilon)
        error = line.error(epsilon, total)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            value = line.log_scale - line.c * epsilon + np.log(total)
            if line.c < 0.0:
                rest = np.exp(value)
                value = np.log1p(-rest)
                error = error * rest / (1.0 - rest)
            elif survey.lost > 0.0:
                value = np.logaddexp(value, math.log(survey.lost))
            # the tail beyond the last node of each law was left out
            error = error + np.exp(survey.log_left_out - value)
        fine = (value <= 1e-9) & np.isfinite(value)
        return value, np.where(fine, error, math.inf)

    def _line_at(self, epsilon: float, margin: float) -> tuple[Line, _Survey]:
        """A line for eps; delta, of which the tails may take no part, is found on the way."""
        floor, worst = _FIRST_FLOOR, math.inf
        for _ in range(_ROUNDS):
            survey = self._survey(floor, margin)
            sigma, above = survey.sigma, epsilon - survey.mean
            right = above > 0.0 or sigma < 1.0 or survey.lost > 0.0
            tilts = survey.tilts(right, 1.5 * max(above, 0.0) / sigma + 12.0)
            c, value = tilts.for_epsilon(epsilon)
            if right and value < floor - 0.5:
                floor = 1.1 * value - 1.0
                if floor > _LAST_FLOOR:
                    continue
                break
            line = self._draw(survey, tilts, c, epsilon, value)
            read, error = self._read(line, survey, np.array([epsilon]))
            worst = float(error[0])
            if worst < _ACCEPTED:
                return line, survey
            if not math.isfinite(read[0]) or read[0] > floor + 1.0:
                break
            floor = float(read[0]) - 1.0
        raise ContourRefusal(f"the relative error of delta({epsilon:g}) may be {worst:.1e}")

    # --- the line ---

    def central_line(
        self, log_floor: float, margin: float, deviations: float
    ) -> tuple[Line, float]:
        """The line c = -1/2, on which delta - 1 is known to some e^log_floor for all eps up to the
        end that is returned, and down to minus that.
        """
        survey = self._survey(log_floor, margin)
        if survey.lost > 0.0:
            raise ContourRefusal("losses may be infinite")
        end = survey.mean + deviations * survey.sigma
        tilts = survey.tilts(False, 0.0)
        period = max(tilts.period(-0.5, e, 0.0) for e in (-end, end))
        return self._draw(survey, tilts, -0.5, end, 0.0, period), end

    def _survey(self, log_delta: float, margin: float) -> _Survey:
        """Quadratures that leave out no more than e^-margin of delta."""
        steps = sum(k for _, k in self.laws)
        log_floor = log_delta - margin - math.log(max(steps, 1))
        rules = [law.quadrature(log_floor, 1.0) for law, _ in self.laws]
        counts = [k for _, k in self.laws]
        mean = 0.5 * self.mu**2
        mean += math.fsum(k * rule.mean() for k, rule in zip(counts, rules, strict=True))
        log_kept = math.fsum(
            k * math.log1p(-rule.missing[0]) for k, rule in zip(counts, rules, strict=True)
        )
        if not 0.0 < mean < math.inf:
            raise ContourRefusal(f"the mean privacy loss {mean:g} is no positive number")
        return _Survey(self.laws, self.mu, rules, log_floor, mean, -math.expm1(log_kept))

    def _draw(
        self,
        survey: _Survey,
        tilts: _Tilts,
        c: float,
        epsilon: float,
        goal: float,
        period: float | None = None,
    ) -> Line:
        """The trapezoid rule on the line through c, for eps with log delta(eps) about `goal`."""
        excess = [float(rule.excess(np.array([c]))[0]) for rule in survey.rules]
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
        if c > 0.0 and self.mu == 0.0 and all(rule.spikes is None for rule in survey.rules):
            log_atoms = math.fsum(
                k * math.log(rule.atom) if rule.atom > 0.0 else -math.inf
                for (_, k), rule in zip(self.laws, survey.rules, strict=True)
            )
            still = log_atoms - log_scale
        log_known = goal + c * epsilon - log_scale  # of the sum
        known = math.exp(min(max(log_known, -690.0), 690.0))
        width = tilts.width(c)
        first, last = 0, math.ceil(min(9.0 / (width * step), _MOST_NODES)) + 4
        pieces: list[NDArray[np.complex128]] = []
        before, bulk = math.inf, 30.0 / survey.sigma
        while True:
            tau: Array = step * np.arange(first, last, dtype=np.float64)
            rules = survey.fine(math.hypot(c + 1.0, float(tau[-1])))
            if tau.size * sum(rule.x.size for rule in rules) > _MOST_TERMS:
                if pieces:  # what has been summed may do
                    break
                raise ContourRefusal("the integrand decays too slowly")
            modulus = -0.5 * self.mu**2 * tau * tau
            phase = (c + 0.5) * self.mu**2 * tau
            outlook = float(modulus[-1])
            for (_, k), rule, m in zip(self.laws, rules, excess, strict=True):
                ahead = rule.ahead(c, float(tau[-1]))
                log_modulus, argument = rule.line(c, m, np.concatenate([tau, ahead]))
                modulus = modulus + k * (log_modulus[: tau.size] - math.log1p(m))
                phase = phase + k * argument[: tau.size]
                beyond = log_modulus[tau.size :], argument[tau.size :]
                outlook += k * rule.outlook(c, m, ahead, beyond)
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
            enough = 0.01 * _ACCEPTED if slow else _CUT
            if tail < enough * known or last >= _MOST_NODES:
                break
            # the next doublings will not gain more than the last one did, by much
            doublings = math.log2(_MOST_NODES / last)
            if tau[-1] > bulk and tail * (0.5 * tail / before) ** doublings > _ACCEPTED * known:
                raise ContourRefusal("the integrand decays too slowly")
            before = tail
            first, last = last, (2 * last if slow else last + last // 2)
        terms = np.concatenate(pieces)
        terms[0] *= 0.5
        if c < 0.0:
            terms = -terms
        rounding = 4e-16 * (4.0 + abs(log_scale)) + survey.error(excess, rules, c)
        every: Array = step * np.arange(terms.size, dtype=np.float64)
        return Line(
            c, log_scale, every, terms, period, width, tail, rounding, tilts.c, tilts.height
        )  # fmt: skip


_MOST_LINES = 60
_SHARED_WIDTH = 5.0  # how far from its own eps a line is tried, in standard deviations
_SHARED = 1e-12  # relative error above which a point of a curve is given a line of its own


@dataclass(frozen=True, eq=False)
class _Survey:
    """The laws on their nodes, and the size of the total loss."""

    laws: tuple[tuple[LossLaw, int], ...]
    mu: float
    rules: list[Quadrature]
    log_floor: float
    mean: float
    lost: float

    @property
    def sigma(self) -> float:
        """The standard deviation of a Gaussian loss with this mean."""
        return math.sqrt(2.0 * self.mean)

    @property
    def log_left_out(self) -> float:
        """Of the mass beyond the last nodes, all factors together."""
        steps = sum(k for _, k in self.laws)
        return self.log_floor + math.log(steps) if steps else -math.inf

    def fine(self, reach: float) -> list[Quadrature]:
        """Nodes for |s| <= reach."""
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

    def error(self, excess: list[float], rules: list[Quadrature], c: float) -> float:
        """What the quadratures and roundings of M - 1 leave in K."""
        total = 0.0
        for (_, k), rule, m in zip(self.laws, rules, excess, strict=True):
            lost = abs(m) * (rule.error + 4e-16)
            if not rule.symmetric and not rule.profile:  # terms that cancel
                lost += 2e-16 * abs(c) * float((rule.up + rule.down) @ rule.x)
            total += k * lost / (1.0 + m)
        return total

    def tilts(self, right: bool, spread: float) -> _Tilts:
        """K on points around the saddle: c in units of 1/sigma up to `spread`, or in (-1, 0)."""
        unit = 1.0 / self.sigma
        if right:
            c = np.append(0.0, 0.1 * unit * (10.0 * spread) ** _FRACTIONS)
            height = self.cumulant(c)
            # where a rare, large loss takes over, K climbs a wall, and the saddle is at its foot
            for _ in range(3):
                foot = int(np.searchsorted(height, 30.0)) - 1
                if foot < 1 or foot + 1 == c.size or height[foot + 1] < 100.0:
                    break
                more = c[foot] * (c[foot + 1] / c[foot]) ** _FRACTIONS[1:-1]
                c = np.concatenate([c[: foot + 1], more, c[foot + 1 :]])
                height = np.concatenate(
                    [height[: foot + 1], self.cumulant(more), height[foot + 1 :]]
                )
            return _Tilts(c, height, True)
        nearest = min(0.02, 0.05 * unit)
        inner = -nearest * (0.5 / nearest) ** _FRACTIONS[::-1]
        c = np.concatenate([[-1.0, -0.9, -0.75, -0.6], inner, [0.0]])
        return _Tilts(c, self.cumulant(c), False)


@dataclass(frozen=True, eq=False)
class _Tilts:
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
        if c.size < 4:
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
        """Between the peak of the integrand and its integral."""
        return 0.5 * math.log(2.0 * math.pi) + math.log(self.width(c))

    def period(self, c: float, epsilon: float, goal: float) -> float:
        """The least T for which the neighbours of delta(eps) are e^-_TARGET of it."""
        away = np.abs(self.c - c)
        need = (self.height - self.c * epsilon + (_TARGET - goal)) / np.maximum(away, 1e-300)
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


def _newton(line: Line, goal: float, epsilon: float) -> tuple[float, float]:
    """eps with log delta(eps) = goal on this line, and the sum there, to some digits."""
    tau, terms, c = line.tau, line.terms, line.c
    slopes = terms * (c + 1j * tau)
    for _ in range(_NEWTON):
        phase = np.exp(-1j * epsilon * tau)
        total, slope = float((terms @ phase).real), float((slopes @ phase).real)
        if not total > 0.0 or not slope * c > 0.0:
            raise ContourRefusal("the sum on the contour is not positive")
        step = (line.log_scale - c * epsilon + math.log(total) - goal) * total / slope
        epsilon += step
        if abs(step) * slope / total * math.copysign(1.0, c) < 1e-8:
            return epsilon, total
    raise ContourRefusal("Newton's method did not settle")


def estimate_epsilon(
    factors: Product | Iterable[tuple[TradeoffFunction, int]], delta: float
) -> Uncertified[float] | None:
    """eps(delta) of a product of factors with multiplicities; None where it is refused.

    >>> from shiftdp.fdp import ApproxDPTradeoff, GaussianTradeoff
    >>> step = GaussianTradeoff(2 / 3).subsample(0.025)
    >>> estimate_epsilon([(step, 8000), (GaussianTradeoff(0.5), 1)], 1e-5).value
    10.49117201...
    >>> print(estimate_epsilon([(ApproxDPTradeoff(0.5), 10)], 1e-5))
    None
    """
    try:
        return ContourEstimate.of(factors).epsilon(delta)
    except ContourRefusal:
        return None


def estimate_delta(
    factors: Product | Iterable[tuple[TradeoffFunction, int]], epsilon: float
) -> Uncertified[float] | None:
    """delta(eps) of a product of factors with multiplicities; None where it is refused."""
    try:
        return ContourEstimate.of(factors).delta(epsilon)
    except ContourRefusal:
        return None
