"""The loop: one for full, cyclic and random batches. Only the last iterate leaves it.

    w <- Proj(w - eta (sum of clipped gradients / b + l2 w + Z)),   Z ~ N(0, sigma^2 I),

from w = 0 (projected), and what is released is rounded to the plan's public grid. Nothing else is
shown to anybody: progress is a step count, an error carries the name of its type and the step, and
an interrupted run releases nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import count
from shiftdp._errors import InvalidInput, ShiftdpError
from shiftdp.last_iterate.runs import PerStep
from shiftdp.last_iterate.sum_rounding import largest_batch
from shiftdp.training.descent.batches import Batch, batches, is_repeated
from shiftdp.training.descent.entropy import Opener, Seeded
from shiftdp.training.descent.gradient import GradientSum, Parameters
from shiftdp.training.descent.noise import Noise
from shiftdp.training.descent.records import Records, prepare
from shiftdp.training.losses.base import Floats
from shiftdp.training.plan import Plan

__all__ = [
    "Progress",
    "TrainingStopped",
    "descend",
    "descend_on",
    "descend_stacked",
    "iterates",
    "prepared",
    "starting_point",
]

_CHUNK = 1 << 15  # parameters that are moved together, so that they stay in the cache

Progress = Callable[[int, int], object]
"""Called after each step with the number of steps done and the number of steps in all."""


class TrainingStopped(ShiftdpError):
    """The loop ended before its last step. Nothing was released, and nothing is left of it."""


def descend(plan: Plan, X: Any, y: Any, *, progress: Progress | None = None) -> NDArray[Any]:
    """Run the plan on the data and release the last iterate.

    Args:
        X: n rows of features, an array or a sparse matrix of SciPy. Arrays of float32 and float64
            are not copied; the loop computes in float64. Without the constant: the loop adds it if
            the plan has an intercept. Data frames whose columns are nullable, of objects or of
            Arrow become arrays of objects, which are refused; the estimators read them.
        y: n labels or numbers, as the loss wants them.
        progress: called with the steps done and the steps in all.

    Returns:
        The parameters, of shape (outputs, features), or (features,) for losses of one score; with
        an intercept one more column, the last.

    >>> import numpy as np
    >>> from shiftdp import NoisyGD
    >>> from shiftdp.training import Logistic, Plan, descend
    >>> run = NoisyGD(n=4, steps=20, learning_rate=1.0, noise=0.1)
    >>> plan = Plan(run=run, loss=Logistic(), feature_bound=1.0, l2=0.1)
    >>> X = np.array([[1.0, 0.0], [0.8, 0.1], [-1.0, 0.1], [-0.9, 0.0]])
    >>> weights = descend(plan, X, [1, 1, 0, 0])
    >>> weights.shape, bool(weights[0] > 0)
    ((3,), True)
    """
    return descend_on(plan, prepared(plan, X, y), progress=progress)


def prepared(plan: Plan, X: Any, y: Any) -> Records:
    """The data of a plan that a theorem covers, checked: the last that may be refused."""
    _require_plan(plan)
    _certify_first(plan)
    return prepare(plan, X, y)


def descend_on(plan: Plan, records: Records, *, progress: Progress | None = None) -> NDArray[Any]:
    """The same on records that were checked: whoever charges a ledger does it before this."""
    models = _released(plan, _run(plan, records, [plan.entropy.open], progress))
    return np.asarray(models[0])


def descend_stacked(
    plan: Plan, X: Any, y: Any, runs: int, *, progress: Progress | None = None
) -> NDArray[Any]:
    """Several independent runs of one plan, for reproductions and audits; test mode only.

    The first is `descend` with the plan's seed, and each of the others `descend` with a seed that
    is made of it. Where all runs use the same batches (full, or cyclic in fixed order) their scores
    are one matrix product; others follow one another.

    Args:
        progress: called with the steps done and the steps in all, those of runs that are one
            product counted once.

    Returns:
        What `descend` returns, with the run as first axis.
    """
    _require_plan(plan)
    runs = count("runs", runs, 1)
    if not isinstance(plan.entropy, Seeded):
        raise InvalidInput(
            "runs",
            runs,
            "releases are not covered by the certificate of one",
            "give the plan entropy=Seeded(...), which says that nothing here is private",
        )
    openers = [source.open for source in plan.entropy.several(runs)]
    stacks = [openers] if is_repeated(plan.run) else [[opener] for opener in openers]
    records = prepared(plan, X, y)
    models = []
    for k, stack in enumerate(stacks):
        done, total = k * plan.run.steps, len(stacks) * plan.run.steps
        counted = None if progress is None else _counted(progress, done, total)
        models.append(_released(plan, _run(plan, records, stack, counted)))
    return np.concatenate(models)


def _counted(progress: Progress, before: int, total: int) -> Progress:
    """Progress of one of several runs, as steps of them all."""
    return lambda done, steps: progress(before + done, total)


def _require_plan(plan: object) -> None:
    if not isinstance(plan, Plan):
        raise InvalidInput("plan", type(plan).__name__, "is not a Plan", "give training.Plan(...)")


def _certify_first(plan: Plan) -> None:
    """No run without the theorem that covers it, or a plan that says there is none."""
    if plan.clipping != "uncertified":
        _ = plan.certificate


def _run(
    plan: Plan, records: Records, openers: Sequence[Opener], progress: Progress | None
) -> Parameters:
    """All steps of a stack of runs. On any way out but the last line its parameters are
    overwritten."""
    at = starting_point(plan, records, len(openers))
    done = 0
    stopped: type[BaseException] | None = None
    try:
        with np.errstate(all="ignore"), closing(iterates(plan, records, at, openers)) as steps:
            for done in steps:
                if progress is not None:
                    progress(done, plan.run.steps)
    except BaseException as error:
        stopped = type(error)
    if stopped is None:
        return at
    # raised here, outside of the handler, so that the new exception has no context: the old one
    # leads to frames, and the frames to arrays
    at.flat.fill(0)
    del records, at
    if not issubclass(stopped, Exception):
        raise stopped
    raise TrainingStopped(
        f"{stopped.__name__} after step {done} of {plan.run.steps}; nothing was released"
    )


def starting_point(plan: Plan, records: Records, runs: int) -> Parameters:
    """Where a stack of runs begins: at 0, projected."""
    at = Parameters(runs, plan.loss.outputs, records.rows.shape[1], plan.intercept)
    _project(plan, at)
    return at


def iterates(
    plan: Plan,
    records: Records,
    at: Parameters,
    openers: Sequence[Opener],
    l2: Sequence[float] | None = None,
) -> Generator[int, None, None]:
    """Move the stack of models `at` step by step; the number of each step, when it is done.

    Args:
        openers: of the streams of each model. Batches that are drawn come from the first.
        l2: a ridge for each model, instead of the plan's.
    """
    run = plan.run
    scalars = zip(_each(run.learning_rate, run.steps), _each(run.noise, run.steps), strict=True)
    chosen: Iterator[Batch] = batches(run, openers[0]("batches"))
    streams = [opener("noise") for opener in openers]
    ridges = _ridges(at, l2) if l2 is not None else None
    with (
        GradientSum(plan, records, at, largest_batch(run)) as gradient,
        Noise(streams, at, run.steps) as noise,
    ):
        w = at.flat
        for step, ((eta, sigma), batch) in enumerate(zip(scalars, chosen, strict=True), 1):
            g, z = gradient(batch.rows), noise.step()
            for first in range(0, w.size, _CHUNK):
                part = slice(first, first + _CHUNK)
                ridge = plan.l2 if ridges is None else ridges[part]
                _move(w[part], g[part], z[part], eta, ridge, sigma, batch.divisor)
            _project(plan, at)
            yield step


def _ridges(at: Parameters, l2: Sequence[float]) -> Floats:
    """The ridge of each parameter."""
    each = at.like()
    per_row = np.repeat(np.asarray(l2, dtype=np.float64), at.shape[1])[:, None]
    each.weights[...] = per_row
    if each.intercepts is not None:
        each.intercepts[...] = per_row
    return each.flat


def _move(
    w: Floats, g: Floats, z: Floats, eta: float, l2: float | Floats, sigma: float, divisor: int
) -> None:
    """w <- (1 - eta l2) w - eta (g / divisor + sigma z); g and z are written over."""
    g *= eta / divisor
    z *= eta * sigma
    g += z
    w *= 1.0 - eta * l2
    w -= g


def _each(value: PerStep, steps: int) -> Iterator[float]:
    return repeat(value, steps) if isinstance(value, float) else iter(value)


def _project(plan: Plan, at: Parameters) -> None:
    if plan.projection is not None:
        models = at.models()
        flat = models.reshape(len(models), -1)
        at.assign(plan.projection.project(flat).reshape(models.shape))


def _released(plan: Plan, at: Parameters) -> NDArray[Any]:
    """The last iterate on the public grid, in double precision; the one it came from is erased."""
    models = at.models()
    at.flat.fill(0)
    models = np.rint(models / plan.grid) * plan.grid
    if plan.projection is not None:  # the grid may lead out of the set; this looks at no data
        flat = models.reshape(len(models), -1)
        models = plan.projection.project(flat).reshape(models.shape)
    return models[:, 0] if plan.loss.outputs == 1 else models
