"""The loop, and what it is made of: rows, batches, gradients, noise, projections."""

from shiftdp.training.descent.entropy import Aes, Entropy, Seeded, System
from shiftdp.training.descent.loop import Progress, TrainingStopped, descend, descend_stacked
from shiftdp.training.descent.projection import Ball, Box, Projection, Simplex

__all__ = [
    "Aes",
    "Ball",
    "Box",
    "Entropy",
    "Progress",
    "Projection",
    "Seeded",
    "Simplex",
    "System",
    "TrainingStopped",
    "descend",
    "descend_stacked",
]
