"""A cool-down: more noise in the last steps, where the last iterate needs it. Theorem C1.

What a run with random batches costs is in large part the end: of a record that is drawn in one of
the last steps, the noise that follows hides little. A few steps with more noise at the very end
remove most of that, and cost little accuracy in all.
"""

from __future__ import annotations

from collections.abc import Sequence

from shiftdp._checks import count, countable, number_in, per_step
from shiftdp._errors import InvalidInput

_MOST_STEPS = 1 << 24
"""More than this no certificate follows one by one, and they are held in memory."""


def cooldown(
    steps: int, noise: float | Sequence[float], *, last: int, factor: float
) -> tuple[float, ...]:
    """A schedule of noise: `noise`, and `factor` times as much in the last steps.

    Theorem C1: of all schedules with the same sum of variances, between a lowest and a highest
    noise, the one with the highest noise in the last steps and the lowest before has the least
    cost, for every pattern of participation, so at every epsilon and delta. It is a block at the
    end, never a ramp.

    A factor near s = L/(b noise) leaves a mu of 1 to a record that is drawn in the last step alone;
    with `last * factor^2` from a tenth to the whole of n/b most of the gain is there.

    Args:
        steps: t, how many steps the run has.
        noise: before the cool-down; one number, or one a step, which is then raised at the end.
        last: how many steps have more noise, from 0 to all.
        factor: by how much, at least 1.

    Returns:
        One noise a step, as `NoisySGD`, `NoisyCGD` and `NoisyGD` take it.

    >>> cooldown(5, 0.5, last=2, factor=3)
    (0.5, 0.5, 0.5, 1.5, 1.5)
    """
    t = countable("steps", steps)
    if t > _MOST_STEPS:
        raise InvalidInput(
            "steps", steps, "is more steps than a schedule is written for", f"give {_MOST_STEPS}"
        )
    most = number_in("factor", factor, 1.0, open_high=True)
    block = count("last", last)
    if block > t:
        raise InvalidInput(
            "last", last, f"is more than there are steps ({t})", f"give 0 to {t} steps"
        )
    given = per_step("noise", noise, t, zero=True)
    each = given if isinstance(given, tuple) else (given,) * t
    raised = (*each[: t - block], *(most * value for value in each[t - block :]))
    # a product may leave the range of noise, which is refused by name
    return tuple(per_step("noise", raised, t, zero=True))  # type: ignore[arg-type]
