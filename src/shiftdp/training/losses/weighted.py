"""Classes that count differently: the loss of a record times the weight of its class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from shiftdp._checks import DATA_GREATEST, DATA_LEAST, magnitude
from shiftdp._errors import InvalidInput
from shiftdp.training.losses.base import Floats, Loss, Numbers, module_of
from shiftdp.training.losses.scalar import Logistic, SmoothedHinge
from shiftdp.training.losses.softmax import Softmax


@dataclass(frozen=True)
class Weighted(Loss):
    """w_y l(z, y): a loss of classes, weighted by class. The largest weight is 1.

    So no record counts for more than it does without weights, and slope, curvature and the norm
    that gradients are clipped to are those of the loss. [docs/losses.md, Lemma 6] A clip acts
    before the weight: the gradient of a record of weight w is at most w times the clip.

    Args:
        loss: of two classes or more.
        weights: one a class, in the order of their numbers, above 0.

    >>> Weighted(Logistic(), (0.25, 1.0)).slope
    1.0
    >>> Weighted(Logistic(), (1.0, 3.0))
    Traceback (most recent call last):
    shiftdp._errors.InvalidInput: weights=(1.0, 3.0) have 3.0 as the largest; divide them by it
    """

    loss: Loss
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.loss, (Logistic, SmoothedHinge, Softmax)):
            raise InvalidInput(
                "loss", type(self.loss).__name__, "has no classes", "weigh a loss of classes"
            )
        weights = tuple(
            magnitude("weights", one, DATA_LEAST, DATA_GREATEST) for one in self.weights
        )
        if len(weights) != max(2, self.loss.outputs):
            raise InvalidInput("weights", weights, "are not one a class", "give one for each")
        if max(weights) != 1.0:
            raise InvalidInput(
                "weights", weights, f"have {max(weights)} as the largest", "divide them by it"
            )
        object.__setattr__(self, "weights", weights)

    @property
    def name(self) -> str:
        return self.loss.name

    @property
    def parameters(self) -> Numbers:
        weights = ((f"weight_{place}", one) for place, one in enumerate(self.weights))
        return (*self.loss.parameters, *weights)

    @property
    def outputs(self) -> int:
        return self.loss.outputs

    @property
    def slope(self) -> float:
        return self.loss.slope

    @property
    def curvature(self) -> float:
        return self.loss.curvature

    @property
    def least_limit(self) -> float:
        return self.loss.least_limit

    @property
    def initial_residual(self) -> float:
        return self.loss.initial_residual

    @property
    def good_score(self) -> float:
        return self.loss.good_score

    def targets(self, y: Any) -> NDArray[Any]:
        return self.loss.targets(y)

    def residuals(self, z: Floats, targets: NDArray[Any], limits: Floats | None) -> None:
        self.loss.residuals(z, targets, limits)
        z *= self._of(targets)

    def scaled_residuals(self, z: Floats, targets: NDArray[Any], limits: Floats) -> None:
        self.loss.scaled_residuals(z, targets, limits)
        z *= self._of(targets)

    def _of(self, targets: NDArray[Any]) -> Floats:
        """The weight of each record. Targets of two classes are above 0 for the second one."""
        xp = module_of(targets)
        places = targets if self.outputs > 1 else xp.where(targets > 0, 1, 0)
        weights: Floats = xp.asarray(self.weights, dtype=xp.float64, device=targets.device)[places]
        return weights
