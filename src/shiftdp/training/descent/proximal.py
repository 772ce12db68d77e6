"""Proximal steps: penalties that are not smooth, applied after the noise. [Theorem V5]

    w <- prox(w - eta (mean gradient + Z)),   prox(v) = argmin_w h(w) + |w - v|^2 / (2 eta).

The prox of a convex h never moves two points apart, and that of an m_h-strongly convex one brings
them together by 1/(1 + eta m_h). It comes after the noise, so the last one is post-processing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from shiftdp._checks import RIDGE_GREATEST, magnitude
from shiftdp.training.losses.base import Floats


class Prox(ABC):
    """A convex penalty h of the parameters, by its prox."""

    @property
    @abstractmethod
    def strong_convexity(self) -> float:
        """m_h: h less (m_h/2)|w|^2 is convex, in all parameters, intercepts included."""

    @abstractmethod
    def apply(self, models: Floats, eta: float, intercepts: int) -> None:
        """Replace each model by its prox, in place; the last columns are intercepts."""


@dataclass(frozen=True)
class L1(Prox):
    """h(w) = l1 |w|_1, intercepts left out: soft thresholding, which leaves exact zeros.

    >>> models = np.array([[[0.3, -0.05, 2.0]]])
    >>> L1(0.1).apply(models, 1.0, intercepts=1)
    >>> models.round(9).tolist()
    [[[0.2, -0.0, 2.0]]]
    """

    l1: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "l1", magnitude("l1", self.l1, greatest=RIDGE_GREATEST, zero=True))

    @property
    def strong_convexity(self) -> float:
        return 0.0

    def apply(self, models: Floats, eta: float, intercepts: int) -> None:
        _threshold(models, eta * self.l1, intercepts)


@dataclass(frozen=True)
class ElasticNet(Prox):
    """h(w) = l1 |w|_1 + (l2/2) |w|^2, the ridge on intercepts too: it is l2-strongly convex.

    With `l1=0` it is a ridge inside the prox, which sets no limit to the learning rate.

    >>> models = np.array([[[0.3, -0.05, 2.0]]])
    >>> ElasticNet(0.1, 1.0).apply(models, 1.0, intercepts=1)
    >>> models.round(9).tolist()
    [[[0.1, -0.0, 1.0]]]
    """

    l1: float
    l2: float

    def __post_init__(self) -> None:
        for name in ("l1", "l2"):
            value = magnitude(name, getattr(self, name), greatest=RIDGE_GREATEST, zero=True)
            object.__setattr__(self, name, value)

    @property
    def strong_convexity(self) -> float:
        return self.l2

    def apply(self, models: Floats, eta: float, intercepts: int) -> None:
        _threshold(models, eta * self.l1, intercepts)
        models /= 1.0 + eta * self.l2


def _threshold(models: Floats, by: float, intercepts: int) -> None:
    weights = models[..., : models.shape[-1] - intercepts]
    weights[...] = np.sign(weights) * np.maximum(np.abs(weights) - by, 0.0)
