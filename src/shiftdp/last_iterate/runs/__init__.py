"""What is run: frozen descriptions, checked when they are made, that compute nothing.

One step is `X <- Proj(X - eta (mean gradient over the batch + Z))` with `Z ~ N(0, noise^2 I)`: the
noise is on the *mean* gradient. (A noise multiplier in the sense of Opacus is
`noise * batch_size / G`.) Only the last iterate is released, unless `releases` names others: every
iterate (`"all"`), that at the end of each epoch (`"epochs"`), or those after the steps of a list.
The last one is always among them, and a certificate is about all of them together.

What every run says of itself is listed in `mechanism.Mechanism`, and what the ways to draw random
batches differ in, in `samplers.SAMPLERS`: ask these, not for a class or a name.
"""

from typing import Any, TypeVar

from shiftdp._checks import PerStep
from shiftdp.last_iterate.runs.descent import (
    LastBatch,
    NoisyCGD,
    NoisyGD,
    Order,
    has_releases,
    people,
)
from shiftdp.last_iterate.runs.langevin import ExponentialMechanism, LangevinMC
from shiftdp.last_iterate.runs.sampled import NoisySGD
from shiftdp.last_iterate.runs.samplers import Sampling
from shiftdp.last_iterate.runs.several_records import Arrangement
from shiftdp.last_iterate.runs.stream import NoisyStream, StreamOrder
from shiftdp.last_iterate.runs.unlearning import Training, Unlearning
from shiftdp.last_iterate.schedules.releases import Releases

__all__ = [
    "Arrangement",
    "ExponentialMechanism",
    "LangevinMC",
    "LastBatch",
    "NoisyCGD",
    "NoisyGD",
    "NoisySGD",
    "NoisyStream",
    "Order",
    "PerStep",
    "Releases",
    "Run",
    "Sampling",
    "StreamOrder",
    "Training",
    "Unlearning",
    "has_releases",
    "one_record",
    "people",
    "stated",
]

Run = NoisyGD | NoisyCGD | NoisySGD | NoisyStream | LangevinMC | ExponentialMechanism | Unlearning

AnyRun = TypeVar("AnyRun", bound=Run)

_OF_PEOPLE = {"records_per_person": 1, "arrangement": "anywhere"}
_UNSAID: dict[str, Any] = {**_OF_PEOPLE, "releases": None}


def one_record(run: AnyRun) -> AnyRun:
    """This run as it would be if each person had one record."""
    if people(run) == 1:
        return run
    fields = {name: value for name, value in vars(run).items() if name not in _OF_PEOPLE}
    return type(run)(**fields)


def stated(run: Run) -> dict[str, Any]:
    """The fields of a run; those about people and releases only where they say something.

    >>> sorted(stated(NoisyGD(n=100, steps=10, learning_rate=0.1, noise=1.0)))
    ['learning_rate', 'n', 'noise', 'steps']
    """
    fields = {
        name: value
        for name, value in vars(run).items()
        if name not in _UNSAID or value != _UNSAID[name]
    }
    if run.deletes:
        fields["training"] = {"type": type(run.training).__name__, **stated(run.training)}
    return fields
