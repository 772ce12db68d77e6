"""Noisy gradient descent on random batches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from shiftdp._checks import PerStep, choice, count, length, per_step
from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.runs.descent import (
    Descent,
    GivenReleases,
    batches_of,
    records_and_batch,
    releases_and_people,
    steps_in,
)
from shiftdp.last_iterate.runs.mechanism import steps_in_words
from shiftdp.last_iterate.runs.samplers import SAMPLERS, Sampler, Sampling
from shiftdp.last_iterate.schedules.releases import Releases


@dataclass(frozen=True, kw_only=True, repr=False)
class NoisySGD(Descent):
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
        records_per_person: how many of the n records may be one person's, who is protected as a
            whole [Theorem V4]; only the last iterate is released then.

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
        releases: GivenReleases = None,
        records_per_person: int = 1,
    ) -> None:
        records, b = records_and_batch(n, batch_size)
        sampler = SAMPLERS[choice("sampling", sampling, tuple(SAMPLERS))]
        epoch = batches_of(records, b) if sampler.in_epochs else None
        if epoch is not None:
            t = _whole_epochs(epochs, steps, epoch)
        else:
            t = length("steps", _no_epochs(epochs, steps))
        cap = batch_cap
        if cap is not None:
            if sampler.replaces:
                raise InvalidInput(
                    "batch_cap",
                    cap,
                    "is for batches of random size",
                    'leave it out, or give sampling="poisson"',
                )
            cap = count("batch_cap", cap, 1)
        shown, each = releases_and_people(releases, t, epoch, records_per_person, records)
        vars(self).update(
            n=records,
            batch_size=b,
            steps=t,
            learning_rate=per_step("learning_rate", learning_rate, t),
            noise=per_step("noise", noise, t),
            sampling=sampling,
            batch_cap=cap,
            releases=shown,
            records_per_person=each,
        )

    sampled: ClassVar[Literal[True]] = True  # type: ignore[assignment]
    secret_batches: ClassVar[bool] = True

    @property
    def sampler(self) -> Sampler:
        """How batches are drawn, and all that follows from it."""
        return SAMPLERS[self.sampling]

    @property
    def in_epochs(self) -> bool:  # type: ignore[override]
        return self.sampler.in_epochs

    @property
    def in_words(self) -> str:
        drawn = self.sampler.batches.format(b=self.batch_size, n=self.n)
        made = steps_in_words(self.steps)
        return f"Noisy gradient descent: {made} on random batches, {drawn}."

    @property
    def batches_in_words(self) -> str:
        return f"{self.sampler.words}; the certificate rests on exactly this scheme"

    @property
    def largest_batch(self) -> int:
        """How many records a batch can have: one of random size may have all of them."""
        return self.n if self.has_random_sizes else self.batch_size

    @property
    def batches(self) -> int:
        """l = ceil(n/b): how many steps an epoch of random allocation has."""
        return batches_of(self.n, self.batch_size)

    @property
    def epochs(self) -> float:
        """How often a record takes part: exactly under random allocation, else on average."""
        if self.in_epochs and self.steps != math.inf:
            return self.steps // self.batches
        return self.steps * self.participation

    @property
    def participation(self) -> float:
        """p: how likely a record is to take part in a step; b/n, or 1/l of random allocation."""
        drawn, out_of = self.odds
        return drawn / out_of

    @property
    def odds(self) -> tuple[int, int]:
        """The same as numerator and denominator."""
        return (1, self.batches) if self.in_epochs else (self.batch_size, self.n)

    @property
    def has_random_sizes(self) -> bool:
        """Whether there is no largest batch, so that contraction needs a batch cap."""
        return not self.sampler.replaces


def _no_epochs(epochs: float | None, steps: float | None) -> float:
    """The steps of a run that has no epochs."""
    if epochs is not None:
        raise InvalidInput(
            "epochs",
            epochs,
            "is for random allocation: other random batches have no epochs",
            'give steps=... instead, or sampling="random_allocation"',
        )
    if steps is None:
        raise InvalidInput(
            "steps", steps, "is missing", "give it; math.inf for a bound that holds for any number"
        )
    return steps


def _whole_epochs(epochs: float | None, steps: float | None, batches: int) -> int:
    """The steps of random allocation, which ends with an epoch."""
    t = steps_in(epochs, steps, batches)
    if t != math.inf and t % batches:
        name, given = ("steps", steps) if epochs is None else ("epochs", epochs)
        raise InvalidInput(
            name,
            given,
            f"is not a whole number of epochs, of {batches} steps each, as random allocation has",
            f"give epochs={max(1, round(t / batches))}",
        )
    return t
