"""The classes of a claimed grid, made afresh from the steps of a run: for the verifier alone.

Nothing here is shared with the engine. Any grid is sound, because jumps are only enlarged or moved
to younger clocks, and clocks are only lowered [Lemma C0a]; the roundings follow the rules of the
engine so that an honest claim is met. Binomial probabilities are Loader's saddle-point form, where
the engine multiplies ratios.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from shiftdp._checks import Array

_UP = 1.0 + 1e-11  # weights and heights: their dozens of roundings are a part of 1e-14 each
_DOWN = 1.0 - 1e-9  # clocks
_ULP = 2.0**-52  # the error of a sum or of a logarithm, as a part
_FINE = 32  # points of the finer lattice for one of the lattice, where jumps differ
_ALIKE = 0.01  # weights that differ by such a part count as the largest of them ...
_NEAR = (1 / 64, 1 / 8)  # ... or by such a part of the lattice, and at most by a factor of 2:
_TOGETHER = 0.2  # this over the number of participations of the class, between the two
_LEAST = 1e-18  # probabilities below it are left out
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
_SINGLY = 4096  # ages of equal steps that are kept one by one
_GROUPED = 1.0 + 2.0**-11  # factor by which the ages of a group of older ones differ
_FORGOTTEN = 45.0  # logarithm of a contraction, from which on everything older is one sure jump
_EXACT_FACTORIALS = 16  # below it the error of Stirling's formula is computed, not expanded
_STIRLING = (1 / 12, 1 / 360, 1 / 1260, 1 / 1680, 1 / 1188, 691 / 360360)  # of log k!
_CLOSE = 0.1  # of the sum of two numbers: their difference is small, and a series is used
_SERIES = 12  # its terms: the last one is below 0.1^24
_MOST_POINTS = 1e6  # of the finer lattice, for one class: eight times what honest grids have
_WIDEST = 2e5  # standard deviations of a number of participations


class JumpTable(NamedTuple):
    """Jumps of a class in units, 0 first, with probabilities."""

    values: NDArray[np.int64]
    probabilities: Array


class Classes(NamedTuple):
    """Ticks of the clock, 0 first, the jump of each class, and which classes open an epoch."""

    ticks: list[int]
    tables: list[JumpTable]
    opens: list[bool]
    lost: float


class Steps(NamedTuple):
    """Entries by age, the youngest first: youngest age, how many, participation, jump, clock."""

    age: Array
    number: Array
    participation: Array
    jump: Array
    clock: Array


def steps_of_equal(p: float, c: float, s: float, sd: float, steps: float) -> Steps:
    """Equal steps with c <= 1: powers by `pow`, geometric sums in closed form."""
    kept = steps
    if c < 1.0:
        kept = min(steps, math.ceil(_FORGOTTEN / -math.log(c)) if c > 0.0 else 1)
    ages = list(range(int(min(kept, _SINGLY))))
    a = float(len(ages))
    while a < kept:
        ages.append(int(a))
        a = math.floor(a * _GROUPED) + 1.0
    age = np.array(ages, dtype=np.float64)
    count = np.append(age[1:], kept) - age
    w = np.array([math.pow(c, x) for x in ages])
    if c == 1.0:
        clock = age + 1.0
    else:
        log_c = math.log(c) if c > 0.0 else -math.inf
        clock = np.array([-math.expm1(2.0 * (x + 1) * log_c) for x in ages])
        clock = clock / ((1.0 - c) * (1.0 + c))
    found = Steps(age, count, np.full(len(ages), p), w * s * _UP, clock * sd * sd * _DOWN)
    if kept < steps and c > 0.0 and s > 0.0:
        return _with_sure_jump(found, s * math.pow(c, kept) / (1.0 - c) * _UP)
    return found


def steps_of_schedule(p: Array, c: Array, s: Array, sd: Array, epoch: int = 1) -> Steps:
    """Any steps, in the order of time: weights one after the other.

    Older epochs of several steps, in which a record takes part once, are forgotten as a whole: what
    they add counts in each step of the oldest that is left.
    """
    size = len(c)
    with np.errstate(divide="ignore", under="ignore"):
        logs = np.log(c[:0:-1])
        log_w = np.append(0.0, np.cumsum(logs))
        w = np.exp(log_w - np.max(log_w))
    kept = int(np.flatnonzero(log_w - np.max(log_w) >= -_FORGOTTEN)[-1]) + 1
    kept = min(size, -(-kept // epoch) * epoch)
    # each sum is rounded, and each logarithm is off by some ulps of itself
    added = kept * float(np.max(np.abs(log_w[:kept]))) + 8.0 * float(
        np.sum(np.abs(logs[: kept - 1]))
    )
    off = (added + size) * _ULP + (_UP - 1.0)
    jump, part = w * s[::-1] * (1.0 + off), np.array(p[::-1], dtype=np.float64)
    clock = np.cumsum((w * sd[::-1]) ** 2)[:kept] * (_DOWN - off)
    quiet = int(np.count_nonzero(clock <= 0.0))
    if np.any(part[:quiet] * jump[:quiet] > 0.0):
        raise ValueError("no noise follows a step in which the record may take part")
    age = np.arange(kept - quiet, dtype=np.float64)
    taken = slice(quiet, kept)
    found = Steps(age, np.ones(kept - quiet), part[taken], jump[taken], clock[quiet:])
    rest = float(np.sum(np.where(part[kept:] > 0.0, jump[kept:], 0.0)))
    if epoch > 1:
        found.jump[-epoch:] += rest * (1.0 + off)
        return found
    return _with_sure_jump(found, rest * (1.0 + off)) if rest > 0.0 else found


def _with_sure_jump(steps: Steps, jump: float) -> Steps:
    more = (steps.age[-1] + steps.number[-1], 1.0, 1.0, jump, steps.clock[-1])
    return Steps(*(np.append(part, x) for part, x in zip(steps, more, strict=True)))


def classes_of(
    steps: Steps, starts: tuple[int, ...], unit: float, tick: float, values: int
) -> Classes:
    """The classes that begin at these ages, each at the clock of its youngest."""
    begins = np.minimum(np.searchsorted(steps.age, starts), len(steps.age) - 1)
    if starts[0] != 0 or np.any(steps.age[begins] != starts) or np.any(np.diff(begins) <= 0):
        raise ValueError("classes do not begin at ages of the run, one after the other")
    ends = [*begins[1:].tolist(), len(steps.age)]
    ticks, tables, lost = [0], list[JumpTable](), 0.0
    for a, b in zip(begins.tolist(), ends, strict=True):
        ticks.append(math.floor(float(steps.clock[a]) / tick * _DOWN))
        own = slice(a, b)
        table, left_out = _sum_of(
            steps.number[own], steps.participation[own], steps.jump[own], unit, values
        )
        tables.append(table)
        lost += left_out
    return Classes(ticks, tables, [True] * len(tables), lost)


def _sum_of(
    count: Array, participation: Array, jump: Array, unit: float, values: int
) -> tuple[JumpTable, float]:
    """The sum of the jumps of a class, run by run of nearly equal jumps; and what is left out."""
    participants = math.fsum((count * participation).tolist())
    alike = unit * min(max(_TOGETHER / max(participants, _TOGETHER), _NEAR[0]), _NEAR[1])
    ends = list[int]()
    a = 0
    for b in range(1, len(count) + 1):
        if (
            b == len(count)
            or participation[b] != participation[a]
            or not _close(jump[a], jump[b], alike)
        ):
            ends.append(b)
            a = b
    parts = 1 if len(ends) == 1 else _FINE
    law, lost = np.ones(1), 0.0
    for a, b in zip([0, *ends[:-1]], ends, strict=True):
        low, chances, left_out = _binomial(math.ceil(float(np.sum(count[a:b]))), participation[a])
        lost += left_out
        step = float(np.max(jump[a:b])) / unit * parts * _UP
        if len(law) + (low + len(chances)) * step > _MOST_POINTS:
            raise ValueError("the lattice is too fine to be followed")
        places = np.ceil((low + np.arange(len(chances))) * step).astype(np.int64)
        more = np.asarray(np.bincount(places, chances), dtype=np.float64)
        law = more if len(law) == 1 else _convolved(law, more)
        rest = np.add.accumulate(law[::-1])[::-1]
        # larger sums are too rare to matter
        enough = int(np.argmax(np.append(rest, 0.0) <= _LEAST))
        if 0 < enough < len(law):
            lost += float(rest[enough])
            law = law[:enough]
    blocks = law
    if len(law) > 1:
        blocks = np.append(law[:1], np.add.reduceat(law[1:], np.arange(0, len(law) - 1, parts)))
    likely = np.flatnonzero(blocks > _LEAST)
    likely = likely if likely.size and likely[0] == 0 else np.append(0, likely)
    lost += float(np.sum(blocks[(blocks <= _LEAST) & (np.arange(len(blocks)) > 0)]))
    return thinned(likely, np.asarray(blocks[likely], dtype=np.float64), values), lost


def _close(one: float, other: float, near: float) -> bool:
    """Whether two jumps are in one run."""
    least = min(one, other)
    return abs(one - other) <= max(_ALIKE * least, min(near, least))


def _convolved(law: Array, more: Array) -> Array:
    total = np.zeros(len(law) + len(more) - 1)
    for place in np.flatnonzero(more):
        total[place : place + len(law)] += more[place] * law
    return total


def thinned(values: NDArray[np.int64], chances: Array, most: int) -> JumpTable:
    """At most so many jumps other than 0, the others moved up to the next."""
    if len(values) <= most + 1:
        return JumpTable(values, chances)
    root = np.sqrt(chances[1:])
    density = root / root.sum() + np.diff(values) / values[-1]
    cell = np.minimum(np.cumsum(density) / density.sum() * most * _DOWN, most - 1).astype(np.int64)
    ends = [i for i in range(len(cell)) if i + 1 == len(cell) or cell[i + 1] != cell[i]]
    sums, a = list[float](), 0
    for i in ends:
        sums.append(math.fsum(chances[1 + a : 2 + i]))
        a = i + 1
    kept = np.append(0, values[1:][ends])
    return JumpTable(kept, np.append(chances[0], sums))


def _binomial(n: int, p: float) -> tuple[int, Array, float]:
    """The first number that is likely enough, the probabilities from it on, and the rest."""
    if n == 0 or p <= 0.0:
        return 0, np.ones(1), 0.0
    if p >= 1.0:
        return n, np.ones(1), 0.0
    deviation = math.sqrt(n * p * (1.0 - p) + 1.0)
    if deviation > _WIDEST:
        raise ValueError("the law of the number of participations is too wide")
    far = math.ceil(deviation * math.sqrt(-2.0 * math.log(_LEAST)) - math.log(_LEAST))
    low, high = max(0, math.floor(n * p) - far), min(n, math.ceil(n * p) + far)
    k = np.arange(low, high + 1, dtype=np.float64)
    chances = _loader(k, float(n), p)
    kept = np.flatnonzero(chances >= _LEAST)
    first, last = int(kept[0]), int(kept[-1])
    outside = float(np.sum(chances[:first]) + np.sum(chances[last + 1 :]))
    # beyond, Bernstein's inequality leaves less than this on each side
    outside += _LEAST * ((low > 0) + (high < n))
    return low + first, chances[first : last + 1], outside


def _loader(k: Array, n: float, p: float) -> Array:
    """Binomial probabilities by Loader's form: no large terms cancel."""
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        exponent = _stirling_error(np.array([n])) - _stirling_error(k) - _stirling_error(n - k)
        exponent -= _deviance(k, n * p) + _deviance(n - k, n * (1.0 - p))
        inner = np.exp(exponent - _HALF_LOG_2PI) * np.sqrt(n / (k * (n - k)))
        none, all_of_them = np.exp(n * np.log1p(-p)), np.exp(n * np.log(p))
    inner = np.where(k == 0.0, none, np.where(k == n, all_of_them, inner))
    return np.asarray(inner, dtype=np.float64)


def _stirling_error(k: Array) -> Array:
    """log k! - (k + 1/2) log k + k - log(2 pi)/2."""
    small = np.clip(k, 1.0, _EXACT_FACTORIALS)
    exact = scipy.special.gammaln(small + 1.0) - (small + 0.5) * np.log(small)
    exact += small - _HALF_LOG_2PI
    large = np.maximum(k, _EXACT_FACTORIALS)
    square = large * large
    series = np.zeros(large.shape)
    for term in reversed(_STIRLING):
        series = term - series / square
    series = series / large
    return np.where(k < _EXACT_FACTORIALS, exact, series)


def _deviance(x: Array, mean: float) -> Array:
    """x log(x / mean) + mean - x, which is small where x is near the mean."""
    part = (x - mean) / (x + mean)
    series, power = (x - mean) * part, 2.0 * x * part
    for j in range(1, _SERIES):
        power = power * part * part
        series = series + power / (2.0 * j + 1.0)
    far = x * np.log(np.where(x > 0.0, x, 1.0) / mean) + mean - x
    return np.where(np.abs(x - mean) < _CLOSE * (x + mean), series, far)
