"""What a smaller last batch costs, and how it is avoided.

Where the batch size b does not divide n, the r records that are left over are a batch of their own.
If its gradient is the mean over its own size, each of them weighs b/r times as much in that step as
any record elsewhere, and the guarantee, which is for the worst record, is theirs. Dividing their
sum by b like all others takes that away.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from shiftdp._printed import up
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.certification import Bounds, certify
from shiftdp.last_iterate.runs import NoisyCGD
from shiftdp.last_iterate.theorems.registry import family_of

_NOTICEABLE = 1.1  # times the epsilon of equal weights


class SmallLastBatch(UserWarning):
    """A last batch that is smaller than the others makes the run cost noticeably more."""


@dataclass(frozen=True)
class LastBatchCost:
    """Epsilon at delta with a last batch of its own size, and with its sum divided by b."""

    run: NoisyCGD
    delta: float
    own_size: float
    divide_by_b: float

    def __str__(self) -> str:
        run = self.run
        records = "1 record" if run.left_over == 1 else f"{run.left_over} records"
        times = run.batch_size / run.left_over
        return (
            f"batch_size={run.batch_size} does not divide n={run.n}: in the last batch, the mean "
            f"of {records}, one weighs {times:.4g} times as much as elsewhere, and epsilon is "
            f"{up(self.own_size)} at delta={self.delta:g}; if your loop divides every sum by b, "
            f'also the last, say last_batch="divide_by_b", and it is {up(self.divide_by_b)}; if '
            "your loop takes the mean over the last batch's own size, change the loop, or take a "
            "batch size that divides n"
        )


def last_batch_cost(certificate: Certificate, delta: float) -> LastBatchCost | None:
    """What the last batch adds to the epsilon of a run, or None where that is not noticeable.

    >>> from shiftdp.last_iterate import Geometry
    >>> geometry = Geometry(strong_convexity=0.01, smoothness=1.0, sensitivity=1.0)
    >>> run = NoisyCGD(n=1000, batch_size=333, epochs=10, learning_rate=0.5, noise=0.05)
    >>> cost = last_batch_cost(certify(run, geometry), 1e-5)
    >>> round(cost.own_size), round(cost.divide_by_b, 2)
    (794, 0.37)
    """
    run = certificate.run
    if not run.cyclic or not run.left_over or run.last_batch != "own_size":
        return None
    # closed forms of the paper are for equal batches: it is composition, or one of ours
    composed = family_of(certificate.bound) == "composition"
    bounds: Bounds = "composition" if composed else "best"
    equal = NoisyCGD(**{**vars(run), "last_batch": "divide_by_b"})
    divided = certify(equal, certificate.geometry, bounds=bounds).epsilon(delta)
    cost = LastBatchCost(run, delta, certificate.epsilon(delta), divided)
    return cost if cost.own_size > _NOTICEABLE * divided else None


def warn_of_last_batch(certificate: Certificate, delta: float) -> None:
    """Warn, with the cure and both numbers, where the last batch costs noticeably."""
    cost = last_batch_cost(certificate, delta)
    if cost is not None:
        warnings.warn(SmallLastBatch(str(cost)), stacklevel=3)
