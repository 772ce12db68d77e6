"""From what Opacus does to a run and a geometry: conventions are converted here, and only here.

Opacus adds noise of deviation `noise_multiplier * C` to the *sum* of gradients clipped to C, and
divides by a number e that is fixed, whatever the size of the batch (e = 1 if losses are summed).
Weight decay w is added after that. With batches of b records one step is

    X <- X - eta ((clipped sum + N(0, (noise_multiplier C)^2)) / e + w X)
       = X - (eta b/e) (clipped sum / b + N(0, (noise_multiplier C / b)^2) + (w e/b) X):

a run with learning rate eta b/e, noise noise_multiplier C / b on the mean, and ridge w e/b. Where
e = b, nothing is rescaled. A last batch of r < b records is divided by e as well: it is a run with
`last_batch="divide_by_b"`, the weight decay being the ridge outside of the sum. A Poisson loader
with p = 1/l takes part as one with b = ceil(n p): all laws of a step and the batch cap are worse at
a larger p.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from shiftdp._checks import DATA_GREATEST, DATA_LEAST, choice, finite, magnitude, number_in
from shiftdp._errors import InvalidInput, UnmetHypothesis
from shiftdp._rounding import EIGHT_ROUNDINGS
from shiftdp.last_iterate.assumptions import LOOP_ASSUMPTIONS, Assumption
from shiftdp.last_iterate.certification import Bounds
from shiftdp.last_iterate.geometry import Adjacency, Geometry
from shiftdp.last_iterate.runs import NoisyCGD, NoisySGD

Loss = Literal["logistic", "squared", "huber", "softmax", "envelope_softmax"]
Kind = Literal["fixed", "reshuffled", "poisson"]
Inputs = Literal["as_loaded", "computed"]

CURVATURE: dict[str, float] = {
    "logistic": 0.25, "squared": 2.0, "huber": 1.0, "softmax": 0.5, "envelope_softmax": 0.5,
}  # fmt: skip
"""The largest second derivative in the model's outputs, as torch's losses are scaled."""

FEATURE_SLACK = 1.0 + 1e-6
"""Rows that were scaled to the bound in single precision may be above it by rounding."""

_DOWN, _UP = 1.0 - EIGHT_ROUNDINGS, 1.0 + EIGHT_ROUNDINGS  # of products of a few factors


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What is assumed of the loss, which no accountant can see.

    Args:
        adjacency: `zero_out` is what figures of Opacus compare with; `replace_one` doubles the
            sensitivity.
        loss: of one record, in the single output of a linear model: `logistic`
            (BCEWithLogitsLoss), `squared` (MSELoss) or `huber` (HuberLoss, any delta). Clipping
            keeps these convex and as smooth. Of a linear model with a score for each class:
            `softmax` (CrossEntropyLoss) where the clip cannot act, or `envelope_softmax`
            (shiftdp.torch.EnvelopeCrossEntropy), which has no gradient beyond the clip.
        feature_bound: the largest norm of a row of features, without the constant 1 of the
            intercept. Batches of a linear model are checked against it.
        curvature: instead of a loss, bounds (low, high) on the curvature of each record's loss *as
            clipped*, without weight decay; low < 0 is not convex and needs a diameter.
        diameter: of a ball around 0 onto which you project the parameters after each step.
        inputs: `as_loaded` if the model is given the tensors of the loader's batch, which is
            checked at each step, and the loader collates records as torch does. `computed` if the
            loop or a `collate_fn` of your own computes them from the batch, each record's from
            that record alone: this cannot be checked, and is listed in the certificate.
        bounds: as for `certify`. `composition` asks nothing of loss, model or optimizer.

    >>> Declaration(adjacency="zero_out", loss="logistic", feature_bound=1.0).record(True)
    (0.0, 0.500001...)
    """

    adjacency: Adjacency
    loss: Loss | None = None
    feature_bound: float | None = None
    curvature: tuple[float, float] | None = None
    diameter: float = math.inf
    bounds: Bounds = "best"
    inputs: Inputs = "as_loaded"

    def __post_init__(self) -> None:
        choice("adjacency", self.adjacency, get_args(Adjacency))
        choice("bounds", self.bounds, get_args(Bounds))
        choice("inputs", self.inputs, get_args(Inputs))
        magnitude("diameter", self.diameter, infinite=True)
        if self.loss is not None:
            choice("loss", self.loss, get_args(Loss))
            if self.curvature is not None:
                raise InvalidInput("curvature", self.curvature, "is known from loss", "give one")
            magnitude("feature_bound", self.feature_bound, DATA_LEAST, DATA_GREATEST)
        elif self.curvature is not None:
            self._check_curvature()
            if self.feature_bound is not None:
                magnitude("feature_bound", self.feature_bound, DATA_LEAST, DATA_GREATEST)
        elif self.composed_only:
            return
        else:
            raise UnmetHypothesis(
                "loss",
                None,
                "is not declared, and how a step contracts is unknown",
                'give loss and feature_bound, or curvature, or bounds="composition"',
            )

    def _check_curvature(self) -> None:
        low, high = self.curvature or (0.0, 0.0)
        finite("curvature", low)
        number_in("curvature", high, max(low, 0.0), open_high=True)
        if low < 0.0 and math.isinf(self.diameter) and not self.composed_only:
            raise UnmetHypothesis(
                "curvature",
                self.curvature,
                "is that of a loss that is not convex, and the domain is not bounded",
                'project onto a ball and give its diameter, or bounds="composition"',
            )

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What no accountant can watch of a loop that is not ours."""
        return tuple(
            LOOP_ASSUMPTIONS[name]
            for name, wanted in (
                ("records", True),
                ("gradients", True),
                ("inputs", self.inputs == "computed"),
                ("curvature", self.curvature is not None and not self.composed_only),
            )
            if wanted
        )

    @property
    def composed_only(self) -> bool:
        return self.bounds == "composition"

    @property
    def linear(self) -> bool:
        """Whether the model has to be linear."""
        return self.loss is not None and not self.composed_only

    @property
    def classes(self) -> bool:
        """Whether the model has to have a score for each class."""
        return self.loss in ("softmax", "envelope_softmax") and not self.composed_only

    @property
    def compared(self) -> bool:
        """Whether gradients are compared with those of the loss: others depend on the label."""
        return self.classes or (self.loss == "logistic" and not self.composed_only)

    def record(self, intercept: bool) -> tuple[float, float]:
        """The curvature of one record's clipped loss, from below and above."""
        if self.composed_only:
            return -math.inf, math.inf
        if self.loss is None:
            low, high = self.curvature or (-math.inf, math.inf)
            return low, high
        return 0.0, CURVATURE[self.loss] * self.row_bound(intercept) ** 2 * _UP

    def row_bound(self, intercept: bool) -> float:
        """The norm of a row of features with the constant of the intercept."""
        return math.hypot((self.feature_bound or 0.0) * FEATURE_SLACK, float(intercept)) * _UP


