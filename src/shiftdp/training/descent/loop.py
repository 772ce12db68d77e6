"""The training loop: one for full, cyclic and random batches. Only the last iterate leaves it,
and those that the run releases beside it.

    w <- Proj(prox(w - eta (sum of clipped gradients / b + l2 w + Z))),   Z ~ N(0, sigma^2 I),

from w = 0 (projected): this is `iterates`. In a step without noise, sigma = 0, none is drawn. What
is released is rounded to the plan's public grid. A plan that is `centred` first measures where the
rows lie, and trains on their distances from there. Nothing else is shown to anybody: progress is a
step count, an error carries the name of its type and the step, and an interrupted run releases
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from itertools import islice, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import count
from shiftdp._errors import InvalidInput, ShiftdpError
from shiftdp.last_iterate.runs import PerStep
from shiftdp.last_iterate.schedules.releases import release_steps
from shiftdp.last_iterate.training_record import MEASURING
from shiftdp.training.centring import (
    Centre,
    refuse_to_centre,
    without_sums,
)
from shiftdp.training.descent.batches import batches
from shiftdp.training.descent.entropy import Entropy, Seeded, Stream
from shiftdp.training.descent.gradient import LocalSource
from shiftdp.training.descent.reading import announced
from shiftdp.training.descent.records import prepare
from shiftdp.training.descent.resume import Kept, kept_in
from shiftdp.training.descent.source import CentrableSource, Elsewhere, Source
from shiftdp.training.descent.state_file import EncryptedState
from shiftdp.training.losses.base import Floats
from shiftdp.training.plan import Plan

Progress = Callable[[int, int], object]
"""Called after each step with the number of steps done and the number of steps in all."""

Checkpoints = Callable[[int, NDArray[Any]], object]
"""Called with each iterate that is released, and the number of its step."""

Located = Callable[[Centre], object]
"""Called with where the rows lie, as it was measured with noise."""


_FUNCTIONS = {
    "progress": "give a function of the steps done and the steps in all",
    "checkpoints": "give a function of a step and its iterate; which are released says the run, by "
    "releases=...",
}


class TrainingStopped(ShiftdpError):
    """The loop ended before its last step. Nothing more was released, and nothing is left of it."""


# --- the steps ---


def iterates(
    plan: Plan,
    records: Source,
    models: Floats,
    sources: Sequence[Entropy],
    l2: float | Floats | None = None,
    kept: Kept | None = None,
) -> Generator[int, None, None]:
    """Move the models step by step, in place; the number of each step, when it is done.

    All models see the same batches, so that the scores of all are one matrix product.

    Args:
        models: as `starting_point` makes them.
        sources: of the noise, one for each model. Batches that are drawn come from the first.
        l2: the ridge, instead of the plan's; an array has one for each model.
        kept: a state from which the models are: the steps up to it are done. Their batches are
            drawn again, in the same order; their noise is not, but in test mode. [`resume`]
    """
    if plan.centred:
        raise refuse_to_centre("steps alone, without the sums before them")
    run, d = plan.run, records.features
    before = 0 if kept is None else kept.step
    again = any(not source.private for source in sources)
    ridge = plan.l2 if l2 is None else np.reshape(l2, (-1, 1, 1))
    shrinks = bool(np.any(ridge))
    order = sources[0].open("batches") if kept is None or again else kept.order()
    chosen = batches(run, order, mapped=records.mapped)
    streams = [source.open("noise") for source in sources]
    numbers = np.empty(models[0].size)
    rates, deviations = _each(run.learning_rate, run.steps), _each(run.noise, run.steps)
    try:
        with records.gradient(plan, models) as gradient:
            if records.mapped:
                chosen = announced(gradient, chosen)
            steps = enumerate(zip(rates, deviations, chosen, strict=True), 1)
            for _, (_, sigma, _) in islice(steps, before):  # done, and not done again
                for stream in streams if again and sigma > 0.0 else ():
                    stream.fill(numbers)
            for step, (eta, sigma, batch) in steps:
                # models <- Proj(prox((1 - eta l2) models - eta (total / divisor + sigma noise)))
                total = gradient(models, batch.rows)
                total *= eta / batch.divisor
                if sigma > 0.0:
                    _add_noise(total, eta * sigma, streams, numbers, d)
                if shrinks:
                    models *= 1.0 - eta * ridge
                models -= total
                if plan.prox is not None:
                    plan.prox.apply(models, eta, int(plan.intercept))
                if plan.projection is not None:
                    _project(plan, models)
                yield step
    finally:
        numbers.fill(0)


def starting_point(plan: Plan, records: Source, models: int) -> Floats:
    """Where so many models begin: at 0, projected. The shape is (models, outputs, columns), one
    column for each feature and, if there is an intercept, the last for it."""
    start = np.zeros((models, plan.loss.outputs, records.features + plan.intercept))
    _project(plan, start)
    return start


def _add_noise(
    total: Floats, sigma: float, streams: Sequence[Stream], numbers: Floats, features: int
) -> None:
    """Normals of deviation sigma for each parameter of each model, from the model's own stream:
    first for all of its weights, then for its intercepts.

    Args:
        numbers: room for as many numbers as a model has parameters.
    """
    for model, stream in zip(total, streams, strict=True):
        stream.fill(numbers)
        numbers *= sigma
        outputs = len(model)
        weights = outputs * features
        model[:, :features] += numbers[:weights].reshape(outputs, features)
        model[:, features:] += numbers[weights:].reshape(outputs, -1)


def _each(value: PerStep, steps: int) -> Iterator[float]:
    return repeat(value, steps) if isinstance(value, float) else iter(value)


def _project(plan: Plan, models: Floats) -> None:
    if plan.projection is not None:
        flat = models.reshape(len(models), -1)
        flat[...] = plan.projection.project(flat)


# --- a run: from checked records to what is released ---


def descend(
    plan: Plan,
    X: Any,
    y: Any,
    *,
    progress: Progress | None = None,
    checkpoints: Checkpoints | None = None,
    state: EncryptedState | None = None,
) -> NDArray[Any]:
    """Run the plan on the data and release the last iterate, and the others of its `releases`.

    Args:
        X: n rows of features, an array or a sparse matrix of SciPy. Arrays of float32 and float64
            are not copied, but for a plan with `centred` rows; an `np.memmap` is read block by
            block, and its memory given back. The loop computes in float64. Without the constant:
            the loop adds it if the plan has an intercept. Data frames whose columns are nullable,
            of objects or of Arrow become arrays of objects, which are refused; the estimators read
            them.
        y: n labels or numbers, as the loss wants them.
        progress: called with the steps done and the steps in all.
        checkpoints: called with each step whose iterate the run releases, the last one included,
            and that iterate, as soon as it is there. The certificate covers them together, whether
            they are published or not.
        state: where the run is kept, so that it can go on after its process died.

    Returns:
        The parameters of the last iterate, of shape (outputs, features), or (features,) for losses
        of one score; with an intercept one more column, the last.

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
    _require_callable(progress=progress, checkpoints=checkpoints)
    records = certified_records(plan, X, y)
    if plan.centred and state is not None:
        raise refuse_to_centre("a run that is kept in a state")
    with nullcontext() if state is None else kept_in(state, plan, records) as kept:
        return descend_on(plan, records, progress=progress, checkpoints=checkpoints, kept=kept)


