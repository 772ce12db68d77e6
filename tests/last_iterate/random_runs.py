"""Random geometries and runs, small enough for brute force."""

from __future__ import annotations

import math
from typing import Any, get_args

from hypothesis import strategies as st

from shiftdp.last_iterate.certification import Bounds
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import LangevinMC, LastBatch, NoisyCGD, NoisyGD, Order

__all__ = [
    "BOUNDS",
    "LAST_BATCHES",
    "ORDERS",
    "Setting",
    "cyclic_runs",
    "full_batch_runs",
    "settings_of",
]

Setting = tuple[Any, Geometry]
ORDERS: tuple[Order, ...] = get_args(Order)
LAST_BATCHES: tuple[LastBatch, ...] = get_args(LastBatch)
BOUNDS: tuple[Bounds, ...] = get_args(Bounds)


@st.composite
def geometries(draw: st.DrawFn, *, weakly: bool = True, bounded: bool | None = None) -> Geometry:
    """Convex, strongly convex, or weakly convex; with and without a diameter."""
    M = draw(st.floats(0.5, 4.0))
    kinds = ["convex", "strong", "equal"] + (["weak"] if weakly else [])
    m = {
        "convex": 0.0,
        "strong": M * draw(st.floats(0.05, 0.95)),
        "equal": M,
        "weak": -draw(st.floats(0.05, 2.0)),
    }[draw(st.sampled_from(kinds))]
    finite = draw(st.booleans()) if bounded is None else bounded
    return Geometry(
        strong_convexity=m,
        smoothness=M,
        sensitivity=draw(st.floats(0.5, 8.0)),
        diameter=draw(st.floats(0.05, 10.0)) if finite else math.inf,
        adjacency=draw(st.sampled_from(["replace_one", "zero_out"])),
    )


def _rates(draw: st.DrawFn, geometry: Geometry, steps: int, per_step: bool) -> Any:
    """Learning rates up to 2/M: constant, decaying, growing, or anything."""
    top = 2.0 / geometry.smoothness
    if not per_step:
        return draw(st.floats(0.05, 0.999)) * top
    kind = draw(st.sampled_from(["decaying", "growing", "any"]))
    rates = draw(st.lists(st.floats(0.05, 0.999), min_size=steps, max_size=steps))
    if kind == "decaying":
        rates = sorted(rates, reverse=True)
    elif kind == "growing":
        rates = sorted(rates)
    return [x * top for x in rates]


@st.composite
def cyclic_runs(
    draw: st.DrawFn,
    order: Order = "fixed",
    *,
    most_batches: int = 4,
    most_epochs: int = 3,
    weakly: bool = True,
    equal_steps: bool = False,
) -> tuple[NoisyCGD, Geometry]:
    """Cyclic batches, of unequal sizes too, that may stop inside an epoch."""
    geometry = draw(geometries(weakly=weakly))
    ell = draw(st.integers(2, most_batches))
    size = draw(st.integers(1, 4))
    n = ell * size - draw(st.integers(0, size - 1))
    last_batch = draw(st.sampled_from(LAST_BATCHES))
    if last_batch == "drop" and n % size:
        ell -= 1
    steps = draw(st.integers(1, ell * most_epochs))
    per_step = not equal_steps and draw(st.booleans())
    noisy = not equal_steps and draw(st.booleans())
    noises = st.floats(0.2, 3.0)
    several = st.lists(noises, min_size=steps, max_size=steps)
    run = NoisyCGD(
        n=n,
        batch_size=size,
        steps=steps,
        learning_rate=_rates(draw, geometry, steps, per_step),
        noise=draw(several) if noisy else draw(noises),
        order=order,
        last_batch=last_batch,
    )
    return run, geometry


@st.composite
def full_batch_runs(draw: st.DrawFn) -> tuple[NoisyGD, Geometry]:
    geometry = draw(geometries())
    steps = draw(st.integers(1, 12))
    rates = _rates(draw, geometry, steps, draw(st.booleans()))
    run = NoisyGD(
        n=draw(st.integers(1, 20)),
        steps=steps,
        learning_rate=rates,
        noise=draw(st.floats(0.2, 3.0)),
    )
    return run, geometry


@st.composite
def _langevin_runs(draw: st.DrawFn) -> tuple[LangevinMC, Geometry]:
    geometry = draw(geometries())
    rate = _rates(draw, geometry, 1, False)
    return LangevinMC(steps=draw(st.integers(1, 40)), learning_rate=rate), geometry


def settings_of() -> st.SearchStrategy[Setting]:
    """Any run with a proof by shifts."""
    return st.one_of(
        full_batch_runs(),
        cyclic_runs("fixed"),
        cyclic_runs("shuffled_once"),
        cyclic_runs("reshuffled"),
        _langevin_runs(),
    )
