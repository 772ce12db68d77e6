"""The Renyi divergence that a certificate proves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from shiftdp._checks import GREATEST_ORDER, number_in
from shiftdp.fdp import Minimum, TradeoffFunction
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisySGD
from shiftdp.last_iterate.theorems.sampled import composition_of

if TYPE_CHECKING:
    from shiftdp.last_iterate.certificate import Certificate

__all__ = ["composed_renyi", "renyi_of"]


def renyi_of(certificate: Certificate, order: float) -> float:
    """An upper bound on D_order in both directions.

    Of NoisySGD, composition is looked at as well; a run without end has none.
    """
    order = number_in("order", order, 1.0, GREATEST_ORDER, open_low=True)
    found = _worst(certificate.f, order)
    run = certificate.run
    if isinstance(run, NoisySGD) and math.isfinite(run.steps):
        found = min(found, composed_renyi(run, certificate.geometry, order))
    return found


def composed_renyi(run: NoisySGD, geometry: Geometry, order: float) -> float:
    """That of all steps composed."""
    return _worst(composition_of(run, geometry), order)


def _worst(f: TradeoffFunction, order: float) -> float:
    """Of the directions that f is the worse of: any pair of data sets is in one of them.

    (The Renyi divergence of the function min{g, g^-1}** itself is larger than both.)
    """
    parts = f.components if isinstance(f, Minimum) else (f,)
    return max(part.renyi(order) for part in parts)