def certified_records(plan: Plan, X: Any, y: Any) -> Source:
    """The data, checked; but first the plan: a theorem covers it, or it says that none does.

    Whatever is wrong with plan or data is refused here, before the first step.
    """
    require_certified(plan)
    if isinstance(X, Elsewhere):
        if plan.centred:
            raise refuse_to_centre("rows that are elsewhere")
        return X.source(plan)
    return LocalSource(prepare(plan, X, y))


def require_certified(plan: Plan) -> None:
    """Refuse what is not a plan, and a plan that no theorem covers and that does not say so."""
    _require_plan(plan)
    if plan.clipping != "uncertified":
        _ = plan.certificate


def descend_on(
    plan: Plan,
    records: Source,
    *,
    progress: Progress | None = None,
    checkpoints: Checkpoints | None = None,
    start: NDArray[Any] | None = None,
    kept: Kept | None = None,
    located: Located | None = None,
) -> NDArray[Any]:
    """`descend` on records that were checked, wherever they are. A ledger is charged between the
    check and this.

    Args:
        located: called once the rows are centred, if they are; what it is given was paid for.
        start: parameters to begin from instead of 0, that were released, as `descend` returns them.
        kept: the state of this run, from which it goes on.
    """
    shown: Checkpoints | None = None
    if checkpoints is not None:
        show = checkpoints

        def shown(step: int, released: NDArray[Any]) -> object:
            return show(step, released[0])

    begin = None if start is None else np.asarray(start)[np.newaxis]
    found = _run(plan, records, [plan.entropy], progress, shown, begin, kept, located)
    return np.asarray(found[0])


