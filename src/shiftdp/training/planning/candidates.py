"""The runs that the planner compares, each with the noise that the budget nearly asks of it.

Runs of three kinds are listed: full batches, batches in turn, and random batches. The
error of each is predicted on the reference problem of `training/planning/utility.py`. The noise
here is by closed forms; only the run that is taken is calibrated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftdp._checks import DATA_GREATEST, DATA_LEAST, magnitude
from shiftdp._errors import InvalidInput
from shiftdp.fdp import GaussianTradeoff
from shiftdp.last_iterate import NoisyCGD, NoisyGD, NoisySGD, certify
from shiftdp.last_iterate.certification import Bounds
from shiftdp.last_iterate.runs import LastBatch
from shiftdp.training.descent.batches import TrainingRun
from shiftdp.training.descent.entropy import Entropy
from shiftdp.training.losses.base import Loss
from shiftdp.training.losses.softmax import Softmax
from shiftdp.training.plan import Clipping, Oversized, Plan
from shiftdp.training.planning.problem import Overrides, Problem
from shiftdp.training.planning.utility import Prediction, Reference

__all__ = ["MOST_STEPS", "Candidate", "Candidates"]

MOST_STEPS = 1_000_000
"""Steps of any run; a longer one is not listed, and nothing is made for it."""

_CLIP = 0.5  # of the residual that every record begins with
_REACHES = tuple(np.geomspace(1.0, 3e4, 40).tolist())  # how far all steps together may lead
_BATCHES = (4, 16, 64)  # an epoch
_RIDGES = (1e-4, 1e-3, 1e-2)  # of the smoothness
_STRIDE = 3.0  # how far one step may move the score of a record; beyond, descent oscillates
_LONG = 4_000  # steps of a run of small batches, unless its epochs are given
_MOST_RATES = 100_000  # steps of a run whose rates fall: each candidate holds one rate a step

Listed = tuple[TrainingRun, Any, float]
"""A run, its learning rates (one, or one a step), and its ridge."""


@dataclass(frozen=True)
class Candidate:
    """A run without its exact noise, and its predicted error."""

    run: TrainingRun
    l2: float
    prediction: Prediction


class Candidates:
    """The runs that one problem allows, and what they have in common.

    Attributes:
        too_long: whether a run was left out because it has more than `MOST_STEPS` steps.
    """

    def __init__(
        self, problem: Problem, chosen: Overrides, entropy: Entropy, oversized: Oversized
    ) -> None:
        self.problem, self.chosen = problem, chosen
        self._entropy, self._oversized = entropy, oversized
        self._clipping, self._clip = _clipping(problem, chosen)
        any_run = NoisyGD(n=problem.n, steps=1, learning_rate=1.0, noise=1.0)
        without_ridge = self.plan(any_run, 0.0, "best")
        self._sensitivity = without_ridge.geometry.sensitivity
        self._smoothness = without_ridge.geometry.smoothness
        self._slope = without_ridge.gradient_bound / without_ridge.norm_bound
        self._reference = Reference(
            directions=problem.features + problem.intercept,
            norm_bound=problem.norm_bound,
            slope=self._slope,
            reach=problem.loss.good_score,
            outputs=problem.loss.outputs,
        )
        self._mu = GaussianTradeoff.from_budget(problem.epsilon, problem.delta).mu
        self._epochs = problem.epochs if chosen.epochs is None else chosen.epochs
        self.too_long = False

    def plan(self, run: TrainingRun, l2: float, bounds: Bounds) -> Plan:
        """What trains by this run."""
        problem = self.problem
        return Plan(
            run=run,
            loss=problem.loss,
            feature_bound=problem.feature_bound,
            l2=l2,
            intercept=problem.intercept,
            clipping=_clipping_under(self._clipping, problem.loss, bounds),
            clip=self._clip,
            adjacency=problem.adjacency,
            oversized=self._oversized,
            features=problem.features,
            bounds=bounds,
            entropy=self._entropy,
        )

    def algorithms(self) -> tuple[str, ...]:
        """Those that are compared, the simplest first."""
        chosen, n = self.chosen, self.problem.n
        if chosen.algorithm is not None:
            return (chosen.algorithm,)
        if chosen.named:
            return tuple(chosen.named)
        if chosen.batch_size is not None:
            return ("gd",) if chosen.batch_size == n else ("cgd", "sgd")
        return ("gd", "cgd", "sgd")

    def of(self, algorithm: str) -> Iterator[Candidate]:
        """The runs of one algorithm whose error is predicted to be finite."""
        rows = list({"gd": self._full, "cgd": self._cyclic, "sgd": self._random}[algorithm]())
        kinds = {(run.steps, len(rates)) for run, rates, _ in rows}
        for kind in kinds:  # those of one length are predicted together
            alike = [row for row in rows if (row[0].steps, len(row[1])) == kind]
            predictions = self._reference.predict(
                np.stack([rates for _, rates, _ in alike]),
                kind[0],
                np.array([_last_noise(run) for run, _, _ in alike]),
                np.array([l2 for _, _, l2 in alike]),
                np.array([_sampling_variance(run) for run, _, _ in alike]),
            )
            for (run, _, l2), prediction in zip(alike, predictions, strict=True):
                if math.isfinite(prediction.total):
                    yield Candidate(run, l2, prediction)

    def _full(self) -> Iterator[Listed]:
        """As many steps as the compute allows; equal rates, and rates that fall to 0."""
        n, chosen = self.problem.n, self.chosen
        if chosen.batch_size not in (None, n):
            raise InvalidInput(
                "batch_size", chosen.batch_size, "is no full batch", 'give algorithm="cgd" or "sgd"'
            )
        t = max(1, round(self._epochs))
        if self._is_too_long(t):
            return
        noise = self._noise(math.sqrt(t) * self._sensitivity / (n * self._mu))
        if noise is None:
            return
        for rates in self._rates(t, falling=True):
            eta = tuple(rates.tolist()) if len(rates) > 1 else float(rates[0])
            yield NoisyGD(n=n, steps=t, learning_rate=eta, noise=noise), rates, chosen.l2 or 0.0

    def _cyclic(self) -> Iterator[Listed]:
        """Equal rates up to 2/smoothness, where the last iterate is cheap; ridges too."""
        n, chosen = self.problem.n, self.chosen
        order = chosen.order or "reshuffled"
        last_batch = chosen.last_batch or "divide_by_b"
        sizes = (
            sorted({_size(n, k, last_batch) for k in _BATCHES if k <= n}, reverse=True)
            if chosen.batch_size is None
            else [chosen.batch_size]
        )
        for size in sizes:
            batches = -(-n // size)
            epochs = max(1, round(self._at_most(_LONG / batches)))
            if self._is_too_long(epochs * batches):
                continue
            for part in (0.0, *_RIDGES) if chosen.l2 is None else (None,):
                l2 = part * self._smoothness if part is not None else chosen.l2 or 0.0
                top = 2.0 / (self._smoothness + 2.0 * l2)
                given = chosen.learning_rate
                etas = (given,) if given is not None else (top, 0.3 * top, 0.1 * top, 0.03 * top)
                for eta in etas:
                    unit = NoisyCGD(
                        n=n,
                        batch_size=size,
                        epochs=epochs,
                        learning_rate=eta,
                        noise=1.0,
                        last_batch=last_batch,
                    )
                    geometry = self.plan(unit, l2, "best").geometry
                    mu = certify(unit, geometry, bounds=self.bounds(unit, l2)).mu or math.inf
                    noise = self._noise(mu / self._mu)
                    if noise is not None:
                        run = NoisyCGD(**{**vars(unit), "order": order, "noise": noise})
                        yield run, np.array([eta]), l2

    def _random(self) -> Iterator[Listed]:
        """Equal rates; noise by the central limit theorem until it is calibrated."""
        n, chosen = self.problem.n, self.chosen
        sampling = chosen.sampling or "poisson"
        if sampling == "without_replacement" and self.problem.adjacency == "zero_out":
            raise InvalidInput(
                "sampling", sampling, "has no theorem for adjacency='zero_out'", 'give "poisson"'
            )
        sizes = (
            sorted({-(-n // k) for k in _BATCHES if k <= n}, reverse=True)
            if chosen.batch_size is None
            else [chosen.batch_size]
        )
        l2 = chosen.l2 or 0.0
        for size in sizes:
            t = max(1, round(min(self._at_most(_LONG * size / n) * n / size, 2.0 * MOST_STEPS)))
            if self._is_too_long(t):
                continue
            p = min(1.0, size / n)
            # mu^2 = p^2 t (exp(1/z^2) - 1), z the noise over the sensitivity
            z = 1.0 / math.sqrt(math.log1p((self._mu / p) ** 2 / t))
            noise = self._noise(max(z, 0.3) * self._sensitivity / size)
            if noise is None:
                continue
            for rates in self._rates(t, falling=False):
                run = NoisySGD(
                    n=n,
                    batch_size=size,
                    steps=t,
                    learning_rate=float(rates[0]),
                    noise=noise,
                    sampling=sampling,
                )
                yield run, rates, l2

    def _rates(self, t: int, falling: bool) -> Iterator[Any]:
        """Learning rates that move scores by every reach: equal ones, and ones that fall to 0."""
        if self.chosen.learning_rate is not None:
            yield np.array([self.chosen.learning_rate])
            return
        shapes = [np.array([1.0 / t])]
        if falling and 1 < t <= _MOST_RATES:
            shapes.insert(0, np.linspace(2.0, 2.0 / t, t) / (t + 1.0))
        unit = self._slope * self.problem.norm_bound**2
        for shape in shapes:
            for reach in _REACHES:
                if reach == _REACHES[0] or reach * shape.max() <= _STRIDE:
                    yield shape * (reach * self.problem.loss.good_score / unit)

    def _is_too_long(self, steps: int) -> bool:
        """Whether a run of so many steps is left out, which is noted."""
        self.too_long |= steps > MOST_STEPS
        return steps > MOST_STEPS

    def _at_most(self, epochs: float) -> float:
        """The epochs that the user has chosen; else the problem's, and no more than these."""
        return min(self._epochs, epochs) if self.chosen.epochs is None else self._epochs

    def _noise(self, needed: float) -> float | None:
        """What the budget needs, about; or the noise that the user has chosen, and None if that
        cannot be enough."""
        given = self.chosen.noise
        if given is None:
            return needed
        return given if given >= 0.5 * needed else None

    def bounds(self, run: TrainingRun, l2: float) -> Bounds:
        """The theorems to use: composition alone where no other applies or is tighter, or where the
        others take seconds."""
        if self.chosen.bounds is not None:
            return self.chosen.bounds
        if isinstance(run, NoisySGD):
            return "composition"
        if isinstance(run, NoisyGD) and l2 == 0.0:
            return "composition"  # full steps that do not contract: Theorem B1 says the same
        eta = run.learning_rate
        largest = eta if isinstance(eta, float) else max(eta)
        return "best" if largest * (self._smoothness + l2) <= 2.0 else "composition"


