"""From images to rows of norm 1: features of a frozen backbone, record by record.

What is done to one record may depend on that record and on what is public, and on nothing else.
Group norm and scaling a row to norm 1 use the record alone. Whitening uses a mean and directions:
they are learnt from *public* images here. Learnt from the private ones they would leak, and nothing
in the certificate of the head would say so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn


def extracted(
    backbone: nn.Module, batches: Iterable[torch.Tensor], count: int, file: Path | None = None
) -> Any:
    """The features of `count` images as float32, one row each; mapped from `file` if there is one.

    The backbone has to be in evaluation mode: batch norm in training mode would mix the records of
    a batch, and one record's features would tell about the others.
    """
    if any(part.training for part in backbone.modules()):
        raise ValueError("backbone is in training mode; call .eval()")
    rows: Any = None
    start = 0
    with torch.inference_mode():
        for batch in batches:
            found = backbone(batch).flatten(1).float().cpu().numpy()
            if rows is None:
                shape = (count, found.shape[1])
                rows = (
                    np.empty(shape, np.float32)
                    if file is None
                    else np.lib.format.open_memmap(file, "w+", np.float32, shape)
                )
            rows[start : start + len(found)] = found
            start += len(found)
    if start != count:
        raise ValueError(f"count={count} is not the number of images, {start}")
    return rows


def in_batches(images: torch.Tensor, size: int = 200) -> Iterable[torch.Tensor]:
    """Parts of a tensor of images."""
    return images.split(size)


class GroupNormed(nn.Module):
    """A backbone, then group norm without parameters: each group of channels of a record has mean 0
    and variance 1 over its own pixels."""

    def __init__(self, backbone: nn.Module, groups: int) -> None:
        super().__init__()
        self.backbone, self.groups = backbone, groups

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return nn.functional.group_norm(self.backbone(images), self.groups)


def unit_rows(features: Any) -> Any:
    """Rows scaled to norm 1, each by its own norm; a row of zeros stays."""
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    return features / np.where(norms > 0.0, norms, 1.0).astype(features.dtype)


@dataclass(frozen=True)
class Whitening:
    """What public features say of how features vary: x -> S V^T (x - m), and then to norm 1.

    V are the `directions` in which public features vary most, S = (variance + ridge)^(-1/2).
    Without it a few directions that all images share have most of the norm of a row, and the rest,
    which tells classes apart, drowns in the noise.
    """

    mean: Any
    maps: Any

    @classmethod
    def learnt(cls, public: Any, directions: int = 1000, ridge: float = 3e-4) -> Whitening:
        """From features of public images; `ridge` is for rows of norm 1."""
        rows = torch.from_numpy(np.ascontiguousarray(unit_rows(public)))
        mean = rows.mean(dim=0)
        centred = rows - mean
        variances, vectors = torch.linalg.eigh(centred.T @ centred / len(rows))
        kept = min(directions, len(variances))
        scales = (variances[-kept:].clamp_min(0.0) + ridge).rsqrt()
        return cls(mean.numpy(), (vectors[:, -kept:] * scales).numpy())

    def rows(self, features: Any, chunk: int = 2000) -> Any:
        """Private features, whitened by what is public, as rows of norm 1."""
        parts = [
            unit_rows((unit_rows(features[i : i + chunk]) - self.mean) @ self.maps)
            for i in range(0, len(features), chunk)
        ]
        return np.concatenate(parts)
