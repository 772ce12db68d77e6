"""What a preparation learns from the records: noisy sums, and what is made of them.

The sums are of whole numbers, so they are exact in any order; noise is added once, and the results
are released on a public grid, as the weights of models are. Everything after the noise is
post-processing and free. What the sums cost is said in `shiftdp.privacy.noisy_sums`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftdp.privacy.noisy_sums import SECOND, NoisySum
from shiftdp.training.descent.disk import blocks, let_go
from shiftdp.training.descent.entropy import Stream
from shiftdp.training.losses.base import Floats
from shiftdp.training.preparation.columns import half_width
from shiftdp.training.preparation.reading import Words

Scaling = Callable[[Floats], Floats]
"""Makes numbers in [-1, 1] of entries, each by itself."""

_BINS = 64  # of equal width, over a wide range that is declared
_LOWEST, _HIGHEST = -20, 40
"""Otherwise edges are powers of the root of 2, of either sign, from 2^-20 to 2^40."""
_BLOCKS = (1, 2, 4, 8, 16)
"""Bins next to one another that are looked at together."""
_SHOWN = 4.5
"""A block counts if its noisy count is so many of its deviations above 0: of the 1,200 blocks of a
column without entries one does with probability 0.004 at most."""
_HELD = 0.5
"""Of the records that blocks of any size show, so many are enough for blocks of a smaller one."""
_TAILS = 0.005  # of the records in bins that count, how many are cut off at each end of a range
_GRID = 20  # bits of an entry in [-1, 1] that go into the moments
_CHUNK = 1 << 20  # entries whose moments are added as 64-bit numbers: 2^20 squares of 40 bits
_CLEAR = 4.0
"""Moments are used if the noisy number of entries is so many deviations above 0."""
_NARROWEST = 0.05
"""The least deviation, as a part of half the range: what is narrower would be mostly noise."""
_UNIFORM = math.sqrt(1.0 / 3.0)
"""The deviation of the uniform law on [-1, 1], where nothing can be learnt."""
_FINE = 8  # bits of the noise that a grid keeps


def bin_edges(within: tuple[float, float] | None) -> Floats:
    """The edges of the bins of a histogram, which are public."""
    if within is not None:
        return np.linspace(*within, _BINS + 1)
    powers = np.exp2(np.arange(2 * _LOWEST, 2 * _HIGHEST + 1) / 2.0)
    return np.concatenate([-powers[::-1], [0.0], powers])


class Summed(ABC):
    """A column whose entries are elsewhere, as on the workers of a cluster.

    It answers with sums over all entries. They are sums of whole numbers, hence exact, and the same
    however the entries are divided.
    """

    @abstractmethod
    def histogram(self, edges: Floats) -> NDArray[np.int64]:
        """How many entries each bin has; see the function `histogram` of this module."""

    @abstractmethod
    def whole_sums(self, scaled: Scaling | None) -> tuple[int, int, int]:
        """Sums of t, t^2 and 1 over the entries; see the function `whole_sums` of this module."""

    @abstractmethod
    def word_counts(self) -> Counter[str]:
        """How often each word occurs; see the function `word_counts` of this module."""


def histogram(values: Floats, edges: Floats) -> NDArray[np.int64]:
    """How many entries each bin has; those beyond the edges are in the outermost ones."""
    counts = np.zeros(len(edges) - 1, dtype=np.int64)
    for each in blocks(len(values), 8):
        present = values[each][~np.isnan(values[each])]
        bins = np.clip(np.searchsorted(edges, present, side="right") - 1, 0, len(edges) - 2)
        counts += np.bincount(bins, minlength=len(edges) - 1)
        let_go(values[each])
    return counts


def whole_sums(values: Floats, scaled: Scaling | None) -> tuple[int, int, int]:
    """The sums of t, t^2 and 1 over entries t in [-1, 1] that are not missing, on the grid."""
    first = second = number = 0
    for each in blocks(len(values), 8):
        present = values[each][~np.isnan(values[each])]
        sums = _whole_sums(present if scaled is None else scaled(present))
        first, second, number = first + sums[0], second + sums[1], number + sums[2]
        let_go(values[each])
    return first, second, number


def word_counts(words: Words) -> Counter[str]:
    """How often each word occurs."""
    counts: Counter[str] = Counter()
    for each in blocks(len(words), 8):
        counts.update(word for word in words[each] if word is not None)
    return counts


def learnt_range(
    values: Floats | Summed, within: tuple[float, float] | None, part: NoisySum, stream: Stream
) -> tuple[float, float]:
    """The range of a column by a noisy histogram: its quantiles at half a per cent at either end.

    Entries beyond the edges count in the outermost bins. Bins count where they stand out from the
    noise: alone, or, if that shows less than half of the records that can be shown, together with
    their neighbours, in the smallest blocks that are enough. So a column may spread over many bins.
    If no block stands out, the range is the one declared as `within`, or else that of the block
    that is nearest to it.

    Args:
        values: numbers; NaN where one is missing.
        within: the wide range that is declared, if any.
        part: the sum that is paid for.
        stream: of noise.
    """
    edges = bin_edges(within)
    counts = values.histogram(edges) if isinstance(values, Summed) else histogram(values, edges)
    noisy = released(counts.astype(np.float64), part.noise, stream)
    masses = shown_masses(noisy, part.noise)
    if not masses.any():
        if within is not None:
            return within
        masses = _nearest_block(noisy)
    low, high = _quantile(edges, masses, _TAILS), _quantile(edges, masses, 1.0 - _TAILS)
    # neighbouring floats have no numbers between them
    return (low, high) if half_width(low, high) > 0.0 else (low - 1.0, high + 1.0)


def shown_masses(noisy: Floats, noise: float) -> Floats:
    """The noisy counts of bins that stand out from the noise, and 0 for all others.

    Args:
        noisy: counts with noise.
        noise: the deviation of it.

    >>> shown_masses(np.array([0.5, 9.0, -1.0, 0.0]), 1.0)
    array([0., 9., 0., 0.])
    >>> shown_masses(np.array([0.5, 0.0, 4.0, 3.0, 0.0, -2.0]), 1.0)
    array([0., 0., 4., 3., 0., 0.])
    """
    found = [_in_blocks(noisy, size, noise) for size in _BLOCKS if size <= len(noisy)]
    most = max(masses.sum() for masses in found)
    return next(masses for masses in found if masses.sum() >= _HELD * most)


def _in_blocks(noisy: Floats, size: int, noise: float) -> Floats:
    """The counts of bins in blocks of this size that stand out; none is below 0."""
    inside = np.zeros(len(noisy), dtype=bool)
    for start in np.flatnonzero(_deviations(noisy, size) >= _SHOWN * noise):
        inside[start : start + size] = True
    return np.where(inside, np.maximum(noisy, 0.0), 0.0)


def _nearest_block(noisy: Floats) -> Floats:
    """A 1 for the bins of the block that is the most of its deviations above 0."""
    size = max(_BLOCKS, key=lambda one: float(_deviations(noisy, one).max()))
    start = int(np.argmax(_deviations(noisy, size)))
    masses = np.zeros(len(noisy))
    masses[start : start + size] = 1.0
    return masses


def _deviations(noisy: Floats, size: int) -> Floats:
    """The counts of all blocks of this size, in units in which their noise is that of one bin."""
    return np.convolve(noisy, np.ones(size), "valid") / math.sqrt(size)


def _quantile(edges: Floats, masses: Floats, share: float) -> float:
    """The number below which this share of the mass lies, spread evenly in each bin."""
    total = np.concatenate([[0.0], np.cumsum(masses)])
    wanted = share * total[-1]
    place = int(np.clip(np.searchsorted(total, wanted, side="left") - 1, 0, len(masses) - 1))
    inside = (wanted - total[place]) / masses[place] if masses[place] > 0.0 else 0.0
    return float(edges[place] + min(max(inside, 0.0), 1.0) * (edges[place + 1] - edges[place]))


class Moments(NamedTuple):
    """Mean and deviation of entries in [-1, 1]."""

    mean: float
    deviation: float


def learnt_moments(
    values: Floats | Summed,
    part: NoisySum,
    stream: Stream,
    scaled: Scaling | None = None,
) -> Moments:
    """The mean and the deviation of what is in [-1, 1], by three noisy sums.

    The deviation is at least what the noise of the second moment can be, and a 20th.

    Args:
        values: numbers; NaN where one is missing.
        part: the sum that is paid for.
        stream: of noise.
        scaled: makes numbers in [-1, 1] of them, each by itself, if they are others.
    """
    if isinstance(values, Summed):
        sums = values.whole_sums(scaled)
    else:
        sums = whole_sums(values, scaled)
    total, squares, count = released(_as_floats(*sums), part.noise, stream)
    if count < _CLEAR * part.noise or count <= 0.0:
        return Moments(0.0, _UNIFORM)
    mean = float(np.clip(total / count, -1.0, 1.0))
    variance = float(np.clip(squares / SECOND / count, 0.0, 1.0)) - mean * mean
    unsure = part.noise / (SECOND * count)
    return Moments(mean, math.sqrt(max(variance, unsure, _NARROWEST**2)))


def exact_moments(scaled: Floats) -> Floats:
    """The sums of t, 1.4 t^2 and 1 over numbers t in [-1, 1], on a grid: exact in any order."""
    return _as_floats(*_whole_sums(scaled))


def _whole_sums(scaled: Floats) -> tuple[int, int, int]:
    """The sums of t, t^2 and 1, in units of the grid."""
    whole = np.rint(np.clip(scaled, -1.0, 1.0) * float(1 << _GRID)).astype(np.int64)
    first = second = 0
    for start in range(0, len(whole), _CHUNK):
        chunk = whole[start : start + _CHUNK]
        first += int(chunk.sum())
        second += int((chunk * chunk).sum())
    return first, second, len(whole)


def _as_floats(first: int, second: int, number: int) -> Floats:
    exact = [first / (1 << _GRID), SECOND * (second / (1 << 2 * _GRID)), float(number)]
    return np.array(exact)


def frequent_categories(
    words: Words | Summed, most: int, part: NoisySum, stream: Stream
) -> tuple[str, ...]:
    """The categories whose noisy counts reach the threshold, the most frequent ones, by name.

    Args:
        words: text; None where one is missing.
        most: how many are kept.
        part: the sum that is paid for, with its threshold.
        stream: of noise.
    """
    counts = words.word_counts() if isinstance(words, Summed) else word_counts(words)
    names = sorted(counts)
    noise = np.empty(len(names))
    stream.fill(noise)
    threshold = math.inf if part.threshold is None else part.threshold
    found = [(counts[name] + part.noise * z, name) for name, z in zip(names, noise, strict=True)]
    kept = sorted((pair for pair in found if pair[0] >= threshold), reverse=True)[:most]
    noise.fill(0)
    return tuple(sorted(name for _, name in kept))


def released(sums: Floats, noise: float, stream: Stream) -> Floats:
    """The sums with noise, on a grid of at most 2^-8 of it."""
    drawn = np.empty(len(sums))
    stream.fill(drawn)
    grid = 2.0 ** (math.floor(math.log2(noise)) - _FINE)
    released = np.rint((sums + noise * drawn) / grid) * grid
    drawn.fill(0)
    return released
