"""The loop: one for full, cyclic and random batches. Only the last iterate leaves it.

    w <- Proj(w - eta (sum of clipped gradients / b + l2 w + Z)),   Z ~ N(0, sigma^2 I),

from w = 0 (projected), and what is released is rounded to the plan's public grid. Nothing else is
shown to anybody: progress is a step count, an error carries the name of its type and the step, and
an interrupted run releases nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import repeat
from threading import Event, Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import count
from shiftdp._errors import InvalidInput, ShiftdpError
from shiftdp.last_iterate import NoisyGD
from shiftdp.last_iterate.runs import PerStep
from shiftdp.training.batches import Batch, batches, is_repeated
from shiftdp.training.crew import (
    at_once,
    cores,
    products_can_be_limited,
    single_threaded_products,
)
from shiftdp.training.entropy import Opener, Seeded
from shiftdp.training.gradient import Parameters
from shiftdp.training.loss import Floats
from shiftdp.training.noise_feed import noise_for
from shiftdp.training.plan import Plan
from shiftdp.training.records import Records, prepare
from shiftdp.training.stacked import gradient_sum

__all__ = ["Progress", "TrainingStopped", "descend", "descend_stacked"]

_CHUNK = 1 << 15  # parameters that are moved together, so that they stay in the cache
_MANY = 1 << 16  # scores of a step of all runs for which threads are worth their while

Progress = Callable[[int, int], object]
"""Called after each step with the number of steps done and the number of steps in all."""


class TrainingStopped(ShiftdpError):
    """The loop ended before its last step. Nothing was released, and nothing is left of it."""


def descend(plan: Plan, X: Any, y: Any, *, progress: Progress | None = None) -> NDArray[Any]:
    """Run the plan on the data and release the last iterate.

    Args:
        X: n rows of features, float32 or float64, an array or a CSR matrix of SciPy. Without the
            constant: the loop adds it if the plan has an intercept.
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
    _require_plan(plan)
    _certify_first(plan)
    models = _released(plan, _run(plan, prepare(plan, X, y), [plan.entropy.open], progress))
    return np.asarray(models[0])


def descend_stacked(
    plan: Plan, X: Any, y: Any, runs: int, *, progress: Progress | None = None
) -> NDArray[Any]:
    """Several independent runs of one plan, for reproductions and audits; test mode only.

    The first is `descend` with the plan's seed, and each of the others `descend` with a seed that
    is made of it. Where all runs use the same batches (full, or cyclic in fixed order) the scores
    of several are one matrix product. Runs are shared out to threads.

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
    _certify_first(plan)
    openers = [source.open for source in plan.entropy.several(runs)]
    return _run_all(plan, prepare(plan, X, y), openers, progress)


def _run_all(
    plan: Plan, records: Records, openers: Sequence[Opener], progress: Progress | None
) -> NDArray[Any]:
    """A run for each opener, released: in stacks where that is possible, and in threads."""
    largest = plan.run.n if isinstance(plan.run, NoisyGD) else plan.run.batch_size
    many = len(openers) * plan.loss.outputs * largest > _MANY
    threads = min(cores(), len(openers)) if many and products_can_be_limited() else 1
    number = threads if is_repeated(plan.run) else len(openers)
    ends = [len(openers) * k // number for k in range(number + 1)]
    told = None if progress is None else _Together(progress, number * plan.run.steps)

    def job(k: int, stop: Event | None) -> NDArray[Any]:
        chosen = openers[ends[k] : ends[k + 1]]
        return _released(plan, _run(plan, records, chosen, told, stop))

    if threads == 1:
        return np.concatenate([job(k, None) for k in range(number)])
    with single_threaded_products():
        return np.concatenate(at_once([partial(job, k) for k in range(number)], threads))


class _Together:
    """Progress of several runs as one, whichever thread they are in."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total = progress, total
        self._done = 0
        self._one_by_one = Lock()

    def __call__(self, step: int, steps: int) -> None:
        with self._one_by_one:
            self._done += 1
            self._progress(self._done, self._total)


def _require_plan(plan: object) -> None:
    if not isinstance(plan, Plan):
        raise InvalidInput("plan", type(plan).__name__, "is not a Plan", "give training.Plan(...)")


def _certify_first(plan: Plan) -> None:
    """No run without the theorem that covers it, or a plan that says there is none."""
    if plan.clipping != "uncertified":
        _ = plan.certificate


def _run(
    plan: Plan,
    records: Records,
    openers: Sequence[Opener],
    progress: Progress | None,
    stop: Event | None = None,
) -> Parameters:
    """All steps of a stack of runs. On any way out but the last line its parameters are
    overwritten.

    Args:
        stop: set when this run and others, in other threads, are to end: what it returns is not
            looked at then.
    """
    features = records.features.shape[1]
    at = Parameters(len(openers), plan.loss.outputs, features, plan.intercept, records.dtype)
    done = 0
    stopped: type[BaseException] | None = None
    try:
        with closing(_steps(plan, records, at, openers, among_others=stop is not None)) as steps:
            for done in steps:
                if progress is not None:
                    progress(done, plan.run.steps)
                if stop is not None and stop.is_set():
                    at.flat.fill(0)
                    break
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


def _steps(
    plan: Plan,
    records: Records,
    at: Parameters,
    openers: Sequence[Opener],
    *,
    among_others: bool,
) -> Generator[int, None, None]:
    run = plan.run
    largest = run.n if isinstance(run, NoisyGD) else run.batch_size
    scalars = zip(_each(run.learning_rate, run.steps), _each(run.noise, run.steps), strict=True)
    chosen: Iterator[Batch] = batches(run, openers[0]("batches"))
    streams = [opener("noise") for opener in openers]
    _project(plan, at)
    with (
        gradient_sum(plan, records, at, largest, among_others=among_others) as gradient,
        noise_for(streams, at, run.steps, gradient) as noise,
    ):
        w = at.flat
        for step, ((eta, sigma), batch) in enumerate(zip(scalars, chosen, strict=True), 1):
            g, z = gradient(batch.rows), noise.step()
            for start in range(0, w.size, _CHUNK):
                part = slice(start, start + _CHUNK)
                _move(w[part], g[part], z[part], eta, plan.l2, sigma, batch.divisor)
            _project(plan, at)
            yield step


def _move(
    w: Floats, g: Floats, z: Floats, eta: float, l2: float, sigma: float, divisor: int
) -> None:
    """w <- (1 - eta l2) w - eta (g / divisor + sigma z); g and z are written over."""
    g *= eta / divisor
    z *= eta * sigma
    g += z
    if l2:
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
    models: Floats = at.models().astype(np.float64)
    at.flat.fill(0)
    models = np.rint(models / plan.grid) * plan.grid
    if plan.projection is not None:  # the grid may lead out of the set; this looks at no data
        flat = models.reshape(len(models), -1)
        models = plan.projection.project(flat).reshape(models.shape)
    return models[:, 0] if plan.loss.outputs == 1 else models