@dataclass(frozen=True)
class LoaderReading:
    """How a loader makes batches: n records, `batches` an epoch, the last one of `last` records.

    `rate` is the probability of a Poisson loader, else 0.
    """

    kind: Kind
    records: int
    batch_size: int
    batches: int
    last: int
    rate: float = 0.0


@dataclass(frozen=True)
class StepReading:
    """What the optimizer does in one step; `divisor` is what the noisy sum is divided by."""

    learning_rate: float
    weight_decay: float
    noise_multiplier: float
    max_grad_norm: float
    divisor: float


def refuse_loader(declaration: Declaration, loader: LoaderReading) -> None:
    """Pairs of a loss and a loader that no theorem covers."""
    if declaration.composed_only:
        return
    if loader.kind == "poisson" and declaration.curvature and declaration.curvature[0] < 0.0:
        raise UnmetHypothesis(
            "curvature",
            declaration.curvature,
            "is that of a loss that is not convex, and a Poisson batch may have any size",
            'give poisson_sampling=False, or bounds="composition"',
        )


def described(
    declaration: Declaration,
    loader: LoaderReading,
    steps: Sequence[tuple[StepReading, int]],
    intercept: bool,
) -> tuple[NoisyCGD | NoisySGD, Geometry]:
    """The run and the geometry that the theorems speak about.

    >>> declaration = Declaration(adjacency="zero_out", loss="logistic", feature_bound=1.0)
    >>> loader = LoaderReading("fixed", 100, 10, 10, 10)
    >>> run, geometry = described(declaration, loader, [(StepReading(0.5, 0.1, 2, 1, 10), 30)], 0)
    >>> run.epochs, round(run.noise, 9), geometry.strong_convexity, geometry.sensitivity
    (3, 0.2, 0.1, 1.0)
    """
    refuse_loader(declaration, loader)
    first = steps[0][0]
    for reading, _ in steps:
        refuse_change(declaration, first, reading)
    size = _poisson_size(loader) if loader.kind == "poisson" else loader.batch_size
    C = first.max_grad_norm
    exact = first.divisor == size
    scale = 1.0 if exact else size / first.divisor

    def noise(reading: StepReading) -> float:
        return reading.noise_multiplier * C / size * _DOWN

    def rate(reading: StepReading) -> float:
        # composition does not look at it, and any optimizer may do with the noisy sum what it likes
        known = not declaration.composed_only
        return (reading.learning_rate if known else first.learning_rate or 1.0) * scale

    geometry = _geometry(declaration, loader, first, scale, intercept)
    t = sum(count for _, count in steps)
    if loader.kind == "poisson":
        return NoisySGD(
            n=loader.records,
            batch_size=size,
            steps=t,
            learning_rate=_each([(rate(r), count) for r, count in steps]),
            noise=_each([(noise(r), count) for r, count in steps]),
            sampling="poisson",
        ), geometry
    return NoisyCGD(
        n=loader.records,
        batch_size=size,
        steps=t,
        learning_rate=_each([(rate(r), count) for r, count in steps]),
        noise=_each([(noise(r), count) for r, count in steps]),
        order=loader.kind,
        # whatever the size of a batch, its sum is divided by the same number
        last_batch="drop" if loader.batches * size < loader.records else "divide_by_b",
    ), geometry


