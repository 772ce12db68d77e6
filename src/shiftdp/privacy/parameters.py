"""The same run, or the same losses, with one parameter changed."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

from shiftdp._checks import choice
from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import Run

AnyRun = TypeVar("AnyRun", bound=Run)

_WORDS = ("order", "sampling", "last_batch", "adjacency", "releases", "arrangement")
_PARTS = ("training", "later_requests")  # of a deletion, which are no numbers


def parameters_of(run: Run, geometry: Geometry) -> tuple[str, ...]:
    """The numbers that describe a run and its losses, by name."""
    own = [field.name for field in fields(run) if field.name not in (*_WORDS, *_PARTS)]
    epochs = ["epochs"] if run.in_epochs else []
    losses = [field.name for field in fields(geometry) if field.name not in _WORDS]
    return (*own, *epochs, *losses)


def with_parameter(
    run: AnyRun, geometry: Geometry, name: str, value: float
) -> tuple[AnyRun, Geometry]:
    """The run and its losses with one number replaced.

    Where n or the batch size of a run in epochs changes, their number stays. Learning rates, or
    noise, that change from step to step are multiplied as a whole: the value is the largest.

    >>> from shiftdp.last_iterate import NoisyCGD
    >>> run = NoisyCGD(n=100, batch_size=10, epochs=3, learning_rate=0.1, noise=1.0)
    >>> geometry = Geometry(strong_convexity=0, smoothness=1, sensitivity=1)
    >>> with_parameter(run, geometry, "batch_size", 20)[0].steps
    15
    >>> cooled = NoisyCGD(n=100, batch_size=50, epochs=1, learning_rate=0.1, noise=[1.0, 2.0])
    >>> with_parameter(cooled, geometry, "noise", 3.0)[0].noise
    (1.5, 3.0)
    """
    choice("parameter", name, parameters_of(run, geometry))
    if name in vars(geometry):
        changes: dict[str, Any] = {name: value}
        return run, replace(geometry, **changes)
    given: dict[str, Any] = dict(vars(run))
    if name in ("steps", "epochs", "n", "batch_size") and not run.streams:
        refuse_schedules(run, name)
    if run.in_epochs and name in ("epochs", "n", "batch_size"):
        del given["steps"]
        given["epochs"] = run.epochs  # type: ignore[union-attr]
    old = given.get(name)
    given[name] = tuple(x / max(old) * value for x in old) if isinstance(old, tuple) else value
    return type(run)(**given), geometry


def refuse_schedules(run: Run, name: str) -> None:
    """Refuse to change the number of steps of a run with one learning rate, or noise, a step, or
    with releases after certain steps."""
    for field in ("learning_rate", "noise", "releases"):
        value = getattr(run, field, None)
        if isinstance(value, tuple) and field == "releases":
            raise InvalidInput(
                field,
                f"<{len(value)} entries>",
                f"are steps of a run of this length: {name} cannot change",
                'give releases="epochs", or "all"',
            )
        if isinstance(value, tuple):
            raise InvalidInput(
                field,
                f"<{len(value)} entries>",
                f"has one entry a step, which fixes the number of steps: {name} cannot change",
                f"give one {field} for all steps",
            )
