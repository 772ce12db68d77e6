"""Certificates as what dp_accounting composes: events and privacy loss distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dp_accounting import DpEvent, GaussianDpEvent, NonPrivateDpEvent, NoOpDpEvent
from dp_accounting.pld import pld_pmf
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

from shiftdp._checks import finite, number_in
from shiftdp._errors import InvalidInput, NoClosedForm
from shiftdp._rounding import THREE_ROUNDINGS
from shiftdp.fdp import TradeoffFunction
from shiftdp.fdp.composition.connect_the_dots import LossAtoms, connect_the_dots
from shiftdp.last_iterate.certificate import Certificate

_MESH, _FINEST_MESH = 1e-4, 1e-7  # of losses: what dp_accounting takes, and what memory allows
_CUTS = 1e-18, 0.1  # mass put at infinity that may be asked for
_USUAL_CUTS = (1e-12, 1e-10, 1e-9, 1e-8, 3e-8, 1e-7)  # unless told: the first with few points
_MANY = 1_000_000  # points of a grid from which on more is cut off, if that helps


def dominating_event(cert: Certificate) -> DpEvent:
    """GaussianDpEvent(1/mu): a Gaussian mechanism that leaks at least as much as the run.

    It is exact under REPLACE_SPECIAL. Under REPLACE_ONE their PLDAccountant moves the mean by twice
    the norm of a record, so there it counts the run as G(2 mu), which is valid but loose: compose
    `to_pld(cert)` instead, or use `LastIterateAccountant`.

    >>> from shiftdp import Geometry, NoisyGD, certify
    >>> run = NoisyGD(n=100, steps=50, learning_rate=0.1, noise=0.05)
    >>> cert = certify(run, Geometry(strong_convexity=1, smoothness=5, sensitivity=2))
    >>> round(dominating_event(cert).noise_multiplier * cert.mu, 12)
    1.0
    """
    if cert.mu is None:
        raise NoClosedForm(f"{cert.bound} is not Gaussian; export it with to_pld instead")
    if cert.mu == 0.0:
        return NoOpDpEvent()
    if math.isinf(cert.mu):
        return NonPrivateDpEvent()
    return GaussianDpEvent(math.nextafter(1.0 / cert.mu, 0.0))


def to_pld(
    source: Certificate | TradeoffFunction,
    value_discretization_interval: float = _MESH,
    infinity_mass: float | None = None,
) -> PrivacyLossDistribution:
    """A privacy loss distribution of theirs that dominates, for any bound.

    The profile is replaced by its chords between the points e^{jh}, which lie above it; the law
    with these chords as profile has atoms at the losses jh [Doroshenko et al. 2022]. Each atom is
    rounded up by more than its error, so that delta, also after composition, is never too small.

    Args:
        value_discretization_interval: h; the same as that of what it is composed with.
        infinity_mass: the most that is added to delta for losses that are cut off, for each
            direction; 1e-12 unless given, or up to 1e-7 where losses so rare would take more than a
            million points. (A law of Theorem B7 has what is rarer than a part of 1e-3 of its delta
            at the largest value of all.)

    >>> from shiftdp import GaussianTradeoff
    >>> pld = to_pld(GaussianTradeoff(1.0))
    >>> 0.0 <= pld.get_epsilon_for_delta(1e-5) - GaussianTradeoff(1.0).epsilon(1e-5) < 1e-6
    True
    """
    f = source.f if isinstance(source, Certificate) else source
    if not isinstance(f, TradeoffFunction):
        raise InvalidInput(
            "source", source, "is neither certificate nor tradeoff function", "give one"
        )
    mesh = finite("value_discretization_interval", value_discretization_interval, _FINEST_MESH)
    cuts: tuple[float, ...] = _USUAL_CUTS
    if infinity_mass is not None:
        cuts = (number_in("infinity_mass", infinity_mass, *_CUTS),)
    _, f = f.directions  # T(with, without) the record, where the two are told apart
    # f.delta is H(without || with), their ADD; REMOVE is the other direction
    if f.symmetric:
        return PrivacyLossDistribution(_pmf(f, mesh, cuts))
    return PrivacyLossDistribution(_pmf(f.inverse(), mesh, cuts), _pmf(f, mesh, cuts))


def _pmf(f: TradeoffFunction, mesh: float, cuts: Sequence[float]) -> pld_pmf.PLDPmf:
    floor = f.delta(math.inf)
    if floor + cuts[0] >= 1.0:
        return pld_pmf.create_pmf({0: 0.0}, mesh, 1.0, True)

    def reach(cut: float) -> float:
        beyond = min(floor + cut, 1.0)
        return max(2.0 * mesh, f.epsilon(beyond), f.inverse().epsilon(beyond))

    far = reach(cuts[0])
    if far > _MANY * mesh:
        far = next((x for x in map(reach, cuts[1:]) if x <= _MANY * mesh), far)
    above, _ = connect_the_dots(f, mesh, far)
    return pld_pmf.create_pmf(_rounded_up(above), mesh, above.infinite, True)


def _rounded_up(dots: LossAtoms) -> dict[int, float]:
    """The atoms, each at least its exact value: a larger measure has larger products."""
    right = dots.right + dots.right_error
    left = dots.left + dots.left_error
    spread = float(dots.right_error.sum() + dots.left_error.sum()) + THREE_ROUNDINGS * (
        2 + right.size + left.size
    )
    centre = max(0.0, dots.centre) + spread
    atoms = dict(zip((-dots.left_place[::-1]).tolist(), left[::-1].tolist(), strict=True))
    atoms[0] = centre
    atoms.update(zip(dots.right_place.tolist(), right.tolist(), strict=True))
    return atoms
