"""Private training of heads in PyTorch, with certificates. Needs the extra `torch`."""

from shiftdp.training.heads.envelope import EnvelopeCrossEntropy

__all__ = ["EnvelopeCrossEntropy"]