def refuse_change(declaration: Declaration, first: StepReading, now: StepReading) -> None:
    """What may not change from step to step: composition looks at the noise multiplier alone."""
    for name in () if declaration.composed_only else ("weight_decay", "max_grad_norm", "divisor"):
        before, after = getattr(first, name), getattr(now, name)
        if before != after:
            raise UnmetHypothesis(
                name,
                after,
                f"was {before:g} in the first step, and no theorem covers the change",
                "keep it as it was",
            )


def _geometry(
    declaration: Declaration,
    loader: LoaderReading,
    step: StepReading,
    scale: float,
    intercept: bool,
) -> Geometry:
    low, high = declaration.record(intercept)
    if loader.kind == "poisson" or loader.last != loader.batch_size:
        low = min(low, 0.0)  # a batch with fewer records curves less
    ridge = step.weight_decay if scale == 1.0 else step.weight_decay / scale * _DOWN
    above = step.weight_decay if scale == 1.0 else step.weight_decay / scale * _UP
    known = math.isfinite(high)
    convexity = low + ridge
    if low < 0.0 and loader.last != loader.batch_size:
        convexity = min(convexity, 0.0)  # part of it would shrink with the batch, and part not
    L = step.max_grad_norm * (2.0 if declaration.adjacency == "replace_one" else 1.0)
    return Geometry(
        strong_convexity=convexity if known else -math.inf,
        smoothness=(high + above) * _UP if known else math.inf,
        sensitivity=L,
        diameter=declaration.diameter,
        adjacency=declaration.adjacency,
        gradient_bound=step.max_grad_norm,
    )


def _poisson_size(loader: LoaderReading) -> int:
    """The least b with b/n at least the probability."""
    if loader.rate == 1.0 / loader.batches:
        return -(-loader.records // loader.batches)
    return min(loader.records, math.ceil(loader.records * loader.rate))


def _each(values: Sequence[tuple[float, int]]) -> float | list[float]:
    """One number if all steps agree, else one a step."""
    if len({value for value, _ in values}) == 1:
        return values[0][0]
    return [value for value, count in values for _ in range(count)]
