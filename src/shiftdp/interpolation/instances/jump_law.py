"""The law of a sum of weighted participations, on a lattice and rounded down.

`S = sum a_i V_i` with independent participations V_i. The pair (E N(S, 1), N(0, 1)) is best tested
by half-lines `{x > y}`, whose probability rises with S. So a law that is stochastically *below*
that of S leaks less in every test, alone and in a product with others: all roundings are downwards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import AMPLE, FAR_TAIL, GENEROUS

_NEGLIGIBLE = 1e-3  # of delta: what is rarer than that is not followed
_FAINTEST = 1e-3  # of the largest shift: smaller ones are left out
_RARE = 1e-6  # of delta: numbers of participations that are less likely count as none
_MOST_PARTICIPATIONS = 1e8  # that are expected; with a smaller p, less is leaked
_MORE = 400  # participations beyond which nothing is looked for, however rare they are
_BEYOND = 1e-25  # the probability of numbers too far from the mean to be looked at


@dataclass(frozen=True)
class Accuracy:
    """How finely a law is computed. Coarser is valid as well, and leaks less.

    Args:
        levels: that the shifts of a block are rounded down to.
        lattice: points of the lattice on which participations are added up.
        atoms: values that are kept of the sum.
        cells: of the line on which the noise is added.
        labels: values that the privacy loss is rounded to.
    """

    levels: int = 200
    lattice: int = 1 << 14
    atoms: int = 800
    cells: int = 900
    labels: int = 4000


@dataclass(frozen=True, eq=False)
class JumpLaw:
    """Values in rising order, the first of them below all others, and their probabilities."""

    value: Array
    weight: Array


def law_of_participations(
    shifts: Array, counts: Array, p: float, delta: float, accuracy: Accuracy
) -> JumpLaw:
    """A law below that of sum_i shift_i Bin(count_i, p).

    Args:
        shifts: in units of the noise, not above what they stand for.
        counts: how many steps have each shift.
        p: participation, not above what it is.
        delta: where epsilon will be read: what is much rarer is left out.
        accuracy: how finely.

    >>> law = law_of_participations(np.array([2.0]), np.array([2]), 0.5, 1e-5, Accuracy())
    >>> law.value, law.weight.round(9)
    (array([0., 2., 4.]), array([0.25, 0.5 , 0.25]))
    """
    most = float(np.max(shifts))
    used = shifts >= _FAINTEST * most
    shifts, counts = shifts[used], counts[used]
    p = min(p, _MOST_PARTICIPATIONS / float(np.sum(counts)))
    if most == 0.0 or p == 0.0:
        return JumpLaw(np.zeros(1), np.ones(1))
    if float(np.min(shifts)) == most:
        number, chance = binomial(int(np.sum(counts)), p, _RARE * delta)
        if number[0] > 0:
            number, chance = np.append(0, number), np.append(0.0, chance)
        return _settled(most * number, chance, accuracy.atoms)
    mean = p * float(np.sum(shifts * counts))
    top = _reach(mean, most, delta)
    h = top / accuracy.lattice
    logs = np.log(most / shifts)
    level = np.floor(logs * (accuracy.levels / float(np.max(logs))))
    law = np.zeros(accuracy.lattice + 1)
    law[0] = 1.0
    for at in np.unique(level):
        number, chance = binomial(int(np.sum(counts[level == at])), p, _RARE * delta)
        each = float(np.min(shifts[level == at])) / h
        law = _added(law, (number * each).astype(int), chance)
    return _settled(h * np.arange(law.size, dtype=np.float64), law, accuracy.atoms)


def law_of_choices(choices: list[Array], accuracy: Accuracy) -> JumpLaw:
    """A law below that of a sum of independent draws, each uniform among given shifts.

    The least of each draw is sure and needs no lattice.

    >>> law = law_of_choices([np.array([1.0, 3.0])] * 2, Accuracy())
    >>> law.value[[0, -1]].round(2), law.weight[[0, -1]].round(9)
    (array([2.  , 5.99]), array([0.25, 0.25]))
    """
    sure = float(sum(np.min(each) for each in choices)) * (1.0 - AMPLE)
    top = float(sum(np.ptp(each) for each in choices))
    if top == 0.0:
        return JumpLaw(np.array([sure]), np.ones(1))
    h = top / accuracy.lattice
    law = np.zeros(accuracy.lattice + 1)
    law[0] = 1.0
    for each in choices:
        excess = (each - np.min(each)) / h * (1.0 - AMPLE)
        steps, number = np.unique(excess.astype(int), return_counts=True)
        law = _added(law, steps, number / each.size)
    return _settled(sure + h * np.arange(law.size, dtype=np.float64), law, accuracy.atoms)


def binomial(trials: int, p: float, least: float = 0.0) -> tuple[Array, Array]:
    """Numbers k and P[Bin(trials, p) = k], where it is at least `least` and 1e-25.

    From ratios of neighbours, and so with a relative error of some hundred roundings, however many
    trials there are.

    >>> binomial(3, 0.5)
    (array([0, 1, 2, 3]), array([0.125, 0.375, 0.375, 0.125]))
    """
    if p >= 1.0:
        return np.array([trials]), np.ones(1)
    mode = min(trials, int((trials + 1) * p))
    far = -math.log(_BEYOND)
    reach = int(math.sqrt(2.0 * far * (trials * p + 1.0)) + far) + 1
    number = np.arange(max(0, mode - reach), min(trials, mode + reach) + 1)
    k = number[:-1]
    ratios = np.log((trials - k) / (k + 1.0)) + math.log(p) - math.log1p(-p)
    logs = np.append(0.0, np.cumsum(ratios))
    chance = np.exp(logs - logs[mode - number[0]])
    chance /= np.sum(chance)
    kept = chance >= max(least, _BEYOND)
    return number[kept], chance[kept]


def _reach(mean: float, most: float, delta: float) -> float:
    """Above this the sum is too rare to matter: as a Poisson number of the largest shifts."""
    from scipy.special import pdtrc

    rate = mean / most
    k = np.arange(int(rate) + 1, int(rate + FAR_TAIL * math.sqrt(rate + 1.0)) + _MORE)
    rare = pdtrc(k, rate) < _NEGLIGIBLE * delta
    return float((k[np.argmax(rare)] if rare.any() else k[-1]) + 1.0) * most


def _added(law: Array, steps: Array, chance: Array) -> Array:
    """The law of the sum with an independent number of lattice steps, kept at the top if above."""
    out, top = np.zeros(law.size), law.size - 1
    for i, q in zip(steps.tolist(), chance.tolist(), strict=True):
        if q == 0.0:
            continue
        i = min(i, top)
        out[i:] += q * law[: law.size - i]
        if i:
            out[top] += q * float(np.sum(law[law.size - i :]))
    return out


def _settled(value: Array, weight: Array, most: int) -> JumpLaw:
    """At most so many values, rounded down; all errors of the probabilities go to the least one.

    Some hundred binomials and some thousand sums with errors of a few roundings each are well
    within a part of 1e-9.
    """
    used = np.flatnonzero(weight > 0.0)
    value, weight = value[: used[-1] + 1], weight[: used[-1] + 1]
    if value.size > most:
        edges = np.unique(np.linspace(0, value.size, most + 1).astype(int))
        groups = [slice(a, b) for a, b in pairwise(edges.tolist())]
        weight = np.array([float(np.sum(weight[group])) for group in groups])
        value = value[edges[:-1]]
    weight = weight * (1.0 - GENEROUS)
    weight[0] = 1.0 - float(np.sum(weight[1:]))
    kept = weight > 0.0
    kept[0] = True
    return JumpLaw(value[kept], np.maximum(weight[kept], 0.0))
