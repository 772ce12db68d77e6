"""Which iterates a training run releases beside the last one: checkpoints, and those of an average.

They are known before the run, in passes over the data, so that the noise is calibrated for all of
them together (Theorem V1).

Where the batches are reshuffled before each epoch, what is released within one shows a part of its
order, and composition is all that is proved then: so checkpoints are ends of epochs there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import count, finite
from shiftdp._errors import InvalidInput
from shiftdp.last_iterate import NoisyCGD, NoisyGD, NoisySGD

Checkpoints = Literal["epochs"] | int | Sequence[float] | None
"""After each epoch; so many, equally spaced; after these epochs; None: the last iterate alone."""

AnyRun = TypeVar("AnyRun", bound=NoisyGD | NoisyCGD | NoisySGD)


def checked_checkpoints(value: Any) -> Any:
    """What a user gives as checkpoints: `epochs`, a number, or a tuple of epochs; None for none."""
    if value is None or (isinstance(value, str) and value == "epochs"):
        return value
    if isinstance(value, str):
        raise InvalidInput(
            "checkpoints", value, "is no checkpoint", 'give "epochs", a number, or a list of epochs'
        )
    if isinstance(value, Sequence) or hasattr(value, "tolist"):
        listed = value.tolist() if hasattr(value, "tolist") else list(value)
        if isinstance(listed, list):
            return tuple(finite("checkpoints", item, 0.0, open_low=True) for item in listed)
    return count("checkpoints", value, 1)


def with_checkpoints(run: AnyRun, checkpoints: Any, average: int | None) -> AnyRun:
    """The run with the releases that checkpoints, and the iterates of an average, ask for.

    >>> run = NoisyCGD(n=40, batch_size=10, epochs=6, learning_rate=0.1, noise=1.0)
    >>> with_checkpoints(run, [1, 2.5], None).releases, with_checkpoints(run, 3, None).releases
    ((4, 10, 24), (8, 16, 24))
    >>> with_checkpoints(run, None, 2).releases
    (20, 24)

    In a run that is reshuffled, so many checkpoints are at the ends of epochs.

    >>> shape = dict(n=40, batch_size=10, epochs=6, learning_rate=0.1, noise=1.0)
    >>> with_checkpoints(NoisyCGD(**shape, order="reshuffled"), 4, None).releases
    (4, 12, 16, 24)
    """
    checkpoints = checked_checkpoints(checkpoints)
    steps = {*_steps(run, checkpoints), *(averaged_steps(run, average) if average else ())}
    if not steps:
        return run
    return type(run)(**{**vars(run), "releases": sorted(steps)})


def averaged_steps(run: Any, number: int) -> list[int]:
    """The ends of the last `number` epochs, which are steps of full batches."""
    epoch = _epoch(run)
    if round(run.steps - (number - 1) * epoch) < 1:
        raise InvalidInput(
            "average",
            number,
            f"is more than the epochs of the run, {run.steps / epoch:g}",
            "give fewer, or more epochs",
        )
    return [round(run.steps - i * epoch) for i in reversed(range(number))]


def average_of(run: Any, number: int, shown: Iterable[tuple[int, NDArray[Any]]]) -> NDArray[Any]:
    """The mean of the iterates after these steps, among those that were released."""
    wanted = averaged_steps(run, number)
    return np.asarray(np.mean([one for step, one in shown if step in wanted], axis=0))


def _steps(run: Any, checkpoints: Any) -> list[int]:
    t, epoch = run.steps, _epoch(run)
    if checkpoints is None:
        return []
    if checkpoints == "epochs":
        return [round(i * epoch) for i in range(1, math.floor(t / epoch) + 1)]
    if isinstance(checkpoints, tuple):
        steps = [round(passes * epoch) for passes in checkpoints]
        for passes, step in zip(checkpoints, steps, strict=True):
            if not 1 <= step <= t:
                raise InvalidInput(
                    "checkpoints",
                    passes,
                    f"is not within the epochs of the run, {t / epoch:g}",
                    "give epochs=..., and checkpoints up to it",
                )
            if _reshuffled(run) and step % run.batches and step != t:
                raise InvalidInput(
                    "checkpoints",
                    passes,
                    "lies within an epoch, and in a run that is reshuffled only ends of epochs are "
                    "cheap",
                    f"give {max(1, round(passes))}, or order='shuffled_once'",
                )
        return steps
    if checkpoints > t:
        raise InvalidInput(
            "checkpoints", checkpoints, f"are more than the {t} steps of the run", "give fewer"
        )
    if not _reshuffled(run):
        return [t * i // checkpoints for i in range(1, checkpoints + 1)]
    epochs = -(-t // run.batches)
    if checkpoints > epochs:
        raise InvalidInput(
            "checkpoints",
            checkpoints,
            f"are more than the {epochs} epochs of the run, and if it is reshuffled only ends of "
            "epochs are cheap",
            "give fewer, epochs=..., or order='shuffled_once'",
        )
    ends = (epochs * i // checkpoints for i in range(1, checkpoints + 1))
    return [min(t, end * run.batches) for end in ends]


def _reshuffled(run: Any) -> bool:
    """Whether a release within an epoch costs much more than one at its end. Theorem V1."""
    return bool(run.in_turn and run.order == "reshuffled")


def _epoch(run: Any) -> float:
    """How many steps a pass over the data has."""
    if run.sampled and not run.in_epochs:
        return float(run.n / run.batch_size)
    return float(run.batches)
