"""Pairs of score vectors on which the mathematics of a loss is tried: near, far, tied, huge."""

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]


def pairs(outputs: int, size: int, seed: int) -> tuple[Scores, Scores]:
    """Two arrays of shape (outputs, size); their distances range over many orders of magnitude."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-2, 1.5, size)
    first = rng.normal(size=(outputs, size)) * scale
    apart = 10.0 ** rng.uniform(-4, 1.5, size)
    second = first + rng.normal(size=(outputs, size)) * apart
    # every tenth pair differs by an exchange of two scores
    second[:, ::10] = first[::-1, ::10]
    return first, second
