"""What NumPy and PyTorch do not have under one name: losses are written once, for both.

Arrays in memory and tensors on a device share operators, indexing and most functions, with `axis`
and `out` as NumPy has them. So formulas take the functions of the module that made their array.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray


def module_of(array: Any) -> Any:
    """NumPy, or torch if the array is a tensor of it.

    >>> module_of(np.zeros(1)).__name__
    'numpy'
    """
    return np if isinstance(array, np.ndarray) else import_module("torch")


def copy_of(array: Any) -> Any:
    """A copy, of an array in the order of its indices."""
    return array.copy() if isinstance(array, np.ndarray) else array.clone()


def is_contiguous(array: Any) -> bool:
    """Whether its entries lie in memory in the order of its indices."""
    return bool(
        array.flags.c_contiguous if isinstance(array, np.ndarray) else array.is_contiguous()
    )


def sigmoid(z: Any) -> None:
    """Replace each entry z by 1 / (1 + exp(-z))."""
    if isinstance(z, np.ndarray):
        scipy.special.expit(z, out=z)
    else:
        z.sigmoid_()


def by_numpy(function: Callable[..., NDArray[Any]], *arrays: Any) -> Any:
    """What a function of arrays returns; tensors are sent to the processor, and its result back."""
    first = arrays[0]
    if isinstance(first, np.ndarray):
        return function(*arrays)
    found = function(*(array.cpu().numpy() for array in arrays))
    return module_of(first).asarray(found, device=first.device)
