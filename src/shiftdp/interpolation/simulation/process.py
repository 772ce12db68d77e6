"""The shifted interpolated process itself, simulated: X, X' and X~ of one run.

The proofs bound `|X_k - X~_k|` by z_k and the shift of step k by a_k, on every path and not only on
average. Here are the paths, and what the two distances are on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from shiftdp._checks import Array
from shiftdp._errors import InvalidInput
from shiftdp.interpolation.schedule import PeriodicSchedule, Schedule, Shifts

Map = Callable[[int, Array], Array]
"""Step k (counted from 1) of one data set, before noise and projection: `phi_k(x)`."""

Projection = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class ShiftedProcess:
    """The three processes of Theorem shift, with the bounds of its proof beside what happened.

    The first axis of each array is time. `original` and `adjacent` are X_0 .. X_t and X'_0 .. X'_t,
    `interpolated` is X~_tau .. X~_t.

    Args:
        tau: where X~ starts.
        original: X.
        adjacent: X'.
        interpolated: X~.
        shifted: by how much the means of a step of X~ and of a step of X' from X~_{k-1} differ,
            |lam_k (phi_k(X_{k-1}) - phi'_k(X~_{k-1}))|, for the steps tau + 1 .. t.
        z: the bounds on |X_k - X~_k|, for tau .. t.
        a: the bounds on `shifted`.
    """

    tau: int
    original: Array
    adjacent: Array
    interpolated: Array
    shifted: Array
    z: Array
    a: Array

    @property
    def distances(self) -> Array:
        """|X_k - X~_k| for k = tau .. t."""
        return np.asarray(np.linalg.norm(self.original[self.tau :] - self.interpolated, axis=-1))


def simulate_shifted(
    original: Map,
    adjacent: Map,
    schedule: Schedule | PeriodicSchedule,
    shifts: Shifts,
    start: ArrayLike,
    rng: np.random.Generator,
    *,
    project: Projection | None = None,
    own_noise: bool = True,
) -> ShiftedProcess:
    """Run X and X' from the same start, and X~ from X'_tau to X_t. [BSA24, eq. shift-simple]

    X~_k = Proj(lam_k phi_k(X_{k-1}) + (1 - lam_k) phi'_k(X~_{k-1}) + Z_k), with the noise Z_k of X.
    Up to tau, X' uses that noise too, which keeps it within `shifts.start` of X.

    Args:
        original: phi_k.
        adjacent: phi'_k, at most s_k away from it.
        schedule: Lipschitz constants, sensitivities and noises that the maps have.
        shifts: of a certificate for this schedule.
        start: X_0 = X'_0, coordinates along the last axis; further axes are further runs.
        project: onto the constraint set; needed where the schedule has a diameter.
        own_noise: whether X' has noise of its own after tau, as the theorem has it. Without, all
            three share it, for drawings.

    >>> from shiftdp.interpolation.shifts import optimal_shifts
    >>> schedule = Schedule([0.5] * 4, [1.0] * 4, [0.1] * 4)
    >>> paths = simulate_shifted(
    ...     lambda k, x: 0.5 * x + 1.0,
    ...     lambda k, x: 0.5 * x,
    ...     schedule,
    ...     optimal_shifts(schedule),
    ...     [0.0],
    ...     np.random.default_rng(1),
    ... )
    >>> bool((paths.interpolated[-1] == paths.original[-1]).all())
    True
    >>> bool((paths.distances <= paths.z + 1e-12).all())
    True
    """
    if np.isfinite(schedule.diameter) and project is None:
        raise InvalidInput(
            "project", None, f"is missing, the diameter being {schedule.diameter:g}", "give it"
        )
    held: Projection = (lambda x: x) if project is None else project
    path = shifts.expand(schedule)
    tau, t = shifts.tau, schedule.steps
    noise = schedule.window(0, t)[2]
    x = np.array(start, dtype=np.float64, ndmin=1)
    X, Y = [x], [x]
    W: list[Array] = [x] if tau == 0 else []
    shifted: list[Array] = []
    for k in range(1, t + 1):
        Z = noise[k - 1] * rng.standard_normal(x.shape)
        step, other = original(k, X[-1]), adjacent(k, Y[-1])
        Z_other = noise[k - 1] * rng.standard_normal(x.shape) if own_noise and k > tau else Z
        if k > tau:
            lam, base = float(path.lam[k - tau - 1]), adjacent(k, W[-1])
            shift = lam * (step - base)
            shifted.append(np.linalg.norm(shift, axis=-1))
            # at lam = 1 this is X itself, without the rounding of a sum and a difference
            W.append(held((step if lam == 1.0 else base + shift) + Z))
        X.append(held(step + Z))
        Y.append(held(other + Z_other))
        if k == tau:
            W.append(Y[-1])
    return ShiftedProcess(
        tau=tau,
        original=np.stack(X),
        adjacent=np.stack(Y),
        interpolated=np.stack(W),
        shifted=np.stack(shifted),
        z=np.concatenate([[shifts.start], path.z]),
        a=path.a,
    )
