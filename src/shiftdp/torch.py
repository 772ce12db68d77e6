"""Private heads for PyTorch, with certificates. Needs the extra `torch`."""

from shiftdp.training.heads.cross_entropy import EnvelopeCrossEntropy
from shiftdp.training.heads.head import PrivateHead
from shiftdp.training.heads.linear import BoundedFeatures, CertifiedLinear

__all__ = [
    "BoundedFeatures",
    "CertifiedLinear",
    "EnvelopeCrossEntropy",
    "PrivateHead",
]
