"""The numbers behind the curves, from the tradeoff functions of several accountants."""

from __future__ import annotations

from typing import NamedTuple, get_args

from shiftdp._errors import ShiftdpError
from shiftdp.fdp import TradeoffFunction
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.certification import ROUNDING, Bounds, certify
from shiftdp.privacy.statement.curve import profile_points as profile_points
from shiftdp.privacy.statement.curve import tradeoff_points as tradeoff_points
from shiftdp.ui.plots.style import labelled


class Named(NamedTuple):
    """A tradeoff function, and how the legend calls it."""

    style: str
    label: str
    bound: str
    f: TradeoffFunction


def alone(f: TradeoffFunction) -> Named:
    """A tradeoff function by itself, whichever direction is meant."""
    worst = f if f.symmetric else f.worse_direction()
    mu = worst.gdp_mu
    return Named(
        "best", (worst.type_name or "guarantee") if mu is None else f"G({mu:g})", "", worst
    )


def bounds_compared(certificate: Certificate, delta: float) -> list[Named]:
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
