"""Inverse design: the run, or the losses, that just meet a privacy budget.

**All calibrators answer alike: with the argument that they changed, and with nothing else.** Each
takes a run, a geometry and a budget (see `BudgetKeywords`). Noise, epochs, the learning rate and
the batch size are parameters of the run, so the same run comes back with one of them as good as the
budget allows (`calibrate_cooldown` and `placed_noise`, which shape the noise, keep to this too);
strong convexity and the diameter are parameters of the losses, so the same geometry does. The
answer goes as it is to `certify`, to a plan, or to the next calibrator, and the value that was
found is the attribute of that name, `calibrate_epochs(...).epochs`. An object around both would
have to be opened each time, and would hold one argument that its caller has already. One of them
has neither to change: `calibrate_unlearning` looks for further steps after a training that is over,
and answers with their number, which `Unlearning(training=run, further_steps=...)` takes. Who has
the name of a parameter only, as the command line has, asks `calibrate`, which always answers with
the pair that `certify` takes.

What comes back meets the budget when it is certified in the same way (`certify(run, geometry,
bounds=bounds)`, with the same `accuracy` if one was given; NoisySGD at a delta below 1e-7 with
`delta=delta` too): never the budget plus a tolerance. For random batches a finer `accuracy` finds a
little more. A value that is 1e-6 (of itself) less private does not meet the budget: a value between
the two was certified, and failed. The noise and the steps of NoisySGD under `bounds="composition"`
are an exception: there a secant through the last two certified points, less than 2 percent apart,
says so.

Where privacy is proved to be monotone in the parameter, the boundary is bracketed and searched. mu
of Theorem B1 and of all closed forms is proportional to 1/noise, the shifts being in the units of
the iterate; it falls as the diameter shrinks, and as the strong convexity grows up to the best
learning rate, 2/(M + m); and it grows with the number of whole epochs, a shorter run being a longer
one without its first visits. In the learning rate and the batch size it is not monotone: they are
scanned.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar, Unpack

import numpy as np

from shiftdp._checks import GREATEST, LEAST, choice
from shiftdp._errors import InvalidInput
from shiftdp._rounding import LARGEST_WHOLE
from shiftdp.last_iterate.certification import Bounds, require_run
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import LangevinMC, NoisyStream, PerStep, Run
from shiftdp.privacy.budget import BudgetKeywords, budget_of
from shiftdp.privacy.budget_search import BudgetSearch
from shiftdp.privacy.parameters import refuse_schedules, with_parameter

AnyRun = TypeVar("AnyRun", bound=Run)

_FACTORS = 1e-30, 1e30
"""What noise, or a ridge, is multiplied by at the least and at the most."""
_INSIDE = 1.0 - 1e-15, 1.0 + 1e-15
"""Keep a product of two floats inside a range that it would end at."""
_NEAREST_RATE, _LEAST_RATE = 1e-6, 1e-8
"""Learning rates are tried from this part below the largest one down to this part of it."""
_FIRST_RIDGE = 0.1
"""The ridge that is tried first, as a part of the largest that makes sense."""
_LEAST_RIDGE = 1e-12
"""The least ridge that is tried, as a part of the largest that makes sense."""
_EVERY_SIZE = 256
"""Up to this many records each batch size is tried; beyond, about as many in all."""
_EVERY_RANDOM_SIZE = 32
"""Up to this many records each batch size of NoisySGD is tried, whose certificates take longer."""


class CalibrationKeywords(BudgetKeywords, total=False):
    """A budget, and how what comes back is certified: `bounds` and `accuracy` as in `certify`."""

    bounds: Bounds
    accuracy: float | None


def calibrate(
    run: AnyRun,
    geometry: Geometry,
    *,
    parameter: str,
    **asked: Unpack[CalibrationKeywords],
) -> tuple[AnyRun, Geometry]:
    """The run and the losses with one parameter as good as the budget allows.

    Args:
        run: what is run; the search begins at its own value of the parameter.
        geometry: what is assumed of the losses.
        parameter: `noise`, `epochs` (steps, where there are no epochs), `learning_rate`,
            `batch_size`, `strong_convexity` or `diameter`. Each has a function of its own, such as
            `calibrate_noise`, which says what is looked for and answers with what changed.
        asked: what it may cost, such as `epsilon=1.0, delta=1e-5`; and how it is certified.

    >>> from shiftdp import NoisyGD, certify
    >>> geometry = Geometry(strong_convexity=0.0, smoothness=10.0, sensitivity=1.0)
    >>> run = NoisyGD(n=100, steps=1000, learning_rate=0.1, noise=0.1)
    >>> found = calibrate(run, geometry, parameter="diameter", epsilon=3.0, delta=1e-5)
    >>> round(certify(*found).epsilon(1e-5), 6)
    3.0
    """
    solve = CALIBRATORS[choice("parameter", parameter, CALIBRATORS)]
    found = solve(run, geometry, **asked)
    return (run, found) if hasattr(geometry, parameter) else (found, geometry)


def calibrate_noise(
    run: AnyRun, geometry: Geometry, **asked: Unpack[CalibrationKeywords]
) -> AnyRun:
    """The same run with the least noise that meets the budget.

    Noise that changes from step to step is multiplied as a whole; steps without stay so.

    >>> from shiftdp.last_iterate import NoisyCGD
    >>> geometry = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
    >>> run = NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)
    >>> round(calibrate_noise(run, geometry, epsilon=1.0, delta=1e-5).noise, 6)
    0.037026
    """
    noise = _own(
        run, "noise", "has no noise of its own", "calibrate the learning rate, or the geometry"
    )
    if geometry.sensitivity == 0.0:
        raise InvalidInput(
            "sensitivity", 0.0, "leaks nothing: any noise meets any budget", "keep the noise"
        )
    if not _largest(noise):
        raise InvalidInput("noise", 0.0, "at every step has no multiple", "give some to the last")

    def with_noise(x: float) -> tuple[AnyRun, Geometry]:
        return scaled(run, "noise", x), geometry

    search = _search("noise", with_noise, lambda x: x * _largest(noise), **asked)
    return scaled(run, "noise", search.boundary(1.0, *_factors(noise, *_FACTORS), slope=-1.0))


def calibrate_epochs(
    run: AnyRun, geometry: Geometry, **asked: Unpack[CalibrationKeywords]
) -> AnyRun:
    """The longest run that meets the budget: whole epochs where it has them, else steps.

    They may come back as `math.inf`: train as long as you like. Where batches have random sizes no
    bound is for every length, since every size is exceeded some day: then the most that is counted
    comes back, 2^53 steps.

    >>> from shiftdp.last_iterate import NoisyCGD
    >>> geometry = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
    >>> run = NoisyCGD(n=60_000, batch_size=1_500, epochs=1, learning_rate=0.05, noise=0.01)
    >>> [calibrate_epochs(run, geometry, epsilon=e, delta=1e-5).epochs for e in (8.0, 13.0)]
    [225, inf]
    """
    require_run(run)
    if run.streams:
        problem = "has no end: it costs the same however long it is"
        raise InvalidInput("run", type(run).__name__, problem, "calibrate the noise")
    _own(run, "steps", "is not run in steps", "calibrate the geometry")
    name = "epochs" if run.in_epochs else "steps"
    refuse_schedules(run, name)

    def of_length(x: float) -> tuple[AnyRun, Geometry]:
        return with_parameter(run, geometry, name, x if math.isinf(x) else int(x))

    search = _search(name, of_length, **asked)
    # releases without end cost without end
    if getattr(run, "releases", None) is None and search.met(math.inf):
        return of_length(math.inf)[0]
    most = float(LARGEST_WHOLE // (run.batches if run.in_epochs else 1))  # type: ignore[union-attr]
    given: float = getattr(run, name)
    start = max(1.0, math.floor(given)) if math.isfinite(given) else 1.0
    if _forgets_for_long(run, geometry) and search.met(most):
        return of_length(most)[0]
    return of_length(search.boundary(min(start, most), 1.0, most, slope=0.5, whole=True))[0]


def _forgets_for_long(run: Run, geometry: Geometry) -> bool:
    """Whether steps contract, but for some that have an unusually large batch."""
    if not run.sampled or not run.has_random_sizes:
        return False
    return geometry.contraction(_largest(run.learning_rate)) < 1.0


def calibrate_learning_rate(
    run: AnyRun, geometry: Geometry, **asked: Unpack[CalibrationKeywords]
) -> AnyRun:
    """The same run with the largest learning rate, up to 2/smoothness, that meets the budget.

    Rates that change from step to step are multiplied as a whole. Privacy is best somewhere in
    between, at 2/(M + m) for strongly convex losses, so rates are scanned from the largest down.

    >>> from shiftdp.last_iterate import NoisyGD
    >>> geometry = Geometry(strong_convexity=0.1, smoothness=10.0, sensitivity=1.0)
    >>> run = NoisyGD(n=100, steps=1000, learning_rate=0.1, noise=0.1)
    >>> round(calibrate_learning_rate(run, geometry, epsilon=5.0, delta=1e-5).learning_rate, 6)
    0.198422
    """
    rates = _own(run, "learning_rate", "has no learning rate", "calibrate the geometry")
    if not math.isfinite(geometry.smoothness) or geometry.smoothness == 0.0:
        raise InvalidInput(
            "smoothness",
            geometry.smoothness,
            "sets no largest learning rate",
            "give a positive and finite smoothness",
        )
    if not isinstance(run, LangevinMC):
        _refuse_composition("the learning rate", **asked)
    largest = _largest(rates)
    top = 2.0 / geometry.smoothness

    def at_rate(x: float) -> tuple[AnyRun, Geometry]:
        return scaled(run, "learning_rate", x / largest), geometry

    search = _search("learning_rate", at_rate, **asked)
    best = 2.0 / (geometry.smoothness + max(geometry.strong_convexity, 0.0))
    near, far = (8, 12) if run.sampled else (24, 48)
    points = {
        top,
        best,
        *(top * (1.0 - np.geomspace(_NEAREST_RATE, 0.5, near))).tolist(),
        *np.geomspace(0.5 * top, _LEAST_RATE * top, far).tolist(),
    }
    low, high = _factors(rates, LEAST, GREATEST)
    allowed = [x for x in sorted(points, reverse=True) if low <= x / largest <= high]
    return at_rate(search.first_met(allowed))[0]


def calibrate_batch_size(
    run: AnyRun, geometry: Geometry, **asked: Unpack[CalibrationKeywords]
) -> AnyRun:
    """The same run with the least batch size that meets the budget.

    A run in epochs keeps their number, any other its number of steps. The noise is that on the mean
    gradient, and stays. Sizes are scanned from 1 up: each of them up to n = 256, beyond that those
    that divide n and some others; the answer meets the budget, the size below it does not.

    >>> from shiftdp.last_iterate import NoisyCGD
    >>> geometry = Geometry(strong_convexity=0.1, smoothness=10.0, sensitivity=1.0)
    >>> run = NoisyCGD(n=200, batch_size=1, epochs=10, learning_rate=0.1, noise=0.1)
    >>> calibrate_batch_size(run, geometry, epsilon=3.0, delta=1e-5).batch_size
    20
    """
    _own(run, "batch_size", "has no batches to size", "calibrate the noise")
    if not run.streams:
        refuse_schedules(run, "batch_size")

    def of_size(x: float) -> tuple[AnyRun, Geometry]:
        return with_parameter(run, geometry, "batch_size", int(x))

    search = _search("batch_size", of_size, **asked)
    if isinstance(run, NoisyStream):  # nothing but the sensitivity depends on it
        most = float(LARGEST_WHOLE // run.batches_per_release)
        least = search.boundary(float(run.batch_size), 1.0, most, slope=-1.0, whole=True)
        return of_size(least)[0]
    return of_size(search.first_met(_sizes(run), whole=True))[0]


def calibrate_strong_convexity(
    run: Run, geometry: Geometry, **asked: Unpack[CalibrationKeywords]
) -> Geometry:
    """The same losses with the least ridge that meets the budget.

    A ridge adds to the strong convexity and to the smoothness alike. The least is that which makes
    the losses have strong convexity 0 (or what they have, if it is negative), the largest that for
    which the learning rate is 2/(M + m); beyond, privacy gets worse again.

    >>> from shiftdp.last_iterate import NoisyGD
    >>> geometry = Geometry(strong_convexity=0.0, smoothness=10.0, sensitivity=1.0)
    >>> run = NoisyGD(n=100, steps=1000, learning_rate=0.1, noise=0.1)
    >>> found = calibrate_strong_convexity(run, geometry, epsilon=3.0, delta=1e-5)
    >>> round(found.strong_convexity, 6), round(found.smoothness, 6)
    (0.379413, 10.379413)
    """
    _refuse_composition("strong convexity", **asked)
    base = min(geometry.strong_convexity, 0.0)
    own = geometry.smoothness - geometry.strong_convexity

    def with_ridge(x: float) -> tuple[Run, Geometry]:
        m = base + x
        return run, replace(geometry, strong_convexity=m, smoothness=max(own + m, m))

    search = _search("strong_convexity", with_ridge, lambda x: base + x, **asked)
    if math.isfinite(base) and search.met(0.0):
        return with_ridge(0.0)[1]
    if run.one_draw:
        return with_ridge(search.boundary(1.0, *_FACTORS, slope=-0.5))[1]
    largest = _largest(run.learning_rate)
    top = 1.0 / largest - 0.5 * own - base
    if not (math.isfinite(own) and top > LEAST):
        raise InvalidInput(
            "smoothness",
            geometry.smoothness,
            f"leaves no room for a ridge at learning_rate={largest:g}",
            "lower the learning rate",
        )
    least = max(_LEAST_RIDGE * top, LEAST)
    if run.sampled:
        return with_ridge(search.first_met(np.geomspace(least, top, 20).tolist()))[1]
    return with_ridge(search.boundary(max(_FIRST_RIDGE * top, least), least, top, slope=-0.5))[1]


def calibrate_diameter(
    run: Run, geometry: Geometry, **asked: Unpack[CalibrationKeywords]
) -> Geometry:
    """The same losses on the largest set that meets the budget; infinite where none is needed.

    >>> from shiftdp.last_iterate import NoisyGD
    >>> geometry = Geometry(strong_convexity=0.0, smoothness=10.0, sensitivity=1.0)
    >>> run = NoisyGD(n=100, steps=1000, learning_rate=0.1, noise=0.1)
    >>> round(calibrate_diameter(run, geometry, epsilon=3.0, delta=1e-5).diameter, 6)
    0.012928
    """
    require_run(run)
    if not run.one_draw:
        _refuse_composition("the diameter", **asked)

    def of_diameter(x: float) -> tuple[Run, Geometry]:
        return run, replace(geometry, diameter=x)

    search = _search("diameter", of_diameter, **asked)
    if search.met(math.inf):
        return of_diameter(math.inf)[1]
    start = geometry.diameter if geometry.bounded else 1.0
    return of_diameter(search.boundary(start, LEAST, GREATEST, slope=0.5))[1]


CALIBRATORS: dict[str, Callable[..., Any]] = {
    "noise": calibrate_noise,
    "epochs": calibrate_epochs,
    "learning_rate": calibrate_learning_rate,
    "batch_size": calibrate_batch_size,
    "strong_convexity": calibrate_strong_convexity,
    "diameter": calibrate_diameter,
}
"""The functions above, by the parameter that they calibrate."""


def _search(
    parameter: str,
    setting: Callable[[float], tuple[Run, Geometry]],
    value: Callable[[float], float] = float,
    *,
    bounds: Bounds = "best",
    accuracy: float | None = None,
    **budget: Unpack[BudgetKeywords],
) -> BudgetSearch:
    return BudgetSearch(budget_of(**budget), bounds, accuracy, parameter, setting, value)


def _refuse_composition(parameter: str, **asked: Unpack[CalibrationKeywords]) -> None:
    """Refuse to look for a parameter in the one bound that does not depend on it."""
    bounds = asked.get("bounds")
    if bounds == "composition":
        problem = f"does not depend on {parameter}"
        raise InvalidInput("bounds", bounds, problem, 'give "best" or "paper"')


def scaled(run: AnyRun, name: str, factor: float) -> AnyRun:
    """The run with its noise, or learning rate, times a factor at every step."""
    old: PerStep = getattr(run, name)
    new = tuple(x * factor for x in old) if isinstance(old, tuple) else old * factor
    return type(run)(**{**vars(run), name: new})


def _own(run: Run, name: str, lacking: str, remedy: str) -> PerStep:
    """A parameter that is the run's own: the noise of LangevinMC follows from its learning rate."""
    require_run(run)
    if run.deletes:
        raise InvalidInput(
            "run",
            "Unlearning",
            "has the parameters of its training, which is over",
            "ask calibrate_unlearning for the further steps, or calibrate the training",
        )
    if name not in vars(run):
        raise InvalidInput("run", type(run).__name__, lacking, remedy)
    value: PerStep = getattr(run, name)
    return value


def _largest(value: PerStep) -> float:
    return max(value) if isinstance(value, tuple) else value


def _factors(value: PerStep, low: float, high: float) -> tuple[float, float]:
    """What all entries may be multiplied by, from `low` to `high`, without leaving their range."""
    values = [x for x in value if x] if isinstance(value, tuple) else [value]
    below, above = _INSIDE
    return max(low, LEAST / min(values) * above), min(high, GREATEST / max(values) * below)


def _sizes(run: Any) -> list[float]:
    """The batch sizes that are tried, in rising order."""
    n = run.n
    random = run.sampled
    if n <= (_EVERY_RANDOM_SIZE if random else _EVERY_SIZE):
        return [float(x) for x in range(1, n + 1)]
    many = 16 if random else _EVERY_SIZE if run.order == "fixed" else 64
    sizes = {round(x) for x in np.geomspace(1, n, many).tolist()}
    if not random:
        small = [k for k in range(1, math.isqrt(n) + 1) if n % k == 0]
        sizes |= {*small, *(n // k for k in small)}
    return [float(x) for x in sorted(sizes)]
