"""Losses with proved constants, and the loop whose last iterate a certificate describes."""

from shiftdp.training.descent.entropy import Aes, Entropy, Seeded, System
from shiftdp.training.descent.loop import Progress, TrainingStopped, descend, descend_stacked
from shiftdp.training.descent.projection import Ball, Box, Projection, Simplex
from shiftdp.training.descent.proximal import L1, ElasticNet, Prox
from shiftdp.training.losses.base import Loss
from shiftdp.training.losses.joint import Joint
from shiftdp.training.losses.scalar import ClippedSquared, Huber, Logistic, SmoothedHinge
from shiftdp.training.losses.softmax import Softmax
from shiftdp.training.losses.weighted import Weighted
from shiftdp.training.plan import Plan
from shiftdp.training.table_files.read_table import read_table

__all__ = [
    "L1",
    "Aes",
    "Ball",
    "Box",
    "ClippedSquared",
    "ElasticNet",
    "Entropy",
    "Huber",
    "Joint",
    "Logistic",
    "Loss",
    "Plan",
    "Progress",
    "Projection",
    "Prox",
    "Seeded",
    "Simplex",
    "SmoothedHinge",
    "Softmax",
    "System",
    "TrainingStopped",
    "Weighted",
    "descend",
    "descend_stacked",
    "read_table",
]
