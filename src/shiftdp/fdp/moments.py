"""The law of the privacy loss as a quadrature, from which its moment generating function is summed.

Under Q, the loss of T(P, Q) is L = log dQ/dP, and M(s) = E_Q[e^{sL}] for complex s. A law is held
as nodes x_j >= 0 with masses at x_j and -x_j and an atom at 0, so that M is one sum:

    M(s) = atom + sum_j up_j e^{s x_j} + down_j e^{-s x_j}.

M(0) = M(-1) = 1, so M - 1 is small near both, and a product of 10^6 factors magnifies its rounding:
it is summed as E[e^{sL} - 1 - s (1 - e^{-L})], whose terms are not small differences.

Of a factor of which only the profile is known, the same integral by parts,

    M(s) = 1 + s (s + 1) int_0^inf e^{s e} delta_f(e) + e^{-(s+1) e} delta_{f^-1}(e) de.

`loss_law` finds the form for each tradeoff function; a new one joins by registering there.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, singledispatch

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._roots import most
from shiftdp.fdp.approx_dp import ApproxDPTradeoff
from shiftdp.fdp.gaussian import GaussianTradeoff
from shiftdp.fdp.laplace import LaplaceTradeoff
from shiftdp.fdp.piecewise_linear import PiecewiseLinear
from shiftdp.fdp.subsampling import Subsampled
from shiftdp.fdp.tradeoff import TradeoffFunction

__all__ = ["LossLaw", "Quadrature", "loss_law"]

ComplexArray = NDArray[np.complex128]

_ORDER = 32  # Gauss-Legendre nodes a panel
_TURN = 46.0  # what |s| times the width of a panel may be: 32 nodes then leave 1e-16
_LARGEST = 700.0  # exp overflows beyond
_MOST_PANELS = 2000
_AHEAD = np.append([0.0, 0.07, 0.14], np.linspace(0.25, 2.75, 13))
_FARTHEST = 1e4  # losses beyond are not followed


@dataclass(frozen=True, eq=False)
class Quadrature:
    """A privacy-loss law, or a profile, on nodes x_j >= 0.

    `missing` is the mass at +inf under Q, and at -inf under P. `error` is the relative error of
    M - 1, as far as the quadrature knows it, for |s| up to `reach`.
    """

    x: Array
    up: Array
    down: Array
    atom: float = 0.0
    symmetric: bool = True
    profile: bool = False
    missing: tuple[float, float] = (0.0, 0.0)
    spikes: Array | None = None  # the positions (with sign) and masses of atoms away from 0
    error: float = 0.0
    reach: float = math.inf

    def mean(self) -> float:
        """E_Q[L] of the finite part, to some digits: it sets the scale."""
        x = self.x
        if self.profile:
            return float(self.up.sum() + self.down @ np.exp(-x))
        if self.symmetric:
            return float((self.up - self.down) @ x)
        # x + expm1(-x) >= 0: the expectation of what is added vanishes
        return float(self.up @ (x + np.expm1(-x)) + self.down @ (np.expm1(x) - x))

    def excess(self, c: Array) -> Array:
        """M(c) - 1 for real c; infinite where a float cannot hold it."""
        x, turn = self.x, np.multiply.outer(c, self.x)
        linear = c * (self.missing[1] - self.missing[0]) - self.missing[0]
        with np.errstate(over="ignore", invalid="ignore"):
            if self.profile:
                total = np.exp(turn) @ self.up + np.exp(-turn - x) @ self.down
                value = c * (c + 1.0) * total + linear
            elif self.symmetric:
                value = -(np.expm1(turn + x) * np.expm1(-turn)) @ self.down
            else:
                rest = np.multiply.outer(c, np.expm1(-x))
                value = (np.expm1(turn) + rest) @ self.up + linear
                value = value + (np.expm1(-turn) + np.multiply.outer(c, np.expm1(x))) @ self.down
        far = (np.abs(c + 0.5) + 0.5) * x.max(initial=0.0) > _LARGEST
        return np.where(far, math.inf, value)

    def rough_excess(self, c: Array) -> Array:
        """M(c) - 1 for real c, to an absolute error of some 1e-15: enough to find a saddle."""
        if self.profile:
            return self.excess(c)
        far = (np.abs(c + 0.5) + 0.5) * self.x.max(initial=0.0) > _LARGEST
        growth = np.exp(np.multiply.outer(np.where(far, 0.0, c), self.x))
        value = growth @ self.up + (1.0 / growth) @ self.down
        value = value - (self.up.sum() + self.down.sum() + self.missing[0])
        return np.where(far, math.inf, value)

    def line(self, c: float, at_c: float, tau: Array) -> tuple[Array, Array]:
        """log |M(c + i tau)| and arg M(c + i tau), given M(c) - 1."""
        x = self.x
        grow, shrink = self.up * np.exp(c * x), self.down * np.exp(-c * x)
        if self.profile:
            shrink = shrink * np.exp(-x)
        turn = np.multiply.outer(tau, x)
        imaginary = np.sin(turn) @ (grow - shrink)
        half = np.sin(0.5 * turn)
        fall = -2.0 * (half * half) @ (grow + shrink)  # of the real part, from tau = 0
        if self.profile:
            s = c + 1j * tau
            inner = (grow.sum() + shrink.sum() + fall) + 1j * imaginary
            value = s * (s + 1.0) * inner + s * (self.missing[1] - self.missing[0])
            real, imaginary = value.real - self.missing[0], value.imag
        else:
            real = at_c + fall
        with np.errstate(divide="ignore"):
            modulus = 0.5 * np.log1p(np.maximum(2.0 * real + real * real + imaginary**2, -1.0))
        return modulus, np.arctan2(imaginary, 1.0 + real)

    def ahead(self, c: float, tau: float) -> Array:
        """Points from tau on where M is largest, if it comes back at all.

        That is where the losses of the bulk are in phase again, some 2 pi over their mean apart;
        three such periods are looked at.
        """
        weight = self.up * np.exp(c * self.x) + self.down * np.exp(-c * self.x)
        period = 2.0 * math.pi * float(weight.sum()) / float(weight @ self.x)
        return tau + period * _AHEAD

    def outlook(self, c: float, at_c: float, ahead: Array, log_m: tuple[Array, Array]) -> float:
        """log of the largest |M| / M(c) that is to be expected from the points ahead on.

        Atoms away from 0 may be in phase at any time: they are taken to be.
        """
        modulus, argument = log_m
        if self.spikes is None:
            return float(modulus.max()) - math.log1p(at_c)
        place, mass = self.spikes
        mass = mass * np.exp(c * place)
        spikes = np.exp(1j * np.multiply.outer(ahead, place)) @ mass
        rest = np.abs(np.exp(modulus + 1j * argument) - spikes)
        return min(math.log(float(rest.max()) + float(mass.sum())) - math.log1p(at_c), 0.0)


class LossLaw(ABC):
    """Gives quadratures of one privacy-loss law, as fine as is asked for."""

    @abstractmethod
    def quadrature(self, log_floor: float, reach: float) -> Quadrature:
        """Nodes for |s| <= reach, at least, that leave out a mass below e^log_floor.

        Leaving out the far tail, rather than following it, keeps M(c) finite where a rare, large
        loss would make it astronomical without telling in delta.
        """


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
        while edges[-1] < end * (1 - 1e-12) and len(edges) <= _MOST_PANELS:
            at, width = edges[-1], widest
            while (turn := width / (1.0 + rest * math.exp(-at - width))) * reach > _TURN:
                width *= 0.7
            fastest = max(fastest, turn)
            edges.append(min(at + width, end))
        z, weight = _composite(np.array(edges))
        x = np.log1p(p * np.expm1(np.minimum(z, _LARGEST))) + np.maximum(z - _LARGEST, 0.0)
        standard = z / mu + 0.5 * mu
        weight = weight / (mu * math.sqrt(2.0 * math.pi))
        half_square = 0.5 * standard * standard
        up, down = weight * np.exp(x - half_square), weight * np.exp(-half_square)
        atom = (1.0 - p) * math.erf(mu / math.sqrt(8.0))
        error = 0.0 if edges[-1] >= end * (1 - 1e-12) else math.inf
        return Quadrature(x, up, down, atom, error=error, reach=_TURN / fastest)


@dataclass(frozen=True)
class LaplaceLaw(LossLaw):
    """Atoms 1/2 at mu and e^-mu/2 at -mu, and the density e^{(l - mu)/2}/4 between them."""

    mu: float

    def quadrature(self, log_floor: float, reach: float) -> Quadrature:
        panels = min(math.ceil((1.0 + reach) * self.mu / _TURN), _MOST_PANELS)
        x, weight = _composite(np.linspace(0.0, self.mu, panels + 1))
        down = np.append(weight * np.exp(-0.5 * (x + self.mu)) / 4.0, 0.5 * math.exp(-self.mu))
        x = np.append(x, self.mu)
        spikes = np.array([[self.mu, -self.mu], [0.5, 0.5 * math.exp(-self.mu)]])
        error = 0.0 if (1.0 + reach) * self.mu <= _TURN * panels else math.inf
        attained = _TURN * panels / self.mu - 1.0
        return Quadrature(x, down * np.exp(x), down, spikes=spikes, error=error, reach=attained)


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
        parts = np.minimum(np.ceil(widths * reach / _TURN).astype(int), _MOST_PANELS)
        parts = np.maximum(parts, 1)
        if parts.sum() > _MOST_PANELS + 2 * edges.size:
            error = math.inf
        elif parts.max() > 1:
            starts = np.repeat(edges[:-1], parts)
            order = np.arange(starts.size) - np.repeat(np.cumsum(parts) - parts, parts)
            inner = starts + np.repeat(widths / parts, parts) * order
            edges = np.append(inner, end)
        x, weight = _composite(edges)
        up = weight * np.maximum(delta(x) - cut, 0.0)
        down = weight * np.maximum(back(x) - cut_back, 0.0)
        atom, spikes = self._atoms(edges, end)
        return Quadrature(
            x, up, down, atom, self.f.symmetric, True, (lost, lost_back), spikes, error,
            _TURN / float(np.diff(edges).max()),
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
        if not bad.any() or count + bad.sum() > _MOST_PANELS:
            break
        left = np.concatenate([left[bad], middle[bad]])
        right = np.concatenate([middle[bad], right[bad]])
        value = np.concatenate([first[bad], second[bad]])
    if bad.any():
        error += float(off[bad].sum())
        done.append(left[bad])
    return np.sort(np.concatenate(done)), error / total if total > 0 else 0.0


def _panel_integrals(both: Callable[[Array], Array], left: Array, right: Array) -> Array:
    nodes, weights = _legendre()
    half = 0.5 * (right - left)
    e = (left + half)[:, None] + half[:, None] * nodes
    values = both(e.ravel()).sum(axis=0).reshape(e.shape)
    integrals: Array = (values @ weights) * half
    return integrals


@singledispatch
def loss_law(f: TradeoffFunction) -> LossLaw:
    """The law of the privacy loss of f, ready for quadrature."""
    return ProfileLaw(f)


@loss_law.register
def _(f: Subsampled) -> LossLaw:
    base = f.base
    if isinstance(base, GaussianTradeoff) and 0 < base.mu < 30.0:
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


@lru_cache(1)
def _legendre() -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(_ORDER)
    return nodes, weights


def _composite(edges: Array) -> tuple[Array, Array]:
    """Gauss-Legendre on each panel between successive edges."""
    nodes, weights = _legendre()
    half = 0.5 * (edges[1:] - edges[:-1])
    x = (edges[:-1] + half)[:, None] + half[:, None] * nodes
    return x.ravel(), (half[:, None] * weights).ravel()
