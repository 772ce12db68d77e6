"""Losses with proved constants."""

from shiftdp.training.losses.base import Loss
from shiftdp.training.losses.joint import Joint
from shiftdp.training.losses.scalar import ClippedSquared, Huber, Logistic, SmoothedHinge
from shiftdp.training.losses.softmax import Softmax
from shiftdp.training.losses.weighted import Weighted

__all__ = [
    "ClippedSquared",
    "Huber",
    "Joint",
    "Logistic",
    "Loss",
    "SmoothedHinge",
    "Softmax",
    "Weighted",
]
