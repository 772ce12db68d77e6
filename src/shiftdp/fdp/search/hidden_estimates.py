"""Quick estimates of epsilon where a hidden number says by how much steps are shifted.

[Theorem B6] With probability w_i the steps have the shifts z_i u_g, and it is not told which i it
is. The laws of all steps are put on one lattice of losses, as in `lattice` but without a tilt,
multiplied by FFT, and averaged at equal levels. Some milliseconds; it steers searches, and is no
bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy

from shiftdp._checks import Array
from shiftdp._rounding import NOT_ZERO, ROOMY_EXPONENT
from shiftdp.fdp.composition.levels import Lines, MeanSlopes
from shiftdp.fdp.search.lattice import lattice_laws
from shiftdp.fdp.search.sampled_estimates import Pair

_PART = 2e-2  # of epsilon, which splitting masses on the lattice may add
_WINDOW = 3.0  # times the guess: losses beyond are not told apart
_FEWEST, _MOST = 600, 1 << 13  # points of half of the lattice, and of all of it
_EDGE = 10  # the part of the lattice, on either side of its end, in which there should be no mass
_TAIL, _STEP = 8.0, 0.05  # of a Gaussian, and between its points, in standard deviations
_LEVELS = 200  # eps at which profiles are read
_LEAST = 1e-3  # a smaller guess has the lattice of this one
_ORDER = 5.0  # about the tilt, for the mesh only
_FARTHEST = 20.0  # the largest a + 2s


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
    guess = max(guess, _LEAST)
    mesh = math.sqrt(8.0 * _PART * guess / (_ORDER * float(counts.sum())))
    reach = min(_WINDOW * guess, ROOMY_EXPONENT)
    half = min(_MOST // 2, max(_FEWEST, math.ceil(reach / mesh) + 1))
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
    near = x.size // _EDGE + 1
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
