"""Trainers with one flaw each: the loop that really runs, with one thing of it spoilt.

Every mutant claims the certificate of the plan that it is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pytest

from shiftdp import NoisyCGD, NoisyGD
from shiftdp.training import Huber, Plan
from shiftdp.training.descent import gradient, loop, records
from shiftdp.trials import AuditReport, audit

Spoil = Callable[[pytest.MonkeyPatch], None]

GD = NoisyGD(n=20, steps=10, learning_rate=0.5, noise=0.3)
TURNS: dict[str, Any] = {"n": 100, "batch_size": 5, "epochs": 1, "learning_rate": 0.5, "noise": 0.2}
OFTEN = NoisyCGD(n=25, batch_size=5, epochs=6, learning_rate=0.5, noise=0.4)
MANY = NoisyGD(n=2**16, steps=1, learning_rate=0.5, noise=1e-3)


def plan_of(run: Any, **choices: Any) -> Plan:
    given: dict[str, Any] = {"loss": Huber(), "feature_bound": 1.0, "intercept": False, "l2": 0.1}
    return Plan(run=run, **{**given, **choices})


@dataclass(frozen=True)
class Mutant:
    """A flaw, and how it is looked for.

    Args:
        claimed: the plan whose certificate is claimed.
        trained: what is run instead, if it is another plan.
        spoil: what is spoilt in the loop while it runs.
        leaks: steps whose iterates are given away as well.
        method: of the audit.
        runs: that are enough at 99% confidence.
    """

    claimed: Plan
    trained: Plan | None = None
    spoil: Spoil | None = None
    leaks: tuple[int, ...] = ()
    method: Literal["runs", "shared_noise"] = "runs"
    runs: int = 1000


def no_bound(patch: pytest.MonkeyPatch) -> None:
    """Rows stay as long as they are."""
    honest = records.bounded_rows
    patch.setattr(records, "bounded_rows", lambda X, bound: honest(X, 1e9))


def same_noise_everywhere(patch: pytest.MonkeyPatch) -> None:
    """One number is drawn a step, and used for every parameter."""

    def add_noise(total: Any, sigma: float, streams: Any, numbers: Any, features: int) -> None:
        for model, stream in zip(total, streams, strict=True):
            stream.fill(numbers)
            model += sigma * numbers[0]

    patch.setattr(loop, "_add_noise", add_noise)


def same_noise_again(patch: pytest.MonkeyPatch) -> None:
    """Every run, and every step of it, draws the same numbers: a generator that is seeded anew."""

    def add_noise(total: Any, sigma: float, streams: Any, numbers: Any, features: int) -> None:
        total += sigma * np.random.default_rng(7).standard_normal(total.shape[1:])

    patch.setattr(loop, "_add_noise", add_noise)


def single_precision(patch: pytest.MonkeyPatch) -> None:
    """Contributions are added up one after the other, in float32."""

    def summed(self: Any, records: Any, models: Any, rows: Any) -> Any:
        X = records.rows.take(rows)
        z = models[:, 0] @ X.T
        self._residuals(z[:, None, :], records.targets[rows], None)
        parts = (z[0][:, None] * X).astype(np.float32)
        self._total[0, 0] = np.cumsum(parts, axis=0, dtype=np.float32)[-1]
        return self._total

    patch.setattr(gradient._Sum, "__call__", summed)


def scaled_by_the_longest(patch: pytest.MonkeyPatch) -> None:
    """Features are divided by the largest norm in the data: one record changes all others."""
    honest = records.bounded_rows

    def bounded(X: Any, bound: float) -> Any:
        longest = float(np.max(np.linalg.norm(X, axis=1)))
        return honest(X * (bound / max(longest, bound)), bound)

    patch.setattr(records, "bounded_rows", bounded)


def _made() -> dict[str, Mutant]:
    halved = NoisyGD(n=20, steps=10, learning_rate=0.5, noise=0.15)
    shuffled = plan_of(NoisyCGD(**TURNS, order="shuffled_once"), l2=1.6)
    around = (*(step for end in range(5, 30, 5) for step in (end - 1, end)), 29)
    return {
        "noise halved": Mutant(plan_of(GD), plan_of(halved)),
        "feature bound not enforced": Mutant(plan_of(GD), spoil=no_bound),
        "batch order not as declared": Mutant(shuffled, plan_of(NoisyCGD(**TURNS), l2=1.6)),
        "noise reused for every parameter": Mutant(plan_of(GD), spoil=same_noise_everywhere),
        "noise reused in every run": Mutant(plan_of(GD), spoil=same_noise_again),
        "iterates leaked": Mutant(plan_of(OFTEN, l2=0.0), leaks=around),
        "sums in float32": Mutant(plan_of(MANY), spoil=single_precision, method="shared_noise"),
        "one record read differently": Mutant(plan_of(GD), spoil=scaled_by_the_longest),
        "one record read differently, shared noise": Mutant(
            plan_of(GD), spoil=scaled_by_the_longest, method="shared_noise"
        ),
    }


MUTANTS = _made()


@contextmanager
def spoilt(mutant: Mutant) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if mutant.spoil is not None:
            mutant.spoil(patch)
        yield


def audited(mutant: Mutant, *, confidence: float = 0.99, runs: int | None = None) -> AuditReport:
    """The mutant's audit against the certificate that it claims."""
    certificate = mutant.claimed.certificate
    trained = mutant.trained or mutant.claimed
    if mutant.leaks:
        trained = replace(trained, run=releasing(trained.run, mutant.leaks))
    with spoilt(mutant):
        return audit(
            trained,
            certificate,
            method=mutant.method,
            runs=runs or mutant.runs,
            confidence=confidence,
        )


def releasing(run: Any, releases: tuple[int, ...]) -> Any:
    """The run that gives these iterates away too."""
    return type(run)(**{**vars(run), "releases": releases})
