"""The ways to draw random batches: all that theorems, trainers and pages ask of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

Sampling = Literal["without_replacement", "poisson", "random_allocation"]


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """One of them; in texts, `{n}` are the records, `{b}` the batch size, `{l}` is ceil(n/b).

    Args:
        title: its name in a list of choices.
        words: as a statement of privacy names it.
        batches: what the random batches are, after these words.
        assumption: what is assumed of the draws, as certificates have it.
        replaces: whether another record takes the place of one that is not drawn. Batches then have
            b records each, and a gradient is the mean over them; otherwise sizes are random, sums
            are divided by b, and contraction is proved within a batch cap.
        in_epochs: whether each epoch deals every record into one of its l batches, so that the
            steps of an epoch are not independent; otherwise each step draws afresh.
        refused: adjacencies that no theorem covers, with the problem and the remedy.
    """

    title: str
    words: str
    batches: str
    assumption: str
    replaces: bool = False
    in_epochs: bool = False
    refused: Mapping[str, tuple[str, str]] = field(default_factory=dict)


SAMPLERS: Mapping[str, Sampler] = MappingProxyType(
    {
        "without_replacement": Sampler(
            title="without replacement",
            words="random batches of a fixed size, without replacement",
            batches="each a random set of {b:,} of the {n:,} records, drawn afresh",
            assumption="each batch is a uniform set of {b} of the {n} records, drawn afresh each "
            "step and unseen",
            replaces=True,
            refused={
                "zero_out": (
                    "does not fit sampling without replacement, where another record takes the "
                    "place",
                    "give adjacency='replace_one' with sensitivity L = 2G, which is a valid upper "
                    "bound for it, or sampling='poisson'",
                )
            },
        ),
        "poisson": Sampler(
            title="Poisson",
            words="Poisson sampling",
            batches="in which each of the {n:,} records takes part independently with probability "
            "{b:,}/{n:,}",
            assumption="each record is in a batch independently with probability {b}/{n}, afresh "
            "each step and unseen; sums are divided by {b} whatever the size of the batch",
        ),
        "random_allocation": Sampler(
            title="random allocation (balls and bins)",
            words="random allocation (balls and bins)",
            batches="of {b:,} records on average: in each epoch each of the {n:,} records goes "
            "into one of them, chosen at random",
            assumption="in each epoch each of the {n} records goes into one of {l} batches, chosen "
            "uniformly, independently of the other records and epochs, and unseen; sums are "
            "divided by {b} whatever the size of the batch",
            in_epochs=True,
            refused={
                "replace_one": (
                    "does not fit random allocation, whose theorems compare a record with nothing",
                    "give adjacency='zero_out' with the largest norm of one gradient as "
                    "sensitivity, or sampling='poisson' or 'without_replacement'",
                )
            },
        ),
    }
)
"""Each sampling of `NoisySGD` by its name: the keys are the literals of `Sampling`."""
