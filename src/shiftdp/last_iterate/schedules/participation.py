"""The law of mu(V) for a run with random batches: found once for all amounts of noise, and checked.

mu(V) is proportional to the displacements over the noise, so a law is computed for displacements
and noise of 1 (of the last step, where they differ) and multiplied.

One law serves every delta down to 1e-12 (`law_tail`): what is rarer is a small part of its cost, so
that a certificate need not know for which delta it will be asked.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from shiftdp._checks import LEAST_DELTA, Array
from shiftdp._errors import UnmetHypothesis, VerificationFailed
from shiftdp._rounding import GENEROUS, NINE_ROUNDINGS
from shiftdp.fdp.functions.law_coarsening import coarsened
from shiftdp.fdp.pairs.law_splitting import split_law
from shiftdp.interpolation.participation.ages import ages_of_steps, equal_ages
from shiftdp.interpolation.participation.allocation import Allocation, allocation_on_grid
from shiftdp.interpolation.participation.law import Grid, ParticipationLaw, law_on_grid, rough_law
from shiftdp.interpolation.participation.long_run import long_run_law, recent_steps
from shiftdp.interpolation.participation.start import bounded_ages, cut_ages
from shiftdp.interpolation.participation.sticks import Sticks, walk_law
from shiftdp.interpolation.participation.verification.claims import (
    verify_allocation,
    verify_cut_run,
    verify_equal_steps,
    verify_long_run,
    verify_schedule,
    verify_sticks,
)
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisySGD
from shiftdp.last_iterate.theorems.sampled.shifts import StepArrays

_VALUES = 400  # of the law in a certificate: they cost about a part of 2e-4 of epsilon
_TAIL = 1e-12  # a delta for which every law is made, if not for a smaller one
_ROOM = 1e-6  # by which a law is larger than computed, as a part of each tail ...
_ROOM_BELOW = 1e-4  # ... and as a part of delta
_MOST_STEPS = 1 << 24  # that are listed one by one
_MOST_WORK = 4e9  # of a proof: rungs times cells and lattice points times classes, squared
_FADED = 50.0  # the logarithm of how much smaller a displacement is that is not listed
_DIGITS = 2.0**40  # to which a schedule is the same one with another amount of noise


def followed_steps(
    run: NoisySGD, geometry: Geometry, steps: StepArrays, *, contracting: bool
) -> int:
    """How many last steps to follow: all, or fewer where what is older has a bound of its own.

    That is the diameter [Lemma C4] or, where very many participate in steps that do not contract, a
    line [Theorem C6].
    """
    if begins_within_set(run, geometry, steps):
        return _cut(steps.p, float(steps.c), steps.steps, steps.diameter / float(steps.s))
    if _is_a_walk(run, steps, contracting):
        return int(recent_steps(steps.p, run.steps))
    return run.steps


def begins_within_set(run: NoisySGD, geometry: Geometry, steps: StepArrays) -> bool:
    """Whether the last steps may begin at any distance up to the diameter, and this is of use.

    Where the record is exchanged under Poisson sampling, two patterns move the two runs apart, and
    no use is made of the diameter.
    """
    both = run.has_random_sizes and geometry.adjacency == "replace_one"
    if both or run.in_epochs:
        return False
    if not (steps.equal and float(steps.c) <= 1.0 and math.isfinite(steps.diameter)):
        return False
    c = float(steps.c)
    farthest = float(steps.s) * min(steps.steps, 1.0 / (1.0 - c) if c < 1.0 else math.inf)
    return steps.diameter < farthest


def _is_a_walk(run: NoisySGD, steps: StepArrays, contracting: bool) -> bool:
    """Whether steps are equal and independent, and c = 1 or counts as 1."""
    if not steps.equal or run.in_epochs:
        return False
    c = float(steps.c)
    return c == 1.0 or (c < 1.0 and not contracting)


@lru_cache(maxsize=32)
def _cut(p: float, c: float, steps: int, width: float) -> int:
    """How many last steps to follow in a bounded set, whatever the noise.

    `width` is its diameter over the displacement of a step.
    """
    ages = bounded_ages(p, c, 1.0, 1.0, steps, width)
    return min(steps, round(float(np.sum(ages.count))))


def law_tail(delta: float) -> float:
    """The delta for which a law is made: rarer things are not told apart in it.

    >>> law_tail(1e-5), law_tail(1e-15)
    (1e-12, 1e-15)
    """
    return min(delta, _TAIL)


def participation_law(
    run: NoisySGD,
    geometry: Geometry,
    steps: StepArrays,
    *,
    contracting: bool,
    followed: int,
    delta: float,
    revealed: bool = False,
) -> tuple[ParticipationLaw, Grid | Sticks | None]:
    """A law of at most 400 values that stands for mu(V), and the grid that proves it.

    It is larger than the law of mu(V) in the sense of Theorem C8. For what is revealed, and under
    the line of Theorem C6, which is checked value by value, it is stochastically larger.

    Args:
        run: the run.
        geometry: its geometry.
        steps: its steps.
        contracting: whether the contraction is used; else 1 stands in for it, which Lemma C0b
            allows where it is at most 1.
        followed: of how many last steps the participation is followed (see `followed_steps`).
        delta: the tail that matters (see `law_tail`).
        revealed: whether the bound is the one that holds even if the pattern is told.
    """
    shape: dict[str, Any] = {"contracting": contracting, "followed": followed, "delta": delta}
    law, grid = fine_participation_law(run, geometry, steps, **shape)
    moved = revealed or _under_a_line(run, geometry, steps, contracting, followed)
    few = coarsened if moved else split_law
    return ParticipationLaw(*few(law.mu, law.weight, _VALUES)), grid


def _under_a_line(
    run: NoisySGD, geometry: Geometry, steps: StepArrays, contracting: bool, followed: int
) -> bool:
    """Whether the steps before those that are followed are bounded by Theorem C6."""
    walk = _is_a_walk(run, steps, contracting) and not begins_within_set(run, geometry, steps)
    return followed < run.steps and walk


def fine_participation_law(
    run: NoisySGD,
    geometry: Geometry,
    steps: StepArrays,
    *,
    contracting: bool,
    followed: int,
    delta: float,
) -> tuple[ParticipationLaw, Grid | Sticks | None]:
    """A law that dominates mu(V), in all the values it was found in, and the grid that proves it.

    Arguments as for `participation_law`.
    """
    if not np.any(steps.s):
        return ParticipationLaw((0.0,), (1.0,)), None
    law, grid = _unit_law(*_shape(run, geometry, steps, contracting, followed), delta)
    scale = _scale(steps) * (1.0 + GENEROUS)
    return ParticipationLaw(tuple(scale * value for value in law.mu), law.weight), grid


def rough_participation_law(run: NoisySGD, steps: StepArrays, *, delta: float) -> ParticipationLaw:
    """A law for equal, independent steps that is some per cent larger: to tell bounds apart."""
    law, _ = _rough_unit_law(steps.p, float(steps.c), run.steps, delta)
    scale = _scale(steps) * (1.0 + GENEROUS)
    return ParticipationLaw(tuple(scale * mu for mu in law.mu), law.weight)


def verify_participation(
    run: NoisySGD,
    geometry: Geometry,
    steps: StepArrays,
    *,
    contracting: bool,
    followed: int,
    delta: float,
    law: ParticipationLaw,
    grid: Grid | Sticks | None,
    revealed: bool = False,
) -> None:
    """Raise `VerificationFailed` unless the law dominates mu(V), by code that did not find it.

    In the sense of Theorem C8, or, for what is `revealed`, stochastically.
    """
    expands = bool(np.any(np.asarray(steps.c) > 1.0))
    _require(contracting or (steps.equal and not expands), "1 stands in for steps that expand")
    _require(LEAST_DELTA <= delta < 1.0, "the law is made for no delta")
    cut = followed < run.steps
    bounded = begins_within_set(run, geometry, steps)
    allowed = not cut or bounded or _is_a_walk(run, steps, contracting)
    _require(1 <= followed <= run.steps and allowed, "no steps are left out")
    if grid is None:
        s, sd = np.broadcast_to(steps.s, run.steps), np.broadcast_to(steps.sd, run.steps)
        most = math.sqrt(float(np.sum((s / sd) ** 2))) if np.any(steps.s) else 0.0
        _require(law.mu[0] >= most, "the law has no grid, and is below what composition gives")
        return
    p, c, sizes, batches, width = _shape(run, geometry, steps, contracting, followed)
    scale = _scale(steps) * (1.0 + NINE_ROUNDINGS)
    unit = ParticipationLaw(tuple(mu / scale for mu in law.mu), law.weight)
    claim: dict[str, Any] = {"law": unit, "delta": delta, "scale": None if revealed else scale}
    if isinstance(c, float) and batches is None and c <= 1.0:
        t, last = int(sizes[0]), int(sizes[1])
        if c == 1.0 and not (cut and bounded):
            _verify_walk(p, t, last, grid, claim)
        elif cut:
            grid = _on_vertices(grid)
            verify_cut_run(p, c, 1.0, 1.0, t, width, last, grid=grid, **claim)
        else:
            verify_equal_steps(p, c, 1.0, 1.0, t, grid=_on_vertices(grid), **claim)
        return
    grid = _on_vertices(grid)
    slopes, s, sd = _listed(c, sizes, batches)
    if batches is not None:
        verify_allocation(slopes, s, sd, batches, grid=grid, **claim)
    else:
        verify_schedule(np.full(len(slopes), p), slopes, s, sd, grid=grid, **claim)


def _verify_walk(
    p: float, steps: int, followed: int, grid: Grid | Sticks, claim: dict[str, Any]
) -> None:
    """Raise `VerificationFailed` unless the law dominates mu(V) for a walk.

    That is: equal steps with c = 1, and displacements and noise of 1.
    """
    if not isinstance(grid, Sticks):
        grid = _on_vertices(grid)
    if followed < steps:
        law, delta = claim["law"], claim["delta"]
        verify_long_run(p, steps, followed, law=law, grid=grid, delta=delta)
    elif isinstance(grid, Sticks):
        verify_sticks(p, steps, sticks=grid, **claim)
    else:
        verify_equal_steps(p, 1.0, 1.0, 1.0, steps, grid=grid, **claim)


def _on_vertices(grid: Grid | Sticks) -> Grid:
    """The grid of a law of vertices that can be checked in reasonable time."""
    if isinstance(grid, Sticks):
        raise VerificationFailed("sticks are not broken for such steps")
    work = len(grid.slopes) * (grid.cells + grid.cap) * float(len(grid.starts)) ** 2
    _require(work <= _MOST_WORK, "it would take too long to check the law")
    return grid


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise VerificationFailed(problem)


_Shape = tuple[float, float | bytes, tuple[int, int] | tuple[bytes, bytes], int | None, float]
"""p, the contraction, lengths or displacements and noises, batches an epoch, and the diameter.

