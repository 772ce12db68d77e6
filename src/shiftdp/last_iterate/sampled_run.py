"""Noisy stochastic gradient descent: a fresh random batch each step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from shiftdp._checks import choice, count, magnitude
from shiftdp._errors import InvalidInput

__all__ = ["NoisySGD", "Sampling"]

Sampling = Literal["without_replacement", "poisson"]

_MOST = 2**53


@dataclass(frozen=True, kw_only=True)
class NoisySGD:
    """One step is X <- Proj(X - eta (batch gradient + Z)), Z ~ N(0, noise^2 I).

    Args:
        batch_size: b. `without_replacement`: each batch is a uniform set of b records, and its
            gradient the mean over them. `poisson`: each record is in the batch independently with
            probability b/n, the gradient is the *sum* over the batch divided by the fixed b, and a
            ridge is added outside of that sum.
        steps: how many; infinite for a bound that holds for every number of them.
        sampling: how batches are drawn, afresh and independently each step.
        batch_cap: B, for `poisson`. What contraction proves is for batches of at most B records;
            the probability of a larger one is added to delta. Chosen by `certify` if not given.

    >>> NoisySGD(n=1000, batch_size=10, steps=500, learning_rate=0.1, noise=1.0).participation
    0.01
    """

    n: int
    batch_size: int
    steps: int
    learning_rate: float
    noise: float
    sampling: Sampling = "without_replacement"
    batch_cap: int | None = None

    def __post_init__(self) -> None:
        n, b = _countable("n", self.n), _countable("batch_size", self.batch_size)
        if b > n:
            raise InvalidInput("batch_size", b, f"exceeds n={n}", f"give at most {n}")
        sampling = choice("sampling", self.sampling, get_args(Sampling))
        cap = self.batch_cap
        if cap is not None:
            if sampling != "poisson":
                raise InvalidInput(
                    "batch_cap",
                    cap,
                    "is for batches of random size",
                    'leave it out, or give sampling="poisson"',
                )
            cap = count("batch_cap", cap, 1)
        fields = {
            "n": n,
            "batch_size": b,
            # without end: what is certified then holds for every number of steps
            "steps": math.inf if self.steps == math.inf else _countable("steps", self.steps),
            "learning_rate": _number("learning_rate", self.learning_rate),
            "noise": _number("noise", self.noise),
            "sampling": sampling,
            "batch_cap": cap,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def participation(self) -> float:
        """p = b/n: how likely a record is to take part in a step."""
        return self.batch_size / self.n


def _countable(name: str, value: object) -> int:
    """A whole number >= 1 that floats and 64-bit integers hold exactly."""
    whole = count(name, value, 1)
    if whole > _MOST:
        raise InvalidInput(name, value, "is beyond counting", f"give at most {_MOST:g}")
    return whole


def _number(name: str, value: object) -> float:
    """A positive number; Theorem B3 is for equal steps."""
    if isinstance(value, (list, tuple)):
        raise InvalidInput(
            name, value, "has many entries, and random batches are for equal steps", "give one"
        )
    return magnitude(name, value)
