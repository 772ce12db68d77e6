"""Losses with proved constants, and the loop whose last iterate a certificate describes."""

from shiftdp.training.descent import Progress, TrainingStopped, descend, descend_stacked
from shiftdp.training.entropy import Aes, Entropy, Seeded, System
from shiftdp.training.loss import Loss
from shiftdp.training.plan import Plan
from shiftdp.training.projection import Ball, Box, Projection, Simplex
from shiftdp.training.scalar_losses import ClippedSquared, Huber, Logistic, SmoothedHinge
from shiftdp.training.softmax import Softmax

__all__ = [
    "Aes",
    "Ball",
    "Box",
    "ClippedSquared",
    "Entropy",
    "Huber",
    "Logistic",
    "Loss",
    "Plan",
    "Progress",
    "Projection",
    "Seeded",
    "Simplex",
    "SmoothedHinge",
    "Softmax",
    "System",
    "TrainingStopped",
    "descend",
    "descend_stacked",
]
