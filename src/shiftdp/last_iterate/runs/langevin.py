"""Langevin Monte Carlo, and the exponential mechanism that it tends to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from shiftdp._checks import length, magnitude
from shiftdp.last_iterate.runs.descent import NoisyGD
from shiftdp.last_iterate.runs.mechanism import Mechanism, steps_in_words


@dataclass(frozen=True, kw_only=True)
class LangevinMC(Mechanism):
    """Langevin Monte Carlo, X <- X - eta grad F(X) + N(0, 2 eta I). [BSA24, Prop lmc]

    `steps` may be infinite: the stationary law of the chain, which has theorems of its own and
    needs no run that stands in for it.

    >>> LangevinMC(steps=100, learning_rate=0.02).noise
    10.0
    """

    steps: float
    learning_rate: float

    def __init__(self, *, steps: float, learning_rate: float) -> None:
        vars(self).update(
            steps=length("steps", steps),
            learning_rate=magnitude("learning_rate", learning_rate),
        )

    @property
    def in_words(self) -> str:
        return f"Langevin Monte Carlo: {steps_in_words(self.steps)} on the loss of the data."

    @property
    def noise(self) -> float:
        """sigma of the equivalent noisy gradient descent: eta sigma = sqrt(2 eta)."""
        return math.sqrt(2.0 / self.learning_rate)

    def as_descent(self, steps: float) -> NoisyGD:
        """The first `steps` steps as noisy gradient descent on one record. [BSA24, Prop lmc]"""
        return NoisyGD(n=1, steps=steps, learning_rate=self.learning_rate, noise=self.noise)


@dataclass(frozen=True)
class ExponentialMechanism(Mechanism):
    """One draw from the density proportional to exp(-F) on the constraint set."""

    one_draw: ClassVar[Literal[True]] = True  # type: ignore[assignment]

    @property
    def in_words(self) -> str:
        return "One draw from the density proportional to exp(-F), F being the loss of the data."

    @property
    def release_in_words(self) -> str:
        return "That one draw."
