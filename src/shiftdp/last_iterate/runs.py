"""What is run: frozen descriptions, checked when they are made, that compute nothing.

One step is `X <- Proj(X - eta (mean gradient over the batch + Z))` with `Z ~ N(0, noise^2 I)`: the
noise is on the *mean* gradient. (A noise multiplier in the sense of Opacus is
`noise * batch_size / G`.) Only the last iterate is released.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

from shiftdp._checks import choice, count, magnitude
from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.schedules.lengths import (
    PerStep,
    batches_of,
    countable,
    length,
    no_epochs,
    per_step,
    steps_in,
    whole_epochs,
)

__all__ = [
    "Arrangement",
    "ExponentialMechanism",
    "LangevinMC",
    "LastBatch",
    "NoisyCGD",
    "NoisyGD",
    "NoisySGD",
    "Order",
    "PerStep",
    "Run",
    "Sampling",
    "Training",
    "Unlearning",
    "has_epochs",
    "is_endless",
    "one_record",
    "people",
    "stated",
]

Arrangement = Literal["anywhere", "one_per_batch"]

Order = Literal["fixed", "shuffled_once", "reshuffled"]

LastBatch = Literal["own_size", "divide_by_b", "drop"]

Sampling = Literal["without_replacement", "poisson", "random_allocation"]

_OF_RANDOM_SIZE = ("poisson", "random_allocation")  # batches of these have no largest size


@dataclass(frozen=True, kw_only=True)
class NoisyGD:
    """Full batches: every step uses every record.

    `steps` may be infinite: what is certified then holds for every number of steps. A sequence for
    `noise` may have zeros in it, steps without noise, but the last step needs some.
    `records_per_person`: how many of the n records may be one person's, who is protected as a whole
    [Theorem V4].

    >>> NoisyGD(n=100, steps=10, learning_rate=0.1, noise=1.0).batches
    1
    """

    n: int
    steps: int
    learning_rate: PerStep
    noise: PerStep
    records_per_person: int = 1

    def __init__(
        self,
        *,
        n: int,
        steps: float,
        learning_rate: float | Sequence[float],
        noise: float | Sequence[float],
        records_per_person: int = 1,
    ) -> None:
        t, records = length("steps", steps), countable("n", n)
        _set(
            self,
            n=records,
            steps=t,
            learning_rate=per_step("learning_rate", learning_rate, t),
            noise=per_step("noise", noise, t, zero=True),
            records_per_person=_person(records_per_person, records),
        )

    @property
    def order(self) -> Order:
        return "fixed"

    @property
    def batches(self) -> int:
        return 1

    def size_of(self, position: int) -> int:
        return self.n

    def divisor_of(self, position: int) -> int:
        return self.n


@dataclass(frozen=True, kw_only=True)
class NoisyCGD:
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
        records_per_person: how many of the n records may be one person's, who is protected as a
            whole [Theorem V4].
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
        records_per_person: int = 1,
        arrangement: Arrangement = "anywhere",
    ) -> None:
        records = countable("n", n)
        size = count("batch_size", batch_size, 1)
        if size > records:
            raise InvalidInput(
                "batch_size", size, f"exceeds n={records}", f"give at most {records}"
            )
        kept = choice("last_batch", last_batch, get_args(LastBatch))
        batches = batches_of(records, size, kept)
        t = steps_in(epochs, steps, batches)
        each = _person(records_per_person, records)
        where = choice("arrangement", arrangement, get_args(Arrangement))
        if where == "one_per_batch" and each > batches:
            raise InvalidInput(
                "records_per_person",
                each,
                f"exceeds the {batches} batches, so one of them has two records of a person",
                f'give at most {batches}, smaller batches, or arrangement="anywhere"',
            )
        if where == "one_per_batch" and each > 1 and order != "fixed" and records % size:
            raise InvalidInput(
                "batch_size",
                size,
                f"does not divide n={records}, so that batches in a random order are not alike",
                'give a divisor of n, order="fixed", or arrangement="anywhere"',
            )
        _set(
            self,
            n=records,
            batch_size=size,
            steps=t,
            learning_rate=per_step("learning_rate", learning_rate, t),
            noise=per_step("noise", noise, t, zero=True),
            order=choice("order", order, get_args(Order)),
            last_batch=kept,
            records_per_person=each,
            arrangement=where if each > 1 else "anywhere",
        )

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


@dataclass(frozen=True, kw_only=True)
class NoisySGD:
    """One step is X <- Proj(X - eta (batch gradient + Z)), Z ~ N(0, noise^2 I); batches are random.

    Args:
        batch_size: b. `without_replacement`: each batch is a uniform set of b records, and its
            gradient the mean over them. `poisson`: each record is in the batch independently with
            probability b/n. `random_allocation` ("balls and bins"): in each epoch of
            l = ceil(n/b) steps, each record goes into one of the l batches, chosen uniformly and
            independently of the others. Under the last two batches have random sizes: the gradient
            is the *sum* over the batch divided by the fixed b, and a ridge is added outside of
            that sum.
        steps: how many; infinite for a bound that holds for every number of them. Whole epochs
            under `random_allocation`, which may be given as `epochs` instead.
        learning_rate: one number for all steps, or one a step.
        noise: likewise.
        sampling: how batches are drawn, afresh and independently each step (or each epoch), unseen.
        batch_cap: B, where batches have random sizes. What contraction proves is for batches of at
            most B records; the probability of a larger one is added to delta. Chosen by `certify`
            if not given.
        records_per_person: how many of the n records may be one person's, who is protected as a
            whole [Theorem V4].

    >>> NoisySGD(n=1000, batch_size=10, steps=500, learning_rate=0.1, noise=1.0).participation
    0.01
    >>> NoisySGD(
    ...     n=1000,
    ...     batch_size=300,
    ...     epochs=5,
    ...     learning_rate=0.1,
    ...     noise=1.0,
    ...     sampling="random_allocation",
    ... ).steps
    20
    """

    n: int
    batch_size: int
    steps: int
    learning_rate: PerStep
    noise: PerStep
    sampling: Sampling = "without_replacement"
    batch_cap: int | None = None
    records_per_person: int = 1

    def __init__(
        self,
        *,
        n: int,
        batch_size: int,
        epochs: float | None = None,
        steps: float | None = None,
        learning_rate: float | Sequence[float],
        noise: float | Sequence[float],
        sampling: Sampling = "without_replacement",
        batch_cap: int | None = None,
        records_per_person: int = 1,
    ) -> None:
        records, b = countable("n", n), countable("batch_size", batch_size)
        if b > records:
            raise InvalidInput("batch_size", b, f"exceeds n={records}", f"give at most {records}")
        choice("sampling", sampling, get_args(Sampling))
        if sampling == "random_allocation":
            t = whole_epochs(epochs, steps, batches_of(records, b))
        else:
            t = length("steps", no_epochs(epochs, steps))
        cap = batch_cap
        if cap is not None:
            if sampling not in _OF_RANDOM_SIZE:
                raise InvalidInput(
                    "batch_cap",
                    cap,
                    "is for batches of random size",
                    'leave it out, or give sampling="poisson"',
                )
            cap = count("batch_cap", cap, 1)
        _set(
            self,
            n=records,
            batch_size=b,
            steps=t,
            learning_rate=per_step("learning_rate", learning_rate, t),
            noise=per_step("noise", noise, t),
            sampling=sampling,
            batch_cap=cap,
            records_per_person=_person(records_per_person, records),
        )

    @property
    def batches(self) -> int:
        """l = ceil(n/b): how many steps an epoch of random allocation has."""
        return batches_of(self.n, self.batch_size)

    @property
    def epochs(self) -> float:
        """How often a record takes part: exactly under random allocation, else on average."""
        if self.sampling == "random_allocation" and self.steps != math.inf:
            return self.steps // self.batches
        return self.steps * self.participation

    @property
    def participation(self) -> float:
        """p: how likely a record is to take part in a step; b/n, or 1/l of random allocation."""
        if self.sampling == "random_allocation":
            return 1.0 / self.batches
        return self.batch_size / self.n

    @property
    def has_random_sizes(self) -> bool:
        """Whether there is no largest batch, so that contraction needs a batch cap."""
        return self.sampling in _OF_RANDOM_SIZE


@dataclass(frozen=True, kw_only=True)
class LangevinMC:
    """Langevin Monte Carlo, X <- X - eta grad F(X) + N(0, 2 eta I). [BSA24, Prop lmc]

    `steps` may be infinite: the stationary law of the chain.

    >>> LangevinMC(steps=100, learning_rate=0.02).noise
    10.0
    """

    steps: float
    learning_rate: float

    def __init__(self, *, steps: float, learning_rate: float) -> None:
        _set(
            self,
            steps=length("steps", steps),
            learning_rate=magnitude("learning_rate", learning_rate),
        )

    @property
    def noise(self) -> float:
        """sigma of the equivalent noisy gradient descent: eta sigma = sqrt(2 eta)."""
        return math.sqrt(2.0 / self.learning_rate)

    def as_descent(self, steps: float) -> NoisyGD:
        """The first `steps` steps as noisy gradient descent on one record. [BSA24, Prop lmc]"""
        return NoisyGD(n=1, steps=steps, learning_rate=self.learning_rate, noise=self.noise)


@dataclass(frozen=True)
class ExponentialMechanism:
    """One draw from the density proportional to exp(-F) on the constraint set."""


Training = NoisyGD | NoisyCGD | NoisySGD


@dataclass(frozen=True, kw_only=True)
class Unlearning:
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
        K = _further(further_steps, further_epochs, training.batches)
        many = max(K, 1)
        _set(
            self,
            training=training,
            further_steps=K,
            records=_deleted(records, training),
            learning_rate=per_step("learning_rate", _or_last(learning_rate, training, 0), many),
            noise=per_step("noise", _or_last(noise, training, 1), many, zero=True),
            later_requests=_requests(later_requests, K, training),
            grid=magnitude("grid", grid, zero=True),
            dimension=count("dimension", dimension, 1),
        )

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
    if steps == 0 and epochs is None:
        return 0
    if epochs == 0 and steps is None:
        return 0
    given = {"further_steps": steps, "further_epochs": epochs}
    if (steps is None) == (epochs is None):
        raise InvalidInput(
            "further_steps, further_epochs",
            tuple(given.values()),
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
    if r > 1 and people(training) > 1:
        raise InvalidInput(
            "records",
            r,
            f"are deleted of people with {people(training)} records each",
            "leave it at 1: a person is deleted as a whole",
        )
    if r > training.n:
        raise InvalidInput("records", r, f"exceeds n={training.n}", f"give at most {training.n}")
    return r


def _requests(pairs: Any, steps: int, training: Training) -> tuple[tuple[int, int], ...]:
    found = []
    for pair in pairs:
        after, records = pair
        k = count("later_requests", after, 1)
        if k > steps:
            raise InvalidInput(
                "later_requests", k, f"is after the {steps} further steps", "give earlier ones"
            )
        found.append((k, _deleted(records, training)))
    return tuple(sorted(found))


Run = NoisyGD | NoisyCGD | NoisySGD | LangevinMC | ExponentialMechanism | Unlearning


def has_epochs(run: Run) -> bool:
    """Whether the run is made in epochs, in each of which a record is used at most once.

    >>> has_epochs(NoisyGD(n=100, steps=10, learning_rate=0.1, noise=1.0))
    False
    """
    allocated = isinstance(run, NoisySGD) and run.sampling == "random_allocation"
    return allocated or isinstance(run, NoisyCGD)


def is_endless(run: Run) -> bool:
    """Whether the run has no last step and needs a stand-in; Langevin has theorems for it."""
    if isinstance(run, Unlearning):
        return is_endless(run.training)
    return isinstance(run, (NoisyGD, NoisyCGD, NoisySGD)) and run.steps == math.inf


AnyRun = TypeVar("AnyRun", bound=Run)

_UNSAID = {"records_per_person": 1, "arrangement": "anywhere"}


def stated(run: Run) -> dict[str, Any]:
    """The fields of a run; those about people are left out where each has one record.

    >>> sorted(stated(NoisyGD(n=100, steps=10, learning_rate=0.1, noise=1.0)))
    ['learning_rate', 'n', 'noise', 'steps']
    """
    fields = {
        name: value
        for name, value in vars(run).items()
        if name not in _UNSAID or value != _UNSAID[name]
    }
    if isinstance(run, Unlearning):
        fields["training"] = {"type": type(run.training).__name__, **stated(run.training)}
    return fields


def people(run: Run) -> int:
    """How many records one person may have."""
    return int(getattr(run, "records_per_person", 1))


def one_record(run: AnyRun) -> AnyRun:
    """The same run where each person has one record."""
    if people(run) == 1:
        return run
    fields = {name: value for name, value in vars(run).items() if name not in _UNSAID}
    return type(run)(**fields)


def _person(records: object, n: int) -> int:
    k = count("records_per_person", records, 1)
    if k > n:
        raise InvalidInput("records_per_person", k, f"exceeds n={n}", f"give at most {n}")
    return k


def _set(target: Any, **fields: object) -> None:
    for name, value in fields.items():
        object.__setattr__(target, name, value)
