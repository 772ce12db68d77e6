"""Training with some records, and further steps without them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Literal

from shiftdp._checks import PerStep, count, magnitude, per_step
from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.runs.descent import NoisyCGD, NoisyGD, people, steps_in
from shiftdp.last_iterate.runs.mechanism import Mechanism
from shiftdp.last_iterate.runs.sampled import NoisySGD
from shiftdp.last_iterate.schedules.releases import shown_releases

Training = NoisyGD | NoisyCGD | NoisySGD


@dataclass(frozen=True, kw_only=True)
class Unlearning(Mechanism):
    """Training with some records, then further steps without them: certified unlearning.

    A certificate bounds how well the last iterate can be told from that of the same training, and
    the same further steps, without those records from the beginning [Theorem V3]. It is about the
    model *after* the further steps: what was released before stays released.

    Args:
        training: what was run with the records. Where it protects people with several records,
            one person is deleted.
        further_steps: how many steps follow without them; 0 is training itself.
        further_epochs: the same in epochs, of as many steps as those of training.
        records: how many records are deleted when training ends; they may be in one batch.
        learning_rate: of the further steps, one number or one a step; that of training's last step
            if not given.
        noise: of the further steps; likewise.
        later_requests: pairs (k, r): after k of the further steps, r more records are deleted,
            which were used until then.
        grid: if training is taken up from an iterate that was rounded, the mesh of the rounding;
            0 if it goes on from the very numbers where it ended.
        dimension: how many numbers an iterate has, which is of interest where it is rounded.

    >>> run = NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)
    >>> Unlearning(training=run, further_epochs=10).further_steps
    400
    """

    training: Training
    further_steps: int
    records: int = 1
    learning_rate: PerStep = 0.0
    noise: PerStep = 0.0
    later_requests: tuple[tuple[int, int], ...] = ()
    grid: float = 0.0
    dimension: int = 1

    def __init__(
        self,
        *,
        training: Training,
        further_steps: int | None = None,
        further_epochs: float | None = None,
        records: int = 1,
        learning_rate: float | Sequence[float] | None = None,
        noise: float | Sequence[float] | None = None,
        later_requests: Sequence[tuple[int, int]] = (),
        grid: float = 0.0,
        dimension: int = 1,
    ) -> None:
        if not isinstance(training, (NoisyGD, NoisyCGD, NoisySGD)):
            raise InvalidInput(
                "training",
                training,
                "is no training that could go on",
                "give NoisyGD, NoisyCGD or NoisySGD",
            )
        if training.releases is not None:
            raise InvalidInput(
                "training",
                f"<a run with releases={shown_releases(training.releases)}>",
                "releases other iterates than the last one, and deletion is not proved for those",
                "give a run with releases=None",
            )
        K = _further(further_steps, further_epochs, training.batches)
        many = max(K, 1)
        vars(self).update(
            training=training,
            further_steps=K,
            records=_deleted(records, training),
            learning_rate=per_step("learning_rate", _or_last(learning_rate, training, 0), many),
            noise=per_step("noise", _or_last(noise, training, 1), many, zero=True),
            later_requests=_requests(later_requests, K, training),
            grid=magnitude("grid", grid, zero=True),
            dimension=count("dimension", dimension, 1),
        )

    deletes: ClassVar[Literal[True]] = True  # type: ignore[assignment]

    @property
    def endless(self) -> bool:  # type: ignore[override]
        """Whether training is."""
        return self.training.endless

    @property
    def secret_batches(self) -> bool:  # type: ignore[override]
        return self.training.secret_batches

    @property
    def with_records(self) -> Training:
        return self.training

    @property
    def in_words(self) -> str:
        return (
            f"{self.training.in_words} Then {self._deleted} deleted, and further steps follow "
            f"without: {self.further_steps:,} of them."
        )

    @property
    def _deleted(self) -> str:
        if people(self.training) > 1:
            return "the records of one person are"
        return "one record is" if self.records == 1 else f"{self.records:,} records are"

    @property
    def batches_in_words(self) -> str:
        return self.training.batches_in_words

    @property
    def release_in_words(self) -> str:
        return "The model after the further steps. What was released before it stays released."

    @property
    def n(self) -> int:
        return self.training.n

    @property
    def batches(self) -> int:
        return self.training.batches

    @property
    def steps(self) -> int:
        """Steps of training and further ones."""
        return self.training.steps + self.further_steps


def _further(steps: int | None, epochs: float | None, batches: int) -> int:
    pairs = ((steps, epochs), (epochs, steps))
    if any(isinstance(one, Real) and one == 0 and other is None for one, other in pairs):
        return 0
    if (steps is None) == (epochs is None):
        raise InvalidInput(
            "further_steps, further_epochs",
            (steps, epochs),
            "are not one length",
            "give exactly one of the two",
        )
    K = steps_in(epochs, steps, batches)
    if math.inf == K:
        raise InvalidInput(
            "further_steps", K, "is no number of steps", "give one; deletion has to end"
        )
    return K


def _or_last(value: Any, training: Training, which: int) -> Any:
    if value is not None:
        return value
    own = (training.learning_rate, training.noise)[which]
    return own if isinstance(own, float) else own[-1]


def _deleted(records: object, training: Training) -> int:
    r = count("records", records, 1)
    if r > 1 and training.records_per_person > 1:
        raise InvalidInput(
            "records",
            r,
            f"are deleted of people with {training.records_per_person} records each",
            "leave it at 1: a person is deleted as a whole",
        )
    if r > training.n:
        raise InvalidInput("records", r, f"exceeds n={training.n}", f"give at most {training.n}")
    return r


def _requests(pairs: Any, steps: int, training: Training) -> tuple[tuple[int, int], ...]:
    found = []
    try:
        listed = [(after, records) for after, records in pairs]
    except (TypeError, ValueError):
        raise InvalidInput(
            "later_requests", pairs, "is no list of pairs", "give pairs like (100, 1)"
        ) from None
    for after, records in listed:
        k = count("later_requests", after, 1)
        if k > steps:
            raise InvalidInput(
                "later_requests", k, f"is after the {steps} further steps", "give earlier ones"
            )
        found.append((k, _deleted(records, training)))
    return tuple(sorted(found))
