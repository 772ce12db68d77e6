"""What the user has chosen of a run, before the planner chooses the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from shiftdp._checks import choice, count, finite
from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.certify import Bounds
from shiftdp.last_iterate.runs import Order
from shiftdp.last_iterate.stochastic_run import Sampling

__all__ = ["Algorithm", "Overrides"]

Algorithm = Literal["gd", "cgd", "sgd"]


@dataclass(frozen=True, kw_only=True)
class Overrides:
    """What the user has chosen; None leaves it to the planner.

    Args:
        algorithm: `gd` (full batches), `cgd` (batches in turn) or `sgd` (random batches).
        order: of cyclic batches.
        sampling: of random batches.
        batch_size: how many records a batch has.
        epochs: passes over the data.
        learning_rate: the same at every step.
        l2: the ridge.
        noise: on the mean gradient; refused if it does not meet the budget.
        clip: the norm that gradients are clipped to; `math.inf` for none.
        bounds: which theorems the certificate may use.
    """

    algorithm: Algorithm | None = None
    order: Order | None = None
    sampling: Sampling | None = None
    batch_size: int | None = None
    epochs: float | None = None
    learning_rate: float | None = None
    l2: float | None = None
    noise: float | None = None
    clip: float | None = None
    bounds: Bounds | None = None

    def __post_init__(self) -> None:
        words = {"algorithm": Algorithm, "order": Order, "sampling": Sampling, "bounds": Bounds}
        for name, known in words.items():
            if getattr(self, name) is not None:
                choice(name, getattr(self, name), get_args(known))
        for name in ("epochs", "learning_rate", "noise"):
            if getattr(self, name) is not None:
                object.__setattr__(
                    self, name, finite(name, getattr(self, name), 0.0, open_low=True)
                )
        if self.l2 is not None:
            object.__setattr__(self, "l2", finite("l2", self.l2, 0.0))
        if self.batch_size is not None:
            object.__setattr__(self, "batch_size", count("batch_size", self.batch_size, 1))
        named = self.named
        if self.algorithm is not None and not named <= {self.algorithm}:
            other = "order" if self.order is not None else "sampling"
            raise InvalidInput(
                other,
                getattr(self, other),
                f"is no choice of algorithm={self.algorithm!r}",
                "leave one of the two out",
            )
        if len(named) > 1:
            raise InvalidInput(
                "order, sampling", (self.order, self.sampling), "exclude each other", "give one"
            )

    @property
    def named(self) -> set[str]:
        """The algorithms that the other words mean."""
        meant = {"cgd": self.order, "sgd": self.sampling}
        return {name for name, word in meant.items() if word is not None}
