"""The numbers behind the curves, from the tradeoff functions of several accountants."""

from __future__ import annotations

from typing import NamedTuple, get_args

import numpy as np

from shiftdp._checks import Array
from shiftdp._errors import ShiftdpError
from shiftdp.fdp import TradeoffFunction
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.certification import ROUNDING, Bounds, certify
from shiftdp.ui.plots.style import labelled

_LINES = 160
_LEAST = 1e-11


class Named(NamedTuple):
    """A tradeoff function, and how the legend calls it."""

    style: str
    label: str
    bound: str
    f: TradeoffFunction


def beside(certificate: Certificate, delta: float) -> list[Named]:
    """What composition, the paper and all theorems together prove of the run, loosest first.

    One that proves as much as the one before it is named with it, and drawn once. The certificate
    itself is among them, whichever theorems it was allowed.
    """
    found: list[Named] = []
    for bounds in reversed(get_args(Bounds)):
        try:
            one = certify(certificate.run, certificate.geometry, bounds=bounds, delta=delta)
        except ShiftdpError:
            continue  # it has nothing to say about this run
        new = Named(bounds, labelled(bounds, [one.bound]), one.bound, one.f)
        if not found or _apart(found[-1].f, new.f, delta):
            found.append(new)
        elif found[-1].bound != new.bound:
            both = labelled(f"{found[-1].style} = {bounds}", [found[-1].bound, one.bound])
            found[-1] = Named(bounds, both, one.bound, one.f)
    if all(_apart(certificate.f, known.f, delta) for known in found):
        bound = certificate.bound
        found.append(Named("best", labelled("this certificate", [bound]), bound, certificate.f))
    return found


def _apart(f: TradeoffFunction, g: TradeoffFunction, delta: float) -> bool:
    one, two = f.epsilon(delta), g.epsilon(delta)
    same = one == two or abs(one - two) <= 10.0 * ROUNDING * max(one, two)
    return not (same and f.type_name == g.type_name)


def tradeoff_points(f: TradeoffFunction, alpha: Array) -> Array:
    """f at the points, from below.

    Where f is composed numerically its profile is quicker than its inverse: each eps gives the line
    1 - delta(eps) - e^eps alpha below f, and, f being symmetric, its mirror image.
    """
    if not (f.composed and f.symmetric):
        return np.asarray(f(alpha), dtype=np.float64)
    eps, delta = profile_points(f)
    gamma = np.exp(np.minimum(eps, 690.0))[:, None]
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
