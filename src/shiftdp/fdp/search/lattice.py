"""A close estimate of epsilon of a schedule of sampled steps: losses on a lattice, composed by FFT.

The saddle-point estimate (`sampled_estimates`) is off by a tenth where a record takes part only a
few times. Here the privacy loss of each step is evaluated at points x of the line, where it has a
closed form; its mass is split between the two nearest points of a lattice; and the tilted laws are
composed by FFT. The result is good to a few thousandths, in about a millisecond. It steers
searches, and is no bound.

Where a hidden number says by how much steps are shifted [Theorem B6], with probability w_i the
shifts are z_i u_g, and it is not told which i it is: the laws of all steps are put on one lattice,
without a tilt, multiplied, and averaged at equal levels, in some milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy

from shiftdp._checks import Array
from shiftdp._rounding import NOT_ZERO, ROOMY_EXPONENT
from shiftdp.fdp.composition.levels import Lines, MeanSlopes
from shiftdp.fdp.search.sampled_estimates import Pair

_EDGE = 6.0  # standard deviations of the noise that the points x extend beyond the tilted means
_STEP = 0.05  # between points x, in standard deviations
_PART = 4e-3  # the part of epsilon that splitting masses on the lattice may add
_WINDOW, _MARGIN = 16.0, 64  # standard deviations of the total loss on the lattice, and more points
_FARTHEST = 20.0  # the largest a + 2s: beyond, exponentials overflow; the rough estimate is enough
_MOST, _MOST_POINTS = 1 << 15, 1 << 13  # of the lattice, and points x
_FLAT = 1e-100  # a slope of the loss that counts as none; quotients by it do not overflow
_LEAST_GUESS = 1e-3  # a smaller epsilon is estimated with the mesh for this one
# of lattices where a number is hidden:
_HIDDEN_PART = 2e-2  # of epsilon, which splitting masses on the lattice may add
_HIDDEN_WINDOW = 3.0  # times the guess: losses beyond are not told apart
_FEWEST, _HIDDEN_MOST = 600, 1 << 13  # points of half of the lattice, and of all of it
_END = 10  # the part of the lattice, on either side of its end, in which there should be no mass
_TAIL = 8.0  # of a Gaussian, in standard deviations
_LEVELS = 200  # eps at which profiles are read
_ORDER = 5.0  # about the tilt, for the mesh only
Groups = Sequence[tuple[float, int]]


def lattice_epsilon(
    pair: Pair, p: float, s: float, groups: Groups, delta: float, theta: float, guess: float
) -> float | None:
    """eps(delta), from a rough `guess` and its tilt; None where a lattice would be too large.

    >>> near = lattice_epsilon("symmetric", 0.025, 2 / 3, [(0.0, 2000)], 1e-5, 3.8, 4.4)
    >>> abs(near / 4.438 - 1) < 5e-3
    True
    """
    a, counts = np.array([a for a, _ in groups])[:, None], np.array([n for _, n in groups])
    if float(a.max()) + 2.0 * s > _FARTHEST or (theta + 2.0) * s * s > _STEP * _MOST_POINTS:
        return None
    mesh = math.sqrt(8.0 * _PART * max(guess, _LEAST_GUESS) / ((theta + 1.0) * float(counts.sum())))
    loss, up, down = _losses(pair, p, a, s, theta)
    if theta * float(np.abs(loss).max()) > ROOMY_EXPONENT:
        return None
    laws = _Lattice(mesh, theta, loss, up, down)
    mean, variance = float(counts @ laws.mean), float(counts @ laws.variance)
    needed = math.ceil(_WINDOW * math.sqrt(variance) / mesh) + _MARGIN
    size = scipy.fft.next_fast_len(needed, real=True)
    if size > _MOST:
        return None
    with np.errstate(divide="ignore"):
        spectrum = np.exp(counts @ np.log(scipy.fft.rfft(laws.masses(size), axis=1)))
    start = round(mean / mesh) - size // 2
    total = np.roll(scipy.fft.irfft(spectrum, size), -start)
    x = mesh * (start + np.arange(size))
    log_scale = float(counts @ np.log(laws.moment))
    atoms = np.maximum(total, 0.0) * np.exp(np.minimum(log_scale - theta * x, ROOMY_EXPONENT))
    # delta at x_i: the sum over j > i of atoms_j (1 - e^{x_i - x_j})
    near = np.clip(x - mean, -ROOMY_EXPONENT, ROOMY_EXPONENT)
    rest, dual = np.cumsum(atoms[::-1])[::-1], np.cumsum((atoms * np.exp(-near))[::-1])[::-1]
    profile = rest - np.exp(near) * dual
    i = int(np.argmax(profile <= delta))
    if i == 0 or not profile[i] > 0.0:
        return None
    before, after = math.log(profile[i - 1] / delta), math.log(profile[i] / delta)
    return max(0.0, float(x[i - 1] + mesh * before / (before - after)))


def lattice_laws(pair: Pair, p: float, a: Array, s: float, mesh: float, size: int) -> Array:
    """The laws of the loss of one step for each shift (a column), untilted, on a lattice.

    The losses 0, h, 2h, ... come first, -h is the last: places are counted as an FFT does.
    """
    return _Lattice(mesh, 0.0, *_losses(pair, p, a, s, 0.0)).masses(size)


class _Lattice:
    """Tilted laws on multiples of the mesh, a row each.

    Each mass is split between the two nearest points so that its mean is kept; what is missing to 1
    is put at 0.
    """

    def __init__(self, mesh: float, theta: float, loss: Array, up: Array, down: Array) -> None:
        place = loss / mesh
        low = np.floor(place)
        part = place - low
        ends, shares = np.stack([low, low + 1.0]), np.stack([1.0 - part, part])
        atoms = [np.zeros((loss.shape[0], 1)), *ends, *(-ends if down.any() else ())]
        rest = 1.0 - up.sum(axis=1, keepdims=True) - down.sum(axis=1, keepdims=True)
        masses = [np.maximum(rest, 0.0), *(up * shares), *(down * shares if down.any() else ())]
        self.place = np.concatenate(atoms, axis=1)
        self.mass = np.concatenate(masses, axis=1) * np.exp(theta * mesh * self.place)
        self.moment = self.mass.sum(axis=1)
        self.mass /= self.moment[:, None]
        first = mesh * (self.mass * self.place).sum(axis=1)
        self.mean = first
        self.variance = mesh**2 * (self.mass * self.place**2).sum(axis=1) - first * first

    def masses(self, size: int) -> Array:
        """The masses on 0, ..., size - 1, places being counted modulo size as an FFT does."""
        rows = self.place.shape[0]
        where = self.place.astype(np.int64) % size + size * np.arange(rows)[:, None]
        total = np.bincount(where.ravel(), self.mass.ravel(), rows * size)
        return np.asarray(total, dtype=np.float64).reshape(rows, size)


def _losses(pair: Pair, p: float, a: Array, s: float, theta: float) -> tuple[Array, Array, Array]:
    """Losses L at the points x, a row for each a, and the Q-masses of the losses L and -L."""
    top = (theta + 1.0) * (s + float(a.max())) + _EDGE
    x = np.arange(-_EDGE, top, min(_STEP, _STEP / s))
    density = np.exp(-0.5 * x * x) * ((x[1] - x[0]) / math.sqrt(2.0 * math.pi))
    log_odds = math.log(p) - math.log1p(-p)
    tilt = log_odds + s * (x - a) - 0.5 * s * s
    loss = a * x - 0.5 * a * a + math.log1p(-p) + np.logaddexp(0.0, tilt)
    if pair == "one_sided":
        return loss, density * np.exp(loss), np.zeros(loss.shape)
    below = np.zeros(loss.shape)
    if pair == "two_sided":
        below = math.log1p(-p) + np.logaddexp(0.0, log_odds - s * x - 0.5 * s * s)
        loss = loss - below
    # of the cell around the point where the loss changes its sign, the part above it
    above = np.clip(0.5 + loss / np.maximum(np.gradient(loss, axis=1), _FLAT), 0.0, 1.0)
    down = above * density * np.exp(below)
    return np.maximum(loss, 0.0), down * np.exp(np.maximum(loss, 0.0)), down


def hidden_epsilon(
    pair: Pair,
    p: float,
    steps: Sequence[tuple[float, float, int]],
    law: tuple[Array, Array],
    mu: float,
    delta: float,
    guess: float,
) -> float:
    """eps(delta) of G(mu) (x) S_p(z u_1, s_1)^n_1 (x) ..., z being hidden; infinity if far off.

    Args:
        pair: the law of a step.
        p: participation.
        steps: shifts u_g for z = 1 and sensitivities s_g, in units of the noise, and numbers of
            steps.
        law: values z_i, rising, and weights w_i.
        mu: of a Gaussian that is released beside the steps.
        delta: where epsilon is wanted.
        guess: about epsilon; the lattice reaches three times as far.
    """
    z, weights = law
    unit, moved, counts = (np.array(part) for part in zip(*steps, strict=True))
    shifts = np.multiply.outer(z, unit)
    if float(np.max(shifts + 2.0 * moved)) > _FARTHEST:
        return math.inf
    guess = max(guess, _LEAST_GUESS)
    mesh = math.sqrt(8.0 * _HIDDEN_PART * guess / (_ORDER * float(counts.sum())))
    reach = min(_HIDDEN_WINDOW * guess, ROOMY_EXPONENT)
    half = min(_HIDDEN_MOST // 2, max(_FEWEST, math.ceil(reach / mesh) + 1))
    size = scipy.fft.next_fast_len(2 * half, real=True)
    mesh = min(reach / half, 2.0 * ROOMY_EXPONENT / size)
    spectra = np.empty((*shifts.shape, size // 2 + 1), dtype=np.complex128)
    for s in np.unique(moved):
        here = moved == s
        masses = lattice_laws(pair, p, shifts[:, here].reshape(-1, 1), float(s), mesh, size)
        spectra[:, here] = scipy.fft.rfft(masses, axis=1).reshape(z.size, int(here.sum()), -1)
    gauss = scipy.fft.rfft(_gaussian(mu, mesh, size))
    total = scipy.fft.irfft(gauss * np.prod(spectra ** counts[:, None], axis=1), size, axis=1)
    x = mesh * np.arange(size // 2)
    near = x.size // _END + 1
    edge = total[:, x.size - near : x.size + near]
    if float(weights @ np.abs(edge).sum(axis=1)) > delta:  # losses that wrapped around
        return math.inf
    atoms = np.maximum(total[:, : x.size], 0.0)
    at = np.arange(0, x.size, max(1, x.size // _LEVELS))
    rest, dual = (np.cumsum(part[:, ::-1], axis=1)[:, ::-1] for part in (atoms, atoms * np.exp(-x)))
    table = np.clip((rest - np.exp(x) * dual)[:, at], 0.0, 1.0)
    lines = Lines(x[at], np.minimum.accumulate(table, axis=1))
    if pair == "two_sided":  # here the shift is told
        profile = weights @ table
    else:
        slopes = MeanSlopes.above(lines, weights, worst=pair == "symmetric")
        profile = slopes.profile(x[at])
    i = int(np.argmax(profile <= delta))
    if not profile[i] <= delta:
        return math.inf
    if i == 0:
        return 0.0
    before, after = (math.log(max(float(profile[j]), NOT_ZERO) / delta) for j in (i - 1, i))
    return float(x[at[i - 1]] + (x[at[i]] - x[at[i - 1]]) * before / (before - after))


def _gaussian(mu: float, mesh: float, size: int) -> Array:
    """The law N(mu^2/2, mu^2) of the loss of G(mu), each mass split between two lattice points.

    (Its spectrum in closed form would ring over all of the lattice where mu is below the mesh.)
    """
    x = np.arange(-_TAIL, _TAIL, _STEP)
    mass = np.exp(-0.5 * x * x)
    place = (mu * x + 0.5 * mu * mu) / mesh
    low = np.floor(place)
    where = np.concatenate([low, low + 1.0]).astype(np.int64) % size
    split = np.concatenate([mass * (1.0 + low - place), mass * (place - low)])
    return np.asarray(np.bincount(where, split / float(mass.sum()), size), dtype=np.float64)
