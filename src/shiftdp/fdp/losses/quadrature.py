"""The law of the privacy loss as a quadrature, from which its moment generating function is summed.

Under Q, the loss of T(P, Q) is L = log dQ/dP, and M(s) = E_Q[e^{sL}] for complex s. A law is held
as nodes x_j >= 0 with masses at x_j and -x_j and an atom at 0, so that M is one sum:

    M(s) = atom + sum_j up_j e^{s x_j} + down_j e^{-s x_j}.

M(0) = M(-1) = 1, so M - 1 is small near both, and a product of 10^6 factors magnifies its rounding:
it is summed as E[e^{sL} - 1 - s (1 - e^{-L})], whose terms are not small differences.

Of a factor of which only the profile is known, the same integral by parts,

    M(s) = 1 + s (s + 1) int_0^inf e^{s e} delta_f(e) + e^{-(s+1) e} delta_{f^-1}(e) de.

`loss_laws` finds the form for each tradeoff function.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from functools import lru_cache

import numpy as np

from shiftdp._checks import Array

__all__ = ["MOST_PANELS", "TURN", "LossLaw", "Quadrature", "legendre", "on_panels"]

TURN = 46.0
"""What |s| times the width of a panel may be: 32 nodes then leave 1e-16."""
MOST_PANELS = 2000

_ORDER = 32  # Gauss-Legendre nodes a panel
_LARGEST = 700.0  # exp overflows beyond
_AHEAD = np.append([0.07, 0.14], np.linspace(0.25, 2.75, 12))


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


@lru_cache(1)
def legendre() -> tuple[Array, Array]:
    """Nodes and weights on [-1, 1], each the float nearest to its exact value.

    NumPy's are the beginning of Newton's iteration in decimal arithmetic: how far they are off, up
    to 1,024 roundings of a weight, depends on its version.
    """
    nodes, weights = [], []
    with localcontext(Context(prec=50)):
        for start in np.polynomial.legendre.leggauss(_ORDER)[0].tolist():
            x = Decimal(start)
            for _ in range(3):
                before, value = _legendre_polynomials(x)
                weight = 2 * (1 - x * x) / (_ORDER * before) ** 2
                x -= value * (1 - x * x) / (_ORDER * (before - x * value))
            nodes.append(float(x))
            weights.append(float(weight))
    return np.array(nodes), np.array(weights)


def _legendre_polynomials(x: Decimal) -> tuple[Decimal, Decimal]:
    """P_{n-1}(x) and P_n(x) for n = _ORDER, by Bonnet's recursion."""
    before, value = Decimal(1), x
    for k in range(2, _ORDER + 1):
        before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / k
    return before, value


def on_panels(edges: Array) -> tuple[Array, Array]:
    """Gauss-Legendre on each panel between successive edges."""
    nodes, weights = legendre()
    half = 0.5 * (edges[1:] - edges[:-1])
    x = (edges[:-1] + half)[:, None] + half[:, None] * nodes
    return x.ravel(), (half[:, None] * weights).ravel()
