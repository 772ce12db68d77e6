"""Private heads on features that come from PyTorch.

| what | where |
| --- | --- |
| `PrivateHead`: the plan, the ledger, `fit` | `head` |
| tensors, datasets and loaders that are given | `loaders`; nested tensors: `tensors` |
| reading them, and the features that a frozen network makes of them | `data` |
| records on a device, and their gradients | `source`; residuals there: `residuals`, `envelope` |
| features that are computed again whenever they are needed | `recomputed` |
| several processes | `ranks` |
| what is returned | `linear` |
| a loss for other loops, whose gradients end at the clip | `cross_entropy` |
"""

from shiftdp.training.descent.entropy import MissingPackage

try:
    import torch  # noqa: F401
except ImportError as error:
    raise MissingPackage("private heads need PyTorch: pip install 'shiftdp[torch]'") from error
