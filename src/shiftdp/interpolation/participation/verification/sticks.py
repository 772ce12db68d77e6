"""The independent check of a law by broken sticks. [Theorem C7]

The energy mu(V)^2 of t equal steps with c = 1 is the sum over the cycles of a uniform permutation
of Bin(l, p)^2 / l, l being the length of the cycle, so that with K_l the transform of the law of
one cycle, the transform of the energy is the coefficient of x^t in exp(sum_l K_l x^l / l).

Nothing of the engine is used. Every length has a law of its own, from logarithms of factorials;
energies are rounded up to the lattice of the claim, tilted, and transformed by NumPy; the
coefficient is Cauchy's integral, a mean over a circle that is chosen here. Bounds on aliasing,
roundings, and on what is beyond the lattice are added to the tail: see the theorem.

Lattice and tilts are those of the claim, which may be hostile. Whatever they are, what is returned
is a bound; where exponentials overflow, or what is computed is no number, nothing is proved.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp.interpolation.participation.sticks import Sticks

# of what is checked in reasonable time
_MOST_STEPS, _MOST_CELLS, _MOST_RISES = 1 << 12, 1 << 13, 1 << 11
_MOST_ENTRIES = 1 << 23  # of a table of steps and cells, or of steps and rises: 64 MB
_MOST_EXPONENT = 600.0  # of a tilt, at the end of the lattice
_UP = 1.0 + 1e-9  # probabilities: logarithms of factorials are good to a part of 1e-11
_LATTICE_UP = 1.0 + 1e-11  # energies: a quotient of whole numbers
_FFT = 8.0 * 2.0**-52  # error of a transform for each factor of 2, of the sum of the moduli
_UNIT = 2.0**-53  # one rounding
_DEEP = 4e-6  # of the delta: rises that are left out, more than the engine does: see `_cycles`
_DEEPER = 1e-3  # of that: rises that are not even looked at
_TINY = 1e-290  # probabilities that count as this much, and are left out
_LARGEST = 700.0  # exponents are cut off here
_INNER = 16  # radii that are tried, by factors of e^2 for a whole turn
_OUTER = range(4, 84, 4)  # circles outside of them that bound the aliasing, likewise
_MOST_ROUNDINGS = 1.0  # a part of the exponential that roundings may change
_ROUNDINGS = 300.0  # about how many the mean over a circle takes


def proved_sticks(p: float, steps: int, sticks: Sticks, delta: float) -> tuple[Array, Array]:
    """Values of mu, rising, and upper bounds on the probabilities of that much or more.

    Raises `ValueError` for a lattice on which nothing is proved, or not in reasonable time.

    Args:
        p: probability of taking part.
        steps: t.
        sticks: lattice and tilts of the claim.
        delta: the tail that matters.
    """
    h, N, tilt, last = sticks.mesh, sticks.cells, sticks.tilt, sticks.last
    positive = all(math.isfinite(x) and x > 0.0 for x in (h, tilt, last))
    if not positive or max(tilt, last) * h * N > _MOST_EXPONENT:
        raise ValueError("mesh and tilts are not of one size")
    if not (2 <= N <= _MOST_CELLS and 1 <= steps <= _MOST_STEPS and N * steps <= _MOST_ENTRIES):
        raise ValueError("there are too many steps or cells")
    if N & (N - 1):
        raise ValueError("cells are no power of 2, for which errors of transforms are known")
    with np.errstate(over="ignore", invalid="ignore"):
        table, left_out = _cycles(p, steps, h, N, _DEEP * delta)
        place = np.arange(N)
        # P(sum >= N h) <= E exp(last sum) exp(-last N h)
        end = _moment(table @ np.exp(last * h * place)) * math.exp(-last * h * N) * _UP
        lost = end + float(np.sum(left_out / np.arange(1, steps + 1))) * _UP
        tilted, error = _coefficient(table * np.exp(tilt * h * place))
        fall = np.exp(-tilt * h * place)
        proved = np.cumsum((tilted * fall)[::-1])[::-1] * _UP
        # by Cauchy and Schwarz; the sum of the squares of fall is at most that of all of them, and
        # is not computed from squares, which underflow
        squares = np.minimum(N - place, 1.0 / max(-math.expm1(-2.0 * tilt * h), 1.0 / N))
        proved += error * fall * np.sqrt(squares) * _UP + lost
    if not (math.isfinite(lost) and bool(np.all(np.isfinite(proved)))):
        raise ValueError("the tilts are too steep for what is computed to be a number")
    at = np.append(np.sqrt(place * h), math.inf)
    largest = math.sqrt(steps) * _LATTICE_UP
    return np.minimum(at * _LATTICE_UP, largest), np.minimum(np.append(proved, lost), 1.0)


def _cycles(p: float, steps: int, h: float, N: int, rare: float) -> tuple[Array, Array]:
    """The law of the energy of a cycle of each length on the lattice, and what it leaves out.

    Energies beyond the lattice wrap around, where the tilt makes them count more. So that this is
    not more than in an honest claim, rises that hardly matter are left out.
    """
    length = np.arange(1, steps + 1)[:, None]
    # no cycle rises more than one of all steps
    rise = np.arange(min(steps, _rises(p, steps, rare * _DEEPER)) + 1)
    above = np.cumsum(_binomial(p, length[-1:], rise)[0, ::-1])[::-1] * _UP
    above += rare * _DEEPER + _TINY * len(rise)
    rise = rise[: max(int(np.count_nonzero(above > rare)), 1)]
    if steps * len(rise) > _MOST_ENTRIES:
        raise ValueError("there are too many participations")
    fits, chance = rise <= length, _binomial(p, length, rise)
    place = np.ceil(rise.astype(float) ** 2 / length / h * _LATTICE_UP)
    inside = fits & (place < N)
    index = np.where(inside, place, 0).astype(np.int64) + np.arange(steps)[:, None] * N
    kept = np.where(inside, chance, 0.0) * _UP
    table = np.asarray(np.bincount(index.ravel(), kept.ravel(), steps * N), dtype=np.float64)
    beyond = np.where(fits & ~inside, chance, 0.0).sum(axis=1) * _UP
    return table.reshape(steps, N), beyond + rare + _TINY * len(rise)


def _binomial(p: float, length: NDArray[np.int64], rise: NDArray[np.int64]) -> Array:
    """P(Bin(length, p) = rise); what is tiny counts as 0."""
    apart = np.maximum(length - rise, 0)
    log_chance = (
        scipy.special.gammaln(length + 1.0)
        - scipy.special.gammaln(rise + 1.0)
        - scipy.special.gammaln(apart + 1.0)
    )
    log_chance += scipy.special.xlogy(rise, p) + scipy.special.xlog1py(apart, -p)
    chance = np.where(rise <= length, np.exp(np.minimum(log_chance, 0.0)), 0.0)
    return np.where(chance < _TINY, 0.0, chance)


def _rises(p: float, steps: int, rare: float) -> int:
    """A rise that all cycles exceed with a probability below `rare`, by Chernoff's bound."""
    for rise in range(math.ceil(p * steps), min(steps, _MOST_RISES) + 1):
        q = (rise + 1) / steps
        if q >= 1.0:
            return steps
        if q > p:
            distance = q * math.log(q / p) + (1.0 - q) * math.log((1.0 - q) / (1.0 - p))
            if math.exp(-steps * distance) * _UP <= rare:
                return rise
    raise ValueError("there are too many participations")


