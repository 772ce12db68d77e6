"""The runs of the paper's experiment, and what is assumed of its losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shiftdp.last_iterate import Geometry, NoisyCGD, NoisySGD
from shiftdp.last_iterate.runs import Order
from shiftdp.ui.reproduce.published import published

__all__ = ["PAPER", "Setting"]


@dataclass(frozen=True)
class Setting:
    """n, b, eta, sigma, L, the bound on the features, and what is varied."""

    n: int
    batch_size: int
    learning_rate: float
    noise: float
    sensitivity: float
    feature_bound: float
    ridges: tuple[float, ...]
    epochs: tuple[int, ...]

    @property
    def batches(self) -> int:
        """l, the number of batches an epoch."""
        return self.n // self.batch_size

    @property
    def effective(self) -> float:
        """L/(b sigma), how far one record moves a step, in units of the noise."""
        return self.sensitivity / (self.batch_size * self.noise)

    def geometry(self, ridge: float) -> Geometry:
        """What would hold if clipping kept the loss convex, and does for the Lipschitz envelope.

        Smoothness R^2/2 + lambda, R^2 being the bound on the features squared, plus 1 for the
        constant.
        """
        smoothness = (self.feature_bound**2 + 1.0) / 2.0 + ridge
        return Geometry(strong_convexity=ridge, smoothness=smoothness, sensitivity=self.sensitivity)

    def cyclic(self, epochs: int, order: Order = "fixed") -> NoisyCGD:
        """NoisyCGD in this setting."""
        return NoisyCGD(
            n=self.n,
            batch_size=self.batch_size,
            epochs=epochs,
            learning_rate=self.learning_rate,
            noise=self.noise,
            order=order,
        )

    def sampled(self, epochs: int) -> NoisySGD:
        """NoisySGD, with as many steps as that many epochs of NoisyCGD have."""
        return NoisySGD(
            n=self.n,
            batch_size=self.batch_size,
            steps=epochs * self.batches,
            learning_rate=self.learning_rate,
            noise=self.noise,
            sampling="without_replacement",
        )


def _paper() -> Setting:
    found: dict[str, Any] = published("mnist_setting")
    return Setting(
        n=found["n"],
        batch_size=found["batch"],
        learning_rate=found["eta"],
        noise=found["sigma"],
        sensitivity=float(found["L"]),
        feature_bound=float(found["feature_clip"]),
        ridges=tuple(found["lambda"]),
        epochs=tuple(found["epochs"]),
    )


PAPER = _paper()
