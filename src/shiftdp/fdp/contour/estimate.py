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
from functools import partial
from typing import TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from shiftdp._checks import Array, array_in, number_in
from shiftdp._kinds import Uncertified
from shiftdp.fdp.composition.product import Product
from shiftdp.fdp.contour.line import ACCEPTED, ContourRefusal, Line, Survey
from shiftdp.fdp.losses import LossLaw, loss_law
from shiftdp.fdp.tradeoff import TradeoffFunction

__all__ = ["ContourEstimate", "ContourRefusal", "estimate_delta", "estimate_epsilon"]

Result = TypeVar("Result")

_SOURCE = "contour integral"
_MARGINS = (37.0, 27.0)  # minus the log of the part of delta left out, at first and last
_FIRST_FLOOR, _LAST_FLOOR = -12.0, -1e4  # log delta, as it is first and last guessed
_ROUNDS = 6  # guesses of log delta
_NEWTON = 60  # steps
_NEWTON_STILL = 1e-8  # change of log delta: the next step would change its square, which is nothing
_ABOVE_ONE = 1e-9  # by how much log delta may exceed 0 through errors
# The range of tilts in units of 1/sigma. A Gaussian loss with tail delta has its saddle point at
# sqrt(-2 log delta), or at (eps - mean)/sigma; other losses have it not much farther out.
_FARTHER, _FARTHER_STILL = (1.3, 8.0), (1.5, 12.0)  # factors and additions, for delta and for eps
_BELOW = 1.1  # a floor that was too high is lowered to this multiple of the log delta found
_MOST_LINES = 60  # for one curve
_SHARED_WIDTH = 5.0  # how far from its own eps a line is tried, in standard deviations
_SHARED = 1e-12  # relative error above which a point of a curve is given a line of its own


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
        """The first attempt that succeeds, from the one that cuts the tails off farthest out."""
        for margin in _MARGINS[:-1]:
            try:
                return attempt(margin)
            except ContourRefusal:
                continue
        return attempt(_MARGINS[-1])

    def _solve(self, target: float, margin: float) -> float:
        """The eps with delta(eps) = target, failures aside."""
        survey = Survey.of(self.laws, self.mu, math.log(target), margin)
        right = target < 0.5 or survey.lost > 0.0
        part = target - survey.lost if right else 1.0 - target
        if part <= 0.0:
            return math.inf
        goal = math.log(part)
        tilts = survey.tilts(right, _FARTHER[0] * math.sqrt(-2.0 * math.log(target)) + _FARTHER[1])
        c, epsilon = tilts.for_delta(goal)
        if epsilon < 0.5 * survey.sigma:
            if float(self._log_inner(np.zeros(1))[0]) <= math.log(target):
                return 0.0
            epsilon = max(epsilon, 0.0)
        for _ in range(2):
            line = survey.draw(tilts, c, epsilon, goal)
            epsilon, total = _newton(line, goal, epsilon)
            worst = line.error_at(epsilon, total) + math.exp(-margin)
            if worst < ACCEPTED:
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
            good = own | (error < min(max(_SHARED, 10.0 * float(error[own][0])), ACCEPTED))
            result[now[good]] = np.minimum(value[good], 0.0)
            todo = np.concatenate([todo[~near], now[~good]])
            if todo.size == 0:
                break
            todo = todo[np.argsort(epsilon[todo])]
        else:
            raise ContourRefusal(f"the curve needs more than {_MOST_LINES} lines")
        order = np.argsort(epsilon)
        falling = np.minimum.accumulate(result[order])
        if np.any(result[order] > falling + 10.0 * ACCEPTED):
            raise ContourRefusal("delta rises with eps")
        result[order] = falling
        return result

    def _read(self, line: Line, survey: Survey, epsilon: Array) -> tuple[Array, Array]:
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
        fine = (value <= _ABOVE_ONE) & np.isfinite(value)
        return value, np.where(fine, error, math.inf)

    def _line_at(self, epsilon: float, margin: float) -> tuple[Line, Survey]:
        """An integration line whose sum is accurate at eps.

        Tails that are cut off must be far below delta(eps), which is not known yet: the floor under
        them is lowered round by round, until delta as it is read off is well above it.
        """
        floor, worst = _FIRST_FLOOR, math.inf
        for _ in range(_ROUNDS):
            survey = Survey.of(self.laws, self.mu, floor, margin)
            sigma, above = survey.sigma, epsilon - survey.mean
            right = above > 0.0 or sigma < 1.0 or survey.lost > 0.0
            tilts = survey.tilts(
                right, _FARTHER_STILL[0] * max(above, 0.0) / sigma + _FARTHER_STILL[1]
            )
            c, value = tilts.for_epsilon(epsilon)
            if right and value < floor - 0.5:
                floor = _BELOW * value - 1.0
                if floor > _LAST_FLOOR:
                    continue
                break
            line = survey.draw(tilts, c, epsilon, value)
            read, error = self._read(line, survey, np.array([epsilon]))
            worst = float(error[0])
            if worst < ACCEPTED:
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
        survey = Survey.of(self.laws, self.mu, log_floor, margin)
        if survey.lost > 0.0:
            raise ContourRefusal("losses may be infinite")
        end = survey.mean + deviations * survey.sigma
        tilts = survey.tilts(False, 0.0)
        period = max(tilts.period(-0.5, e, 0.0) for e in (-end, end))
        return survey.draw(tilts, -0.5, end, 0.0, period), end


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
        if abs(step) * slope / total * math.copysign(1.0, c) < _NEWTON_STILL:
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
