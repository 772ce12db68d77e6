"""Theorem B8: a drifting instance, whose coordinates carry the participations of different ages.

Coordinate i carries the ages of block i: it shows the largest slopes after the block, and the least
ones before, so that a participation of its ages meets little noise but that which came after it.
The last iterates are then the products over blocks of the pairs (E N(S_i, 1), N(0, 1)), S_i being
the weighted sum of the participations of the block. Few blocks are best: single ones for the last
few steps where participations are rare, and one for all that is older.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from shiftdp.interpolation.instances.age_classes import AgeClasses
from shiftdp.interpolation.instances.events import Cells, cells_of, epsilon_of_cells
from shiftdp.interpolation.instances.jump_law import Accuracy, law_of_participations

_SEARCH = Accuracy(
    levels=32, lattice=1 << 11, atoms=160, cells=220, labels=1000
)  # to find the blocks by
_STEADY = 1.002  # times epsilon: what another block has to bring
_MOST_BLOCKS = 8  # each is found by trying all ends once more
_OCTAVE = 2.0  # between ages that are tried as ends of blocks


def whole_epsilon(classes: AgeClasses, p: float, delta: float, *, away: float = 0.0) -> float:
    """What one coordinate leaks that keeps all ages, with the largest slopes throughout.

    Args:
        classes: of all steps.
        p: participation, rounded down.
        delta: where epsilon is read.
        away: the other version of the record moves the coordinate by this part, the other way.

    >>> from shiftdp.interpolation.instances.age_classes import equal_classes
    >>> classes = equal_classes(1.0, 1.0, s=1.0, sd=1.0, steps=10_000)
    >>> round(whole_epsilon(classes, 0.01, 1e-5), 2)
    4.48
    """
    best = Accuracy()
    law = law_of_participations(*classes.block(0, classes.size), p, delta, best)
    return epsilon_of_cells([cells_of(law, delta, best, away=away)], delta, best)


def drifting_epsilon(classes: AgeClasses, p: float, delta: float) -> float:
    """The best of the drifting instances that were tried, rounded down.

    >>> from shiftdp.interpolation.instances.age_classes import equal_classes
    >>> classes = equal_classes(1.0, 0.0, s=4.0, sd=1.0, steps=1000)
    >>> round(drifting_epsilon(classes, 0.01, 1e-5), 1)
    16.6
    """
    found = _candidates(_leak(classes, p, delta, _SEARCH), classes)
    return max(map(_leak(classes, p, delta, Accuracy()), found))


Leak = Callable[[tuple[int, ...]], float]


def _leak(classes: AgeClasses, p: float, delta: float, accuracy: Accuracy) -> Leak:
    """Epsilon of the blocks with these ends (numbers of classes); blocks are computed once."""
    known: dict[tuple[int, int], Cells] = {}
    epsilons: dict[tuple[int, ...], float] = {}

    def cells(first: int, last: int) -> Cells:
        if (first, last) not in known:
            law = law_of_participations(*classes.block(first, last), p, delta, accuracy)
            known[first, last] = cells_of(law, delta, accuracy)
        return known[first, last]

    def epsilon(ends: tuple[int, ...]) -> float:
        if ends not in epsilons:
            blocks = [cells(first, last) for first, last in pairwise((0, *ends))]
            epsilons[ends] = epsilon_of_cells(blocks, delta, accuracy)
        return epsilons[ends]

    return epsilon


def _candidates(leak: Leak, classes: AgeClasses) -> set[tuple[int, ...]]:
    """The best end of one block, then the best ends of more blocks, while they bring something.

    The leak is known roughly only, and too small where there are many ages. So the best ends of
    each number of blocks are returned, and all ages in one block, or in the oldest one.
    """
    tried = _at_ages(classes)
    single: list[tuple[int, ...]] = [(end,) for end in tried]
    ends = max(single, key=leak)
    found = {ends}
    while len(ends) < _MOST_BLOCKS:
        more = [tuple(sorted({*ends, end})) for end in tried if end not in ends]
        better = max(more, key=leak, default=ends)
        if leak(better) <= leak(ends) * _STEADY:
            break
        ends = better
        found.add(ends)
    return found | {(*ends[:-1], classes.size), (classes.size,)}


def _at_ages(classes: AgeClasses) -> list[int]:
    """Numbers of classes that end at ages about an octave apart, the first and last included."""
    ages = _OCTAVE ** np.arange(math.ceil(math.log(float(classes.end[-1]), _OCTAVE)) + 1)
    numbers = np.searchsorted(classes.end, ages) + 1
    return sorted({*np.minimum(numbers, classes.size).tolist()})
