"""What a fit returns: a linear layer with its certificate, and the layer that bounds its inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from shiftdp._checks import DATA_GREATEST, DATA_LEAST, magnitude
from shiftdp.last_iterate import Certificate


class CertifiedLinear(nn.Linear):
    """An `nn.Linear` whose weights are the last iterate of a certified run.

    It computes what `nn.Linear` does, and its state can be loaded into one. Put `BoundedFeatures`
    before it: training scaled long rows down to the bound, and so should prediction.

    Args:
        released: a row of weights for each score, with the constant as the last column if `bias`.
        bias: whether there is one.
        certificate: the proved guarantee of these weights; of all heads together, if several.
        outputs: how many scores each head has.
        dtype: of the weights; rounding to it is post-processing.
    """

    certificate: Certificate
    outputs: tuple[int, ...]
    biased: bool

    def __init__(
        self,
        released: NDArray[Any],
        bias: bool,
        certificate: Certificate,
        outputs: tuple[int, ...],
        dtype: torch.dtype = torch.float32,
    ) -> None:
        rows, columns = released.shape
        super().__init__(columns - int(bias), rows, bias=bias, dtype=dtype)
        with torch.no_grad():
            self.weight.copy_(
                torch.from_numpy(np.ascontiguousarray(released[:, : self.in_features]))
            )
            if bias:
                self.bias.copy_(torch.from_numpy(np.ascontiguousarray(released[:, -1])))
        self.certificate = certificate
        self.outputs, self.biased = outputs, bias

    def heads(self) -> list[nn.Linear]:
        """A layer for each head, in the order of their losses; each has its own weights.

        The certificate is that of all of them together: publishing one costs no more.
        """
        found, begin = [], 0
        for outputs in self.outputs:
            own = slice(begin, begin + outputs)
            layer = nn.Linear(self.in_features, outputs, bias=self.biased, dtype=self.weight.dtype)
            with torch.no_grad():
                layer.weight.copy_(self.weight[own])
                if self.biased:
                    layer.bias.copy_(self.bias[own])
            found.append(layer)
            begin += outputs
        return found


class BoundedFeatures(nn.Module):
    """Flattens features and scales down rows that are longer than a bound, each by itself.

    Of a `PrivateHead` without a bound it is 1.

    >>> BoundedFeatures(1.0)(torch.tensor([[3.0, 4.0], [0.3, 0.4]]))
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """

    def __init__(self, feature_bound: float) -> None:
        super().__init__()
        self.feature_bound = magnitude("feature_bound", feature_bound, DATA_LEAST, DATA_GREATEST)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        rows = features.flatten(1)
        # entries below 1 in size: squares of large ones would overflow
        size = rows.abs().amax(dim=1, keepdim=True).clamp(min=self.feature_bound)
        small = rows / size
        norms = torch.linalg.vector_norm(small, dim=1, keepdim=True)
        long = norms * size > self.feature_bound
        return torch.where(long, small * (self.feature_bound / norms), rows)

    def extra_repr(self) -> str:
        return f"feature_bound={self.feature_bound:g}"
