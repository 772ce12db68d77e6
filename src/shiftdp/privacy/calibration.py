"""Inverse design: the run, or the losses, that just meet a privacy budget.

Each function takes a run, a geometry and a budget (see `Terms`), and answers with the same run, or
the same geometry, in which one parameter is as good as the budget allows. What comes back meets the
budget when it is certified in the same way (`certify(run, geometry, bounds=bounds)`, with the same
`accuracy` if one was given; NoisySGD at a delta below 1e-7 with `delta=delta` too): never the
budget plus a tolerance. For random batches a finer `accuracy` finds a little more. A parameter that
is 1e-6 less (of itself) private does not meet it: one between the two was certified, and failed.
The noise and the steps of NoisySGD under `bounds="composition"` are an exception: there that is
what the secant through the last two certified points, less than 2 percent apart, says.

A Renyi divergence of NoisySGD is a sum of moments over its steps, each proved from above (see
`fdp.renyi_line` and `fdp.renyi_halves`).

What is proved to be monotone is bracketed and settled. mu of Theorem B1 and of all closed forms is
proportional to 1/noise, the shifts being in the units of the iterate; it falls as the diameter
shrinks, and as the strong convexity grows up to the best learning rate, 2/(M + m); and it grows
with the number of whole epochs, a shorter run being a longer one without its first visits. What is
not, the learning rate and the batch size, is scanned.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar, Unpack, cast

import numpy as np

from shiftdp._checks import GREATEST, LEAST
from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.certification import Bounds
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import (
    ExponentialMechanism,
    LangevinMC,
    NoisyCGD,
    NoisySGD,
    Run,
)
from shiftdp.privacy.budget import Terms, budget_of
from shiftdp.privacy.parameters import refuse_missing, refuse_sequences, scaled, with_parameter
from shiftdp.privacy.searching import Question

__all__ = [
    "calibrate_batch_size",
    "calibrate_diameter",
    "calibrate_epochs",
    "calibrate_learning_rate",
    "calibrate_noise",
    "calibrate_strong_convexity",
]

AnyRun = TypeVar("AnyRun", bound=Run)

_LONGEST = 2**53
_FACTORS = 1e-30, 1e30
_RIDGE = 1e-12  # the least, as a part of the largest
_EVERY = 256  # batch sizes up to which each is tried


def calibrate_noise(
    run: AnyRun,
    geometry: Geometry,
    *,
    bounds: Bounds = "best",
    accuracy: float | None = None,
    **budget: Unpack[Terms],
) -> AnyRun:
    """The same run with the least noise that meets the budget.

    Noise that changes from step to step is multiplied as a whole.

    >>> from shiftdp.last_iterate import NoisyCGD
    >>> geometry = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
    >>> run = NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)
    >>> round(calibrate_noise(run, geometry, epsilon=1.0, delta=1e-5).noise, 6)
    0.037026
    """
    refuse_missing(run, "noise", "calibrate the learning rate, or the geometry")
    _refuse_harmless(geometry)
    noise = _field(run, "noise")
    question = Question(
        budget_of(**budget),
        bounds,
        "noise",
        lambda x: (scaled(run, "noise", x), geometry),
        lambda x: x * _one(noise),
        accuracy=accuracy,
    )
    return cast(AnyRun, scaled(run, "noise", question.settle(1.0, *_factors(noise), slope=-1.0)))


def calibrate_epochs(
    run: AnyRun,
    geometry: Geometry,
    *,
    bounds: Bounds = "best",
    accuracy: float | None = None,
    **budget: Unpack[Terms],
) -> AnyRun:
    """The longest run that meets the budget: whole epochs of NoisyCGD, else steps.

    They may come back as `math.inf`: train as long as you like.

    >>> from shiftdp.last_iterate import NoisyCGD
    >>> geometry = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
    >>> run = NoisyCGD(n=60_000, batch_size=1_500, epochs=1, learning_rate=0.05, noise=0.01)
    >>> [calibrate_epochs(run, geometry, epsilon=e, delta=1e-5).epochs for e in (8.0, 13.0)]
    [225, inf]
    """
    refuse_missing(run, "steps", "calibrate the geometry")
    name = "epochs" if isinstance(run, NoisyCGD) else "steps"
    refuse_sequences(run, name)
    question = Question(
        budget_of(**budget),
        bounds,
        name,
        lambda x: with_parameter(run, geometry, name, x if math.isinf(x) else int(x)),
        accuracy=accuracy,
    )
    if question.excess(math.inf) <= 0.0:
        return cast(AnyRun, question.setting(math.inf)[0])
    most = float(_LONGEST // (run.batches if isinstance(run, NoisyCGD) else 1))
    given: float = getattr(run, name)
    start = max(1.0, math.floor(given)) if math.isfinite(given) else 1.0
    longest = question.settle(min(start, most), 1.0, most, slope=0.5, whole=True)
    return cast(AnyRun, question.setting(longest)[0])


def calibrate_learning_rate(
    run: AnyRun,
    geometry: Geometry,
    *,
    bounds: Bounds = "best",
    accuracy: float | None = None,
    **budget: Unpack[Terms],
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
    refuse_missing(run, "learning_rate", "calibrate the geometry")
    if not math.isfinite(geometry.smoothness) or geometry.smoothness == 0.0:
        raise InvalidInput(
            "smoothness",
            geometry.smoothness,
            "sets no largest learning rate",
            "give a positive and finite smoothness",
        )
    if bounds == "composition" and not isinstance(run, LangevinMC):
        raise InvalidInput(
            "bounds", bounds, "does not depend on the learning rate", 'give "best" or "paper"'
        )
    largest = _one(_field(run, "learning_rate"))
    top = 2.0 / geometry.smoothness
    question = Question(
        budget_of(**budget),
        bounds,
        "learning_rate",
        lambda x: (scaled(run, "learning_rate", x / largest), geometry),
        accuracy=accuracy,
    )
    best = 2.0 / (geometry.smoothness + max(geometry.strong_convexity, 0.0))
    few = isinstance(run, NoisySGD)
    near, far = (8, 12) if few else (24, 48)
    points = {
        top,
        best,
        *(top * (1.0 - np.geomspace(1e-6, 0.5, near))).tolist(),
        *np.geomspace(0.5 * top, 1e-8 * top, far).tolist(),
    }
    low, high = _factors(_field(run, "learning_rate"), LEAST, GREATEST)
    rate = question.scan([x for x in sorted(points, reverse=True) if low <= x / largest <= high])
    return cast(AnyRun, question.setting(rate)[0])


def calibrate_batch_size(
    run: AnyRun,
    geometry: Geometry,
    *,
    bounds: Bounds = "best",
    accuracy: float | None = None,
    **budget: Unpack[Terms],
) -> AnyRun:
    """The same run with the least batch size that meets the budget.

    NoisyCGD keeps its number of epochs, NoisySGD its number of steps. The noise is that on the mean
    gradient, and stays. Sizes are scanned from 1 up: each of them up to n = 256, beyond that those
    that divide n and some others; the answer meets the budget, the size below it does not.

    >>> from shiftdp.last_iterate import NoisyCGD
    >>> geometry = Geometry(strong_convexity=0.1, smoothness=10.0, sensitivity=1.0)
    >>> run = NoisyCGD(n=200, batch_size=1, epochs=10, learning_rate=0.1, noise=0.1)
    >>> calibrate_batch_size(run, geometry, epsilon=3.0, delta=1e-5).batch_size
    20
    """
    refuse_missing(run, "batch_size", "calibrate the noise")
    refuse_sequences(run, "batch_size")
    n: int = _field(run, "n")
    question = Question(
        budget_of(**budget),
        bounds,
        "batch_size",
        lambda x: with_parameter(run, geometry, "batch_size", int(x)),
        accuracy=accuracy,
    )
    few = isinstance(run, NoisySGD)
    if n <= (32 if few else _EVERY):
        sizes = set(range(1, n + 1))
    else:
        many = 16 if few else _EVERY if _field(run, "order") == "fixed" else 64
        sizes = {round(x) for x in np.geomspace(1, n, many).tolist()}
        if not few:
            small = [k for k in range(1, math.isqrt(n) + 1) if n % k == 0]
            sizes |= {*small, *(n // k for k in small)}
    size = question.scan([float(x) for x in sorted(sizes)], whole=True)
    return cast(AnyRun, question.setting(size)[0])


def calibrate_strong_convexity(
    run: Run,
    geometry: Geometry,
    *,
    bounds: Bounds = "best",
    accuracy: float | None = None,
    **budget: Unpack[Terms],
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
    if bounds == "composition":
        raise InvalidInput(
            "bounds", bounds, "does not depend on strong convexity", 'give "best" or "paper"'
        )
    base = min(geometry.strong_convexity, 0.0)
    own = geometry.smoothness - geometry.strong_convexity

    def setting(x: float) -> tuple[Run, Geometry]:
        m = base + x
        return run, _with(geometry, strong_convexity=m, smoothness=max(own + m, m))

    question = Question(
        budget_of(**budget),
        bounds,
        "strong_convexity",
        setting,
        lambda x: base + x,
        accuracy=accuracy,
    )
    if math.isfinite(base) and question.excess(0.0) <= 0.0:
        return setting(0.0)[1]
    if isinstance(run, ExponentialMechanism):
        return setting(question.settle(1.0, *_FACTORS, slope=-0.5))[1]
    top = 1.0 / _one(run.learning_rate) - 0.5 * own - base
    if not (math.isfinite(own) and top > LEAST):
        raise InvalidInput(
            "smoothness",
            geometry.smoothness,
            f"leaves no room for a ridge at learning_rate={_one(run.learning_rate):g}",
            "lower the learning rate",
        )
    least = max(_RIDGE * top, LEAST)
    if isinstance(run, NoisySGD):
        return setting(question.scan(np.geomspace(least, top, 20).tolist()))[1]
    return setting(question.settle(max(0.1 * top, least), least, top, slope=-0.5))[1]


def calibrate_diameter(
    run: Run,
    geometry: Geometry,
    *,
    bounds: Bounds = "best",
    accuracy: float | None = None,
    **budget: Unpack[Terms],
) -> Geometry:
    """The same losses on the largest set that meets the budget; infinite where none is needed.

    >>> from shiftdp.last_iterate import NoisyGD
    >>> geometry = Geometry(strong_convexity=0.0, smoothness=10.0, sensitivity=1.0)
    >>> run = NoisyGD(n=100, steps=1000, learning_rate=0.1, noise=0.1)
    >>> round(calibrate_diameter(run, geometry, epsilon=3.0, delta=1e-5).diameter, 6)
    0.012928
    """
    if bounds == "composition" and not isinstance(run, ExponentialMechanism):
        raise InvalidInput(
            "bounds", bounds, "does not depend on the diameter", 'give "best" or "paper"'
        )
    question = Question(
        budget_of(**budget),
        bounds,
        "diameter",
        lambda x: (run, _with(geometry, diameter=x)),
        accuracy=accuracy,
    )
    if question.excess(math.inf) <= 0.0:
        return _with(geometry, diameter=math.inf)
    start = geometry.diameter if geometry.bounded else 1.0
    return _with(geometry, diameter=question.settle(start, LEAST, GREATEST, slope=0.5))


def _with(geometry: Geometry, **changes: float) -> Geometry:
    return Geometry(**{**vars(geometry), **changes})


def _field(run: Run, name: str) -> Any:
    """A field that this kind of run has, as was checked."""
    return getattr(run, name)


def _one(value: float | tuple[float, ...]) -> float:
    """The number, or the largest of several."""
    return max(value) if isinstance(value, tuple) else value


def _factors(
    value: float | tuple[float, ...], low: float = _FACTORS[0], high: float = _FACTORS[1]
) -> tuple[float, float]:
    """By what a number, or all of a sequence, may be multiplied without leaving its range."""
    least, most = (value, value) if isinstance(value, float) else (min(value), max(value))
    return max(low, LEAST / least * (1 + 1e-15)), min(high, GREATEST / most * (1 - 1e-15))


def _refuse_harmless(geometry: Geometry) -> None:
    if geometry.sensitivity == 0.0:
        raise InvalidInput(
            "sensitivity", 0.0, "leaks nothing: any noise meets any budget", "keep the noise"
        )
