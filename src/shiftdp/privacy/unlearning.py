"""How many further steps make a model forget: the least that meet a budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from shiftdp._errors import InvalidInput
from shiftdp._roots import least_whole
from shiftdp._rounding import LARGEST_WHOLE
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.certification import certify, deletion_certificates
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import Training, Unlearning
from shiftdp.last_iterate.theorems.theorem import DELTA
from shiftdp.privacy.budget import BudgetKeywords, ImpossibleBudget, budget_of

_MOST = LARGEST_WHOLE // 2  # further steps


def calibrate_unlearning(
    run: Training,
    geometry: Geometry,
    *,
    records: int = 1,
    grid: float = 0.0,
    dimension: int = 1,
    later_requests: Sequence[tuple[int, int]] = (),
    learning_rate: float | None = None,
    **budget: Unpack[BudgetKeywords],
) -> int:
    """The least number of further steps after which a deleted record meets the budget. [Theorem V3]

    0 if the certificate of training meets it. Steps that do not expand never undo what was
    forgotten, so the number is searched for by bisection; one fewer was certified, and failed.

    Args:
        run: the training that used the record.
        geometry: what is assumed of the losses.
        records: how many are deleted.
        grid: that of a rounded restart, in `dimension` dimensions; see `Unlearning`.
        dimension: of an iterate.
        later_requests: records that were deleted after some of the further steps; see `Unlearning`.
            The number that comes back counts all further steps, those before them included.
        learning_rate: of the further steps, that of training's last step if not given.
        budget: what a deleted record may still cost, such as `epsilon=1.0, delta=1e-5`.

    >>> from shiftdp.last_iterate import NoisyCGD
    >>> geometry = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
    >>> run = NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)
    >>> calibrate_unlearning(run, geometry, epsilon=2.0, delta=1e-5)
    1697
    """
    if isinstance(run, Unlearning):
        raise InvalidInput("run", "Unlearning", "is a deletion", "give its training")
    wanted = budget_of(**budget)
    delta = wanted.at if wanted.measure == "epsilon" and wanted.at is not None else DELTA

    def deletion(steps: int) -> Unlearning:
        shape: dict[str, Any] = {"records": records, "grid": grid, "dimension": dimension}
        more: dict[str, Any] = {"later_requests": later_requests, "learning_rate": learning_rate}
        return Unlearning(training=run, further_steps=steps, **shape, **more)

    def certified(steps: int) -> Certificate:
        return certify(deletion(steps), geometry, delta=delta)

    def met(steps: int) -> bool:
        # where training alone does not meet the budget, theorems on training do not
        return wanted.met(certified(steps)) if steps == 0 else _met(deletion(steps))

    def _met(asked: Unlearning) -> bool:
        return any(map(wanted.met, deletion_certificates(asked, geometry, delta)))

    first = max((after for after, _ in later_requests), default=0)
    if met(first):
        return first
    low, high = first, first + 1
    while not met(high):
        if high >= _MOST:
            nearest = wanted.with_limit(wanted.cost(certified(high)))
            raise ImpossibleBudget(wanted, "further_steps", nearest, high)
        low, high = high, min(2 * high - first, _MOST)
    return least_whole(met, low, high)
