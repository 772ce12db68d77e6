"""Slow, independent ways to the numbers of the engine."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Literal, Protocol, get_args

import mpmath
import numpy as np
import scipy.optimize

from shiftdp._checks import Array
from shiftdp.interpolation.closed_forms.explicit_shifts import ExplicitShifts
from shiftdp.interpolation.schedule import Schedule

Face = Literal["floor", "free", "ceiling"]


class _Steps(Protocol):
    """Any of the three kinds of schedules."""

    @property
    def steps(self) -> int: ...
    @property
    def diameter(self) -> float: ...
    def window(self, begin: int, end: int) -> tuple[Array, Array, Array]: ...


def weights(slopes: Array) -> Array:
    """The product of all later slopes."""
    w = np.ones(slopes.size)
    w[:-1] = np.cumprod(slopes[:0:-1])[::-1]
    return w


def isotonic_mu(c: Array, s: Array, sd: Array) -> float:
    """Theorem B1 from the start, by SciPy's isotonic regression."""
    w = weights(c)
    v = (w * sd) ** 2
    g = scipy.optimize.isotonic_regression(w * s / v, weights=v).x
    return float(np.sqrt(np.sum(v * g * g)))


def quotient(slopes: Array, s: Array, sd: Array) -> float:
    """Mean shift over deviation of the linear recursion with these slopes."""
    w = weights(slopes)
    return float(np.sum(w * s) / np.sqrt(np.sum((w * sd) ** 2)))


def face_of(slopes: Array, c: Array, f: Array) -> tuple[Face, ...]:
    """For every step after the first whether its slope is at the floor, free, or at the ceiling."""
    return tuple(
        "floor" if slope == low else "ceiling" if slope == high else "free"
        for slope, high, low in zip(slopes[1:], c[1:], f[1:], strict=True)
    )


class Cone:
    """The cone `f_k w_k <= w_{k-1} <= c_k w_k` in rational arithmetic: no rounding, no tolerance.

    Floats are fractions, so the arguments are what the code under test was given, to the last bit.
    """

    def __init__(self, c: Array, f: Array, s: Array, sd: Array) -> None:
        self.c, self.f, self.s, self.sd = ([Fraction(x) for x in a.tolist()] for a in (c, f, s, sd))

    def fit(self, face: tuple[Face, ...]) -> list[Fraction]:
        """The projection of s / sd^2 on the span of a face, in the norm with weights sd^2.

        A free slope cuts the weights into blocks that have nothing to do with one another. Within a
        block the slopes are given, and one number is fitted to it.
        """
        w: list[Fraction] = []
        last = len(self.c) - 1
        while last >= 0:
            shape = [Fraction(1)]  # of the block, from its last weight backwards
            k = last
            while k > 0 and face[k - 1] != "free":
                shape.append(shape[-1] * self._slope(k, face))
                k -= 1
            steps = range(last, k - 1, -1)
            gain = sum(x * self.s[j] for x, j in zip(shape, steps, strict=True))
            cost = sum((x * self.sd[j]) ** 2 for x, j in zip(shape, steps, strict=True))
            w += [x * gain / cost for x in shape]
            last = k - 1
        return w[::-1]

    def _slope(self, k: int, face: tuple[Face, ...]) -> Fraction:
        return self.f[k] if face[k - 1] == "floor" else self.c[k]

    def holds(self, w: list[Fraction]) -> bool:
        return all(self.f[k] * w[k] <= w[k - 1] <= self.c[k] * w[k] for k in range(1, len(w)))

    def norm(self, w: list[Fraction]) -> float:
        return math.sqrt(sum((x * sd) ** 2 for x, sd in zip(w, self.sd, strict=True)))

    def longest_fit(self) -> float:
        """Norm of the projection on the cone, by trying every face.

        The projection is the fit to the face that it lies in; and a fit that lies in the cone is
        never longer than the projection. So the longest fit within the cone is the answer.
        """
        faces = itertools.product(get_args(Face), repeat=len(self.c) - 1)
        return max(self.norm(w) for w in map(self.fit, faces) if self.holds(w))

    def is_optimal(self, face: tuple[Face, ...]) -> bool:
        """Karush-Kuhn-Tucker: the fit to this face is the projection on the whole cone.

        The gradient sd_j^2 w_j - s_j is to be `m_{j+1} - slope_j m_j` with multipliers m_k >= 0 at
        a floor, m_k <= 0 at a ceiling and m_k = 0 at a free slope, which fixes them one by one.
        """
        w = self.fit(face)
        m = Fraction(0)
        for j in range(len(w)):
            slope = self._slope(j, face) if j > 0 else Fraction(0)
            m = self.sd[j] ** 2 * w[j] - self.s[j] + slope * m
            side = face[j] if j < len(face) else "free"
            if (m < 0 and side != "ceiling") or (m > 0 and side != "floor"):
                return False
        return self.holds(w)


