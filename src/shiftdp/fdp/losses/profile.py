"""The privacy-loss law of any tradeoff function, from its privacy profile alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shiftdp._checks import Array
from shiftdp._roots import most
from shiftdp._rounding import INVERTIBLE_EXPONENT
from shiftdp.fdp._quadrature import legendre, on_panels
from shiftdp.fdp.losses.law import LossLaw
from shiftdp.fdp.losses.quadrature import MOST_PANELS, TURN, Quadrature
from shiftdp.fdp.tradeoff import TradeoffFunction

Profile = Callable[[Array], Array]

_NONE = np.zeros(0)  # the places, and the masses, of no atoms
_FARTHEST = 1e4  # losses beyond are not followed
_SMALLEST_PANEL = 36  # halvings of the support towards 0, where profiles bend most
_MOST_HALVINGS = 60  # rounds in which panels whose error is too large are halved
_STEP = 1e-5  # of differences on either side of a kink, relative to its place
_KINK = 1e-4  # jump of the slope, relative to delta over eps, from which on there is an atom
_BEFORE = 0.7  # the part of eps at which that delta is read, well before the kink
_ROUNDING = 1e-12  # profiles below are all rounding, and show kinks everywhere
_AT_ZERO = 1e-7  # the step of the difference at 0, relative to the support
_LOST_IN_ROUNDING = 1e-16  # relative to what is lost at infinity: no difference shows less
_QUARTERINGS = 40  # of _FARTHEST, among which the end of the support is looked for
_SETTLED = 1e-12  # difference of two integrals of a panel, relative to the larger
_SETTLED_OF_ALL = 1e-15  # the same relative to the whole integral: needed in any case
_UNFELT_OF_ALL = 1e-22  # the same below which nothing further is asked
_NARROWEST = 1e-12  # width of a panel, relative to its place, that is not halved


@dataclass(frozen=True)
class ProfileLaw(LossLaw):
    """Any f with its profile: panels are halved until the integral of delta_f settles.

    Where it does not, at a kink of the profile, f has an atom, with the mass by which the slope
    jumps. A kink closer to an edge of a panel than the first node, 1/1000 of its width, is not
    noticed, and the integral may be off by some 1e-7 of itself: `kinks`, where they are known, are
    made edges.
    """

    f: TradeoffFunction
    kinks: tuple[float, ...] = ()

    def quadrature(self, log_floor: float, reach: float) -> Quadrature:
        delta, back = self.f._delta, self.f.inverse()._delta
        lost, lost_back = (_at(side, math.inf) for side in (delta, back))
        unseen = _LOST_IN_ROUNDING * max(lost, lost_back)
        floor = max(math.exp(max(log_floor, -INVERTIBLE_EXPONENT)), unseen)
        end = max(_support(delta, lost + floor), _support(back, lost_back + floor))
        if end == 0.0:  # losses are 0 or infinite
            return Quadrature(_NONE, _NONE, atom=1.0 - lost, missing=(lost, lost_back))
        cut, cut_back = max(_at(delta, end), lost), max(_at(back, end), lost_back)

        def right(e: Array) -> Array:
            return np.maximum(delta(e) - cut, 0.0)

        def left(e: Array) -> Array:
            return np.maximum(back(e) - cut_back, 0.0)

        edges, error = _settled(lambda e: right(e) + left(e), end, np.array(self.kinks))
        edges, fine = _split(edges, reach)
        x, weight = on_panels(edges)
        with np.errstate(divide="ignore"):
            log_mid = np.log(weight * right(x)) - 0.5 * x
            if not self.f.symmetric:
                mirrored = np.log(weight * left(x)) - 0.5 * x
                x, log_mid = np.append(x, -x), np.append(log_mid, mirrored)
        atom, spikes = self._kinks(edges)
        return Quadrature(
            x, log_mid, self.f.symmetric, True, atom, (lost, lost_back), spikes,
            error if fine else math.inf, TURN / float(np.diff(edges).max()),
        )  # fmt: skip

    def _kinks(self, edges: Array) -> tuple[float, Array | None]:
        """The atom at 0, and the atoms at the edges of panels, by differences on either side.

        These are right to 1e-4. They only tell whether M dies out along a line.
        """
        delta, back = self.f._delta, self.f.inverse()._delta
        end = float(edges[-1])
        where = np.append(edges[edges > 0.0], end)
        step = _STEP * where
        # edges crowd at a kink, and those closer than the step see the same one
        groups = np.flatnonzero(np.append(True, np.diff(where) > 6.0 * step[1:]))
        positions, masses = [], []
        for side, sign in ((delta, 1.0), (back, -1.0)):
            after = side(where + 2.0 * step) - side(where + step)
            jump = (after - side(where - step) + side(where - 2.0 * step)) / step
            kinks = jump > _KINK * np.maximum(side(_BEFORE * where), _ROUNDING) / where
            mass = np.where(kinks, (1.0 + _KINK) * jump * np.exp(min(sign, 0.0) * where), 0.0)
            heaviest = np.maximum.reduceat(mass, groups)
            positions.append(sign * where[groups][heaviest > 0.0])
            masses.append(heaviest[heaviest > 0.0])
        tiny = _AT_ZERO * end
        ends = np.array([0.0, tiny])
        (d0, d1), (_, b1) = delta(ends), back(ends)
        at_zero = (d1 - d0) / tiny + 1.0 - d0 + (b1 - d0) / tiny
        spikes = np.array([np.concatenate(positions), np.concatenate(masses)])
        return max(float(at_zero), 0.0), spikes if spikes.size else None


def _at(profile: Profile, epsilon: float) -> float:
    return float(profile(np.array([epsilon]))[0])


def _support(delta: Profile, floor: float) -> float:
    """The greatest e with delta(e) > floor."""
    points = _FARTHEST * 4.0 ** np.arange(-float(_QUARTERINGS), 1.0)
    beyond = np.flatnonzero(delta(points) <= floor)
    if beyond.size == 0:
        return _FARTHEST
    high = points[beyond[:1]]
    return float(most(lambda e: delta(e) > floor, np.zeros(1), high)[0])


def _split(edges: Array, reach: float) -> tuple[Array, bool]:
    """Equal parts of each panel, on which e^{sL} turns by at most `TURN`; False if too many."""
    widths = np.diff(edges)
    parts = np.clip(np.ceil(widths * reach / TURN), 1.0, MOST_PANELS).astype(int)
    if parts.sum() > MOST_PANELS + 2 * edges.size:
        return edges, False
    starts = np.repeat(edges[:-1], parts)
    order = np.arange(starts.size) - np.repeat(np.cumsum(parts) - parts, parts)
    return np.append(starts + np.repeat(widths / parts, parts) * order, edges[-1]), True


def _settled(profile: Profile, end: float, kinks: Array) -> tuple[Array, float]:
    """Panels on [0, end] on which Gauss-Legendre agrees with itself on the halves, and the relative
    error of the integral.
    """
    done = [np.array([end])]
    halved = end * 2.0 ** np.arange(-float(_SMALLEST_PANEL), 1.0)
    edges = np.unique(np.concatenate([[0.0], halved, kinks[kinks < end]]))
    left, right = edges[:-1], edges[1:]
    value = _panel_integrals(profile, left, right)
    total, error, count = value.sum(), 0.0, 0
    for _ in range(_MOST_HALVINGS):
        middle = 0.5 * (left + right)
        first = _panel_integrals(profile, left, middle)
        second = _panel_integrals(profile, middle, right)
        off = np.abs(first + second - value)
        # the far tail counts only when tilted, so it is held to its own size, less strictly
        bad = (off > _SETTLED * value) & (off > _UNFELT_OF_ALL * total)
        bad |= off > _SETTLED_OF_ALL * total
        stuck = bad & ((right - left) < _NARROWEST * right)
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


def _panel_integrals(profile: Profile, left: Array, right: Array) -> Array:
    nodes, weights = legendre()
    half = 0.5 * (right - left)
    e = (left + half)[:, None] + half[:, None] * nodes
    integrals: Array = (profile(e.ravel()).reshape(e.shape) @ weights) * half
    return integrals
