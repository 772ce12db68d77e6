"""Which form the privacy-loss law of each tradeoff function takes; a new one registers here."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from shiftdp.fdp.functions.approx_dp import ApproxDPTradeoff
from shiftdp.fdp.functions.gaussian import GaussianTradeoff
from shiftdp.fdp.functions.laplace import LaplaceTradeoff
from shiftdp.fdp.functions.piecewise_linear import PiecewiseLinear
from shiftdp.fdp.functions.poisson import PoissonReplaceOne, PoissonZeroOut
from shiftdp.fdp.functions.shifted_subsampling import ShiftedSubsampled
from shiftdp.fdp.functions.subsampling import Subsampled
from shiftdp.fdp.losses.mixture_laws import (
    PoissonReplaceOneLaw,
    PoissonZeroOutLaw,
    ShiftedSubsampledLaw,
)
from shiftdp.fdp.losses.profile_law import ProfileLaw
from shiftdp.fdp.losses.quadrature import MOST_PANELS, TURN, LossLaw, Quadrature, on_panels
from shiftdp.fdp.tradeoff import TradeoffFunction

__all__ = ["loss_law"]

_LARGEST = 700.0  # exp overflows beyond
_WIDE = 30.0  # of a Gaussian: beyond, no float holds both tails


@dataclass(frozen=True, eq=False)
class FixedLaw(LossLaw):
    """A law on finitely many points: the quadrature is the law."""

    law: Quadrature

    def quadrature(self, log_floor: float, reach: float) -> Quadrature:
        return self.law


@dataclass(frozen=True)
class SubsampledGaussianLaw(LossLaw):
    """C_p(G(mu)): x = log(1 - p + p e^z) at z > 0. [BSA24, prop subgdpcdf]

    down is the density of N(-mu^2/2, mu^2) at z, up = e^x down, and the atom (1-p) erf(mu/sqrt 8).
    """

    p: float
    mu: float

    def quadrature(self, log_floor: float, reach: float) -> Quadrature:
        mu, p = self.mu, self.p
        end = 0.5 * mu * mu + mu * math.sqrt(-2.0 * log_floor)
        # e^x turns with z at the rate p e^z / (1 - p + p e^z); its logarithm bends within pi of
        # the real line
        rest, fastest = (1.0 - p) / p, 0.0
        widest = end / math.ceil(end / min(6.0 * mu, 6.0))
        edges = [0.0]
        while edges[-1] < end * (1 - 1e-12) and len(edges) <= MOST_PANELS:
            at, width = edges[-1], widest
            while (turn := width / (1.0 + rest * math.exp(-at - width))) * reach > TURN:
                width *= 0.7
            fastest = max(fastest, turn)
            edges.append(min(at + width, end))
        z, weight = on_panels(np.array(edges))
        x = np.log1p(p * np.expm1(np.minimum(z, _LARGEST))) + np.maximum(z - _LARGEST, 0.0)
        standard = z / mu + 0.5 * mu
        weight = weight / (mu * math.sqrt(2.0 * math.pi))
        half_square = 0.5 * standard * standard
        up, down = weight * np.exp(x - half_square), weight * np.exp(-half_square)
        atom = (1.0 - p) * math.erf(mu / math.sqrt(8.0))
        error = 0.0 if edges[-1] >= end * (1 - 1e-12) else math.inf
        return Quadrature(x, up, down, atom, error=error, reach=TURN / fastest)


@dataclass(frozen=True)
class LaplaceLaw(LossLaw):
    """Atoms 1/2 at mu and e^-mu/2 at -mu, and the density e^{(l - mu)/2}/4 between them."""

    mu: float

    def quadrature(self, log_floor: float, reach: float) -> Quadrature:
        panels = min(math.ceil((1.0 + reach) * self.mu / TURN), MOST_PANELS)
        x, weight = on_panels(np.linspace(0.0, self.mu, panels + 1))
        down = np.append(weight * np.exp(-0.5 * (x + self.mu)) / 4.0, 0.5 * math.exp(-self.mu))
        x = np.append(x, self.mu)
        spikes = np.array([[self.mu, -self.mu], [0.5, 0.5 * math.exp(-self.mu)]])
        error = 0.0 if (1.0 + reach) * self.mu <= TURN * panels else math.inf
        attained = TURN * panels / self.mu - 1.0
        return Quadrature(x, down * np.exp(x), down, spikes=spikes, error=error, reach=attained)


@singledispatch
def loss_law(f: TradeoffFunction) -> LossLaw:
    """The law of the privacy loss of f, ready for quadrature."""
    return ProfileLaw(f)


@loss_law.register
def _(f: Subsampled) -> LossLaw:
    base = f.base
    if isinstance(base, GaussianTradeoff) and 0 < base.mu < _WIDE:
        return SubsampledGaussianLaw(f.p, base.mu)
    return ProfileLaw(f)


@loss_law.register
def _(f: LaplaceTradeoff) -> LossLaw:
    return LaplaceLaw(f.mu)


@loss_law.register
def _(f: ApproxDPTradeoff) -> LossLaw:
    if f.budget_delta > 0:
        return ProfileLaw(f)
    e = f.budget_epsilon
    low = math.exp(-e) / (1.0 + math.exp(-e))
    spikes = np.array([[e, -e], [1.0 - low, low]])
    return FixedLaw(
        Quadrature(np.array([e]), np.array([1.0 - low]), np.array([low]), spikes=spikes)
    )


@loss_law.register
def _(f: PiecewiseLinear) -> LossLaw:
    mass_p, mass_q = np.diff(f.alpha), -np.diff(f.beta)
    live = mass_q > 0
    mass_p, mass_q = mass_p[live], mass_q[live]
    loss = np.log(mass_q / mass_p)
    x = np.abs(loss)
    missing = (1.0 - float(f.beta[0]), max(1.0 - float(mass_p.sum()), 0.0))
    missing = (missing[0], missing[1] if missing[1] > 1e-15 else 0.0)
    up, down = np.where(loss > 0, mass_q, 0.0), np.where(loss < 0, mass_q, 0.0)
    away = loss != 0
    spikes = np.array([loss[away], mass_q[away]])
    atom = float(mass_q[~away].sum())
    return FixedLaw(Quadrature(x, up, down, atom, False, False, missing, spikes))


@loss_law.register
def _(f: ShiftedSubsampled) -> LossLaw:
    if f._simple is not None or f._d > _WIDE:
        return ProfileLaw(f)
    return SubsampledGaussianLaw(f.p, f.s) if f.a == 0.0 else ShiftedSubsampledLaw(f.p, f.a, f._d)


@loss_law.register
def _(f: PoissonReplaceOne) -> LossLaw:
    if f._simple is not None or f._span > _WIDE:
        return ProfileLaw(f)
    return PoissonReplaceOneLaw(f.p, f.a, f.s)


@loss_law.register
def _(f: PoissonZeroOut) -> LossLaw:
    if f._simple is not None or f._d > _WIDE:
        return ProfileLaw(f)
    return PoissonZeroOutLaw(f.p, f.a, f._d, f.swapped)
