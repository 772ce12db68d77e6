"""What the snapshot is of, as plain data: the name of a public type and its keyword arguments."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

__all__ = [
    "Case",
    "calibrations",
    "certificates",
    "comparisons",
    "functions",
    "refusals",
]

Fields = dict[str, Any]


class Case(NamedTuple):
    """A call of a public name on a run and a class of losses; `slow` is left to the slow tests."""

    call: str
    run: tuple[str, Fields] | None = None
    geometry: Fields | None = None
    options: Fields = {}  # noqa: RUF012 - never written to
    slow: bool = False

    def __str__(self) -> str:
        parts = [self.call]
        if self.run is not None:
            parts.append(_shown(*self.run))
        if self.geometry is not None:
            parts.append(_shown("Geometry", self.geometry))
        return " | ".join([*parts, *(f"{k}={_value(v)}" for k, v in self.options.items())])


def _shown(name: str, fields: Fields) -> str:
    return f"{name}({', '.join(f'{key}={_value(value)}' for key, value in fields.items())})"


def _value(value: Any) -> str:
    if isinstance(value, list) and len(value) > 4:
        return f"<{len(value)} from {value[0]:.6g} to {value[-1]:.6g}, sum {sum(value):.6g}>"
    return repr(value)


STRONG: Fields = {"strong_convexity": 0.3, "smoothness": 2.0, "sensitivity": 2.0}
CONVEX: Fields = {**STRONG, "strong_convexity": 0.0}
WEAK: Fields = {**STRONG, "strong_convexity": -0.2}
ROUGH: Fields = {"strong_convexity": -math.inf, "smoothness": math.inf, "sensitivity": 1.0}
MNIST: Fields = {"strong_convexity": 0.002, "smoothness": 32.502, "sensitivity": 10.0}
LOSSES = (STRONG, CONVEX, WEAK)
FORGETTING = ({**STRONG}, {**CONVEX, "diameter": 0.5}, {**STRONG, "diameter": 0.5})
DIAMETERS: tuple[Fields, ...] = ({}, {"diameter": 0.5})
ADJACENCIES: tuple[Fields, ...] = ({}, {"adjacency": "zero_out"})
ORDERS = ("fixed", "shuffled_once", "reshuffled")
LAST_BATCHES = ("own_size", "divide_by_b", "drop")
BOUNDS = ("best", "paper", "composition")

EQUAL: Fields = {"learning_rate": 0.4, "noise": 0.7}
GD: Fields = {"n": 9, "steps": 12, **EQUAL}
RAGGED: Fields = {"n": 11, "batch_size": 3, "steps": 18, **EQUAL}
WHOLE: Fields = {"n": 12, "batch_size": 3, "epochs": 4, **EQUAL}
LONG: Fields = {
    "n": 60_000, "batch_size": 1_500, "epochs": 50, "learning_rate": 0.05, "noise": 0.01
}  # fmt: skip
SAMPLED: Fields = {"n": 400, "batch_size": 20, "steps": 300, "learning_rate": 0.3, "noise": 0.3}
DECAYING = [0.9 * 0.8**k for k in range(18)]
GROWING = [0.04 * 1.2**k for k in range(18)]
NOISES = [0.5 + 0.1 * k for k in range(18)]
UNEVEN = [0.4 + 0.3 * (k * k % 5) for k in range(18)]


def certificates() -> Iterator[Case]:
    """Every kind of run under every theorem, and the edges of what can be said."""
    yield from _full_batches()
    yield from _cyclic_batches()
    yield from _sampled_batches()
    yield from _samplers()


def _certify(
    kind: str, run: Fields, geometry: Fields, *, slow: bool = False, **options: Any
) -> Case:
    return Case("certify", (kind, run), geometry, options, slow)


def _full_batches() -> Iterator[Case]:
    for loss, diameter, adjacency in product(LOSSES, DIAMETERS, ADJACENCIES):
        for bounds in BOUNDS:
            yield _certify("NoisyGD", GD, {**loss, **diameter, **adjacency}, bounds=bounds)
    for loss, diameter in product(LOSSES, DIAMETERS):
        for schedule in (
            {"learning_rate": DECAYING}, {"noise": NOISES}, {"learning_rate": GROWING,
            "noise": UNEVEN},
        ):  # fmt: skip
            yield _certify("NoisyGD", {**GD, "steps": 18, **schedule}, {**loss, **diameter})
        yield _certify("NoisyGD", {**GD, "steps": 1}, {**loss, **diameter})
        yield _certify("NoisyGD", {**GD, "steps": 10_000, "n": 1_000}, {**loss, **diameter})
    for losses, bounds in product(FORGETTING, BOUNDS[:2]):
        yield _certify("NoisyGD", {**GD, "steps": math.inf}, losses, bounds=bounds)
    yield _certify("NoisyGD", GD, ROUGH)
    for scale in (1e-12, 1e-5, 1e5, 1e12):
        yield _certify("NoisyGD", {**GD, "noise": 0.7 * scale}, STRONG)
        sensitive = {**STRONG, "sensitivity": 2.0 * scale}
        yield _certify("NoisyGD", GD, sensitive)
        yield _certify("NoisyGD", GD, {**CONVEX, "diameter": scale})
        stiff = {"strong_convexity": 0.3 * scale, "smoothness": 2 * scale, "sensitivity": 2.0}
        yield _certify("NoisyGD", {**GD, "learning_rate": 0.4 / scale}, stiff)
    yield _certify("NoisyGD", GD, {**STRONG, "sensitivity": 0.0})
    yield _certify("NoisyGD", {**GD, "steps": 10**12}, {**STRONG, "strong_convexity": 1e-9})
    yield _certify("NoisyGD", {**GD, "steps": 10**12}, CONVEX, bounds="composition")
    yield _certify("NoisyGD", {**GD, "n": 2**53}, STRONG)
    yield _certify("NoisyGD", {**GD, "learning_rate": 1.0}, STRONG)  # 2/smoothness
    yield _certify("NoisyGD", {**GD, "learning_rate": 1.5}, STRONG, bounds="composition")


def _cyclic_batches() -> Iterator[Case]:
    for order in ORDERS:
        ordered = {"order": order}
        for loss, diameter, last in product(LOSSES, DIAMETERS, LAST_BATCHES):
            run = {**RAGGED, **ordered, "last_batch": last}
            yield _certify("NoisyCGD", run, {**loss, **diameter})
        for loss, diameter, bounds in product(LOSSES, DIAMETERS, BOUNDS):
            yield _certify("NoisyCGD", {**WHOLE, **ordered}, {**loss, **diameter}, bounds=bounds)
        for loss, adjacency in product(LOSSES, ADJACENCIES):
            short = {**RAGGED, **ordered, "steps": 6}
            yield _certify("NoisyCGD", short, {**loss, **adjacency, "diameter": 2.0})
        for rates, noise in (
            (DECAYING, 0.7), (GROWING, 0.7), (0.4, NOISES), (DECAYING, NOISES), (GROWING, UNEVEN)
        ):  # fmt: skip
            run = {**RAGGED, **ordered, "learning_rate": rates, "noise": noise}
            for losses in (STRONG, {**CONVEX, "diameter": 0.5}, {**WEAK, "diameter": 0.5}):
                yield _certify("NoisyCGD", run, losses)
        for losses in FORGETTING:
            endless = {**WHOLE, **ordered, "epochs": math.inf}
            yield _certify("NoisyCGD", endless, losses)
            for last in LAST_BATCHES:
                ragged = {**endless, "n": 11, "last_batch": last}
                yield _certify("NoisyCGD", ragged, losses)
        yield _certify("NoisyCGD", {**LONG, **ordered}, MNIST)
        yield _certify("NoisyCGD", {**LONG, **ordered}, {**MNIST, "diameter": 1.0})
        yield _certify("NoisyCGD", {**LONG, **ordered, "n": 59_999}, MNIST)
        yield _certify("NoisyCGD", {**WHOLE, **ordered, "n": 3}, STRONG)  # one batch
        yield _certify("NoisyCGD", {**WHOLE, **ordered, "batch_size": 1}, STRONG)
        yield _certify("NoisyCGD", {**WHOLE, **ordered, "epochs": 100_000}, STRONG)
        for scale in (1e-9, 1e9):
            yield _certify("NoisyCGD", {**WHOLE, **ordered, "noise": scale}, STRONG)
    for epochs, bounds in product((1, 20, 400), BOUNDS[:2]):
        yield _certify("NoisyCGD", {**LONG, "epochs": epochs}, MNIST, bounds=bounds)
        body = {**MNIST, "strong_convexity": 0.0, "diameter": 0.5}
        yield _certify("NoisyCGD", {**LONG, "epochs": epochs}, body, bounds=bounds)
    endless = {**LONG, "epochs": math.inf}
    yield _certify("NoisyCGD", endless, MNIST, bounds="paper")
    yield _certify("NoisyCGD", endless, {**CONVEX, "diameter": 0.5}, bounds="paper")


def _sampled_batches() -> Iterator[Case]:
    poisson = {**SAMPLED, "sampling": "poisson"}
    body = {**CONVEX, "diameter": 0.1}
    for losses in (STRONG, CONVEX, WEAK, body, {**STRONG, "diameter": 0.1}):
        yield _certify("NoisySGD", SAMPLED, losses)
        for removed in (True, False):
            extra = {"adjacency": "zero_out"} if removed else {"gradient_bound": 1.0}
            if losses is not WEAK:
                yield _certify("NoisySGD", poisson, {**losses, **extra}, slow=not removed)
    for losses, bounds in product((STRONG, body), BOUNDS[1:]):
        yield _certify("NoisySGD", SAMPLED, losses, bounds=bounds)
        yield _certify("NoisySGD", {**SAMPLED, "steps": 3_000}, losses, bounds=bounds)
    yield _certify("NoisySGD", {**SAMPLED, "steps": 25, "batch_size": 40}, STRONG, bounds="paper")
    yield _certify("NoisySGD", {**SAMPLED, "steps": 25, "noise": 1.0}, {**body, "diameter": 0.01},
                   bounds="paper")  # fmt: skip
    yield _certify("NoisySGD", poisson, {**STRONG, "adjacency": "zero_out"}, bounds="composition")
    yield _certify("NoisySGD", poisson, {**body, "diameter": 0.02, "adjacency": "zero_out"})
    for cap in (20, 60):  # of 20, batches are larger too often, and composition is left
        capped = {**poisson, "batch_cap": cap}
        yield _certify("NoisySGD", capped, {**STRONG, "adjacency": "zero_out"})
    for losses in (STRONG, body):
        yield _certify("NoisySGD", {**SAMPLED, "steps": math.inf}, losses, slow=True)
        yield _certify("NoisySGD", {**SAMPLED, "batch_size": 400}, losses)
        yield _certify("NoisySGD", {**SAMPLED, "batch_size": 400, "steps": math.inf}, losses)
        yield _certify("NoisySGD", {**SAMPLED, "steps": 3_000}, losses, slow=True)
        yield _certify("NoisySGD", {**SAMPLED, "noise": 0.05}, losses, slow=True)
    yield _certify("NoisySGD", {**SAMPLED, "steps": 1}, STRONG)
    yield _certify("NoisySGD", {**SAMPLED, "steps": 2}, STRONG, slow=True)
    yield _certify("NoisySGD", {**SAMPLED, "noise": 1e3}, STRONG)
    yield _certify("NoisySGD", SAMPLED, {**STRONG, "sensitivity": 0.0})
    yield _certify("NoisySGD", SAMPLED, STRONG, delta=1e-8, slow=True)
    yield _certify("NoisySGD", SAMPLED, STRONG, accuracy=1e-4, slow=True)


def _samplers() -> Iterator[Case]:
    for loss, diameter, steps in product(LOSSES, DIAMETERS, (1, 30, 5_000)):
        run = {"steps": steps, "learning_rate": 0.05}
        for bounds in BOUNDS if steps == 30 else BOUNDS[:1]:
            yield _certify("LangevinMC", run, {**loss, **diameter}, bounds=bounds)
    for losses, bounds in product(FORGETTING, BOUNDS[:2]):
        run = {"steps": math.inf, "learning_rate": 0.05}
        yield _certify("LangevinMC", run, losses, bounds=bounds)
        yield _certify("LangevinMC", {**run, "learning_rate": 0.001}, losses, bounds=bounds)
    for loss, bounds in product((STRONG, CONVEX), BOUNDS):
        for size in (1e-3, 0.5, 40.0):
            body = {**loss, "diameter": size}
            yield _certify("ExponentialMechanism", {}, body, bounds=bounds)
    for bounds, adjacency in product(BOUNDS[:2], ADJACENCIES):
        yield _certify("ExponentialMechanism", {}, {**STRONG, **adjacency}, bounds=bounds)
    yield _certify("ExponentialMechanism", {}, {**WEAK, "diameter": 0.5})
    yield _certify("ExponentialMechanism", {}, {**ROUGH, "diameter": 0.5})


def comparisons() -> Iterator[Case]:
    """Tables of every accountant."""
    for loss, diameter in product((STRONG, CONVEX, WEAK), DIAMETERS):
        losses = {**loss, **diameter}
        yield Case("compare", ("NoisyGD", GD), losses, {"delta": 1e-5})
        yield Case("compare", ("NoisyCGD", WHOLE), losses, {"delta": 1e-6})
        yield Case("compare", ("LangevinMC", {"steps": 30, "learning_rate": 0.05}), losses,
                   {"delta": 1e-5})  # fmt: skip
    for order in ORDERS:
        run = {**RAGGED, "order": order}
        yield Case("compare", ("NoisyCGD", run), STRONG, {"delta": 1e-5})
        yield Case("compare", ("NoisyCGD", {**LONG, "order": order}), MNIST, {"delta": 1e-5})
    yield Case("compare", ("NoisyCGD", {**LONG, "epochs": math.inf}), MNIST, {"delta": 1e-5})
    yield Case("compare", ("NoisyGD", {**GD, "learning_rate": 1.5}), STRONG, {"delta": 1e-5})
    yield Case("compare", ("NoisyGD", {**GD, "learning_rate": [0.4] * 12}), STRONG,
               {"delta": 1e-5})  # fmt: skip
    for losses in (STRONG, {**CONVEX, "diameter": 0.5}, {**STRONG, "diameter": 0.5}):
        yield Case("compare", ("ExponentialMechanism", {}), losses, {"delta": 1e-5})
    yield Case("compare", ("NoisySGD", SAMPLED), STRONG, {"delta": 1e-5}, slow=True)
    removed = {**STRONG, "adjacency": "zero_out"}
    yield Case("compare", ("NoisySGD", {**SAMPLED, "sampling": "poisson"}), removed,
               {"delta": 1e-5}, slow=True)  # fmt: skip


def calibrations() -> Iterator[Case]:
    """Every calibrator."""
    budget = {"epsilon": 2.0, "delta": 1e-5}
    cgd = ("NoisyCGD", LONG)
    for given in (budget, {"mu": 0.5}, {**budget, "bounds": "composition"}):
        yield Case("calibrate_noise", cgd, MNIST, given)
    yield Case("calibrate_noise", ("NoisyCGD", {**LONG, "order": "shuffled_once"}), MNIST, budget)
    yield Case("calibrate_noise", ("NoisyGD", {**GD, "noise": [0.5, 1.0] * 6}), CONVEX, budget)
    yield Case("calibrate_epochs", cgd, MNIST, {"epsilon": 4.0, "delta": 1e-5})
    yield Case("calibrate_epochs", cgd, MNIST, {"epsilon": 13.0, "delta": 1e-5})
    yield Case("calibrate_epochs", ("NoisyGD", GD), CONVEX, {"mu": 2.0})
    yield Case("calibrate_learning_rate", ("NoisyGD", {**GD, "steps": 100}), STRONG, {"mu": 0.9})
    yield Case("calibrate_batch_size", cgd, MNIST, {"epsilon": 4.0, "delta": 1e-5})
    yield Case("calibrate_strong_convexity", ("NoisyGD", {**GD, "steps": 1_000}), CONVEX,
               {"mu": 2.0})  # fmt: skip
    yield Case("calibrate_diameter", ("NoisyGD", {**GD, "steps": 1_000}), CONVEX, {"mu": 2.0})
    yield Case("calibrate_noise", ("NoisySGD", SAMPLED), STRONG, budget, slow=True)
    yield Case("calibrate_epochs", ("NoisySGD", SAMPLED), STRONG, budget, slow=True)


def refusals() -> Iterator[Case]:
    """What is refused, each with the class of the error and its words."""
    wrong: Fields
    for name, fields in (("NoisyGD", GD), ("NoisyCGD", RAGGED), ("NoisySGD", SAMPLED)):
        for wrong in (
            {"n": 0}, {"n": 2.5}, {"n": 2**54}, {"steps": 0}, {"noise": 0.0}, {"noise": math.nan},
            {"learning_rate": -0.1}, {"learning_rate": [0.1, 0.2]}, {"noise": "much"},
            {"learning_rate": 1e300},
        ):  # fmt: skip
            yield Case("make", (name, {**fields, **wrong}))
    for wrong in (
        {"batch_size": 12}, {"batch_size": 0}, {"order": "sorted"}, {"last_batch": "keep"},
        {"epochs": 2}, {"steps": None}, {"steps": None, "epochs": 0.3},
    ):  # fmt: skip
        yield Case("make", ("NoisyCGD", {**RAGGED, **wrong}))
    yield Case("make", ("NoisySGD", {**SAMPLED, "batch_size": 500}))
    yield Case("make", ("NoisySGD", {**SAMPLED, "sampling": "shuffle"}))
    yield Case("make", ("NoisySGD", {**SAMPLED, "batch_cap": 40}))
    yield Case("make", ("LangevinMC", {"steps": 0, "learning_rate": 0.1}))
    for wrong in (
        {"strong_convexity": 3.0}, {"smoothness": -1.0}, {"sensitivity": math.inf},
        {"diameter": 0.0}, {"adjacency": "add_one"}, {"gradient_bound": 0.5},
    ):  # fmt: skip
        yield Case("make", ("Geometry", {**STRONG, **wrong}))
    removed = {**STRONG, "adjacency": "zero_out"}
    yield _certify("NoisyGD", {**GD, "learning_rate": 1.5}, STRONG)
    yield _certify("NoisyGD", {**GD, "steps": math.inf}, CONVEX)
    yield _certify("NoisyGD", {**GD, "steps": math.inf}, STRONG, bounds="composition")
    yield _certify("NoisyGD", GD, STRONG, bounds="tight")
    yield _certify("NoisyGD", GD, STRONG, delta=0.0)
    yield _certify("NoisyGD", GD, STRONG, accuracy=0.0)
    for order in ORDERS:
        yield _certify("NoisyCGD", {**WHOLE, "epochs": math.inf, "order": order}, WEAK)
        yield _certify("NoisyCGD", {**WHOLE, "learning_rate": 1.5, "order": order}, STRONG)
    yield _certify("NoisySGD", SAMPLED, removed)
    yield _certify("NoisySGD", {**SAMPLED, "sampling": "poisson"}, STRONG)
    yield _certify("NoisySGD", {**SAMPLED, "steps": math.inf}, CONVEX)
    yield _certify("NoisySGD", {**SAMPLED, "learning_rate": 1.5}, STRONG)
    yield _certify("LangevinMC", {"steps": math.inf, "learning_rate": 0.05}, CONVEX)
    yield _certify("LangevinMC", {"steps": math.inf, "learning_rate": 0.05}, WEAK)
    yield _certify("LangevinMC", {"steps": 30, "learning_rate": 3.0}, STRONG)
    yield _certify("ExponentialMechanism", {}, CONVEX)
    yield _certify("ExponentialMechanism", {}, WEAK)
    yield _certify("ExponentialMechanism", {}, STRONG, bounds="composition")
    run = ("NoisyGD", GD)
    for options in ({}, {"epsilon": 1.0}, {"mu": 0.0}, {"epsilon": 1.0, "delta": 2.0}):
        yield Case("calibrate_noise", run, STRONG, options)
    yield Case("calibrate_noise", run, {**STRONG, "sensitivity": 0.0}, {"mu": 1.0})
    yield Case("calibrate_noise", ("ExponentialMechanism", {}), STRONG, {"mu": 1.0})
    yield Case("calibrate_batch_size", run, STRONG, {"mu": 1.0})
    yield Case("calibrate_epochs", run, STRONG, {"mu": 1e-6})
    yield Case("calibrate_learning_rate", run, STRONG, {"mu": 1.0, "bounds": "composition"})
    yield Case("calibrate_diameter", run, STRONG, {"mu": 1.0, "bounds": "composition"})
    yield Case("calibrate_strong_convexity", run, STRONG, {"mu": 1.0, "bounds": "composition"})
    yield Case("calibrate_diameter", run, CONVEX, {"mu": 1e-9})
    yield Case("compare", run, STRONG, {"delta": 1.0})


def functions() -> Iterator[str]:
    """Tradeoff functions, as expressions over the names of `shiftdp.fdp`."""
    yield from (
        "GaussianTradeoff(1.3)",
        "GaussianTradeoff(1e-4)",
        "GaussianTradeoff(40.0)",
        "LaplaceTradeoff(0.8)",
        "ApproxDPTradeoff(0.5, 1e-6)",
        "Identity()",
        "PiecewiseLinear([0.0, 0.3, 1.0], [1.0, 0.4, 0.0])",
        "Mixture([GaussianTradeoff(0.5), GaussianTradeoff(2.0)], [0.7, 0.3])",
        "Maximum([GaussianTradeoff(0.5), ApproxDPTradeoff(0.4)])",
        "Minimum([GaussianTradeoff(0.5), LaplaceTradeoff(0.4)])",
        "WithFailure(GaussianTradeoff(0.5), 1e-7)",
        "GaussianTradeoff(1.0).compose(GaussianTradeoff(0.7))",
        "GaussianTradeoff(0.1).power(200)",
        "GaussianTradeoff(1.0).subsample(0.1)",
        "LaplaceTradeoff(0.5).subsample(0.2)",
        "PoissonZeroOut(p=0.05, a=0.1, s=1.0)",
        "PoissonReplaceOne(p=0.05, a=0.1, s=1.0)",
        "shifted_subsampled(p=0.1, a=0.2, s=0.8)",
        "subsampled_clt(0.01, 1.0, 1000).value",
        "GaussianTradeoff(1.0).subsample(0.05).power(100)",
        "LaplaceTradeoff(0.3).power(20)",
        "LaplaceTradeoff(0.3).compose(GaussianTradeoff(0.8))",
        "ApproxDPTradeoff(0.1).power(30)",
        "PoissonZeroOut(p=0.02, a=0.0, s=1.0).power(100)",
    )
