"""The tradeoff function of the best of a random number of trials.

**Theorem S3 (private selection).** A mechanism is run K times, each time with fresh randomness, and
the output with the largest score is released, ties being broken at random; scores are part of the
outputs. K >= 1 is independent of everything, phi(z) = E z^K. If the mechanism is f-DP with a
symmetric f of profile delta, the release has at every eps >= 0 the profile

    delta_A(eps) <= E_x Psi(e^eps x) = sum_k w_k delta(eps - log s_k),
    Psi(s) = max over alpha in [0, 1] of (phi'(1 - alpha) - s phi'(f(alpha)))_+,

x being the likelihood ratio for which E (1 - c x)_+ = delta(log c), and
Psi(s) = sum_k w_k (1 - s / s_k)_+ a convex, decreasing function.

*Proof.* Let Q and Q' be the laws of one trial on two neighbours. Add a uniform tag to each output
by which ties are broken: no two outputs are then equally good. With q(y) = Q(not better than y),
the release has the density phi'(q(y)) with respect to Q, for P(all K trials are not better than
y) = phi(q(y)). The outputs that are not better than y are one event, and 1 - q(y) =: alpha is the
probability of its complement, so that f-DP says q'(y) >= f(alpha). As phi' is increasing, for
every event E and g = e^eps,

    A(E) - g A'(E) = int_E phi'(q) dQ - g phi'(q') dQ'
                  <= int (phi'(1 - alpha(y)) - g x(y) phi'(f(alpha(y))))_+ dQ <= E_Q Psi(g x),

x = dQ'/dQ; where dQ = 0 the integrand is not positive. Psi is convex and decreasing, a mixture of
hinges (1 - s/s_k)_+, and E_Q (1 - c x)_+ is the profile of Q against Q' at log c, which is at most
delta(log c). QED

Whatever part of phi' is taken out of the maximum counts by its mean: with (phi' - c)_+ taken out,
Psi has min(phi', c) in it and delta_A has int (phi'(r) - c)_+ dr besides, at most
(1 - r_c) (phi'(1) - c)/2, phi' being convex and c = phi'(r_c). This is better where delta is large.

The theorem is never weaker than that of [Papernot & Steinke 2022] with the conversion of
[BBG20, Thm 20], which bounds the same integrand by a power of g x: see docs/selection.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shiftdp._checks import Array
from shiftdp._errors import InvalidInput
from shiftdp._rounding import AMPLE, NOT_ZERO
from shiftdp.fdp.selection.trials import TrialLaw, Trials
from shiftdp.fdp.tradeoff import TradeoffFunction, tradeoff

if TYPE_CHECKING:
    from shiftdp.fdp.composition.product import Product

_CELLS, _CELL_POWER = 4_000, 3
"""Cells of alpha: the cubes of equal ones, fine near 0 where phi' is steep."""
_KNOTS = 160  # of the convex function that is used: its chords lie above it
_LEAST_RATIO = 0.1  # Psi is taken for its chord between 0 and this part of its end
_LARGE = 0.01  # a delta from which on the lines of `_few_lines` are asked too
_LINES, _RAREST, _FARTHEST = 600, 1e-13, 200.0
"""In products: so many lines, up to an eps beyond which nothing happens, or this one."""
_POINTS = 20_000  # of the profile of f that are asked at a time
_CAPS = (1.0, 0.999, 0.99, 0.95, 0.85, 0.6)
"""r_c of the part of phi' that is taken out: 1 is nothing."""


@dataclass(frozen=True, eq=False)
class _Hinges:
    """constant + sum_k w_k (1 - s / s_k)_+."""

    constant: float
    log_s: Array
    weight: Array


