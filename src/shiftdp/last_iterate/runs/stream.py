"""Noisy gradient descent on records that arrive for ever, each of which is used once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from shiftdp._checks import PerStep, choice, countable, per_step
from shiftdp._printed import parameters
from shiftdp.last_iterate.runs.descent import NoisyCGD
from shiftdp.last_iterate.runs.mechanism import Mechanism

StreamOrder = Literal["fixed", "shuffled"]


@dataclass(frozen=True, kw_only=True)
class NoisyStream(Mechanism):
    """New records arrive for ever, each is used in one step, and iterates are released all along.

    A *window* is `batches_per_release` steps, each on a batch of records that were never used
    before; after it the iterate is released, and the next window goes on from there. What is
    certified holds for each record, however long the stream is: for a person who has one record in
    all of it. Theorem V2.

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
        vars(self).update(
            batch_size=size,
            batches_per_release=k,
            learning_rate=per_step("learning_rate", learning_rate, k),
            noise=per_step("noise", noise, k, zero=True),
            order=choice("order", order, get_args(StreamOrder)),
        )

    streams: ClassVar[Literal[True]] = True  # type: ignore[assignment]

    def __repr__(self) -> str:
        return parameters(self)

    @property
    def secret_batches(self) -> bool:  # type: ignore[override]
        return self.order != "fixed"

    @property
    def in_words(self) -> str:
        window = f"{self.batches_per_release:,} batches of {self.batch_size:,} new records"
        shuffled = " in random order" if self.order == "shuffled" else ""
        return (
            f"Noisy gradient descent on a stream: windows of {window}{shuffled}, each record being "
            "used once, for as long as records arrive."
        )

    @property
    def batches_in_words(self) -> str:
        drawn = (
            "at random" if self.order == "shuffled" else "in an order that is not chosen by them"
        )
        return f"no sampling: each record once, the records of a window {drawn}"

    @property
    def release_in_words(self) -> str:
        return "The model after each window, for ever. No other iterate leaves the process."

    @property
    def window(self) -> NoisyCGD:
        """One window, which stands for all: an epoch over the records that arrive in it."""
        return NoisyCGD(
            n=self.batch_size * self.batches_per_release,
            batch_size=self.batch_size,
            steps=self.batches_per_release,
            learning_rate=self.learning_rate,
            noise=self.noise,
            order="fixed" if self.order == "fixed" else "shuffled_once",
        )
