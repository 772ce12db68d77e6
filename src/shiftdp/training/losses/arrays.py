"""What losses need of arrays that NumPy and PyTorch do not have under one name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp.training.losses.base import module_of


def copy_of(array: Any) -> Any:
    """A copy, of an array in the order of its indices."""
    return array.copy() if isinstance(array, np.ndarray) else array.clone()


def is_contiguous(array: Any) -> bool:
    """Whether its entries lie in memory in the order of its indices."""
    return bool(
        array.flags.c_contiguous if isinstance(array, np.ndarray) else array.is_contiguous()
    )


def by_numpy(function: Callable[..., NDArray[Any]], *arrays: Any) -> Any:
    """What a function of arrays returns; tensors are sent to the processor, and its result back."""
    first = arrays[0]
    if isinstance(first, np.ndarray):
        return function(*arrays)
    found = function(*(array.cpu().numpy() for array in arrays))
    return module_of(first).asarray(found, device=first.device)
