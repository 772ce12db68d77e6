"""Estimators with one flaw each in `partial_fit`, `forget`, `groups` or checkpoints.

Every mutant claims the certificate of the estimator as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from shiftdp.training.descent import loop
from shiftdp.training.estimators import base, fitting, forgetting, people, streams
from shiftdp.trials import AuditReport, audit
from shiftdp.trials.suite import trained
from shiftdp.trials.verbs import way_of

Spoil = Callable[[pytest.MonkeyPatch], None]

_N = 50  # records of an audit that is given none


@dataclass(frozen=True)
class VerbMutant:
    """A flaw, and where it is looked for.

    Args:
        name: of a trainer of the suite.
        spoil: what is spoilt.
        changes: of the estimator's parameters.
        told: what the audit is told besides.
        runs: that are enough at 99% confidence.
    """

    name: str
    spoil: Spoil
    changes: dict[str, Any] = field(default_factory=dict)
    told: dict[str, Any] = field(default_factory=dict)
    runs: int = 100

    def made(self) -> tuple[Any, dict[str, Any]]:
        estimator, told = trained(self.name)
        return estimator.set_params(**self.changes), {**told, **self.told}

    def claimed(self) -> Any:
        """What is certified of the estimator without its flaw, and with the same data."""
        estimator, told = self.made()
        way = way_of(
            estimator,
            told.get("verb", "fit"),
            lambda: _N,
            groups=told.get("groups"),
            forget_epsilon=told.get("forget_epsilon"),
            labels=None,
        )
        X, y = np.zeros((_N, 2)), np.zeros(_N)
        way.released(estimator, X, y)
        return way.guarantee(estimator)


def _silent(noise: Any, numbers: Any, sources: Any, features: int) -> None:
    noise.fill(0.0)


def _instead(patch: pytest.MonkeyPatch, module: Any, draw: Callable[[bool], Any]) -> None:
    """Another source of noise in the runs that a module starts; it is told whether one goes on
    from a released model."""
    honest = module.descend_on

    def descend_on(plan: Any, records: Any, *, start: Any = None, **more: Any) -> Any:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(loop, "_draw", draw(start is not None))
            return honest(plan, records, start=start, **more)

    patch.setattr(module, "descend_on", descend_on)


def no_noise_in_forgetting(patch: pytest.MonkeyPatch) -> None:
    _instead(patch, forgetting, lambda goes_on: _silent)


def no_noise_in_later_windows(patch: pytest.MonkeyPatch) -> None:
    honest = loop._draw
    _instead(patch, streams, lambda goes_on: _silent if goes_on else honest)


def same_noise_in_every_window(patch: pytest.MonkeyPatch) -> None:
    honest, drawn = loop._draw, list[Any]()

    def draw(goes_on: bool) -> Any:
        if not goes_on:
            drawn.clear()
        again = iter(drawn[:])

        def one(noise: Any, numbers: Any, sources: Any, features: int) -> None:
            known = next(again, None) if goes_on else None
            if known is not None:
                noise[...] = known
                return
            honest(noise, numbers, sources, features)
            drawn.append(noise.copy())

        return one

    _instead(patch, streams, draw)


def nothing_done_to_forget(patch: pytest.MonkeyPatch) -> None:
    """The steps are certified, and not taken."""
    patch.setattr(
        forgetting,
        "descend_on",
        lambda plan, records, start: np.squeeze(start),  # its own shape
    )


def checkpoints_without_the_last_noise(patch: pytest.MonkeyPatch) -> None:
    """What is shown early is the iterate before the noise of its step was added."""
    honest_draw, honest, kept = loop._draw, loop.descend_on, list[Any]()

    def draw(noise: Any, numbers: Any, sources: Any, features: int) -> None:
        honest_draw(noise, numbers, sources, features)
        kept[:] = [noise]  # which the loop scales in place, and takes off

    def descend_on(plan: Any, records: Any, *, checkpoints: Any, **more: Any) -> Any:
        def shown(step: int, released: Any) -> None:
            early = step < plan.run.steps
            checkpoints(step, released + kept[0].reshape(np.shape(released)) if early else released)

        return honest(plan, records, checkpoints=shown, **more)

    patch.setattr(loop, "_draw", draw)
    patch.setattr(fitting, "descend_on", descend_on)


def people_not_counted(patch: pytest.MonkeyPatch) -> None:
    """The noise is that of one record a person."""
    patch.setattr(base, "for_people", lambda planned, k, noise: planned)


def no_cap_on_people(patch: pytest.MonkeyPatch) -> None:
    """All records of a person are used, and not the first so many."""
    patch.setattr(people, "within_cap", lambda whose, k: np.arange(len(whose)))


_CROWD = np.minimum(np.arange(_N), _N - 20)  # the last twenty are one person's
_LEFT_TO_THE_PLANNER = {"noise": None, "epsilon": 3.0, "records_per_person": 4}

VERB_MUTANTS = {
    "a checkpoint before its noise": VerbMutant(
        "checkpoints", checkpoints_without_the_last_noise, {"batch_size": _N}
    ),
    "groups not counted": VerbMutant("groups", people_not_counted, _LEFT_TO_THE_PLANNER, runs=400),
    "records beyond the cap": VerbMutant("groups", no_cap_on_people, told={"groups": _CROWD}),
    "forget without noise": VerbMutant(
        "forget_others", no_noise_in_forgetting, {"noise": 0.12}, {"forget_epsilon": 2.0}
    ),
    "forget without steps": VerbMutant(
        "forget", nothing_done_to_forget, told={"forget_epsilon": 2.0}, runs=300
    ),
    "later windows without noise": VerbMutant("partial_fit", no_noise_in_later_windows),
    "windows share their noise": VerbMutant("partial_fit", same_noise_in_every_window),
}


def audited(
    mutant: VerbMutant, *, broken: bool = True, confidence: float = 0.99, runs: int | None = None
) -> AuditReport:
    """The audit of a mutant against the certificate that it claims; or of what it is made of."""
    claimed = mutant.claimed()
    estimator, told = mutant.made()
    with pytest.MonkeyPatch.context() as patch:
        if broken:
            mutant.spoil(patch)
        return audit(estimator, claimed, runs=runs or mutant.runs, confidence=confidence, **told)