Lengths are those of the run and of what is followed; those of random allocation are what is listed,
twice, and once more than that if older epochs are left out.
"""


def _shape(
    run: NoisySGD, geometry: Geometry, steps: StepArrays, contracting: bool, followed: int
) -> _Shape:
    """The run without the size of its noise: the key under which its law is cached."""
    batches = run.batches if run.in_epochs else None
    if steps.equal:
        c = float(steps.c) if contracting else max(1.0, float(steps.c))
        within = followed < run.steps and begins_within_set(run, geometry, steps)
        width = steps.diameter / float(steps.s) if within else math.inf
        lengths = (run.steps, followed) if batches is None else _lasting(c, run.steps, batches)
        return steps.p, c, lengths, batches, width
    c_k, s_k, sd_k = (np.asarray(part, dtype=np.float64) for part in (steps.c, steps.s, steps.sd))
    s, sd = _few_digits(s_k / s_k[-1], 1.0), _few_digits(sd_k / sd_k[-1], -1.0)
    return steps.p, c_k.tobytes(), (s.tobytes(), sd.tobytes()), batches, math.inf


def _scale(steps: StepArrays) -> float:
    """Displacement over noise, of the last step."""
    return float(np.ravel(steps.s)[-1]) / float(np.ravel(steps.sd)[-1])


def _lasting(c: float, steps: int, batches: int) -> tuple[int, int]:
    """How many last steps of a random allocation to list, and one more where there are older ones.

    Whole epochs, until what steps with the contraction c leave of a displacement has faded.
    """
    if not 0.0 < c < 1.0:
        return steps, steps
    kept = math.ceil(_FADED / -math.log(c) / batches) * batches
    return (steps, steps) if kept >= steps else (kept, kept + 1)


def _listed(
    c: float | bytes, sizes: tuple[int, int] | tuple[bytes, bytes], batches: int | None
) -> tuple[Array, Array, Array]:
    """Contractions, displacements and noises step by step.

    Epochs of a random allocation that are left out have moved the runs apart by
    `c^(l K) + c^(l (K+1)) + ... = c^(l K) / (1 - c^l)` at most, as seen from the end, K epochs of l
    steps being listed. That much is added to the displacement in the oldest of these, wherever it
    is: all jumps move to younger clocks, which only raises mu [Lemma C0a].
    """
    if isinstance(c, bytes):
        s, sd = (np.frombuffer(bytes(part)) for part in sizes)
        return np.frombuffer(c), s, sd
    t, older = int(sizes[0]), batches is not None and int(sizes[1]) > int(sizes[0])
    if t > _MOST_STEPS:
        raise UnmetHypothesis(
            "steps",
            t,
            f"are too many to be treated one by one (at most {_MOST_STEPS})",
            "give fewer, or rely on composition",
        )
    ones = np.ones(t)
    s = ones.copy()
    if older and batches is not None:
        left = c ** np.arange(1.0, batches + 1.0) / -math.expm1(batches * math.log(c))
        s[:batches] += left * (1.0 + GENEROUS)
    return c * ones, s, ones


@lru_cache(maxsize=32)
def _unit_law(
    p: float,
    c: float | bytes,
    sizes: tuple[int, int] | tuple[bytes, bytes],
    batches: int | None,
    width: float,
    delta: float,
) -> tuple[ParticipationLaw, Grid | Sticks | None]:
    """The law for displacements and noise of 1, raised a little.

    Another machine rounds sums differently, and the verifier, which computes the law anew, may find
    slightly larger probabilities there.
    """
    law, grid = _found(p, c, sizes, batches, width, delta)
    above = np.cumsum(law.weight[::-1])[::-1] * (1.0 + _ROOM) + _ROOM_BELOW * delta
    above = np.minimum(above, 1.0)
    weight = above - np.append(above[1:], 0.0)
    weight[0] += 1.0 - above[0]
    kept = weight > 0.0
    values = np.array(law.mu)[kept].tolist()
    return ParticipationLaw(tuple(values), tuple(weight[kept].tolist())), grid


@lru_cache(maxsize=32)
def _rough_unit_law(p: float, c: float, steps: int, delta: float) -> tuple[ParticipationLaw, float]:
    """`rough_law` for displacements and noise of 1: the law, and how far a finer one has to go."""
    return rough_law(equal_ages(p, c, 1.0, 1.0, steps), delta=delta)


def _found(
    p: float,
    c: float | bytes,
    sizes: tuple[int, int] | tuple[bytes, bytes],
    batches: int | None,
    width: float,
    delta: float,
) -> tuple[ParticipationLaw, Grid | Sticks | None]:
    if isinstance(c, float) and batches is None and c <= 1.0:
        t, last = int(sizes[0]), int(sizes[1])
        if last < t and math.isinf(width):
            return long_run_law(p, t, last, delta=delta)
        if last < t:
            return law_on_grid(cut_ages(p, c, 1.0, 1.0, t, width, last), delta=delta)
        if c == 1.0:
            return walk_law(p, t, delta=delta)
        # the rough law was asked before, and is remembered
        top = _rough_unit_law(p, c, t, delta)[1]
        return law_on_grid(equal_ages(p, c, 1.0, 1.0, t), delta=delta, top=top)
    slopes, s, sd = _listed(c, sizes, batches)
    ages = ages_of_steps(np.full(len(slopes), p), slopes, s, sd, batches or 1)
    if batches is None:
        return law_on_grid(ages, delta=delta)
    return allocation_on_grid(Allocation(ages, batches), delta=delta)


def _few_digits(values: Array, side: float) -> Array:
    """So that a schedule is the same one after all its noises were multiplied by one number."""
    mantissa, exponent = np.frexp(values)
    rounded = np.ldexp(np.round(mantissa * _DIGITS) / _DIGITS, exponent)
    return np.asarray(rounded * (1.0 + side * 2.0 / _DIGITS))
