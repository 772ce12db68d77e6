"""Features, targets and inputs of some records: nested tensors, and arrays made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.training.losses.base import described

_PAIRS = "give pairs of inputs and target, by a collate_fn if need be"


def matrix_of(features: Any) -> NDArray[Any]:
    """Features as a matrix of float32 or float64, a row a record; the tensor's memory where it can
    be."""
    known = isinstance(features, torch.Tensor) and features.layout is torch.strided
    if not known or features.dim() < 1 or features.is_complex():
        raise InvalidInput(
            "data",
            described(features),
            "gives no dense tensor of real features",
            "wrap the network in a module that returns one tensor, a row a record",
        )
    rows = features.detach().flatten(1) if features.dim() > 1 else features.detach()[:, None]
    if rows.dtype in (torch.float16, torch.bfloat16):
        rows = rows.float()  # exact
    elif rows.dtype not in (torch.float32, torch.float64):
        rows = rows.double()
    found: NDArray[Any] = rows.cpu().numpy()
    return found


def numbers_of(target: Any) -> NDArray[np.float64]:
    """Targets as float64, each by itself: a vector, or a matrix with a column for each head."""
    if isinstance(target, (tuple, list)) and any(isinstance(one, torch.Tensor) for one in target):
        return np.stack([numbers_of(one) for one in target], axis=1)
    if _is_text(target):
        raise InvalidInput(
            "y",
            described(target),
            "is text",
            "number the classes from 0, all that there may be: np.searchsorted(sorted(classes), y)",
        )
    try:
        found: NDArray[Any] = torch.as_tensor(target).detach().cpu().double().numpy()
    except (TypeError, ValueError, RuntimeError):
        found = np.empty(())
    if found.ndim not in (1, 2):
        raise InvalidInput("y", described(target), "is not a vector or a matrix of numbers", _PAIRS)
    return found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found


def _is_text(target: Any) -> bool:
    """Whether labels are words: an array of them, or a list that begins with one."""
    kind = getattr(getattr(target, "dtype", None), "kind", None)
    if kind in ("U", "S"):
        return True
    listed = isinstance(target, (tuple, list)) or (kind == "O" and np.shape(target) != ())
    return listed and isinstance(next(iter(target), None), (str, bytes))


def moved(inputs: Any, device: torch.device | None) -> Any:
    """Inputs, however they are nested, on a device."""
    if isinstance(inputs, torch.Tensor):
        return inputs if device is None else inputs.to(device)
    if isinstance(inputs, Mapping):
        return {name: moved(one, device) for name, one in inputs.items()}
    if isinstance(inputs, (tuple, list)):
        return tuple(moved(one, device) for one in inputs)
    return inputs


def one_record(inputs: Any, place: int) -> Any:
    """The inputs of one record; None where they cannot be told apart."""
    if isinstance(inputs, torch.Tensor):
        return inputs[place : place + 1]
    if isinstance(inputs, Mapping):
        parts = {name: one_record(one, place) for name, one in inputs.items()}
        return None if None in parts.values() else parts
    if isinstance(inputs, (tuple, list)):
        listed = tuple(one_record(one, place) for one in inputs)
        return None if any(one is None for one in listed) else listed
    return None


def pair_of(batch: Any) -> tuple[Any, Any]:
    """Inputs and targets of a batch."""
    if not isinstance(batch, (tuple, list)) or len(batch) != 2:
        raise InvalidInput("data", f"<{type(batch).__name__}>", "has no pairs", _PAIRS)
    return batch[0], batch[1]