def _clipping(problem: Problem, chosen: Overrides) -> tuple[Clipping, float | None]:
    if chosen.clip is not None:
        if chosen.clip == math.inf:
            return "none", None
        return "envelope", magnitude("clip", chosen.clip, DATA_LEAST, DATA_GREATEST)
    # records begin with less than the largest gradient, so that clipping saves noise
    if problem.loss.initial_residual < problem.loss.slope:
        return "envelope", _CLIP * problem.loss.initial_residual * problem.norm_bound
    return "none", None


def _clipping_under(clipping: Clipping, loss: Loss, bounds: Bounds) -> Clipping:
    """Plain clipping of several classes is quicker, and composition asks for no convexity."""
    several = isinstance(loss, Softmax) and loss.classes > 2
    plain = clipping == "envelope" and several and bounds == "composition"
    return "plain" if plain else clipping


def _size(n: int, batches: int, last_batch: LastBatch) -> int:
    """A batch size near n/batches; what is left over is little where it is dropped or weighs most.

    >>> _size(1797, 16, "divide_by_b"), _size(1797, 16, "drop"), _size(1797, 16, "own_size")
    (113, 112, 120)
    """
    if last_batch == "divide_by_b":
        return -(-n // batches)
    size = max(1, n // batches)
    if last_batch == "drop":
        return size
    near = range(max(1, size - size // 4), size + size // 4 + 1)
    return max(near, key=lambda b: (((n - 1) % b + 1) / b, -abs(b - size)))


def _last_noise(run: TrainingRun) -> float:
    return run.noise if isinstance(run.noise, float) else run.noise[-1]


def _sampling_variance(run: TrainingRun) -> float:
    """The variance of a random batch's mean; batches in turn make up for one another."""
    return (1.0 - run.participation) / run.batch_size if isinstance(run, NoisySGD) else 0.0