def _moment(of_cycle: Array) -> float:
    """The coefficient of x^t in exp(sum_l K_l x^l / l), for K_l > 0: m a_m = sum_l K_l a_(m-l)."""
    coefficients = np.ones(len(of_cycle) + 1)
    for m in range(1, len(of_cycle) + 1):
        coefficients[m] = np.dot(of_cycle[:m], coefficients[m - 1 :: -1]) / m
    return float(coefficients[-1]) * _UP


def _coefficient(table: Array) -> tuple[Array, float]:
    """The tilted law of the energy, and the root of the sum of its squared errors, at most."""
    steps, N = table.shape
    M = 32
    while 4 * steps > M:
        M *= 2
    length = np.arange(1, steps + 1)
    scaled = table / length[:, None]
    sums = scaled.sum(axis=1)
    y, alias = _radius(sums, M)
    damp = np.exp(y * length)
    total = float(sums @ damp)
    transform = np.fft.rfft(scaled * damp[:, None], axis=1)
    turn = np.exp(2j * np.pi * ((np.arange(M) * steps) % M) / M)
    found = np.empty(transform.shape[1], dtype=np.complex128)
    mean_square = 0.0
    width = max(1, (1 << 20) // M)
    for begin in range(0, transform.shape[1], width):
        series = np.zeros((min(width, transform.shape[1] - begin), M), dtype=np.complex128)
        series[:, 1 : steps + 1] = transform[:, begin : begin + width].T
        values = np.exp(np.fft.fft(series, axis=1) - steps * y)
        if begin == 0:
            mean_square = float(np.mean(values[0].real ** 2 + values[0].imag ** 2))
        found[begin : begin + width] = values @ turn / M
    exponent = total * (_FFT * (math.log2(N) + math.log2(M)) + 8.0 * _UNIT)
    exponent += (total + abs(steps * y)) * 2.0 * _UNIT + (M + 32) * _UNIT
    # e^(l y) errs by a part of l y roundings
    exponent += abs(y) * float((sums * length) @ damp) * 2.0 * _UNIT
    if not exponent <= _MOST_ROUNDINGS:
        raise ValueError("the tilts are too steep for what is computed to have digits")
    back = _FFT * math.log2(N) * float(np.max(np.abs(found))) * math.sqrt(N)
    error = (math.sqrt(mean_square) * math.expm1(exponent) + alias) * _UP + back
    return np.maximum(np.fft.irfft(found, N), 0.0), error


def _radius(sums: Array, M: int) -> tuple[float, float]:
    """The logarithm of a radius, and what aliasing adds at most.

    The coefficient of x^m is at most exp(g(z) - m z) for every z, g(z) = sum_l K_l e^(l z) / l. So
    those of x^(t + jM) are, seen from the radius e^y, at most exp(g(z) - t z) e^(-jM (z - y)).
    """
    steps = len(sums)
    length = np.arange(1, steps + 1)

    def bound(z: float) -> float:
        """g(z) - t z."""
        exponents = z * length
        if float(exponents[-1]) > _MOST_EXPONENT:
            return math.inf
        return float(sums @ np.exp(exponents)) - steps * z

    # the least of the bound, by thirds: it is convex
    low, high = -_MOST_EXPONENT / steps, _MOST_EXPONENT / steps
    for _ in range(80):
        third = (high - low) / 3.0
        if bound(low + third) < bound(high - third):
            high -= third
        else:
            low += third
    best = (math.inf, 0.0, math.inf)
    for inner in range(_INNER):
        y = low - 2.0 * inner / M
        tails = [
            math.exp(min(bound(y + outer / M) - outer, _LARGEST)) / -math.expm1(-outer)
            for outer in _OUTER
        ]
        alias = min(tails) * _UP
        roundings = math.exp(min(bound(y), _LARGEST)) * _ROUNDINGS * _UNIT
        best = min(best, (alias + roundings, y, alias))
    return best[1], best[2]
