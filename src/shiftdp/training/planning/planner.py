"""The planner: which run to make, chosen by public numbers alone, with reasons.

It lists runs of three kinds (full, cyclic and random batches), finds the noise that the budget asks
of each, foretells their errors on a reference problem (`training/planning/utility.py`), and takes
the least. docs/planner.md derives the rule.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shiftdp._checks import DATA_GREATEST, DATA_LEAST, magnitude
from shiftdp._errors import InvalidInput
from shiftdp.fdp import GaussianTradeoff
from shiftdp.last_iterate import NoisyCGD, NoisyGD, NoisySGD, certify
from shiftdp.last_iterate.certification import Bounds
from shiftdp.last_iterate.runs import LastBatch
from shiftdp.privacy.calibration import calibrate_noise
from shiftdp.training.descent.batches import TrainingRun
from shiftdp.training.descent.entropy import Entropy, System
from shiftdp.training.losses.base import Loss
from shiftdp.training.losses.scalar import Logistic
from shiftdp.training.losses.softmax import Softmax
from shiftdp.training.plan import Clipping, Oversized, Plan
from shiftdp.training.planning.overrides import Overrides
from shiftdp.training.planning.planned import Planned, reasons_for
from shiftdp.training.planning.problem import Problem
from shiftdp.training.planning.utility import Prediction, Reference

__all__ = ["Overrides", "Planned", "Problem", "plan_for"]

_CLIP = 0.5  # of the residual that every record begins with
_REACHES = tuple(np.geomspace(1.0, 3e4, 40).tolist())
_BATCHES = (4, 16, 64)  # an epoch
_RIDGES = (1e-4, 1e-3, 1e-2)  # of the smoothness
_STRIDE = 3.0  # reaches that one step may move the score of a record; beyond, descent jumps about
_WORTH = 0.95  # a run must be foretold to err this much less to be preferred to a simpler one
_LONG = 4_000  # steps of a run of small batches, unless its epochs are given
_MOST = 1_000_000  # steps of any run; a longer one is not listed, and nothing is made for it
_MOST_RATES = 100_000  # steps of a run whose rates fall: each candidate holds one rate a step


def plan_for(
    problem: Problem,
    overrides: Overrides | None = None,
    *,
    entropy: Entropy | None = None,
    oversized: Oversized = "scale",
) -> Planned:
    """The plan that is foretold to be best among those that meet the budget.

    Args:
        problem: public numbers; the plan depends on nothing else.
        overrides: what is chosen already.
        entropy: where the run's randomness comes from.
        oversized: what happens to rows above the bound.
    """
    chosen = overrides or Overrides()
    frame = _Frame(problem, chosen, entropy or System(), oversized)
    best: dict[str, _Candidate] = {}
    for name in frame.algorithms():
        found = min(frame.candidates(name), key=lambda one: one.prediction.total, default=None)
        if found is not None:
            best[name] = found
    if not best:
        raise frame.impossible()
    name = next(iter(best))
    for other in best:
        if best[other].prediction.total < _WORTH * best[name].prediction.total:
            name = other
    plan = frame.finished(best[name])
    others = {key: one.prediction for key, one in best.items() if key != name}
    return Planned(problem, plan, best[name].prediction, reasons_for(problem, chosen, plan), others)


@dataclass(frozen=True)
class _Candidate:
    """A run without its exact noise, and what is foretold of it."""

    run: TrainingRun
    l2: float
    prediction: Prediction


class _Frame:
    """All that is common to the candidates of one problem."""

    def __init__(
        self, problem: Problem, chosen: Overrides, entropy: Entropy, oversized: Oversized
    ) -> None:
        self.problem, self.chosen = problem, chosen
        self._entropy, self._oversized = entropy, oversized
        self.clipping, self.clip = _clipping(problem, chosen)
        self._sketch = NoisyGD(n=problem.n, steps=1, learning_rate=1.0, noise=1.0)
        flat = self._plan(self._sketch, 0.0, "best")
        self.sensitivity = flat.geometry.sensitivity
        self.smoothness = flat.geometry.smoothness
        self.slope = flat.gradient_bound / flat.norm_bound
        self.reference = Reference(
            directions=problem.features + problem.intercept,
            norm_bound=problem.norm_bound,
            slope=self.slope,
            reach=problem.reach,
            outputs=problem.loss.outputs,
        )
        self.mu = GaussianTradeoff.from_budget(problem.epsilon, problem.delta).mu
        self.epochs = problem.epochs if chosen.epochs is None else chosen.epochs
        self._endless = False  # whether a run was left out for its length

    def _plan(self, run: TrainingRun, l2: float, bounds: Bounds) -> Plan:
        problem = self.problem
        return Plan(
            run=run,
            loss=problem.loss,
            feature_bound=problem.feature_bound,
            l2=l2,
            intercept=problem.intercept,
            clipping=_kind_of(self.clipping, problem.loss, bounds),
            clip=self.clip,
            adjacency=problem.adjacency,
            oversized=self._oversized,
            features=problem.features,
            bounds=bounds,
            entropy=self._entropy,
        )

    # --- what is listed ---

    def algorithms(self) -> tuple[str, ...]:
        """From the simplest on."""
        chosen, n = self.chosen, self.problem.n
        if chosen.algorithm is not None:
            return (chosen.algorithm,)
        if chosen.named:
            return tuple(chosen.named)
        if chosen.batch_size is not None:
            return ("gd",) if chosen.batch_size == n else ("cgd", "sgd")
        return ("gd", "cgd", "sgd")

    def candidates(self, algorithm: str) -> Iterator[_Candidate]:
        rows = list({"gd": self._full, "cgd": self._cyclic, "sgd": self._random}[algorithm]())
        kinds = {(run.steps, len(rates)) for run, rates, _ in rows}
        for kind in kinds:  # those of one length are foretold together
            alike = [row for row in rows if (row[0].steps, len(row[1])) == kind]
            predictions = self.reference.predict(
                np.stack([rates for _, rates, _ in alike]),
                kind[0],
                np.array([_noise(run) for run, _, _ in alike]),
                np.array([l2 for _, _, l2 in alike]),
                np.array([_sampling(run) for run, _, _ in alike]),
            )
            for (run, _, l2), prediction in zip(alike, predictions, strict=True):
                if math.isfinite(prediction.total):
                    yield _Candidate(run, l2, prediction)

    def _full(self) -> Iterator[tuple[TrainingRun, Any, float]]:
        """Steps as many as can be paid for; rates that fall to 0, of every reach."""
        n, chosen = self.problem.n, self.chosen
        if chosen.batch_size not in (None, n):
            raise InvalidInput(
                "batch_size", chosen.batch_size, "is no full batch", 'give algorithm="cgd" or "sgd"'
            )
        t = max(1, round(self.epochs))
        if self._too_long(t):
            return
        ridges = (0.0,) if chosen.l2 is None else (chosen.l2,)
        for l2 in ridges:
            for rates in self._rates(t, falling=True):
                noise = self._given(math.sqrt(t) * self.sensitivity / (n * self.mu))
                if noise is not None:
                    eta = tuple(rates.tolist()) if len(rates) > 1 else float(rates[0])
                    run = NoisyGD(n=n, steps=t, learning_rate=eta, noise=noise)
                    yield run, rates, l2

    def _cyclic(self) -> Iterator[tuple[TrainingRun, Any, float]]:
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
            if self._too_long(epochs * batches):
                continue
            for part in (0.0, *_RIDGES) if chosen.l2 is None else (None,):
                l2 = part * self.smoothness if part is not None else chosen.l2 or 0.0
                top = 2.0 / (self.smoothness + 2.0 * l2)
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
                    geometry = self._plan(unit, l2, "best").geometry
                    mu = certify(unit, geometry, bounds=self._bounds(unit, l2)).mu or math.inf
                    noise = self._given(mu / self.mu)
                    if noise is not None:
                        run = replace_run(unit, order=order, noise=noise)
                        yield run, np.array([eta]), l2

    def _random(self) -> Iterator[tuple[TrainingRun, Any, float]]:
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
            t = max(1, round(min(self._at_most(_LONG * size / n) * n / size, 2.0 * _MOST)))
            if self._too_long(t):
                continue
            p = min(1.0, size / n)
            # mu^2 = p^2 t (exp(1/z^2) - 1), z the noise over the sensitivity
            z = 1.0 / math.sqrt(math.log1p((self.mu / p) ** 2 / t))
            noise = self._given(max(z, 0.3) * self.sensitivity / size)
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
        if self.chosen.learning_rate is not None:
            yield np.array([self.chosen.learning_rate])
            return
        shapes = [np.array([1.0 / t])]
        if falling and 1 < t <= _MOST_RATES:
            shapes.insert(0, np.linspace(2.0, 2.0 / t, t) / (t + 1.0))
        unit = self.slope * self.problem.norm_bound**2
        for shape in shapes:
            for reach in _REACHES:
                if reach == _REACHES[0] or reach * shape.max() <= _STRIDE:
                    yield shape * (reach * self.problem.reach / unit)

    def _too_long(self, steps: int) -> bool:
        self._endless |= steps > _MOST
        return steps > _MOST

    def _at_most(self, epochs: float) -> float:
        """So many, unless they were asked for."""
        return min(self.epochs, epochs) if self.chosen.epochs is None else self.epochs

    def _given(self, needed: float) -> float | None:
        """The noise that was asked for, if it can be enough; else what the budget needs."""
        asked = self.chosen.noise
        if asked is None:
            return needed
        return asked if asked >= 0.5 * needed else None

    def _bounds(self, run: TrainingRun, l2: float) -> Bounds:
        """Composition where nothing else applies, where nothing is tighter, or costs seconds."""
        if self.chosen.bounds is not None:
            return self.chosen.bounds
        if isinstance(run, NoisySGD):
            return "composition"
        if isinstance(run, NoisyGD) and l2 == 0.0:
            return "composition"  # full steps that do not contract: Theorem B1 says the same
        eta = run.learning_rate
        largest = eta if isinstance(eta, float) else max(eta)
        return "best" if largest * (self.smoothness + l2) <= 2.0 else "composition"

    # --- what is chosen ---

    def finished(self, candidate: _Candidate) -> Plan:
        """The plan with the least noise that meets the budget, certified."""
        problem = self.problem
        bounds = self._bounds(candidate.run, candidate.l2)
        plan = self._plan(candidate.run, candidate.l2, bounds)
        if self.chosen.noise is None:
            plan = self._calibrated(plan, bounds)
        spent = plan.certificate.epsilon(problem.delta)
        if spent > problem.epsilon:
            raise self._too_quiet(spent)
        return plan

    def _calibrated(self, plan: Plan, bounds: Bounds) -> Plan:
        """With the least noise that meets the budget.

        Calibration to a very small delta certifies each run for that delta, a plan is certified for
        every delta, which may cost a little more. Then the aim is lowered by as much.
        """
        problem, aim = self.problem, self.problem.epsilon
        for _ in range(3):
            run = calibrate_noise(
                plan.run, plan.geometry, bounds=bounds, epsilon=aim, delta=problem.delta
            )
            plan = replace(plan, run=run)
            spent = plan.certificate.epsilon(problem.delta)
            if spent <= problem.epsilon:
                break
            aim *= (1.0 - 1e-6) * problem.epsilon / spent
        return plan

    def _too_quiet(self, spent: float) -> InvalidInput:
        return InvalidInput(
            "noise",
            self.chosen.noise,
            f"makes epsilon={spent:.4g} at delta={self.problem.delta:g}, which is above "
            f"{self.problem.epsilon:g}",
            "leave the noise to the planner, or give more",
        )

    def impossible(self) -> InvalidInput:
        if self._endless:
            name = "batch_size" if self.chosen.epochs is None else "epochs"
            return InvalidInput(
                name,
                getattr(self.chosen, name),
                f"makes every run longer than {_MOST} steps",
                "give fewer epochs, or a larger batch_size",
            )
        if self.chosen.noise is not None:
            return InvalidInput(
                "noise",
                self.chosen.noise,
                f"cannot meet epsilon={self.problem.epsilon:g}",
                "leave the noise to the planner, or give more",
            )
        return InvalidInput(
            "learning_rate",
            self.chosen.learning_rate,
            "makes every run diverge",
            "leave it to the planner, or give a smaller one",
        )


def _clipping(problem: Problem, chosen: Overrides) -> tuple[Clipping, float | None]:
    if chosen.clip is not None:
        if chosen.clip == math.inf:
            return "none", None
        return "envelope", magnitude("clip", chosen.clip, DATA_LEAST, DATA_GREATEST)
    if _halved(problem.loss):
        return "envelope", _CLIP * problem.residual * problem.norm_bound
    return "none", None


def _kind_of(clipping: Clipping, loss: Loss, bounds: Bounds) -> Clipping:
    """Plain clipping of several classes is quicker, and composition asks for no convexity."""
    several = isinstance(loss, Softmax) and loss.classes > 2
    plain = clipping == "envelope" and several and bounds == "composition"
    return "plain" if plain else clipping


def _halved(loss: Loss) -> bool:
    """Whether records begin with less than the largest gradient, so that clipping saves noise."""
    return isinstance(loss, (Logistic, Softmax))


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


def replace_run(run: NoisyCGD, **changes: Any) -> NoisyCGD:
    """`dataclasses.replace` for a class that takes epochs or steps."""
    return NoisyCGD(**{**vars(run), **changes})


def _noise(run: TrainingRun) -> float:
    return run.noise if isinstance(run.noise, float) else run.noise[-1]


def _sampling(run: TrainingRun) -> float:
    """The variance of a random batch's mean; batches in turn make up for one another."""
    return (1.0 - run.participation) / run.batch_size if isinstance(run, NoisySGD) else 0.0
