"""What is run: frozen descriptions, checked when they are made, that compute nothing.

One step is `X <- Proj(X - eta (mean gradient over the batch + Z))` with `Z ~ N(0, noise^2 I)`: the
noise is on the *mean* gradient. (A noise multiplier in the sense of Opacus is
`noise * batch_size / G`.) Only the last iterate is released, unless `releases` names others: every
iterate (`"all"`), that at the end of each epoch (`"epochs"`), or those after the steps of a list.
The last one is always among them, and a certificate is about all of them together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

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
from shiftdp.last_iterate.schedules.releases import Releases, releases_in

__all__ = [
    "ExponentialMechanism",
    "LangevinMC",
    "LastBatch",
    "NoisyCGD",
    "NoisyGD",
    "NoisySGD",
    "NoisyStream",
    "Order",
    "PerStep",
    "Releases",
    "Run",
    "Sampling",
    "StreamOrder",
    "has_epochs",
    "has_releases",
    "is_endless",
]

Order = Literal["fixed", "shuffled_once", "reshuffled"]

StreamOrder = Literal["fixed", "shuffled"]

LastBatch = Literal["own_size", "divide_by_b", "drop"]

Sampling = Literal["without_replacement", "poisson", "random_allocation"]

_OF_RANDOM_SIZE = ("poisson", "random_allocation")  # batches of these have no largest size


@dataclass(frozen=True, kw_only=True)
class NoisyGD:
    """Full batches: every step uses every record.

    `steps` may be infinite: what is certified then holds for every number of steps. A sequence for
    `noise` may have zeros in it, steps without noise, but the last step needs some.

    >>> NoisyGD(n=100, steps=10, learning_rate=0.1, noise=1.0).batches
    1
    """

    n: int
    steps: int
    learning_rate: PerStep
    noise: PerStep
    releases: Releases = None

    def __init__(
        self,
        *,
        n: int,
        steps: float,
        learning_rate: float | Sequence[float],
        noise: float | Sequence[float],
        releases: Literal["epochs", "all"] | Sequence[int] | None = None,
    ) -> None:
        t = length("steps", steps)
        _set(
            self,
            n=countable("n", n),
            steps=t,
            learning_rate=per_step("learning_rate", learning_rate, t),
            noise=per_step("noise", noise, t, zero=True),
            releases=releases_in(releases, t, 1),
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
        releases: which iterates are released beside the last one.

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
        releases: Literal["epochs", "all"] | Sequence[int] | None = None,
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
        _set(
            self,
            n=records,
            batch_size=size,
            steps=t,
            learning_rate=per_step("learning_rate", learning_rate, t),
            noise=per_step("noise", noise, t, zero=True),
            order=choice("order", order, get_args(Order)),
            last_batch=kept,
            releases=releases_in(releases, t, batches),
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
        releases: which iterates are released beside the last one.

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
    releases: Releases = None

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
        releases: Literal["epochs", "all"] | Sequence[int] | None = None,
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
            releases=releases_in(
                releases, t, batches_of(records, b) if sampling == "random_allocation" else None
            ),
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
class NoisyStream:
    """New records arrive for ever, each is used in one step, and iterates are released all along.

    A *window* is `batches_per_release` steps, each on a batch of records that were never used
    before; after it the iterate is released, and the next window goes on from there. What is
    certified holds for each record, however long the stream is. Theorem V2.

    Args:
        batch_size: b; each gradient is the mean over the b new records of its batch.
        batches_per_release: k, the number of steps of a window.
        learning_rate: one number for all steps, or one for each step of a window.
        noise: likewise; as a sequence it may have zeros in it, but the last step needs some.
        order: how the k b records of a window come into its batches. `fixed`: in any way that does
            not depend on the data, such as by their arrival. `shuffled`: by a permutation that is
            drawn uniformly for each window, independently of the data, and chosen by nobody.

    >>> stream = NoisyStream(batch_size=100, batches_per_release=20, learning_rate=0.1, noise=1.0)
    >>> stream.window.n, stream.window.steps
    (2000, 20)
    """

    batch_size: int
    batches_per_release: int
    learning_rate: PerStep
    noise: PerStep
    order: StreamOrder = "fixed"

    def __init__(
        self,
        *,
        batch_size: int,
        batches_per_release: int,
        learning_rate: float | Sequence[float],
        noise: float | Sequence[float],
        order: StreamOrder = "fixed",
    ) -> None:
        size = countable("batch_size", batch_size)
        k = countable("batches_per_release", batches_per_release)
        countable("batch_size * batches_per_release", size * k)
        _set(
            self,
            batch_size=size,
            batches_per_release=k,
            learning_rate=per_step("learning_rate", learning_rate, k),
            noise=per_step("noise", noise, k, zero=True),
            order=choice("order", order, get_args(StreamOrder)),
        )

    @property
    def window(self) -> NoisyCGD:
        """One window: an epoch over the records that arrive in it."""
        return NoisyCGD(
            n=self.batch_size * self.batches_per_release,
            batch_size=self.batch_size,
            steps=self.batches_per_release,
            learning_rate=self.learning_rate,
            noise=self.noise,
            order="fixed" if self.order == "fixed" else "shuffled_once",
        )


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


Run = NoisyGD | NoisyCGD | NoisySGD | NoisyStream | LangevinMC | ExponentialMechanism


def has_epochs(run: Run) -> bool:
    """Whether the run is made in epochs, in each of which a record is used at most once.

    >>> has_epochs(NoisyGD(n=100, steps=10, learning_rate=0.1, noise=1.0))
    False
    """
    allocated = isinstance(run, NoisySGD) and run.sampling == "random_allocation"
    return allocated or isinstance(run, NoisyCGD)


def is_endless(run: Run) -> bool:
    """Whether the run has no last step and needs a stand-in; Langevin has theorems for it."""
    return isinstance(run, (NoisyGD, NoisyCGD, NoisySGD)) and run.steps == math.inf


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


def _set(target: Any, **fields: object) -> None:
    for name, value in fields.items():
        object.__setattr__(target, name, value)
