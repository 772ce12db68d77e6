"""Privacy-loss laws with a density: stretches on which it is analytic, and quadratures of these.

A stretch has a coordinate y along which the loss and the mass of sqrt(dP dQ) are known in closed
form. Both kinds of nodes are Gauss-Legendre nodes on panels of it.

*For complex s up to a reach* the window is fixed, and panels are so short that e^{sL} turns by no
more than `TURN` on each: it turns by |s| times the slope of L times the width. Slopes rise or fall
along a panel, so they are looked at at its ends.

*For real orders of any size* the window would be far too wide. The integrand e^psi has psi'' >= -c
with a known c. So where psi is within 45 of its maximum its slope is at most sqrt(90 c), and panels
of width 2/sqrt(c) are short enough. A coarse grid with spacing H finds them: where it has a value
below its largest one by more than (sqrt(45) + H sqrt(c/8))^2, the integrand is negligible.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from shiftdp._checks import Array
from shiftdp._errors import InvalidInput
from shiftdp._rounding import HUGE
from shiftdp.fdp._quadrature import on_panels
from shiftdp.fdp.losses.law import PrivacyLoss
from shiftdp.fdp.losses.quadrature import MOST_PANELS, TURN, Quadrature

Nodes = tuple[Array, Array]
"""Losses and log masses of sqrt(dP dQ)."""

_BOTH_WORLDS = (0.0, -1.0)  # the orders t at which e^{tL} dQ is Q itself, and P
_TAIL = 10.0  # standard deviations: what lies beyond is e^-50 of a Gaussian
_NEAR_ONE = 1.0  # |log M| below which M is summed from 1, so that log M keeps its digits
_NEGLIGIBLE = 45.0  # e^-45 is below a rounding error
_COARSE, _PARTS, _MOST_KEPT = 512, 8, 40_000  # panels of the coarse grid, parts of each, most kept


@dataclass(frozen=True, eq=False)
class Stretch:
    """low <= y <= high, on which a law is analytic.

    Args:
        low: where y begins.
        high: where y ends.
        points: the losses at y, and the log densities of sqrt(dP dQ) in y.
        slope: the size of the slope of the loss.
        widest: how wide a panel may be for the density itself.
        curvature: a bound on -psi'' for the orders in question.
    """

    low: float
    high: float
    points: Callable[[Array], Nodes]
    slope: Callable[[Array], Array]
    widest: float = math.inf
    curvature: float = 1.0

    def turning(self, reach: float) -> tuple[Nodes, float, float]:
        """Nodes for complex |s| up to the reach, the reach they have, and their error."""
        count = math.ceil(min((self.high - self.low) / self.widest, MOST_PANELS)) or 1
        width = (self.high - self.low) / count
        edges: Array = self.low + width * np.arange(count + 1.0)
        slopes = self.slope(edges)
        turns = width * np.maximum(slopes[:-1], slopes[1:])
        error, fastest = 0.0 if count < MOST_PANELS else math.inf, float(turns.max())
        if fastest * reach > TURN:
            parts = np.maximum(turns * (reach / TURN), 1.0)  # needed of each panel
            ends = np.append(0.0, np.cumsum(parts))
            whole = math.ceil(ends[-1])
            if whole < MOST_PANELS:
                edges = np.interp(ends[-1] / whole * np.arange(whole + 1.0), ends, edges)
                fastest = float((turns / parts).max())
            else:
                error = math.inf
        return self._at(*on_panels(edges)), TURN / fastest, error

    def tilted(self, tilts: Sequence[float]) -> Nodes | None:
        """Nodes for integrands e^{tilt L} sqrt(dP dQ); None if too many panels would be needed.

        Panels on which each integrand is negligible against its own maximum are left out, if there
        are many. A maximum at an end need not be stationary: beyond the first panel the slope is
        then at most 90/H, which costs another 45.
        """
        low, high = self.low, self.high
        width = min(2.0 / math.sqrt(self.curvature), self.widest)
        count = math.ceil(min((high - low) / width, HUGE))
        if count <= _COARSE:
            edges = low + (high - low) / max(count, 1) * np.arange(max(count, 1) + 1.0)
            return self._at(*on_panels(edges))
        step = (high - low) / _COARSE
        left: Array = low + step * np.arange(float(_COARSE))
        while step > width:
            margin = (math.sqrt(_NEGLIGIBLE) + step * math.sqrt(self.curvature / 8.0)) ** 2
            keep = (left <= low) | (left + 1.5 * step >= high)
            loss, log_mid = self.points(left + 0.5 * step)
            for tilt in tilts:
                psi = log_mid + tilt * loss
                keep |= psi >= psi.max() - (margin + _NEGLIGIBLE)
            step /= _PARTS
            if keep.sum() * _PARTS > _MOST_KEPT:
                return None
            left = np.add.outer(left[keep], step * np.arange(float(_PARTS))).ravel()
        y, weights = on_panels(np.array([0.0, step]))
        return self._at(np.add.outer(left, y).ravel(), np.tile(weights, left.size))

    def _at(self, y: Array, weights: Array) -> Nodes:
        loss, log_mid = self.points(y)
        return loss, log_mid + np.log(weights)


@dataclass(frozen=True, eq=False)
class AnalyticLoss(PrivacyLoss):
    """A law that consists of analytic stretches and atoms.

    If it is symmetric, so that L under P is -L under Q, the stretches are those of losses above 0.
    """

    @property
    def _symmetric(self) -> bool:
        return True

    @abstractmethod
    def _stretches(self, orders: Sequence[float], tail: float) -> list[Stretch]:
        """Windows that hold e^{tL} dQ for each order t, up to a Gaussian tail on either side.

        The tail is in standard deviations.
        """

    def quadrature(self, log_floor: float, reach: float) -> Quadrature:
        stretches = self._stretches(_BOTH_WORLDS, math.sqrt(-2.0 * log_floor))
        found = [stretch.turning(reach) for stretch in stretches]
        return self._with_atoms(
            [nodes for nodes, _, _ in found],
            error=max(error for _, _, error in found),
            reach=min(attained for _, attained, _ in found),
        )

    def _log_moment(self, s: float) -> float:
        """First on nodes that hold e^{sL} dQ. Near M = 1 on nodes that hold Q and P as well, from
        which M - 1 is summed.
        """
        found = self._for_orders((s,))
        if found is None:
            raise InvalidInput(
                "s", s, "is too large to integrate e^{sL}", "give an order nearer to 0"
            )
        value = found.log_sum(s)
        if not abs(value) < _NEAR_ONE:
            return value
        found = self._for_orders((s, *_BOTH_WORLDS))
        return value if found is None else math.log1p(found.excess(s))

    def _for_orders(self, orders: Sequence[float]) -> Quadrature | None:
        tilts = [abs(t + 0.5) if self._symmetric else t + 0.5 for t in orders]
        nodes = []
        for stretch in self._stretches(orders, _TAIL):
            found = stretch.tilted(tilts)
            if found is None:
                return None
            nodes.append(found)
        return self._with_atoms(nodes)

    def _with_atoms(
        self, nodes: list[Nodes], error: float = 0.0, reach: float = math.inf
    ) -> Quadrature:
        place, log_mass = self._atoms("Q")
        atom, spikes = 0.0, None
        if place.size > 0:
            away = place != 0.0
            atom = float(np.exp(log_mass[~away]).sum())
            if away.any():
                spikes = np.array([place[away], np.exp(log_mass[away])])
                kept = place > 0.0 if self._symmetric else away
                nodes = [*nodes, (place[kept], log_mass[kept] - 0.5 * place[kept])]
        loss, log_mid = nodes[0]
        if len(nodes) > 1:
            loss, log_mid = (np.concatenate(part) for part in zip(*nodes, strict=True))
        return Quadrature(
            loss, log_mid, self._symmetric, atom=atom, spikes=spikes, error=error, reach=reach
        )
