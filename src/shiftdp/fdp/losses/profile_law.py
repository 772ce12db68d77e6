"""The privacy-loss law of any tradeoff function, from its profile alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shiftdp._checks import Array
from shiftdp._roots import most
from shiftdp.fdp.losses.quadrature import (
    MOST_PANELS,
    TURN,
    LossLaw,
    Quadrature,
    legendre,
    on_panels,
)
from shiftdp.fdp.tradeoff import TradeoffFunction

__all__ = ["ProfileLaw"]

_FARTHEST = 1e4  # losses beyond are not followed


@dataclass(frozen=True)
class ProfileLaw(LossLaw):
    """Any f with its profile: panels are halved until the integral of delta_f settles.

    Where it does not, at a kink of the profile, f has an atom, of the mass by which the slope
    jumps.
    """

    f: TradeoffFunction

    def quadrature(self, log_floor: float, reach: float) -> Quadrature:
        delta, back = self.f._delta, self.f.inverse()._delta
        lost, lost_back = (float(side(np.array([math.inf]))[0]) for side in (delta, back))
        floor = max(math.exp(max(log_floor, -690.0)), 1e-16 * max(lost, lost_back))
        ends = [_support(delta, lost + floor), _support(back, lost_back + floor)]
        end = max(ends)
        cut, cut_back = (
            max(float(side(np.array([end]))[0]), q)
            for side, q in ((delta, lost), (back, lost_back))
        )

        def both(e: Array) -> Array:
            return np.stack([np.maximum(delta(e) - cut, 0.0), np.maximum(back(e) - cut_back, 0.0)])

        edges, error = _settled(both, end)
        widths = np.diff(edges)
        parts = np.minimum(np.ceil(widths * reach / TURN).astype(int), MOST_PANELS)
        parts = np.maximum(parts, 1)
        if parts.sum() > MOST_PANELS + 2 * edges.size:
            error = math.inf
        elif parts.max() > 1:
            starts = np.repeat(edges[:-1], parts)
            order = np.arange(starts.size) - np.repeat(np.cumsum(parts) - parts, parts)
            inner = starts + np.repeat(widths / parts, parts) * order
            edges = np.append(inner, end)
        x, weight = on_panels(edges)
        up = weight * np.maximum(delta(x) - cut, 0.0)
        down = weight * np.maximum(back(x) - cut_back, 0.0)
        atom, spikes = self._atoms(edges, end)
        return Quadrature(
            x, up, down, atom, self.f.symmetric, True, (lost, lost_back), spikes, error,
            TURN / float(np.diff(edges).max()),
        )  # fmt: skip

    def _atoms(self, edges: Array, end: float) -> tuple[float, Array | None]:
        """Jumps of the slope at the edges of panels, by differences on either side: right to 1e-4.

        They only tell whether M dies out along a line.
        """
        delta, back = self.f._delta, self.f.inverse()._delta
        where = np.append(edges[edges > 0.0], end)
        step = 1e-5 * where
        # edges crowd at a kink, and those closer than the step see the same one
        groups = np.flatnonzero(np.append(True, np.diff(where) > 6.0 * step[1:]))
        positions, masses = [], []
        for side, sign in ((delta, 1.0), (back, -1.0)):
            after = side(where + 2.0 * step) - side(where + step)
            jump = (after - side(where - step) + side(where - 2.0 * step)) / step
            kinks = jump > 1e-4 * np.maximum(side(0.7 * where), 1e-12) / where
            mass = np.where(kinks, (1 + 1e-4) * jump * np.exp(min(sign, 0.0) * where), 0.0)
            heaviest = np.maximum.reduceat(mass, groups)
            positions.append(sign * where[groups][heaviest > 0.0])
            masses.append(heaviest[heaviest > 0.0])
        tiny = 1e-7 * end
        ends = np.array([0.0, tiny])
        (d0, d1), (_, b1) = delta(ends), back(ends)
        at_zero = (d1 - d0) / tiny + 1.0 - d0 + (b1 - d0) / tiny
        spikes = np.array([np.concatenate(positions), np.concatenate(masses)])
        return max(float(at_zero), 0.0), spikes if spikes.size else None


def _support(delta: Callable[[Array], Array], floor: float) -> float:
    """The greatest e with delta(e) > floor."""
    points = _FARTHEST * 4.0 ** np.arange(-40.0, 1.0)
    beyond = np.flatnonzero(delta(points) <= floor)
    if beyond.size == 0:
        return _FARTHEST
    high = points[beyond[:1]]
    return float(most(lambda e: delta(e) > floor, np.zeros(1), high)[0])


def _settled(both: Callable[[Array], Array], end: float) -> tuple[Array, float]:
    """Panels on [0, end] on which Gauss-Legendre agrees with itself on the halves."""
    done = [np.array([end])]
    left = np.concatenate([[0.0], end * 2.0 ** np.arange(-36.0, 0.0)])
    right = end * 2.0 ** np.arange(-36.0, 1.0)
    value = _panel_integrals(both, left, right)
    total, error, count = value.sum(), 0.0, 0
    for _ in range(60):
        middle = 0.5 * (left + right)
        first, second = (
            _panel_integrals(both, left, middle),
            _panel_integrals(both, middle, right),
        )
        off = np.abs(first + second - value)
        # the far tail counts only when tilted, so it is held to its own size, less strictly
        bad = (off > 1e-12 * value) & (off > 1e-22 * total) | (off > 1e-15 * total)
        stuck = bad & ((right - left) < 1e-12 * right)
        error += float(off[~bad | stuck].sum())
        done.append(left[~bad | stuck])
        count += int((~bad).sum())
        bad &= ~stuck
        if not bad.any() or count + bad.sum() > MOST_PANELS:
            break
        left = np.concatenate([left[bad], middle[bad]])
        right = np.concatenate([middle[bad], right[bad]])
        value = np.concatenate([first[bad], second[bad]])
    if bad.any():
        error += float(off[bad].sum())
        done.append(left[bad])
    return np.sort(np.concatenate(done)), error / total if total > 0 else 0.0


def _panel_integrals(both: Callable[[Array], Array], left: Array, right: Array) -> Array:
    nodes, weights = legendre()
    half = 0.5 * (right - left)
    e = (left + half)[:, None] + half[:, None] * nodes
    values = both(e.ravel()).sum(axis=0).reshape(e.shape)
    integrals: Array = (values @ weights) * half
    return integrals
