"""The law of a total loss on a grid, read off its Fourier coefficients.

With the tilt theta, mesh h, N points and the window that begins at `start`, the law of the total
loss is w_x = (1/N) sum_f W_f e^{i om x}, om = 2 pi f / N, and its Q-mass at x h is
w_x e^{K - theta h x}. The law of a sum of many losses is smooth, so of its N Fourier coefficients
only a few dozen are significant, and delta at one eps is a sum over these. Put
r = e^{i om - theta h}, let i be the first point right of eps, E the number of points from i to the
end of the window, and g = e^{eps - h i}. Then

    sum_{x >= i} r^x (1 - e^{eps - h x})  =  r^i ((1 - g) + r (g - e^-h)) / ((1 - r)(1 - r e^-h)),

and the sum up to the end of the window is this less the same at E points further on, where g is
g e^{-hE}. Nothing cancels at f = 0, where the sum has its largest term.

Where many coefficients are significant (few losses, or losses with atoms) or a whole curve is
wanted, the law is transformed back once, and read off its cumulative sums.

*The tradeoff curve* is the largest of its supporting lines. Every eps gives the line
1 - delta(eps) - e^eps alpha below f, and on a symmetric curve its mirror image
e^-eps (1 - delta(eps) - alpha). The law has atoms at the points of the grid, so f is made of edges,
and the line of one grid point follows a whole edge: about the best point is looked up for each
alpha, and its neighbours are tried too. Any line is a bound, so a poor choice costs tightness only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._rounding import (
    INVERTIBLE_EXPONENT,
    LARGEST_EXPONENT,
    NINE_ROUNDINGS,
    NOT_ZERO,
    THREE_ROUNDINGS,
    ULP,
)

LOG_TAIL = math.log(1e-12)
"""log of the tilted mass that may lie beyond either end of the window."""

_SUMS = 1e-12  # relative error of the sums over atoms
_MOST_TERMS = 1 << 18  # of the sums over coefficients at all points together; beyond, by atoms
_POWERS = 256  # coefficients up to which their phases are computed as powers of the first one
_NEWTON = 30  # steps of Newton's method at most
_QUADRATIC = 1e-7  # a step that is this small a part of epsilon makes the next one its square
# a root is moved to its safe side by this part, then by eight times as much, up to so many times
_NUDGE, _NUDGES = 4e-14, 8
_PHASE_ULPS, _POWER_ULPS = 64.0, 16.0  # errors of a sum of phases: of its terms, and of each power
_ONE_SCALE = (
    1200.0  # a range of losses that one power of e, from its middle, spans without overflow
)
_FORGOTTEN = 45.0  # e^-45 = 3e-20
_FEW = 8  # deltas up to which each is solved for on its own

Real = TypeVar("Real", float, Array)


class _Functions(NamedTuple):
    """exp and its like for plain floats, or for arrays: a formula is written once for both."""

    exp: Callable[[Any], Any]
    expm1: Callable[[Any], Any]
    minimum: Callable[[Any, float], Any]
    maximum: Callable[[Any, float], Any]


_MATH = _Functions(math.exp, math.expm1, min, max)
_NUMPY = _Functions(np.exp, np.expm1, np.minimum, np.maximum)


@dataclass(frozen=True, eq=False)
class GridLaw:
    """The law of the total loss under Q on the points (start + i) mesh, i < size, and its profile.

    Attributes:
        side: the answers are upper bounds (+1) or lower bounds (-1) on the profile of the product.
        theta: the tilt.
        log_scale: K of the docstring above, log of the moment by which the tilted law was divided.
        mean: of the total loss under the tilt.
        frequencies: those f at which W_f is significant, ascending.
        coefficients: the W_f there.
        atom_error: a bound on the error of every w_x.
        beyond: the Q-mass of infinite losses, and of those right of the window.
    """

    side: int
    mesh: float
    start: int
    size: int
    theta: float
    log_scale: float
    mean: float
    frequencies: NDArray[np.int64]
    coefficients: NDArray[np.complex128]
    atom_error: float
    beyond: float
    _known: dict[float, float] = field(default_factory=dict)

    # --- what is asked ---

    def delta(self, epsilon: Array) -> Array:
        """A bound on delta(eps), exact between the points; outside the window a trivial one."""
        with np.errstate(over="ignore"):  # an infinite place is outside the window, too
            place = np.floor(epsilon / self.mesh) - self.start
        inside = (place >= 0) & (place < self.size - 1)
        bound = np.where(place < 0, 1.0, 0.0) if self.side > 0 else np.zeros(epsilon.shape)
        if self.side > 0 and np.any(place >= self.size - 1):
            # right of the window delta is no larger than at its end
            last = float(self.lines(np.array([self.high]))[0][0])
            bound = np.where(place < 0, 1.0, min(max(last, 0.0), 1.0))
        if inside.any():
            bound[inside] = np.clip(self.lines(epsilon[inside])[0], 0.0, 1.0)
        return bound

    def epsilon(self, delta: Array, near: Array | None = None) -> Array:
        """The eps at which the bound passes delta, rounded to the side of the bound.

        Where that is right of the window, infinity for an upper bound and the end of the window for
        a lower one. `near` is a first guess of each.
        """
        if delta.size > _FEW or self.frequencies.size > _MOST_TERMS:
            return self._from_knots(delta)
        found = np.empty(delta.shape)
        for i, at in enumerate(delta.tolist()):
            if at not in self._known:
                close = self._newton(at, self.mean if near is None else float(near[i]))
                lost = math.isnan(close)
                self._known[at] = float(self._from_knots(delta[i : i + 1])[0]) if lost else close
            found[i] = self._known[at]
        return found

    @property
    def low(self) -> float:
        return self.mesh * self.start

    @property
    def high(self) -> float:
        return self.mesh * (self.start + self.size - 2)

    def lines(self, epsilon: Array) -> tuple[Array, Array]:
        """The bound on delta at points from `low` to `high`, and about -e^eps P(loss > eps)."""
        if self.frequencies.size * epsilon.size <= _MOST_TERMS:
            return self._summed(epsilon)
        mass, dual = self.sums
        i = np.clip(np.floor(epsilon / self.mesh) - self.start, 0, self.size - 2)
        i = i.astype(np.int64) + 1
        tail = np.exp(np.minimum(epsilon - self.mesh * (self.start + i), 0.0)) * dual[i]
        value = np.maximum(mass[i] - tail, 0.0)
        return np.asarray((value + self._slack(epsilon)) * (1.0 + self.side * _SUMS)), -tail

    def knots(self) -> Array:
        """The losses at the points of the grid, all but the last."""
        return np.asarray(self.mesh * (self.start + np.arange(self.size - 1)), dtype=np.float64)

    def at_knots(self) -> Array:
        """Bounds on delta at the knots, falling from left to right."""
        mass, dual = self.sums
        value = np.maximum(mass[1:] - math.exp(-self.mesh) * dual[1:], 0.0)
        bound = (value + self._slack(self.knots())) * (1.0 + self.side * _SUMS)
        # rounding may leave a larger value to the right of a smaller one. It may replace it: delta
        # falls, so a lower bound on the right is one here, and an upper bound may be raised
        return np.clip(np.maximum.accumulate(bound[::-1])[::-1], 0.0, 1.0)

    def _slack(self, epsilon: Array) -> Array:
        """The error of delta at eps, with the sign of the side.

        An error of every atom right of eps, untilted and summed (a geometric series); the mass that
        wrapped around the window; and, for upper bounds, the mass that is not on the grid.
        """
        part = self.atom_error / -math.expm1(-self.theta * self.mesh) + 2.0 * math.exp(LOG_TAIL)
        moved = part * np.exp(np.minimum(self.log_scale - self.theta * epsilon, LARGEST_EXPONENT))
        return self.side * (moved + (self.beyond if self.side > 0 else 0.0))

    # --- by the coefficients ---

    @cached_property
    def _kernel(self) -> _Kernel:
        """The factors of the module's formula that do not depend on eps.

        They are W_f / (N (1 - r)(1 - r e^-h)), alone and times r, and the sums of w_x r^x and of
        w_x (r e^-h)^x from the end of the window on, untilted: what the window cuts off.
        """
        h, turn = self.mesh, 2j * math.pi / self.size
        log_r = turn * self.frequencies - self.theta * h
        weighted = (2.0 / self.size) * self.coefficients
        # each coefficient stands for two conjugate ones, but for the first and the last
        weighted[(self.frequencies == 0) | (2 * self.frequencies == self.size)] *= 0.5
        less, much_less = np.expm1(log_r), np.expm1(log_r - h)
        once = weighted / (less * much_less)
        there = weighted * np.exp(turn * (self.frequencies * self.start % self.size))
        end = h * (self.start + self.size)
        mass = -float((there / less).sum().real) * _power(self.log_scale - self.theta * end)
        dual = -float((there / much_less).sum().real)
        dual *= _power(self.log_scale - (self.theta + 1.0) * end)
        both = np.stack([once, once * np.exp(log_r)], axis=1)
        # a power of a phase errs by as many times its rounding
        ulps = _PHASE_ULPS + _POWER_ULPS * min(self.frequencies.size, _POWERS)
        size = ulps * ULP * -math.expm1(-h) * float(np.abs(once).sum())
        part = self.atom_error / -math.expm1(-self.theta * h) + 2.0 * math.exp(LOG_TAIL)
        return _Kernel(turn, both, mass, dual, size + part, math.exp(-h))

    def _summed(self, epsilon: Array) -> tuple[Array, Array]:
        """The bound and its slope in eps, by the formula of the module's docstring."""
        kernel, i = self._kernel, np.floor(epsilon / self.mesh) + 1.0
        here, after = (kernel.both.T @ self._places(i)).real
        bound, slope = self._combined(epsilon, i, here, after, _NUMPY)
        return np.asarray(bound), np.asarray(slope)

    def _places(self, i: Array) -> NDArray[np.complex128]:
        """The phase e^{i om i} for each frequency (rows) and each point i."""
        if self.frequencies.size > _POWERS or self.frequencies[-1] != self.frequencies.size - 1:
            # the product of whole numbers is exact, and reduced before it is rounded to a phase
            return np.exp(self._kernel.turn * (np.multiply.outer(self.frequencies, i) % self.size))
        places = np.empty((self.frequencies.size, i.size), dtype=np.complex128)
        places[0] = 1.0
        power, known = np.exp(self._kernel.turn * (i % self.size)), 1
        while known < self.frequencies.size:
            more = min(known, self.frequencies.size - known)
            np.multiply(places[:more], power, out=places[known : known + more])
            power *= power
            known += more
        return places

    def _summed_once(self, epsilon: float) -> tuple[float, float]:
        """`_summed` at one point, in plain floats: for one number, NumPy's calls take longer."""
        kernel, i = self._kernel, math.floor(epsilon / self.mesh) + 1.0
        places = np.exp(kernel.turn * (i * self.frequencies % self.size))
        here, after = (places @ kernel.both).real.tolist()
        bound, slope = self._combined(epsilon, i, here, after, _MATH)
        return float(bound), float(slope)

    def _combined(self, epsilon: Real, i: Real, here: Real, after: Real, f: _Functions) -> Any:
        """The bound and its slope from the two sums over the coefficients at the point i.

        `here` and `after` are those without and with the factor r.
        """
        h, theta, kernel = self.mesh, self.theta, self._kernel
        log_g = epsilon - h * i
        tilt = f.exp(f.minimum(self.log_scale - theta * epsilon, LARGEST_EXPONENT))
        scale, gamma = tilt * f.exp(theta * log_g), f.exp(f.minimum(epsilon, LARGEST_EXPONENT))
        value = scale * (kernel.shrink * f.expm1(log_g + h) * after - f.expm1(log_g) * here)
        value -= kernel.mass - gamma * kernel.dual
        slope = scale * f.exp(log_g) * (after - here) + gamma * kernel.dual
        slack = kernel.error * tilt + 4.0 * ULP * (kernel.mass + gamma * kernel.dual)
        if self.side > 0:
            return (f.maximum(value, 0.0) + slack + self.beyond) * (1.0 + _SUMS), slope
        return (value - slack) * (1.0 - _SUMS), slope

    def _newton(self, delta: float, near: float) -> float:
        """The eps with this delta, by Newton's method on log delta.

        The root is moved to its safe side until the bound there confirms it, so it is certified
        however well the method converged. nan where the method leaves the window, or where rounding
        errors are as large as delta.
        """
        least, high = max(self.low, 0.0), self.high
        x = min(max(near, least), high)
        for _ in range(_NEWTON):
            value, slope = self._summed_once(x)
            if not (value > 0.0 and slope < 0.0):
                return math.nan
            step = value / -slope * math.log(value / delta)
            x = min(max(x + step, least), high)
            if abs(step) <= _QUADRATIC * x:  # the next one would be its square
                break
            if x <= least:
                return math.nan
        nudge = _NUDGE * x + NOT_ZERO
        for _ in range(_NUDGES):
            tried = x + self.side * nudge
            if tried >= least and self.side * (self._summed_once(tried)[0] - delta) <= 0.0:
                return tried
            nudge *= 8.0
        return math.nan

    # --- by the atoms ---

    @cached_property
    def sums(self) -> tuple[Array, Array]:
        """The Q-mass of the losses from x_i on, and their P-mass times e^{x_i}; so
        delta(eps) = mass[i] - e^{eps - x_i} dual[i] for x_{i-1} <= eps <= x_i.
        """
        spectrum = np.zeros(self.size // 2 + 1, dtype=np.complex128)
        spectrum[self.frequencies] = self.coefficients
        total = np.roll(scipy.fft.irfft(spectrum, n=self.size, overwrite_x=True), -self.start)
        x = self.mesh * (self.start + np.arange(self.size))
        # where a weight would pass 1e300 it is cut: there, far to the left, delta is 1 anyway
        atoms = np.maximum(total, 0.0)
        atoms *= np.exp(np.minimum(self.log_scale - self.theta * x, INVERTIBLE_EXPONENT))
        return np.cumsum(atoms[::-1])[::-1], _discounted(atoms, self.mesh)

    def _from_knots(self, delta: Array) -> Array:
        mass, dual = self.sums
        eps, bounds = self.knots(), self.at_knots()
        i = bounds.size - np.searchsorted(bounds[::-1], delta, side="right")
        j = np.clip(i, 1, bounds.size - 1)
        # in the cell before knot i, delta is mass - e^eps dual, with the slack of its left end
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            spare = delta / (1.0 + self.side * _SUMS) - self._slack(eps[j - 1])
            inside = eps[j] + np.log((mass[j] - spare) / dual[j])
        fallback = eps[j] if self.side > 0 else eps[j - 1]
        inside = np.where(np.isfinite(inside), np.clip(inside, eps[j - 1], eps[j]), fallback)
        inside = np.where(i == 0, 0.0 if self.side < 0 else eps[0], inside)
        end = math.inf if self.side > 0 else eps[-1]
        return np.maximum(np.where(i >= bounds.size, end, inside), 0.0)


@dataclass(frozen=True, eq=False)
class _Kernel:
    """What the sums over coefficients have in common for all eps (see `GridLaw._kernel`)."""

    turn: complex  # the phase of frequency 1 at point 1
    both: NDArray[np.complex128]  # the factors alone, and times r
    mass: float  # Q-mass that the formula counts beyond the end of the window
    dual: float  # and its P-mass
    error: float  # of delta, before untilting
    shrink: float  # e^-h


def _power(exponent: float) -> float:
    return math.exp(min(exponent, LARGEST_EXPONENT))


def _discounted(atoms: Array, mesh: float) -> Array:
    """sum_{j >= i} atoms_j e^{-(j - i) mesh} for each i, up to a relative 1e-19."""
    if atoms.size * mesh < _ONE_SCALE:
        # around the middle no power overflows
        scale = np.exp(mesh * (np.arange(atoms.size) - atoms.size // 2))
        sums: Array = np.cumsum((atoms / scale)[::-1])[::-1] * scale
        return sums
    dual, shift = atoms.copy(), 1
    while shift * mesh < _FORGOTTEN:
        dual[:-shift] += math.exp(-shift * mesh) * dual[shift:]
        shift *= 2
    return dual


def tradeoff_from_grid(law: GridLaw, symmetric: bool, alpha: Array) -> Array:
    """f(alpha) of an upper law, rounded down."""
    table = law.knots()
    if symmetric and law.low < 0.0:
        table = table[-law.start :]
    delta, slope = law.lines(table)
    known = delta < 1.0
    if not known.any():
        return np.zeros(alpha.shape)
    table, delta, slope = table[known], delta[known], slope[known]
    # the point (x, y) of the curve that each line touches, and on a symmetric one (y, x)
    x = (-slope / np.exp(np.minimum(table, INVERTIBLE_EXPONENT)))[::-1]
    signed = table[::-1]
    if symmetric:
        x = np.concatenate([x, np.maximum(1.0 - delta + slope, 0.0)])
        signed = np.concatenate([signed, -table])
    found = np.interp(alpha, np.maximum.accumulate(x), signed)
    mirrored = (found < 0.0) & symmetric
    eps = np.where(mirrored, -found, found)
    near = [law.mesh * (np.rint(eps / law.mesh) + j) for j in (-1, 0, 1)]
    first, last = float(table[0]), float(table[-1])
    lines = [_line(law, np.clip(e, first, last), alpha, mirrored) for e in near]
    return np.asarray(np.max(lines, axis=0))


def _line(law: GridLaw, epsilon: Array, alpha: Array, mirrored: NDArray[np.bool_]) -> Array:
    """The line of each eps at its alpha, rounded down."""
    room = 1.0 - np.minimum(law.lines(epsilon)[0], 1.0)
    gamma = np.exp(np.minimum(epsilon, INVERTIBLE_EXPONENT))
    steep = room - gamma * alpha * (1 + NINE_ROUNDINGS)
    steep = np.where((epsilon <= INVERTIBLE_EXPONENT) | (alpha == 0.0), steep, 0.0)
    line = np.where(mirrored, (room - alpha) / gamma * (1 - NINE_ROUNDINGS), steep)
    return np.maximum(line - THREE_ROUNDINGS, 0.0)
