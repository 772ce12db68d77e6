"""A privacy-loss law on finitely many nodes, and its moment generating function.

For f = T(P, Q), the moment generating function of L = log dQ/dP is M(s) = E_Q[e^{sL}]. Node j has a
finite loss l_j and the mass m_j of the measure sqrt(dP dQ), which lies halfway between P and Q. So

    M(s) = atom + sum_j m_j e^{(s + 1/2) l_j},      Q has the mass m_j e^{l_j/2}, P m_j e^{-l_j/2}.

M(0) = M(-1) = 1, so M - 1 is small near both, and a product of 10^6 factors magnifies its rounding
error. It is therefore summed as E[e^{sL} - 1 - s (1 - e^{-L})]: the added terms have expectation 0,
and those of first order cancel before anything is rounded.

Where only the privacy profile of f is known, M is the same kind of sum after integration by parts:

    M(s) = 1 + s (s + 1) int_0^inf e^{s e} delta_f(e) + e^{-(s+1) e} delta_{f^-1}(e) de.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftdp._checks import Array
from shiftdp.fdp._series import exp_excess

TURN = 46.0
"""The largest |s| times width of a panel: the 32 nodes on it then leave an error of 1e-16."""
MOST_PANELS = 2000
"""Of one quadrature. A law that needs more is not summed as finely as it should be, which its error
estimate says."""

# where M could come back, in units of the period at which the bulk of the losses is in phase again
_AHEAD = np.append([0.07, 0.14], np.linspace(0.25, 2.75, 12))
_CLOSELY_AHEAD = np.arange(1.0, 49.0) / 16.0  # no phase in between is off by more than 0.2
_APART = 8.0  # E[L^2] / E[|L|]^2 from which on large losses may be a group of their own
_VARY = (
    0.3  # squared coefficient of variation: beyond, M would come back by e^{-2 pi^2 0.3} at most
)


@dataclass(frozen=True, eq=False)
class Quadrature:
    """Losses, and log masses of sqrt(dP dQ); see the head of this module.

    Args:
        loss: the nodes.
        log_mid: log m_j.
        symmetric: each node, at a loss above 0, stands for another one at minus that loss.
        profile: the nodes are those of the integral over the profile.
        atom: the mass at the loss 0, which has no node.
        missing: the masses at +inf under Q and at -inf under P.
        spikes: the positions of atoms away from 0, and their masses under Q.
        error: the relative error of M - 1 for |s| up to `reach`, as far as it is known.
        reach: see `error`.
    """

    loss: Array
    log_mid: Array
    symmetric: bool = False
    profile: bool = False
    atom: float = 0.0
    missing: tuple[float, float] = (0.0, 0.0)
    spikes: Array | None = None
    error: float = 0.0
    reach: float = math.inf

    def mean(self) -> float:
        """E_Q[L] of the finite part, to some digits: it sets the scale."""
        loss, half = self.loss, 0.5 * self.loss
        q, p = np.exp(self.log_mid + half), np.exp(self.log_mid - half)
        if self.profile:
            return float(q.sum() + p.sum()) if self.symmetric else float(q.sum())
        if self.symmetric:
            return float((q - p) @ loss)
        # the expectation of e^-L - 1, which is added, is 0, and the sum has no negative terms
        small = q * (loss + np.expm1(-np.maximum(loss, -1.0)))
        return float(np.where(loss > -1.0, small, q * (loss - 1.0) + p).sum())

    def excess(self, c: float) -> float:
        """M(c) - 1 for real c, to full relative accuracy."""
        lost = c * (self.missing[1] - self.missing[0]) - self.missing[0]
        with np.errstate(over="ignore", invalid="ignore"):
            if self.profile:
                return c * (c + 1.0) * float(self._sums(np.array([c]))[0]) + lost
            if self.symmetric:
                # m (e^{(c+1/2) l} + e^{-(c+1/2) l} - e^{l/2} - e^{-l/2}), as a product
                a, b = abs(c + 1.0) * self.loss, abs(c) * self.loss
                terms = np.exp(self.log_mid + 0.5 * (a + b)) * np.expm1(-a) * np.expm1(-b)
                return math.copysign(float(terms.sum()), c * (c + 1.0)) + lost
            return float(self._cancelled(c).sum()) + lost

    def _cancelled(self, c: float) -> Array:
        """The terms of E_Q[e^{cL} - 1 - c (1 - e^-L)].

        For c < -1/2 the same under P, with t = c + 1 instead of c and -L instead of L.
        """
        sign, t = (1.0, c) if c >= -0.5 else (-1.0, c + 1.0)
        log_mass = self.log_mid + 0.5 * sign * self.loss
        mass = np.exp(log_mass)
        near = np.abs(self.loss) * (1.0 + abs(t)) < 1.0

        def growth(y: Array) -> Array:
            """mass (e^y - 1), without its linear term where all exponents are small."""
            small = np.clip(y, -1.0, 1.0)
            plain = np.where(y == small, mass * np.expm1(small), np.exp(log_mass + y) - mass)
            if near.any():
                plain[near] = mass[near] * exp_excess(y[near])
            return plain

        return growth(t * self.loss) + sign * t * growth(-sign * self.loss)

    def rough_excess(self, c: Array) -> Array:
        """M(c) - 1 for real c, to an absolute error of some 1e-15: enough to find a saddle point.

        Infinite where a float cannot hold it.
        """
        with np.errstate(over="ignore"):
            sums = self._sums(c)
            if self.profile:
                linear = c * (self.missing[1] - self.missing[0]) - self.missing[0]
                return c * (c + 1.0) * sums + linear
            return sums - (1.0 - self.atom)

    def _sums(self, c: Array) -> Array:
        """sum_j m_j e^{(c + 1/2) l_j}, without the atom."""
        turn = np.multiply.outer(c + 0.5, self.loss)
        total: Array = np.exp(self.log_mid + turn).sum(axis=-1)
        return total + np.exp(self.log_mid - turn).sum(axis=-1) if self.symmetric else total

    def log_sum(self, s: float) -> float:
        """log M(s) for real s, however large M is."""
        terms = [self.log_mid + (s + 0.5) * self.loss]
        if self.symmetric:
            terms.append(self.log_mid - (s + 0.5) * self.loss)
        if self.atom > 0.0:
            terms.append(np.array([math.log(self.atom)]))
        every = np.concatenate(terms)
        top = float(every.max(initial=-math.inf))
        return top + math.log(float(np.exp(every - top).sum())) if math.isfinite(top) else top

    def tilted(self, c: float) -> TiltedLoss:
        """The law with density e^{cL}, not normalised."""
        return TiltedLoss(self, c)


class TiltedLoss:
    """A law on its nodes with the density e^{cL}, whose Fourier transform is M(c + i tau)."""

    def __init__(self, law: Quadrature, c: float) -> None:
        self._law, self._c = law, c
        grow = np.exp(law.log_mid + (c + 0.5) * law.loss)
        # the mass of a loss and its mirror image, and their difference
        self._even = self._odd = grow
        if law.symmetric:
            shrink = np.exp(law.log_mid - (c + 0.5) * law.loss)
            self._even, self._odd = grow + shrink, grow - shrink

    def line(self, at_c: float, tau: Array) -> tuple[Array, Array]:
        """log |M(c + i tau)| and arg M(c + i tau), given M(c) - 1."""
        law, even = self._law, self._even
        turn = np.multiply.outer(tau, law.loss)
        imaginary = np.sin(turn) @ self._odd
        half = np.sin(0.5 * turn)
        fall = -2.0 * (half * half) @ even  # of the real part, from tau = 0
        if law.profile:
            s = self._c + 1j * tau
            inner = (even.sum() + fall) + 1j * imaginary
            value = s * (s + 1.0) * inner + s * (law.missing[1] - law.missing[0])
            real, imaginary = value.real - law.missing[0], value.imag
        else:
            real = at_c + fall
        with np.errstate(divide="ignore"):
            modulus = 0.5 * np.log1p(np.maximum(2.0 * real + real * real + imaginary**2, -1.0))
        return modulus, np.arctan2(imaginary, 1.0 + real)

    def ahead(self, tau: float) -> Array:
        """Points from tau on where |M(c + i tau)| is largest, if it comes back at all.

        That is where the losses of the bulk are in phase again, some 2 pi over their mean apart;
        three such periods are looked at. Rare but large losses that form a group of their own are
        in phase again much earlier, 2 pi over the mean weighted with the loss.
        """
        weight, size = self._even, np.abs(self._law.loss)
        total, first = float(weight.sum()), float(weight @ size)
        second = float(weight @ (size * size))
        points = tau + 2.0 * math.pi * total / first * _AHEAD
        if total * second > _APART * first * first and self._grouped(first, second):
            points = np.append(points, tau + 2.0 * math.pi * first / second * _CLOSELY_AHEAD)
        return points

    def _grouped(self, first: float, second: float) -> bool:
        """Whether large losses form a group, in which all are about equally large.

        `first` and `second` are sums of mass times loss, and times its square; the test is whether
        losses, drawn with probability proportional to mass times loss, have a small variance.
        """
        third = float(self._even @ np.abs(self._law.loss) ** 3)
        return third * first < (1.0 + _VARY) * second * second

    def outlook(self, at_c: float, ahead: Array, log_m: tuple[Array, Array]) -> float:
        """log of the largest |M| / M(c) that is to be expected from the points ahead on.

        Atoms away from 0 may be in phase at any time: they are taken to be.
        """
        modulus, argument = log_m
        if self._law.spikes is None:
            return float(modulus.max()) - math.log1p(at_c)
        place, mass = self._law.spikes
        mass = mass * np.exp(self._c * place)
        spikes = np.exp(1j * np.multiply.outer(ahead, place)) @ mass
        rest = np.abs(np.exp(modulus + 1j * argument) - spikes)
        return min(math.log(float(rest.max()) + float(mass.sum())) - math.log1p(at_c), 0.0)