def exact_mu(schedule: Schedule) -> float:
    """Theorem B1 by trying everything, in rational arithmetic.

    From its start on, the distance z is 0 at some steps and positive between them. Between two
    zeros nothing constrains the shifts but their sum, so the cheapest ones are known (Cauchy-
    Schwarz), and they count if they keep z positive on the way. What remains is the cheapest way
    from zero to zero up to the last step. Infinite where some visit has no noise after it.
    """
    c, s, sd = ([Fraction(x) for x in a.tolist()] for a in schedule.window(0, schedule.steps))
    t, free = len(c), Fraction(0)
    ways: list[Fraction | None] = [None] * t + [Fraction(0)]  # from a zero before step k to the end
    for k in range(t - 1, -1, -1):
        ways[k] = _cheapest_way(c, s, sd, ways, k, Fraction(0))
    squares = []
    for k in range(t):
        start = free if math.isinf(schedule.diameter) else min(Fraction(schedule.diameter), free)
        squares.append(_cheapest_way(c, s, sd, ways, k, start))
        free = c[k] * free + s[k]
    finite = [square for square in squares if square is not None]
    return math.sqrt(min(finite)) if finite else math.inf


def _cheapest_way(
    c: list[Fraction],
    s: list[Fraction],
    sd: list[Fraction],
    ways: list[Fraction | None],
    k: int,
    start: Fraction,
) -> Fraction | None:
    """The least `sum (a / sd)^2` from step k, before which z = start, to z = 0 after the last."""
    found = []
    for end in range(k + 1, len(c) + 1):
        w = [Fraction(1)]
        for j in range(end - 1, k, -1):
            w.append(w[-1] * c[j])
        w.reverse()
        reach = w[0] * c[k] * start + sum(x * s[k + i] for i, x in enumerate(w))
        spread = sum((x * sd[k + i]) ** 2 for i, x in enumerate(w))
        if not spread and reach:
            continue  # no noise to hide it in
        rate = reach / spread if spread else Fraction(0)
        z, positive = start, True
        for i, x in enumerate(w):
            z = c[k + i] * z + s[k + i] - rate * x * sd[k + i] ** 2
            positive = positive and z >= 0
        rest = ways[end]
        if positive and rest is not None:
            found.append(reach * rate + rest)
    return min(found, default=None)


def precise_mu(schedule: _Steps) -> float:
    """Theorem B1 from every start, by pooling neighbours, to 40 digits: for up to 100 steps."""
    with mpmath.workdps(40):
        c, s, sd = ([mpmath.mpf(x) for x in a.tolist()] for a in schedule.window(0, schedule.steps))
        t, D, free = len(c), mpmath.mpf(schedule.diameter), mpmath.mpf(0)
        w = [mpmath.mpf(1)] * t
        for k in range(t - 2, -1, -1):
            w[k] = w[k + 1] * c[k + 1]
        forgotten = max((k for k in range(t) if c[k] == 0), default=0)
        least = mpmath.inf
        for tau in range(t):
            start = min(D, free)
            free = c[tau] * free + s[tau]
            if tau < forgotten or (tau > forgotten and start < D):
                continue  # a start before it, from a distance of 0, is at least as good
            blocks: list[tuple[mpmath.mpf, mpmath.mpf]] = []
            for k in range(tau, t):
                p, v = w[k] * s[k], (w[k] * sd[k]) ** 2
                if k == tau:
                    p += w[k] * c[k] * start
                while blocks and blocks[-1][0] * v >= p * blocks[-1][1]:
                    ahead = blocks.pop()
                    p, v = p + ahead[0], v + ahead[1]
                blocks.append((p, v))
            least = min(least, sum(p * p / v for p, v in blocks))
        return float(mpmath.sqrt(least))


def replay(shifts: ExplicitShifts, c: float, s: Array, start_distance: float) -> None:
    """Run the recursion of Theorem shift and insist on every one of its conditions."""
    a, z, lam, tau = shifts.a, shifts.z, shifts.lam, shifts.start
    t = s.size
    scale = max(float(np.max(s)), start_distance)
    assert a.size == lam.size == t - tau
    assert z.size == t - tau + 1
    assert z[0] == start_distance
    assert np.all(a >= 0)
    assert np.all(z >= 0)
    assert np.all((lam >= 0) & (lam <= 1))
    whole = c * z[:-1] + s[tau:]
    np.testing.assert_allclose(a + z[1:], whole, atol=1e-12 * scale)
    np.testing.assert_allclose(a, lam * whole, atol=1e-12 * scale)
    assert z[-1] == 0.0


def precise_gd_sc(c: float, t: int) -> float:
    """sqrt((1-c^t)/(1+c^t) (1+c)/(1-c)) to 50 digits and more."""
    with mpmath.workdps(60):
        q = mpmath.mpf(c)
        power = q**t
        return float(mpmath.sqrt((1 - power) / (1 + power) * (1 + q) / (1 - q)))


def precise_mgd_sc(c: float, batches: int, epochs: int) -> float:
    """Thm mgd-sc at s = sd = 1 to 50 digits and more."""
    with mpmath.workdps(60):
        q, ell = mpmath.mpf(c), batches
        before = q ** (ell * (epochs - 1))
        earlier = q ** (2 * ell - 2) * (1 - q**2) / (1 - q**ell) ** 2
        return float(mpmath.sqrt(1 + earlier * (1 - before) / (1 + before)))


def hull_energy(p: Array, v: Array) -> float:
    """Energy of the greatest convex minorant by its definition: follow the smallest slope."""
    obstacle, clock = np.append(0.0, np.cumsum(p)), np.append(0.0, np.cumsum(v))
    k, energy = 0, 0.0
    while k < p.size:
        slopes = (obstacle[k + 1 :] - obstacle[k]) / (clock[k + 1 :] - clock[k])
        ahead = int(np.flatnonzero(slopes == slopes.min())[-1]) + 1
        energy += float(slopes.min()) ** 2 * (clock[k + ahead] - clock[k])
        k += ahead
    return energy
