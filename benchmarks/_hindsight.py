"""What other ways reach in hindsight: the best of a grid, found on some splits, made on others."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _families import Grid, Measure, Try, opacus_multiplier, poisson
from _rivals import (
    STRENGTHS,
    Diffprivlib,
    objective,
    objective_model,
    output_model,
    without_privacy,
)
from _tasks import Data, Task

ROUNDS = ((1, 1.0, 0), (4, 0.1, 8), (8, 0.03, 3))
"""How the best of a grid is found: seeds so far, which part of the tries is given them, and how
many at the least."""


ALL = ((8, 1.0, 0),)
"""The same for tries that are quick and many, and of which the poor ones are lucky at times."""

HOLDS = (1.0, 0.5, 0.25)
"""Parts of the public bound that features are held to, where gradients are not clipped."""

CLIPS = (1.0, 0.5, 0.25, 0.125, 0.0625)
"""Parts of the largest gradient that objective perturbation clips gradients to."""


class Result(NamedTuple):
    what: str
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    @property
    def short(self) -> str:
        return f"{self.mean:.2f} ± {error(self.values):.2f}"

    def __str__(self) -> str:
        return f"{self.mean:6.2f} ± {error(self.values):.2f}  {self.what}"


def error(values: Any) -> float:
    """The standard error of a mean."""
    return float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else math.nan


def rivals(
    task: Task, epsilon: float, passes: int | None, grid: Grid
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What others do, each as a function that lists its tries: Opacus, objective and output
    perturbation and diffprivlib, the last three with their ridges and in as many passes as they
    like."""
    if task.adjacency == "zero_out":
        yield "Opacus", lambda: poisson(task, epsilon, passes or 20, grid, opacus_multiplier)
    if passes is None:
        yield from perturbed(task, epsilon)


def perturbed(task: Task, epsilon: float) -> Iterator[tuple[str, Callable[[], list[Try]]]]:
    """Objective and output perturbation, and diffprivlib, each with its ridges. The first with
    gradients clipped or not, the others with features held to the public bound or to parts of it:
    both need less noise."""
    held = {share: task._replace(bound=share * task.bound) for share in HOLDS}

    def measured(share: float, model: Callable[..., Any], *given: Any) -> Measure:
        def measure(seed: int) -> float:
            data = task.draws[seed % len(task.draws)]
            return data.right(held[share].bound, model(held[share], data, *given, seed))

        return measure

    def words(share: float, m: float) -> str:
        return f"ridge {m:.2g} R², {share:g} of the bound"

    def perturbed_objective() -> list[Try]:
        noises = {(a, m): objective(task, epsilon, m, a) for a, m in product(CLIPS, STRENGTHS)}
        return [
            Try(f"ridge {m:.2g} R², clip {a:g} R", measured(1.0, objective_model, m, noise, a))
            for (a, m), noise in noises.items()
            if noise is not None
        ]

    def perturbed_output() -> list[Try]:
        return [
            Try(words(a, m), measured(a, output_model, epsilon, m))
            for a, m in product(HOLDS, STRENGTHS)
        ]

    def by_diffprivlib() -> list[Try]:
        return [
            Try(
                words(a, m),
                lambda seed, a=a, m=m: _diffprivlib(held[a]).accuracy(epsilon, m, seed),
            )
            for a, m in product(HOLDS, STRENGTHS[::2])
        ]

    if task.classes == 2:
        yield "objective perturbation", perturbed_objective
        yield "output perturbation", perturbed_output
    yield "diffprivlib", by_diffprivlib


_FILES = tempfile.TemporaryDirectory()


def _diffprivlib(task: Task) -> Diffprivlib:
    """Its splits are written once."""
    key = f"{task.name} {task.bound!r}"
    if key not in _WRITTEN:
        _WRITTEN[key] = Diffprivlib(task, Path(_FILES.name) / f"{key}.npz")
    return _WRITTEN[key]


_WRITTEN: dict[str, Diffprivlib] = {}


def largest_class(data: Data) -> float:
    """Per cent right of a model that always answers with the largest class of its records."""
    return 100.0 * float(np.mean(data.labels == np.bincount(data.y).argmax()))


def best(
    tries: Any, screen: int, seeds: range, rounds: tuple[tuple[int, float, int], ...] = ROUNDS
) -> Result | None:
    """The best of some, found with up to `screen` seeds from 0 on and made again with others."""
    found: list[tuple[list[float], Try]] = [([], one) for one in tries]
    if not found:
        return None
    every = len(found)
    for many, part, least in rounds:
        del found[max(least, math.ceil(part * every)) :]
        for values, one in found:
            values += [one.measure(s) for s in range(len(values), min(many, screen))]
        found.sort(key=lambda pair: -float(np.mean(pair[0])))
    one = found[0][1]
    return Result(one.what, tuple(one.measure(s) for s in seeds))


def references(task: Task, seeds: range) -> dict[str, Result]:
    """What no privacy reaches, and the largest class: the same at every budget."""
    splits = [task.draws[s % len(task.draws)] for s in seeds][: len(task.draws)]
    return {
        "no privacy": Result("", tuple(without_privacy(task, data) for data in splits)),
        "largest class": Result("", tuple(largest_class(data) for data in splits)),
    }
