"""Equal steps that do not contract: the law of mu(V) by broken sticks.

**Theorem C7** [docs/theory.md]. Equal steps, c = 1, displacement and noise 1, t of them; V_k is 1
with probability p, independently. Break a stick of length t: the first piece has a length that is
uniform on 1, ..., t, the next one a length that is uniform on what is left of it, and so on. With
lengths l_i and independent n_i ~ Bin(l_i, p),

    mu(V)^2  is distributed as  sum_i n_i^2 / l_i .

*Proof.* mu(V)^2 is the energy of the least concave majorant of the path of participations, whose
steps are exchangeable: its faces have the lengths of the cycles of a uniform permutation, and given
these the rises are independent sums [Abramson, Pitman, Ross, Uribe Bravo 2011]. A face of length l
with the rise n has the energy n^2 / l. ∎

So with K_l(theta) = E exp(theta Bin(l, p)^2 / l) the generating function of the moments is

    sum_t x^t E exp(theta mu_t^2) = exp( sum_l K_l(theta) x^l / l ).

**What is computed.** Energies are rounded up to multiples of h, and pieces of nearly equal lengths
are treated alike, with the least of their lengths and the rise of the longest: both make mu larger.
The law is *tilted* by exp(theta energy), so that tails keep their relative accuracy, transformed,
and for each frequency the coefficient of x^t is the mean of the exponential over a circle of radius
r. Each of these is bounded, and added:

- *Aliasing.* The mean over M points is the coefficient of x^t and those of x^(t + jM), times
  r^(jM). Coefficients are largest at the frequency 0, where they are positive: that of x^m is at
  most G(R) R^-m for every R, with G the exponential.
- *Roundings.* A transform errs by at most `FFT_ULPS log2(size)` ulps of the sum of the moduli of
  its inputs, and a mean of M by M roundings of theirs. By Parseval the root of the mean square of
  |G| on the circle is largest at the frequency 0 as well, where it is known.
- *The lattice ends* at N h: what is beyond wraps around to smaller energies, where it only adds,
  and is counted as lost by Chernoff's bound. Rises that are too rare are lost, too: a permutation
  has 1/l cycles of length l in the mean.

What is lost gets the largest value that mu can have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._roots import largest, narrowed
from shiftdp._rounding import FFT_ULPS, GENEROUS, LARGEST_EXPONENT, NOT_ZERO, ULP, UNIT
from shiftdp.interpolation.participation.ages import equal_ages
from shiftdp.interpolation.participation.law import Grid, ParticipationLaw, law_on_grid

_STEPS = 16, 256, 4096  # fewest, few, and most that sticks are broken for
_OFTEN = 1.0 / 150.0  # where there are many steps: else most energies are below the mesh
_PARTICIPATIONS = 500.0  # most, in the mean
_POINTS = 1 << 24  # frequencies times points of the circle: half a second
_CELLS = 1 << 11, 1 << 13  # fewest and most of the lattice
_RATIO = 1.005  # of lengths that are treated alike
_ROUND = 4  # points of the circle for each step
_RARE = 1e-6  # of delta: rises of a piece that are left out
_BEYOND = 1e-3  # of delta: what may be beyond the lattice
_TILTS = np.geomspace(1e-3, 200.0, 40)  # that are tried for the end of the lattice
_TILTED = 0.7  # times the steepest tilt: the tilted law still falls by this much less
_MOST_TILT = 4.0  # beyond -log(delta) more is of no use
_STEEPEST = 590.0  # a tilt at the end of the lattice: its exponential is a float that has digits
_FARTHER = 1.1  # times where the law ends: the tilted law ends later
_CIRCLES = np.linspace(0.0, 30.0, 16)  # logarithms of (least radius / r)^M that are tried
_OUTER = np.linspace(4.0, 80.0, 20)  # logarithms of (R / r)^M that are tried
_SPARE = 4.0  # times the error: room for that of a verifier
_MODERATE = 1e100  # a moment of a piece: larger ones are of no use
_FASTEST = 50.0  # at which moments of pieces may grow with their length
_HALVINGS = 50  # of a bracket of the logarithm of a radius, to 1e-15 of its length
_CHUNK = 1 << 20  # complex numbers at a time


@dataclass(frozen=True)
class Sticks:
    """What a law by broken sticks was computed on.

    Args:
        mesh: h, of the energies.
        cells: N, how many of them there are.
        tilt: theta.
        last: another one, which shows how little is beyond the lattice.
    """

    mesh: float
    cells: int
    tilt: float
    last: float


class _Pieces(NamedTuple):
    """Laws of the energy of a piece, a row for lengths that are treated alike.

    Args:
        number: of lengths in each row.
        energy: n^2 / l.
        chance: of each energy.
        lost: the probability of what is left out.
    """

    number: NDArray[np.int64]
    energy: Array
    chance: Array
    lost: Array

    def each(self, rows: Array) -> Array:
        """One number for each length, divided by it, from one for each row."""
        found = np.repeat(rows, self.number, axis=-1)
        return np.asarray(found / np.arange(1, found.shape[-1] + 1))


def is_for_sticks(p: float, steps: float) -> bool:
    """Whether this is the law to take: elsewhere that of vertices is as good, or takes less time.

    >>> is_for_sticks(0.01, 1000), is_for_sticks(0.01, 10), is_for_sticks(0.01, 10_000)
    (True, False, False)
    """
    fewest, few, most = _STEPS
    often = steps <= few or p >= _OFTEN
    return fewest <= steps <= most and often and p * steps <= _PARTICIPATIONS


def walk_law(
    p: float, steps: int, *, delta: float
) -> tuple[ParticipationLaw, Grid | Sticks | None]:
    """A law that dominates mu(V) for equal steps with c = 1, and what it was computed on."""
    if is_for_sticks(p, steps):
        return stick_law(p, steps, delta=delta)
    return law_on_grid(equal_ages(p, 1.0, 1.0, 1.0, steps), delta=delta)


def stick_law(p: float, steps: int, *, delta: float) -> tuple[ParticipationLaw, Sticks]:
    """A law that dominates mu(V) for equal steps with c = 1, and what it was computed on.

    Args:
        p: probability of taking part.
        steps: t.
        delta: the tail that matters.

    >>> law, _ = stick_law(0.05, 100, delta=1e-5)
    >>> round(sum(weight * mu * mu for mu, weight in zip(law.mu, law.weight)), 3)
    0.498
    >>> round(0.05**2 * 100 + 0.05 * 0.95 * sum(1 / l for l in range(1, 101)), 3)  # exactly
    0.496
    """
    pieces = _pieces(p, steps, _RARE * delta)
    sticks = _lattice(pieces, steps, delta)
    pieces = _rounded(pieces, sticks)
    beyond = _moment(pieces, sticks.last) * math.exp(-sticks.last * sticks.mesh * sticks.cells)
    lost = beyond + float(np.sum(pieces.each(pieces.lost)))
    weight, error = _tilted(pieces, sticks, steps)
    return _untilted(weight, _SPARE * error, lost * (1.0 + GENEROUS), sticks, steps), sticks


def _pieces(p: float, steps: int, rare: float) -> _Pieces:
    """Energies of pieces up to this length, without rises that are rarer than this."""
    ends = [0]
    while ends[-1] < steps:
        ends.append(min(steps, max(ends[-1] + 1, int(ends[-1] * _RATIO))))
    least, longest = np.array(ends[:-1]) + 1, np.array(ends[1:])
    # the longest piece rises most
    more = scipy.special.bdtrc  # P(Bin(n, p) > k), good to a part of 1e-11
    most = int(np.argmax(more(np.arange(steps + 1.0), steps, p) <= rare))
    rise = np.arange(most + 1)
    chance = _binomial(p, longest, most)
    energy = np.square(rise.astype(float)) / least[:, None] * (1.0 + GENEROUS)
    none = chance < NOT_ZERO  # numbers that have lost digits, and take long
    chance[none], energy[none] = 0.0, 0.0
    lost = np.where(longest > most, more(float(most), longest, p), 0.0) * (1.0 + GENEROUS)
    lost += NOT_ZERO * (most + 1)
    return _Pieces(longest - least + 1, energy, chance, lost)


def _binomial(p: float, length: NDArray[np.int64], most: int) -> Array:
    """P(Bin(length, p) = 0, ..., most), a row for each length, rounded up.

    From one rise to the next the probability is multiplied by (length - k) / (k + 1) p / (1 - p).
    A sum of so many logarithms, none of them above some ten thousand, is off by a part of 1e-9 of
    the probability at most.
    """
    rise = np.arange(most + 1)
    if p == 1.0:
        return np.where(rise == length[:, None], 1.0, 0.0)
    left = np.maximum(length[:, None] - rise[:-1], 0)
    with np.errstate(divide="ignore"):
        ratios = np.log(left / rise[1:]) + (math.log(p) - math.log1p(-p))
    first = length[:, None] * math.log1p(-p)
    logarithms = np.cumsum(np.concatenate([first, ratios], axis=1), axis=1)
    return np.asarray(np.exp(np.minimum(logarithms, 0.0)) * (1.0 + 2.0 * GENEROUS))


def _rounded(pieces: _Pieces, sticks: Sticks) -> _Pieces:
    """Energies rounded up to the lattice; those beyond it are left out."""
    place = np.ceil(pieces.energy / sticks.mesh)
    inside = place < sticks.cells
    chance = np.where(inside, pieces.chance, 0.0)
    lost = pieces.lost + np.where(inside, 0.0, pieces.chance).sum(axis=1)
    return _Pieces(pieces.number, np.where(inside, place, 0.0) * sticks.mesh, chance, lost)


def _lattice(pieces: _Pieces, steps: int, delta: float) -> Sticks:
    """A lattice that goes far enough, a tilt for the tail at delta, and one for its end."""
    tilts, moment = _log_moments(pieces, steps)
    ends = (moment - math.log(_BEYOND * delta)) / tilts
    last = int(np.argmin(ends))
    top = min(float(ends[last]) * _FARTHER, float(steps))
    theta = min(_TILTED * float(tilts[last]), (_MOST_TILT - math.log(delta)) / top)
    cells = int(min(max(2 * _POINTS // _turn(steps), _CELLS[0]), _CELLS[1]))
    # pieces are rounded up by h at most, and there are about log(t) of them
    mesh = top / (cells - 2.0 * math.log(steps + 1.0) - 8.0)
    steepest = _STEEPEST / (mesh * cells)
    return Sticks(mesh, cells, min(theta, steepest), min(float(tilts[last]), steepest))


def _log_moments(pieces: _Pieces, steps: int) -> tuple[Array, Array]:
    """Tilts with moderate moments, and estimates of log E exp(theta mu^2) for them.

    The least of log G(r) - t log(r) is where sum_l K_l r^l = t; it is too large by about as much at
    every tilt, so by as much as at the least one, where the moment is about 1.
    """
    most = np.max(pieces.energy, axis=1) * _TILTS[:, None]
    tilts = _TILTS[np.max(most, axis=1) < LARGEST_EXPONENT]
    grown = np.exp(pieces.energy * tilts[:, None, None]) * pieces.chance
    moment = grown.sum(axis=2) * pieces.number
    moderate = np.max(moment, axis=1) < _MODERATE
    tilts, moment = tilts[moderate], moment[moderate]
    length = np.cumsum(pieces.number) - (pieces.number - 1) / 2.0

    def enough(log_r: Array) -> NDArray[np.bool_]:
        return np.asarray(np.sum(moment * np.exp(log_r[:, None] * length), axis=1) > steps)

    best = narrowed(enough, np.full(len(tilts), -_FASTEST), np.zeros(len(tilts)), _HALVINGS)
    found = np.sum(moment / length * np.exp(best[:, None] * length), axis=1) - steps * best
    return tilts, np.asarray(found - found[0])


def _moment(pieces: _Pieces, tilt: float) -> float:
    """E exp(theta mu^2): t a_t = sum_l K_l a_(t-l), all terms being positive."""
    with np.errstate(over="ignore"):
        rows = np.sum(np.exp(pieces.energy * tilt) * pieces.chance, axis=1)
    of_length = np.repeat(rows, pieces.number)[::-1].copy()
    steps = len(of_length)
    found = np.ones(steps + 1)
    for t in range(1, steps + 1):
        found[t] = of_length[steps - t :] @ found[:t] / t
    return float(found[-1]) * (1.0 + GENEROUS)


def _turn(steps: int) -> int:
    """Points of the circle."""
    return 1 << max(5, math.ceil(math.log2(_ROUND * steps)))


def _tilted(pieces: _Pieces, sticks: Sticks, steps: int) -> tuple[Array, float]:
    """The tilted law on the lattice, and a bound on the root of the sum of its squared errors."""
    N, M = sticks.cells, _turn(steps)
    place = np.rint(pieces.energy / sticks.mesh).astype(np.int64)
    mass = pieces.chance * np.exp(sticks.tilt * pieces.energy) * (1.0 + GENEROUS)
    table = np.zeros((len(place), N))
    np.add.at(table, (np.arange(len(place))[:, None], place), mass)
    log_r, alias = _circle(pieces.each(table.sum(axis=1)), M)
    spectrum = scipy.fft.rfft(table, axis=1).T
    length = np.arange(1, steps + 1)
    damp, shift = np.exp(log_r * length) / length, steps * log_r
    around = np.exp(2j * math.pi * (np.arange(M) * steps % M) / M) / M
    found = np.empty(len(spectrum), dtype=complex)
    rows = max(1, _CHUNK // M)
    square = 0.0
    for low in range(0, len(spectrum), rows):
        part = np.zeros((len(spectrum[low : low + rows]), M), dtype=complex)
        part[:, 1 : steps + 1] = np.repeat(spectrum[low : low + rows], pieces.number, axis=1) * damp
        circle = scipy.fft.fft(part, axis=1, overwrite_x=True)
        if low == 0:
            size = float(circle[0, 0].real)  # the sum of all terms, which are positive
        circle -= shift
        np.exp(circle, out=circle)
        if low == 0:
            square = float(np.mean(np.abs(circle[0]) ** 2))
        found[low : low + rows] = circle @ around
    ulps = FFT_ULPS * (math.log2(N) + math.log2(M)) + 8.0
    # log(r) l and log(r) t are rounded, too, and sum_l K_l r^l is at most t inside the best circle
    each = math.expm1(ulps * ULP * size + 2.0 * ULP * (size + abs(shift)) + (M + 16) * UNIT)
    back = FFT_ULPS * math.log2(N) * ULP * float(np.max(np.abs(found))) * math.sqrt(N)
    error = (math.sqrt(square) * each + alias) * (1.0 + GENEROUS) + back
    return np.maximum(scipy.fft.irfft(found, N), 0.0), error


def _circle(moment: Array, M: int) -> tuple[float, float]:
    """log(r) of a circle with small errors, and a bound on its aliasing.

    Args:
        moment: K_l / l.
        M: points of the circle.
    """
    steps = len(moment)
    length = np.arange(1, steps + 1)

    def log_bound(log_r: Array) -> Array:
        with np.errstate(over="ignore"):
            grown = np.exp(np.minimum(log_r[..., None] * length, LARGEST_EXPONENT)) @ moment
        return np.asarray(grown - steps * log_r)

    def small(log_r: float) -> bool:
        return not float(np.exp(log_r * length) @ (moment * length)) > steps

    end = LARGEST_EXPONENT / steps
    radii = largest(small, -end, end, _HALVINGS) - _CIRCLES / M
    outer = radii[:, None] + _OUTER / M
    with np.errstate(over="ignore"):
        alias = np.exp(log_bound(outer) - _OUTER) / -np.expm1(-_OUTER)
        alias = alias.min(axis=1) * (1.0 + GENEROUS)
        rounding = np.exp(log_bound(radii)) * FFT_ULPS * 2.0 * math.log2(M) * ULP
    best = int(np.argmin(alias + rounding))
    return float(radii[best]), float(alias[best])


def _untilted(
    weight: Array, error: float, lost: float, sticks: Sticks, steps: int
) -> ParticipationLaw:
    """The law, with what was lost at the largest value that mu can have."""
    energy = np.arange(sticks.cells) * sticks.mesh
    fall = np.exp(-sticks.tilt * energy)
    tail = np.cumsum((weight * fall)[::-1])[::-1] * (1.0 + GENEROUS)
    # the root of the sum of the squares of what falls: squares themselves would underflow
    less = max(-math.expm1(-2.0 * sticks.tilt * sticks.mesh), 1.0 / sticks.cells)
    below = np.minimum(np.arange(sticks.cells, 0, -1), 1.0 / less)
    spread = error * fall * np.sqrt(below) * (1.0 + GENEROUS)
    above = np.minimum(np.minimum.accumulate(tail + spread) + lost, 1.0)
    above[0] = 1.0
    mu = np.append(np.sqrt(energy), math.sqrt(steps)) * (1.0 + GENEROUS)
    above = np.append(above, min(lost + float(spread[-1]), 1.0))
    beyond = mu[:-1] >= mu[-1]
    if beyond.any():  # no path has more than all steps
        first = int(np.argmax(beyond))
        mu, above = np.append(mu[:first], mu[-1]), np.append(above[:first], above[first])
    chance = above - np.append(above[1:], 0.0)
    kept = chance > 0.0
    return ParticipationLaw(tuple(mu[kept].tolist()), tuple(chance[kept].tolist()))
