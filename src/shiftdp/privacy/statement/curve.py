"""The whole guarantee as a curve: points of a tradeoff function, and a drawing without scripts."""

from __future__ import annotations

import numpy as np

from shiftdp._checks import Array
from shiftdp.fdp import TradeoffFunction

_LINES = 160  # points of a profile, of which the tradeoff function is the envelope
_LEAST = 1e-11  # delta, where the curve meets the axis to the eye
_STEEPEST = 690.0  # the exponent from which on exp overflows
_SIDE, _LEFT, _TOP = 300.0, 62.0, 14.0  # of the square that is drawn, in pixels
_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)  # of both axes
_FEW_ALARMS = (1e-4, 0.1)  # where the curve bends most, and has points by magnitude


def tradeoff_points(f: TradeoffFunction, alpha: Array) -> Array:
    """f at the points, from below.

    Where f is composed numerically its profile is quicker than its inverse: each eps gives the line
    1 - delta(eps) - e^eps alpha below f, and, f being symmetric, its mirror image.
    """
    if not (f.composed and f.symmetric):
        return np.asarray(f(alpha), dtype=np.float64)
    eps, delta = profile_points(f)
    gamma = np.exp(np.minimum(eps, _STEEPEST))[:, None]
    room = 1.0 - delta[:, None]
    lines = np.maximum(room - gamma * alpha, (room - alpha) / gamma)
    return np.asarray(np.clip(lines.max(axis=0), 0.0, 1.0 - alpha), dtype=np.float64)


def profile_points(f: TradeoffFunction, least: float = _LEAST) -> tuple[Array, Array]:
    """(eps, delta(eps)) from eps = 0 down to the least delta, where eps is finite.

    Read as eps(delta), so that a product is not composed for deltas that nobody sees.
    """
    most = float(f.delta(0.0))
    if most <= least:
        return np.array([0.0]), np.array([most])
    # a part evenly, for the curve near its upper end
    deltas = np.union1d(np.geomspace(least, most, _LINES), np.linspace(least, most, _LINES // 2))[
        ::-1
    ]
    eps = np.asarray(f.epsilon(deltas), dtype=np.float64)
    eps[0] = 0.0
    known = np.isfinite(eps)
    return eps[known], deltas[known]


def drawing(f: TradeoffFunction) -> str:
    """The tradeoff function as SVG, in the colours of the page it stands on.

    The drawing is for the eye: numbers to rely on stand in the table below it.
    """
    alpha = np.union1d(np.linspace(0.0, 1.0, 41), np.geomspace(*_FEW_ALARMS, 30))
    curve = _path(alpha, tradeoff_points(f, alpha))
    x0, y0, x1, y1 = _LEFT, _TOP, _LEFT + _SIDE, _TOP + _SIDE
    parts = [
        f'<svg viewBox="0 0 {_LEFT + _SIDE + 14:g} {_TOP + _SIDE + 46:g}" role="img" '
        'aria-label="The least rate of misses of any attacker against the rate of false alarms">'
    ]
    for tick in _TICKS:
        x, y = x0 + tick * _SIDE, y1 - tick * _SIDE
        parts.append(f'<path class="grid" d="M{x:g} {y0:g}V{y1:g}M{x0:g} {y:g}H{x1:g}"/>')
        parts.append(f'<text x="{x:g}" y="{y1 + 16:g}" text-anchor="middle">{tick:g}</text>')
        parts.append(f'<text x="{x0 - 7:g}" y="{y + 4:g}" text-anchor="end">{tick:g}</text>')
    middle = y0 + _SIDE / 2
    parts += [
        f'<path class="none" d="M{x0:g} {y0:g}L{x1:g} {y1:g}"/>',
        f'<path class="area" d="M{x0:g} {y1:g}L{curve}L{x1:g} {y1:g}Z"/>',
        f'<path class="curve" d="M{curve}"/>',
        f'<text x="{x0 + _SIDE / 2:g}" y="{y1 + 38:g}" text-anchor="middle">'
        "rate of false alarms</text>",
        f'<text x="16" y="{middle:g}" text-anchor="middle" '
        f'transform="rotate(-90 16 {middle:g})">least rate of misses</text>',
        "</svg>",
    ]
    return "".join(parts)


def _path(x: Array, y: Array) -> str:
    across, down = _LEFT + _SIDE * x, _TOP + _SIDE * (1.0 - y)
    return "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(across, down, strict=True))