@dataclass(frozen=True)
class Selected(TradeoffFunction):
    """The best of a random number of trials of a mechanism that is f-DP. Theorem S3 above.

    Args:
        base: f, of one trial together with its score; symmetric.
        law, rate, shape: of the number of trials, see `Trials`.

    >>> from shiftdp.fdp import GaussianTradeoff
    >>> f = Selected(GaussianTradeoff(0.3), "negative_binomial", 0.1, 1.0)  # 10 on average
    >>> round(f.base.epsilon(1e-5), 2), 1.7 < f.epsilon(1e-5) < 1.76
    (1.13, True)
    """

    type_name = "selected"

    base: TradeoffFunction
    law: TrialLaw
    rate: float
    shape: float | None = None

    def __post_init__(self) -> None:
        if not tradeoff("base", self.base).symmetric:
            raise InvalidInput(
                "base", self.base, "bounds one direction only", "give base.worse_direction()"
            )
        known = self.trials
        object.__setattr__(self, "rate", known.rate)
        object.__setattr__(self, "shape", known.shape)

    @property
    def trials(self) -> Trials:
        """The law of the number of trials."""
        return Trials(self.law, self.rate, self.shape)

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def composed(self) -> bool:
        return self.base.composed

    @property
    def accuracy(self) -> float:
        return self.base.accuracy

    @cached_property
    def _cells(self) -> tuple[Array, Array, Array]:
        """Of cells of alpha: the left end, and bounds on phi'(1 - alpha) and phi'(f(alpha))."""
        alpha = np.linspace(0.0, 1.0, _CELLS + 1) ** _CELL_POWER
        # phi' falls in alpha, and so does f: the left end bounds one and the right end the other
        slack = self.trials.law_error + AMPLE
        upper = self.trials.slope(1.0 - alpha[:-1]) * (1.0 + slack)
        f = np.asarray(self.base(alpha[1:]))
        lower = self.trials.slope(np.minimum(f, 1.0)) * max(1.0 - slack, 0.0)
        return alpha[:-1], upper, np.maximum(lower, NOT_ZERO)

    @cached_property
    def _hinges(self) -> tuple[_Hinges, ...]:
        alpha, upper, lower = self._cells
        found = []
        for r in _CAPS:
            # the cap is phi' at the left end of a cell: r_c is 1 less that end
            cell = int(np.searchsorted(alpha, 1.0 - r, side="right")) - 1
            cap = float(upper[cell])
            constant = 0.5 * float(alpha[cell]) * (float(upper[0]) - cap) * (1.0 + AMPLE)
            found.append(_hinges(constant, np.minimum(upper, cap), lower))
        return tuple(found)

    def _delta(self, epsilon: Array) -> Array:
        positive = np.abs(epsilon)
        best = self._bound(positive)
        large = best > _LARGE
        if large.any():  # the lines know that profiles are convex in e^eps, and 1 at e^eps = 0
            best[large] = np.minimum(best[large], self._few_lines._delta(positive[large]))
        # of a symmetric f: delta(-eps) = 1 - e^-eps (1 - delta(eps))
        share = np.exp(-positive)
        return np.where(epsilon >= 0.0, best, 1.0 - share * (1.0 - best) * (1.0 - AMPLE))

    def _bound(self, epsilon: Array) -> Array:
        """The least of the sums of Theorem S3, for eps >= 0."""
        best = np.ones(epsilon.shape)
        for part in self._hinges:
            better = best > part.constant
            if better.any():
                best[better] = np.minimum(best[better], self._sum(part, epsilon[better]))
        return best

    def _sum(self, part: _Hinges, epsilon: Array) -> Array:
        """The sum of one set of hinges, for a few points at a time so that memory is bounded."""
        rows = max(_POINTS // part.log_s.size, 1)
        starts = range(0, epsilon.size, rows)
        return np.concatenate([self._sum_of(part, epsilon[i : i + rows]) for i in starts])

    def _sum_of(self, part: _Hinges, epsilon: Array) -> Array:
        points = epsilon[:, np.newaxis] - part.log_s
        # a smaller point has a larger profile
        points = points - AMPLE * (1.0 + np.abs(np.where(np.isfinite(points), points, 0.0)))
        profile = np.clip(self.base._delta(points.ravel()), 0.0, 1.0).reshape(points.shape)
        return np.minimum((part.constant + profile @ part.weight) * (1.0 + AMPLE), 1.0)

    @cached_property
    def _few_lines(self) -> TradeoffFunction:
        """Lines below f, by which it enters products: its profile costs hundreds of those of f."""
        from shiftdp.fdp.functions.piecewise_linear import PiecewiseLinear

        points = np.linspace(0.0, _FARTHEST, _LINES)
        rare = self._bound(points) <= 2.0 * self._bound(np.full(1, math.inf)) + _RAREST
        if rare.any():  # beyond, nothing happens
            points = np.linspace(0.0, float(points[int(np.argmax(rare))]), _LINES)
        return PiecewiseLinear.from_guarantees(points, self._bound(points)).worse_direction()

    def _join(self, product: Product, k: int) -> None:
        self._few_lines._join(product, k)

    def _log_moment(self, order: float) -> float:
        """log E (dA'/dA)^order <= that of a trial + max (order log phi' - (order - 1) log phi').

        [Papernot & Steinke 2022, Lemma 7] with q' >= f(1 - q) as above.
        """
        _, upper, lower = self._cells
        gain = float(np.max(order * np.log(upper) - (order - 1.0) * np.log(lower)))
        return (self.base._log_moment(order) + max(gain, 0.0)) * (1.0 + AMPLE) + AMPLE


def _hinges(constant: float, upper: Array, lower: Array) -> _Hinges:
    """max(0, max_i upper_i - s lower_i) as a sum of hinges that lies nowhere below it."""
    end = float(np.max(upper / lower)) * (1.0 + AMPLE)
    s = np.concatenate([[0.0], np.geomspace(_LEAST_RATIO * end, end, _KNOTS)])
    heights = np.array([float(np.max(upper - at * lower)) for at in s])
    # raised by more than the rounding of the differences, and 0 at the end
    heights = np.maximum(heights, 0.0) + AMPLE * (upper[0] + s * lower[0]) * (s < end)
    heights[-1] = 0.0
    slopes = np.append(np.diff(heights) / np.diff(s), 0.0)
    # slopes rise but for rounding; a weight that is too large only adds
    weight = np.maximum(np.diff(slopes), 0.0) * s[1:] * (1.0 + AMPLE)
    keep = weight > 0.0
    return _Hinges(constant, np.log(s[1:][keep]), weight[keep])
