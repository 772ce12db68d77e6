"""Laws of sums of likelihood ratios, rounded to what leaks more. [Theorem A1]

A likelihood ratio X = dP/dQ, seen under Q, is a nonnegative random number of mean 1, and both
directions of the pair are means of convex functions of it:

    H_gamma(P || Q) = E (X - gamma)_+,    H_gamma(Q || P) = E (1 - gamma X)_+.

So a law that is *larger in the convex order* (each value is split into two around it, with the same
mean) leaks at least as much, in both directions, also after composition. Sums of independent terms
keep the order. Hence values may be split between their neighbours on any grid as often as one
likes: here a geometric grid e^{jh}, with 0 below it and, above it, "infinity": a probability that
vanishes with a mean that does not.

On that grid a sum needs little work. e^{ih} + e^{jh} is e^{ih} times 1 + e^{-(i-j)h}, so all pairs
of indices with one difference i - j are split in the same proportion, between the points that are
the same number of places above i.

**Rounding.** All masses and all proportions are nonnegative, and what is computed from them rises
with each: it is enough that each is rounded up, and that a sum of k terms of one sign is
raised by k roundings. The result is then above what exact arithmetic gives, mass by mass, and so is
every mean of a nonnegative function. Nothing is ever subtracted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from shiftdp._checks import Array
from shiftdp._rounding import AMPLE, EIGHTEEN_ROUNDINGS, ULP
from shiftdp.fdp.composition.connect_the_dots import connect_the_dots
from shiftdp.fdp.functions.gaussian import GaussianTradeoff

TAIL = 1e-20
"""The probability under Q, and under P, that is moved to 0 and to infinity at each end."""

_HALVED = math.sqrt(2.0)  # how much wider than asked for a mesh may be, before it is halved


@dataclass(frozen=True, eq=False)
class RatioLaw:
    """Masses under Q of the values 0 and e^{(start + j) mesh}, and the mean that is at infinity."""

    mesh: float
    start: int
    mass: Array
    zero: float
    infinite: float

    @property
    def exponents(self) -> Array:
        """Logarithms of the values."""
        return np.asarray(self.mesh * (self.start + np.arange(self.mass.size)))

    def halved(self, times: int) -> RatioLaw:
        """This law, unchanged, on a mesh that is halved so many times."""
        k = 1 << times
        mass = np.zeros((self.mass.size - 1) * k + 1)
        mass[::k] = self.mass
        return RatioLaw(self.mesh / k, self.start * k, mass, self.zero, self.infinite)

    def trimmed(self, low: float, high: float) -> RatioLaw:
        """Without the ends that have at most the mass `low`, and the mean `high`.

        A value x below the new first one, a, becomes 0 or a, the latter with probability x/a. One
        above the new last one, b, becomes b, and leaves the mean x - b at infinity.
        """
        x, q = self.exponents, self.mass
        beyond = np.cumsum((q * np.exp(x))[::-1])[::-1]
        last = min(int(np.count_nonzero(beyond > high)), q.size - 1)
        first = min(int(np.searchsorted(np.cumsum(q), low)), last)
        # distances of whole numbers of places: an exponent errs by ulps of itself, up to the reach
        up = 1.0 + 2.0 * (q.size + float(np.abs(x).max()) + 8) * ULP
        part = np.exp(-self.mesh * np.arange(first, 0, -1))
        gap = np.expm1(self.mesh * np.arange(1, q.size - last)) * math.exp(x[last])
        lower, upper = q[:first], q[last + 1 :]
        kept = q[first : last + 1].copy()
        kept[0] += float(lower @ part) * up
        kept[-1] += float(upper.sum()) * up
        return RatioLaw(
            self.mesh,
            self.start + first,
            kept * (1.0 + EIGHTEEN_ROUNDINGS),
            self.zero + float(lower @ (1.0 - part + EIGHTEEN_ROUNDINGS)) * up,
            self.infinite + float(upper @ gap) * up,
        )


def gaussian_ratio(s: float, mesh: float) -> RatioLaw:
    """The ratio of N(s, 1) to N(0, 1): e^{sY - s^2/2} with a standard normal Y."""
    reach = s * (0.5 * s - float(scipy.special.ndtri(TAIL)))
    law, _ = connect_the_dots(GaussianTradeoff(s), mesh, reach)
    # its masses are those of the loss under P; the pair is symmetric, so both ends are alike
    right, left = int(law.right_place[-1]), int(law.left_place[-1])
    mass = np.zeros(left + right + 1)
    rest = 1.0 - math.fsum([*law.right.tolist(), *law.left.tolist(), law.infinite])
    # if the others are above the exact ones, the loss 0 is what is missing
    mass[left] = max(rest, 0.0) + float(law.right_error.sum() + law.left_error.sum()) + ULP
    mass[left + law.right_place] = (law.right + law.right_error) * np.exp(-mesh * law.right_place)
    mass[left - law.left_place] = (law.left + law.left_error) * np.exp(mesh * law.left_place)
    up = 1.0 + (reach + 8.0) * ULP  # an exponent errs by ulps of itself, and so of the reach
    return RatioLaw(mesh, -left, mass * up, law.infinite, law.infinite)


def added(one: RatioLaw, other: RatioLaw) -> RatioLaw:
    """The sum of two independent ratios whose meshes are the same."""
    h, a, b = one.mesh, one.mass, other.mass
    first, second = one.start, other.start
    start = min(first, second)
    reach = max(first + a.size, second + b.size) + math.ceil(math.log(2.0) / h) + 2
    sums = np.zeros(reach - start)
    sums[first - start :][: a.size] += a * other.zero
    sums[second - start :][: b.size] += b * one.zero
    differences = range(first - second - b.size + 1, first - second + a.size)
    places, shares = _splits(h, np.abs(np.array(differences)))
    for d, place, (stay, move) in zip(differences, places.tolist(), shares.tolist(), strict=True):
        # the indices i of the first with i - d of the second
        low, high = max(first, second + d), min(first + a.size, second + b.size + d)
        pairs = a[low - first : high - first] * b[low - d - second : high - d - second]
        at, wide = low - min(d, 0) - start + place[0], place[1]
        sums[at : at + pairs.size] += stay * pairs
        sums[at + wide : at + wide + pairs.size] += move * pairs
    up = 1.0 + (len(differences) + 8) * ULP  # two terms of each difference, half an ulp each
    return RatioLaw(
        h, start, sums * up, one.zero * other.zero * up, (one.infinite + other.infinite) * up
    )


def _splits(h: float, difference: Array) -> tuple[Array, Array]:
    """Where 1 + e^{-dh} lies on the grid, and in which proportions it is split, rounded up.

    Rows of the first result: the place below, and how many places above it the other one is: 1, or
    2 where rounding leaves open on which side of a point the value is. (At 0 it is above.)
    """
    value = 1.0 + np.exp(-h * difference)
    place = np.log(value) / h
    nearest = np.rint(place)
    unclear = (np.abs(place - nearest) < AMPLE / h) & (nearest >= 1.0)
    below = np.where(unclear, nearest - 1.0, np.floor(place))
    wide = np.where(unclear, 2.0, 1.0)
    base = np.exp(h * below)
    move = (value - base) / (base * np.expm1(h * wide))
    room = 2.0 * EIGHTEEN_ROUNDINGS / h  # value and base are within [1, 2], the width at least h
    shares = np.stack([1.0 - move + room, move + room], axis=1)
    return np.stack([below, wide], axis=1).astype(np.int64), np.maximum(shares, 0.0)


def sum_of_ratios(s: float, count: int, fineness: float) -> RatioLaw:
    """X_1 + ... + X_l of independent ratios of N(s, 1) to N(0, 1), l being `count`.

    A split on a mesh h adds at most h^2/4 to the variance of a sum of k terms in units of its mean,
    of which (e^{s^2} - 1)/k is there already. So the mesh is that deviation times the fineness,
    and halved where sums become longer: each of the log2(l) sums adds a like part to the variance.

    >>> law = sum_of_ratios(1.0, 100, 0.05)
    >>> mean = float(law.mass @ np.exp(law.exponents)) + law.infinite
    >>> 0.0 <= mean / 100.0 - 1.0 < 1e-9, 0.0 <= float(law.mass.sum()) + law.zero - 1.0 < 1e-9
    (True, True)
    """
    deviation = math.sqrt(math.expm1(s * s))
    widest = fineness * min(deviation, s)

    def fine(law: RatioLaw, terms: int) -> RatioLaw:
        wanted = min(widest, fineness * deviation / math.sqrt(terms))
        return law.halved(max(0, math.ceil(math.log2(law.mesh / (wanted * _HALVED)))))

    power, terms = gaussian_ratio(s, widest), 1
    total: RatioLaw | None = None
    done, left = 0, count
    while True:
        if left & 1:
            total = power if total is None else _joined(total, power)
            done += terms
            total = total.trimmed(TAIL * done / count, TAIL * done)
        left >>= 1
        if not left:
            return total if total is not None else power
        power = fine(power, 2 * terms)
        power, terms = added(power, power), 2 * terms
        power = power.trimmed(TAIL * terms / count, TAIL * terms)


def _joined(one: RatioLaw, other: RatioLaw) -> RatioLaw:
    """The sum on the finer of two meshes, each of which is the other halved some times."""
    ratio = round(math.log2(one.mesh / other.mesh))
    return added(one.halved(max(0, ratio)), other.halved(max(0, -ratio)))