def descend_stacked(
    plan: Plan,
    X: Any,
    y: Any,
    runs: int,
    *,
    progress: Progress | None = None,
    checkpoints: Checkpoints | None = None,
    start: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Several independent runs of one plan, for reproductions and audits; test mode only.

    The first is `descend` with the plan's seed, and each of the others `descend` with a seed that
    is made of it. Where all runs use the same batches (full, or cyclic in fixed order) they make
    their steps together, so that their scores are one matrix product; others follow one another.

    Args:
        progress: called with the steps done and the steps in all. A step that runs make together
            counts once.
        checkpoints: called with each step that is released, and the iterates of runs that make
            their steps together.
        start: where each run begins, instead of 0, in the form that is returned.

    Returns:
        What `descend` returns, with the run as first axis.
    """
    _require_plan(plan)
    _require_callable(progress=progress, checkpoints=checkpoints)
    runs = count("runs", runs, 1)
    if not isinstance(plan.entropy, Seeded):
        raise InvalidInput(
            "runs",
            runs,
            "releases are not covered by the certificate of one",
            "give the plan entropy=Seeded(...), which says that nothing here is private",
        )
    sources = plan.entropy.several(runs)
    alone = plan.run.secret_batches or plan.centred
    stacks = [[source] for source in sources] if alone else [sources]
    records = certified_records(plan, X, y)
    models = []
    for k, stack in enumerate(stacks):
        done, total = k * plan.run.steps, len(stacks) * plan.run.steps
        counted = None if progress is None else _counted(progress, done, total)
        begin = start if start is None or len(stacks) == 1 else start[k : k + 1]
        models.append(_run(plan, records, stack, counted, checkpoints, begin))
    return np.concatenate(models)


def _counted(progress: Progress, before: int, total: int) -> Progress:
    """Progress of a part of all steps, told as theirs, `before` being done."""
    return lambda done, steps: progress(before + done, total)


def _require_plan(plan: object) -> None:
    if not isinstance(plan, Plan):
        raise InvalidInput("plan", type(plan).__name__, "is not a Plan", "give training.Plan(...)")


def _require_callable(**given: object) -> None:
    """Before the run, and not after its first step."""
    for name, value in given.items():
        if value is not None and not callable(value):
            raise InvalidInput(name, value, "cannot be called", _FUNCTIONS[name])


def _run(
    plan: Plan,
    records: Source,
    sources: Sequence[Entropy],
    progress: Progress | None,
    checkpoints: Checkpoints | None = None,
    start: NDArray[Any] | None = None,
    kept: Kept | None = None,
    located: Located | None = None,
) -> NDArray[Any]:
    """All steps of a stack of models, and their release; on centred rows if the plan says so."""
    if not plan.centred:
        return _steps(plan, records, sources, progress, checkpoints, start, kept)
    if start is not None or kept is not None:
        raise refuse_to_centre("a run that goes on from another")
    if not isinstance(records, CentrableSource):
        raise refuse_to_centre("rows that are elsewhere")
    steps = plan.run.steps
    centre, near = _centred(plan, records, sources[0], progress)
    moves = replace(plan, centred=False, run=without_sums(plan.run))
    counted = None if progress is None else _counted(progress, MEASURING, steps)
    released = _steps(moves, near, sources, counted, before=MEASURING)
    given_back = centre.given_back(released, plan.feature_bound)
    if located is not None:
        located(centre)
    _show(checkpoints, steps, given_back)
    return given_back


def _centred(
    plan: Plan, records: CentrableSource, source: Entropy, progress: Progress | None
) -> tuple[Centre, Source]:
    """Where the rows lie, measured with noise, and the records as distances from there."""
    stopped: type[BaseException] | None = None
    try:
        with np.errstate(all="ignore"):
            centre, near = records.centred(plan, source.open("rows"))
        if progress is not None:
            progress(MEASURING, plan.run.steps)
    except BaseException as error:
        stopped = type(error)
    if stopped is None:
        return centre, near
    del records
    if not issubclass(stopped, Exception):
        raise stopped
    raise TrainingStopped(
        f"{stopped.__name__} before step {MEASURING + 1} of {plan.run.steps}; nothing was released"
    )


def _steps(
    plan: Plan,
    records: Source,
    sources: Sequence[Entropy],
    progress: Progress | None,
    checkpoints: Checkpoints | None = None,
    start: NDArray[Any] | None = None,
    kept: Kept | None = None,
    before: int = 0,
) -> NDArray[Any]:
    """All steps of a stack of models, and their release; if the run stops before its end, its
    models are overwritten. One that was kept goes on after the last step that was saved. `before`
    are the steps that were made before these."""
    models = starting_point(plan, records, len(sources))
    if start is not None:
        models[...] = np.asarray(start, dtype=np.float64).reshape(models.shape)
        _project(plan, models)
    early = {*release_steps(plan.run)[:-1]} if checkpoints is not None else frozenset[int]()
    done = 0 if kept is None else kept.step
    if kept is not None:
        for step in sorted({*kept.released} & early):
            _show(checkpoints, step, kept.released[step])
        if kept.last is not None:
            _show(checkpoints, done, kept.last)
            return kept.last
        if kept.models is not None:
            models[...] = kept.models
    stopped: type[BaseException] | None = None
    try:
        moved = iterates(plan, records, models, sources, kept=kept)
        with np.errstate(all="ignore"), closing(moved) as steps:
            for done in steps:
                shown = _released(plan, models.copy(), done) if done in early else None
                if kept is not None:  # saved before anybody sees it
                    kept.note(done, models, shown)
                if shown is not None:
                    _show(checkpoints, done, shown)
                if progress is not None:
                    progress(done, plan.run.steps)
    except BaseException as error:
        stopped = type(error)
    if stopped is None:
        released = _released(plan, models, done)
        if kept is not None:
            kept.finish(done, released)
        _show(checkpoints, done, released)
        return released
    # raised here, outside of the handler, so that the new exception has no context: the old one
    # leads to frames, and the frames to arrays
    models.fill(0)
    del records, models
    if not issubclass(stopped, Exception):
        raise stopped
    nothing = "nothing more" if checkpoints is not None and early else "nothing"
    where = f"step {before + done} of {before + plan.run.steps}"
    raise TrainingStopped(f"{stopped.__name__} after {where}; {nothing} was released")


def _show(checkpoints: Checkpoints | None, step: int, released: NDArray[Any]) -> None:
    if checkpoints is not None:
        checkpoints(step, released)


def _released(plan: Plan, models: Floats, step: int) -> NDArray[Any]:
    """The iterate after a step on the public grid; the one it came from is erased."""
    grid = plan.grid_at(step)
    released = np.rint(models / grid) * grid
    models.fill(0)
    _project(plan, released)  # the grid may lead out of the set; this looks at no data
    return released[:, 0] if plan.loss.outputs == 1 else released
