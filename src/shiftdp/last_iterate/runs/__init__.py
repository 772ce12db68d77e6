"""What is run: frozen descriptions, checked when they are made, that compute nothing.

One step is `X <- Proj(X - eta (mean gradient over the batch + Z))` with `Z ~ N(0, noise^2 I)`: the
noise is on the *mean* gradient. (A noise multiplier in the sense of Opacus is
`noise * batch_size / G`.) Only the last iterate is released.

Every run says whether it is `endless` (it has no last step, so a long run stands in for it) and
whether it is made `in_epochs`, in each of which a record is used at most once.
"""

from shiftdp._checks import PerStep
from shiftdp.last_iterate.runs.descent import LastBatch, NoisyCGD, NoisyGD, Order
from shiftdp.last_iterate.runs.langevin import ExponentialMechanism, LangevinMC
from shiftdp.last_iterate.runs.sampled import NoisySGD, Sampling

__all__ = [
    "ExponentialMechanism",
    "LangevinMC",
    "LastBatch",
    "NoisyCGD",
    "NoisyGD",
    "NoisySGD",
    "Order",
    "PerStep",
    "Run",
    "Sampling",
]

Run = NoisyGD | NoisyCGD | NoisySGD | LangevinMC | ExponentialMechanism
