"""What the user has chosen of a run, before the planner chooses the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from shiftdp._checks import RIDGE_GREATEST, choice, count, finite, magnitude
from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.certification import Bounds
from shiftdp.last_iterate.runs import LastBatch, Order, Sampling

__all__ = ["Algorithm", "Overrides"]

Algorithm = Literal["gd", "cgd", "sgd"]

_MEANT = {"order": "cgd", "last_batch": "cgd", "sampling": "sgd"}


@dataclass(frozen=True, kw_only=True)
class Overrides:
    """What the user has chosen; None leaves it to the planner.

    Args:
        algorithm: `gd` (full batches), `cgd` (batches in turn) or `sgd` (random batches).
        order: of cyclic batches.
        last_batch: what cyclic batches do with records that do not fill one; `divide_by_b` unless
            told, so that a record weighs the same wherever it is.
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
    last_batch: LastBatch | None = None
    sampling: Sampling | None = None
    batch_size: int | None = None
    epochs: float | None = None
    learning_rate: float | None = None
    l2: float | None = None
    noise: float | None = None
    clip: float | None = None
    bounds: Bounds | None = None

    def __post_init__(self) -> None:
        words = {
            "algorithm": Algorithm,
            "order": Order,
            "last_batch": LastBatch,
            "sampling": Sampling,
            "bounds": Bounds,
        }
        for name, known in words.items():
            if getattr(self, name) is not None:
                choice(name, getattr(self, name), get_args(known))
        if self.epochs is not None:
            object.__setattr__(self, "epochs", finite("epochs", self.epochs, 0.0, open_low=True))
        for name in ("learning_rate", "noise"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, magnitude(name, getattr(self, name)))
        if self.l2 is not None:
            object.__setattr__(
                self, "l2", magnitude("l2", self.l2, greatest=RIDGE_GREATEST, zero=True)
            )
        if self.batch_size is not None:
            object.__setattr__(self, "batch_size", count("batch_size", self.batch_size, 1))
        self._refuse_rivals()

    def _refuse_rivals(self) -> None:
        """Words of another algorithm than the one that is meant."""
        given = {name: meant for name, meant in _MEANT.items() if getattr(self, name) is not None}
        for name, meant in given.items():
            if self.algorithm not in (None, meant):
                raise InvalidInput(
                    name,
                    getattr(self, name),
                    f"is no choice of algorithm={self.algorithm!r}",
                    "leave one of the two out",
                )
        if len(self.named) > 1:
            values = tuple(getattr(self, name) for name in given)
            raise InvalidInput(", ".join(given), values, "exclude each other", "give one")

    @property
    def named(self) -> set[str]:
        """The algorithms that the other words mean."""
        return {meant for name, meant in _MEANT.items() if getattr(self, name) is not None}
