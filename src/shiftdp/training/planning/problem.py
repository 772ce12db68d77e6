"""What a planner is given: public numbers about a training problem, the privacy asked for, and what
the user has chosen of the run already."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from shiftdp._checks import (
    DATA_GREATEST,
    DATA_LEAST,
    RIDGE_GREATEST,
    choice,
    count,
    finite,
    magnitude,
    number_in,
)
from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.certification import Bounds
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.last_iterate.runs import LastBatch, Order, Sampling
from shiftdp.training.losses.base import Loss
from shiftdp.training.planning.checkpoints import checked_checkpoints

COMPUTE = 1e11
"""Multiplications that a run takes unless the user says otherwise: seconds on one core, a minute at
most."""

_LONGEST = 200  # passes over the data; more gain nothing that benchmarks/utility.py could see


@dataclass(frozen=True, kw_only=True)
class Problem:
    """The public side of a training problem.

    Args:
        n: how many records there are.
        features: how many features each has.
        loss: of one record.
        feature_bound: no feature vector is longer; the loop sees to it.
        epsilon, delta: what the released model may cost.
        adjacency: which data sets are neighbours.
        intercept: whether a constant is joined to the features.
        compute: how many multiplications the run may take.

    >>> from shiftdp.training import Softmax
    >>> digits = Problem(
    ...     n=1_437,
    ...     features=64,
    ...     loss=Softmax(classes=10),
    ...     feature_bound=3.5,
    ...     epsilon=1.0,
    ...     delta=1e-5,
    ... )
    >>> digits.epochs
    200
    """

    n: int
    features: int
    loss: Loss
    feature_bound: float
    epsilon: float
    delta: float
    adjacency: Adjacency = "replace_one"
    intercept: bool = True
    compute: float = COMPUTE

    def __post_init__(self) -> None:
        if not isinstance(self.loss, Loss):
            raise InvalidInput("loss", self.loss, "is no loss", "give one of shiftdp.training")
        fields = {
            "n": count("n", self.n, 1),
            "features": count("features", self.features, 1),
            "feature_bound": magnitude(
                "feature_bound", self.feature_bound, DATA_LEAST, DATA_GREATEST
            ),
            "epsilon": finite("epsilon", self.epsilon, 0.0, open_low=True),
            "delta": number_in("delta", self.delta, 0.0, 1.0, open_low=True, open_high=True),
            "adjacency": choice("adjacency", self.adjacency, get_args(Adjacency)),
            "compute": number_in("compute", self.compute, 0.0, open_low=True),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def epochs(self) -> int:
        """How often the data may be passed over: two products a pass, at most 200 passes."""
        return int(min(_LONGEST, max(1.0, self.compute // self.work)))

    @property
    def work(self) -> float:
        """Multiplications of one pass."""
        return 2.0 * self.n * (self.features + self.intercept) * self.loss.outputs

    @property
    def norm_bound(self) -> float:
        """R, with the constant."""
        return math.hypot(self.feature_bound, 1.0) if self.intercept else self.feature_bound


Algorithm = Literal["gd", "cgd", "sgd"]

_ALGORITHM_OF = {"order": "cgd", "last_batch": "cgd", "sampling": "sgd"}
"""Choices that only one algorithm has."""


@dataclass(frozen=True, kw_only=True)
class Overrides:
    """What the user has chosen; None leaves it to the planner.

    Args:
        algorithm: `gd` (full batches), `cgd` (batches in turn) or `sgd` (random batches).
        order: of cyclic batches.
        last_batch: what cyclic batches do with records that do not fill one. The planner takes
            `divide_by_b`, so that a record weighs the same wherever it is.
        sampling: of random batches.
        batch_size: how many records a batch has.
        epochs: passes over the data.
        learning_rate: the same at every step.
        l2: the ridge.
        noise: on the mean gradient; refused if it does not meet the budget.
        clip: the norm that gradients are clipped to; `math.inf` for none.
        bounds: which theorems the certificate may use.
        checkpoints: which iterates are released beside the last one: `epochs`, after each pass
            over the data; so many, equally spaced; or a list of epochs. The noise is calibrated
            for all of them together (Theorem V1).
        average: the mean of the iterates at the ends of so many last epochs is what is asked for;
            it costs what their release does.
        centre: whether rows are trained on as distances from their noisy mean (Theorem P2); None
            where public numbers say that it pays, and nothing that it would change is chosen.
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
    checkpoints: Any = None
    average: int | None = None
    centre: bool | None = False

    def __post_init__(self) -> None:
        if self.checkpoints is not None:
            object.__setattr__(self, "checkpoints", checked_checkpoints(self.checkpoints))
        if self.average is not None:
            object.__setattr__(self, "average", count("average", self.average, 1))
        if self.centre is not None:
            if not isinstance(self.centre, (bool, np.bool_)):
                remedy = "give True, False, or None to leave it to the planner"
                known = isinstance(self.centre, (str, float, int))
                given_as = self.centre if known else f"<{type(self.centre).__name__}>"
                raise InvalidInput("centre", given_as, "is no truth value", remedy)
            object.__setattr__(self, "centre", bool(self.centre))
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
        self._refuse_contradictions()

    def _refuse_contradictions(self) -> None:
        """Refuse choices that belong to another algorithm than the one that is chosen."""
        given = {
            name: algorithm
            for name, algorithm in _ALGORITHM_OF.items()
            if getattr(self, name) is not None
        }
        for name, algorithm in given.items():
            if self.algorithm not in (None, algorithm):
                raise InvalidInput(
                    name,
                    getattr(self, name),
                    f"is no choice of algorithm={self.algorithm!r}",
                    "leave one of the two out",
                )
        own = {"algorithm": "gd", "bounds": "composition", "batch_size": None, "noise": None}
        other = {name for name, value in own.items() if getattr(self, name) not in (None, value)}
        for name in sorted(other | set(given)) if self.centre else ():
            raise InvalidInput(
                name,
                getattr(self, name),
                "does not go with centre=True: rows are centred for composed runs of full batches, "
                "whose noise is shared between the steps and what is measured before them",
                "leave one of the two out",
            )
        if len(self.named) > 1:
            values = tuple(getattr(self, name) for name in given)
            raise InvalidInput(", ".join(given), values, "exclude each other", "give one")

    @property
    def releases(self) -> bool:
        """Whether other iterates than the last one are released."""
        return self.checkpoints is not None or self.average is not None

    @property
    def named(self) -> set[str]:
        """The algorithms that the other choices belong to."""
        return {
            algorithm
            for name, algorithm in _ALGORITHM_OF.items()
            if getattr(self, name) is not None
        }
