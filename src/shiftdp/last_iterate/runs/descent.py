"""Noisy gradient descent on full batches, and on batches in turn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast, get_args

import numpy as np

from shiftdp._checks import PerStep, choice, count, countable, finite, length, per_step
from shiftdp._errors import InvalidInput
from shiftdp._printed import parameters
from shiftdp._rounding import GENEROUS, LARGEST_WHOLE
from shiftdp.last_iterate.runs.mechanism import Mechanism, steps_in_words
from shiftdp.last_iterate.runs.several_records import (
    Arrangement,
    require_arrangement,
    require_people,
)
from shiftdp.last_iterate.schedules.releases import (
    Releases,
    number_of_releases,
    release_steps,
    releases_in,
)

Order = Literal["fixed", "shuffled_once", "reshuffled"]

LastBatch = Literal["own_size", "divide_by_b", "drop"]

_MOST_NAMED = 12  # released steps that are named one by one

_ORDERS: dict[str, str] = {
    "fixed": "in an order that does not depend on the data",
    "shuffled_once": "after one random shuffle of the records, which stays secret",
    "reshuffled": "after a fresh random shuffle of the records in each epoch, which stays secret",
}

GivenReleases = Literal["epochs", "all"] | Sequence[int] | None
"""Releases as a user may give them; a run keeps them as `Releases`."""


class Descent(Mechanism):
    """What all runs of noisy gradient descent on a data set answer alike."""

    trainable: ClassVar[Literal[True]] = True  # type: ignore[assignment]
    steps: int

    def __repr__(self) -> str:
        return parameters(self)

    @property
    def endless(self) -> bool:  # type: ignore[override]
        return self.steps == math.inf

    @property
    def release_in_words(self) -> str:
        if not has_releases(self):
            return super().release_in_words
        number = number_of_releases(self)
        steps = release_steps(self)
        which = "after all steps"
        if len(steps) < self.steps:
            shown = [f"{step:,}" for step in (steps if number <= _MOST_NAMED else steps[:3])]
            more = "" if number <= _MOST_NAMED else f", ... to {steps[-1]:,}"
            which = f"after the steps {', '.join(shown)}{more}"
        return f"{number:,} iterates, {which}: the guarantee covers all of them together."


@dataclass(frozen=True, kw_only=True, repr=False)
class NoisyGD(Descent):
    """Full batches: every step uses every record.

    `steps` may be infinite: what is certified then holds for every number of steps. A sequence for
    `noise` may have zeros in it, steps without noise, but the last step needs some.
    `records_per_person`: how many of the n records may be one person's, who is protected as a whole
    [Theorem V4]; only the last iterate is released then.

    >>> NoisyGD(n=100, steps=10, learning_rate=0.1, noise=1.0).batches
    1
    """

    n: int
    steps: int
    learning_rate: PerStep
    noise: PerStep
    releases: Releases = None
    records_per_person: int = 1

    def __init__(
        self,
        *,
        n: int,
        steps: float,
        learning_rate: float | Sequence[float],
        noise: float | Sequence[float],
        releases: GivenReleases = None,
        records_per_person: int = 1,
    ) -> None:
        t, records = length("steps", steps), countable("n", n)
        shown, each = releases_and_people(releases, t, 1, records_per_person, records)
        vars(self).update(
            n=records,
            steps=t,
            learning_rate=per_step("learning_rate", learning_rate, t),
            noise=per_step("noise", noise, t, zero=True),
            releases=shown,
            records_per_person=each,
        )

    in_turn: ClassVar[Literal[True]] = True  # type: ignore[assignment]
    full_batches: ClassVar[Literal[True]] = True  # type: ignore[assignment]

    @property
    def order(self) -> Order:
        return "fixed"

    @property
    def in_words(self) -> str:
        made = steps_in_words(self.steps)
        return f"Noisy gradient descent: {made}, each on all {self.n:,} records."

    @property
    def largest_batch(self) -> int:
        """How many records a batch can have."""
        return self.n

    @property
    def batches(self) -> int:
        return 1

    def size_of(self, position: int) -> int:
        return self.n

    def divisor_of(self, position: int) -> int:
        return self.n


@dataclass(frozen=True, kw_only=True, repr=False)
class NoisyCGD(Descent):
    """Cyclic batches: the records are cut into batches once, which are used in turn.

    Args:
        epochs: how often all records are used; a fraction of an epoch must be a whole number of
            steps. Give `steps` instead for a run that stops inside an epoch. Infinite epochs are
            any number of whole ones: what is certified then holds for all.
        order: `fixed` is any order that does not depend on the data; `shuffled_once` and
            `reshuffled` are drawn uniformly and independently of the data, before the first epoch
            or before each, and chosen by nobody (a published or fixed seed makes it `fixed`).
        last_batch: what is done with the r < b records that are left over where `batch_size` b
            does not divide `n`.
            `own_size`: they are a batch whose gradient is the mean over its own r records, as a
            plain data loader and a mean loss have it. One record then weighs 1/r in that step:
            the worst record pays for it, and with r = 1 it pays b times the usual.
            `divide_by_b`: the sum of their gradients is divided by b, like all others, so that
            a record weighs 1/b wherever it is. A ridge is added outside of that sum, in full (as
            under Poisson sampling); if a loop shrinks it with the batch, give r/b times the
            strong convexity.
            `drop`: they are not used in this epoch. In a fixed order the same records are never
            used; in a random one it may be any.
        noise: as a sequence it may have zeros in it, steps without noise; the last step needs some.
        releases: which iterates are released beside the last one.
        records_per_person: how many of the n records may be one person's, who is protected as a
            whole [Theorem V4]; only the last iterate is released then.
        arrangement: where these may be. `anywhere`: nothing is promised, so they may be in one
            batch. `one_per_batch`: no batch has two records of one person; a random order is then
            one of whole batches, whose composition does not depend on the data.

    >>> run = NoisyCGD(n=10, batch_size=4, epochs=2, learning_rate=0.1, noise=1.0)
    >>> run.batches, run.steps, run.size_of(3), run.divisor_of(3)
    (3, 6, 2, 2)
    >>> shape = {"n": 10, "batch_size": 4, "epochs": 2, "learning_rate": 0.1, "noise": 1.0}
    >>> NoisyCGD(**shape, last_batch="divide_by_b").divisor_of(3)
    4
    >>> NoisyCGD(**shape, last_batch="drop").batches
    2
    """

    n: int
    batch_size: int
    steps: int
    learning_rate: PerStep
    noise: PerStep
    order: Order = "fixed"
    last_batch: LastBatch = "own_size"
    releases: Releases = None
    records_per_person: int = 1
    arrangement: Arrangement = "anywhere"

    def __init__(
        self,
        *,
        n: int,
        batch_size: int,
        epochs: float | None = None,
        steps: float | None = None,
        learning_rate: float | Sequence[float],
        noise: float | Sequence[float],
        order: Order = "fixed",
        last_batch: LastBatch = "own_size",
        releases: GivenReleases = None,
        records_per_person: int = 1,
        arrangement: Arrangement = "anywhere",
    ) -> None:
        records, size = records_and_batch(n, batch_size)
        kept = choice("last_batch", last_batch, get_args(LastBatch))
        batches = batches_of(records, size, kept)
        t = steps_in(epochs, steps, batches)
        shown, each = releases_and_people(releases, t, batches, records_per_person, records)
        where = choice("arrangement", arrangement, get_args(Arrangement))
        taken = choice("order", order, get_args(Order))
        if each > 1 and where == "one_per_batch":
            uneven = size if taken != "fixed" and records % size else None
            require_arrangement(each, batches, records, uneven)
        vars(self).update(
            n=records,
            batch_size=size,
            steps=t,
            learning_rate=per_step("learning_rate", learning_rate, t),
            noise=per_step("noise", noise, t, zero=True),
            order=taken,
            last_batch=kept,
            releases=shown,
            records_per_person=each,
            arrangement=where if each > 1 else "anywhere",
        )

    in_turn: ClassVar[Literal[True]] = True  # type: ignore[assignment]
    cyclic: ClassVar[Literal[True]] = True  # type: ignore[assignment]
    in_epochs: ClassVar[bool] = True

    @property
    def secret_batches(self) -> bool:  # type: ignore[override]
        return self.order != "fixed"

    @property
    def in_words(self) -> str:
        return (
            f"Noisy gradient descent: {steps_in_words(self.steps)} on batches of "
            f"{self.batch_size:,} of the {self.n:,} records, used in turn {_ORDERS[self.order]}."
        )

    @property
    def batches_in_words(self) -> str:
        return f"no sampling: batches in turn, {_ORDERS[self.order]}"

    @property
    def largest_batch(self) -> int:
        """How many records a batch can have."""
        return self.batch_size

    @property
    def batches(self) -> int:
        """l, the number of batches an epoch."""
        return batches_of(self.n, self.batch_size, self.last_batch)

    @property
    def left_over(self) -> int:
        """How many records do not fill a batch: n mod b."""
        return self.n % self.batch_size

    @property
    def epochs(self) -> float:
        if self.steps == math.inf:
            return math.inf
        whole, rest = divmod(self.steps, self.batches)
        return whole if rest == 0 else self.steps / self.batches

    def size_of(self, position: int) -> int:
        """How many records the batch at this position (1 to l) has."""
        smaller = self.left_over and self.last_batch != "drop" and position == self.batches
        return self.left_over if smaller else self.batch_size

    def divisor_of(self, position: int) -> int:
        """What the sum of gradients of that batch is divided by."""
        return self.size_of(position) if self.last_batch == "own_size" else self.batch_size


def batches_of(n: int, size: int, last_batch: str = "own_size") -> int:
    """How many batches an epoch has.

    >>> batches_of(10, 4), batches_of(10, 4, "drop")
    (3, 2)
    """
    return n // size if last_batch == "drop" else -(-n // size)


def has_releases(run: Any) -> bool:
    """Whether other iterates than the last one are released.

    >>> run = NoisyGD(n=100, steps=10, learning_rate=0.1, noise=1.0, releases=[5])
    >>> has_releases(run), run.releases
    (True, (5, 10))
    """
    releases = getattr(run, "releases", None)
    if releases == "epochs":
        return bool(run.steps > run.batches)
    return releases is not None and bool(run.steps > 1)


def people(run: Any) -> int:
    """How many records one person may have."""
    return int(getattr(run, "records_per_person", 1))


def records_and_batch(n: int, batch_size: int) -> tuple[int, int]:
    """The number of records and the size of a batch, which is at most that number."""
    records, size = countable("n", n), count("batch_size", batch_size, 1)
    if size > records:
        raise InvalidInput("batch_size", size, f"exceeds n={records}", f"give at most {records}")
    return records, size


def releases_and_people(
    releases: GivenReleases, steps: int, epoch: int | None, records_per_person: int, n: int
) -> tuple[Releases, int]:
    """What is released of a run, in its one form, and how many of n records one person may have.

    >>> releases_and_people([5, 10], 10, None, 1, 100), releases_and_people(None, 10, None, 3, 100)
    (((5, 10), 1), (None, 3))
    """
    shown = None if releases is None else releases_in(releases, steps, epoch)
    each = count("records_per_person", records_per_person, 1)
    if each > 1:
        require_people(each, n, shown)
    return shown, each


def steps_in(epochs: float | None, steps: float | None, batches: int) -> int:
    """The number of steps, from exactly one of two ways to say it.

    >>> steps_in(2.5, None, 4), steps_in(None, 7, 4)
    (10, 7)
    """
    if (epochs is None) == (steps is None):
        raise InvalidInput(
            "epochs, steps", (epochs, steps), "are not one length", "give exactly one of the two"
        )
    if steps is not None:
        return length("steps", steps)
    if np.ndim(cast(Any, epochs)) == 0 and epochs == math.inf:
        return length("epochs", epochs)
    if isinstance(epochs, (int, np.integer)):
        return countable("epochs", count("epochs", epochs, 1) * batches)
    t = finite("epochs", epochs, 0.0, open_low=True) * batches
    if math.isinf(t) or abs(t - round(t)) > GENEROUS * t:
        raise InvalidInput(
            "epochs",
            epochs,
            f"is not a whole number of steps at {batches} batches an epoch",
            f"give steps={max(1, round(t))} instead" if t < LARGEST_WHOLE else "give fewer",
        )
    return countable("epochs", round(t))
