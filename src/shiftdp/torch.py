"""Private heads for PyTorch, with certificates. Needs the extra `torch`."""

from shiftdp.training.heads.head import PrivateHead
from shiftdp.training.heads.linear import BoundedFeatures, CertifiedLinear

__all__ = [
    "BoundedFeatures",
    "CertifiedLinear",
    "PrivateHead",
]
