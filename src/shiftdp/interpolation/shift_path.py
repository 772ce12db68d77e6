"""Shifts, the certificate of Theorem shift: a start, and by how much each step is shifted.

Shifts that are best come in blocks, in each of which one number fixes all of them. So a certificate
of a million steps can be a few numbers. [BSA24, Thm shift; Theorem B1]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftdp._checks import Array, array_in, count, number_in
from shiftdp._errors import InvalidInput
from shiftdp.interpolation.schedule import PeriodicSchedule, Schedule

__all__ = ["Indices", "ShiftPath", "Shifts", "frozen_shifts"]

Indices = NDArray[np.int64]

_GREATEST_STEP = 2.0**53  # up to here every whole number is a float


class ShiftPath(NamedTuple):
    """The shifts step by step, for the steps `tau + 1` to `t`."""

    a: Array
    z: Array
    lam: Array


@dataclass(frozen=True, eq=False)
class Shifts:
    """A start and shifts for Theorem shift, block by block, with the mu that they prove.

    The distance is at most `start` after step `tau`. Block i covers the steps `first[i]` to
    `last[i]`; within it `a_k / (w_k sd_k^2)` is constant, that is `a_{k-1} / sd_{k-1}^2 = c_k a_k /
    sd_k^2`, so that one number fixes all shifts: `amount[i] = a_k` at `k = peak[i]`, the step with
    the largest `a_k / sd_k` (the last one if c <= 1 and the noise is constant). The distance is 0
    at the end of every block with a positive amount. Steps without noise have no shift: there
    `a_k = 0`, and neither the peak nor the end of a block with a positive amount is among them.
    """

    tau: int
    start: float
    first: Indices
    last: Indices
    peak: Indices
    amount: Array
    mu: float

    def expand(self, schedule: Schedule | PeriodicSchedule) -> ShiftPath:
        """The arrays `a_k`, `z_k` and `lambda_k = a_k / (c_k z_{k-1} + s_k)`.

        >>> from shiftdp.interpolation.shifts import optimal_shifts
        >>> schedule = Schedule([1.0, 1.0], [3.0, 0.0], [1.0, 1.0])
        >>> [x.tolist() for x in optimal_shifts(schedule).expand(schedule)]
        [[1.5, 1.5], [1.5, 0.0], [0.5, 1.0]]
        """
        c, s, sd = (x.tolist() for x in schedule.window(self.tau, schedule.steps))
        n = len(c)
        a, z = [0.0] * n, [0.0] * (n + 1)
        z[0] = self.start
        for first, last, peak, amount in zip(
            *(x.tolist() for x in (self.first, self.last, self.peak, self.amount)), strict=True
        ):
            i, j, m = first - 1 - self.tau, last - 1 - self.tau, peak - 1 - self.tau
            a[m] = slope = amount
            unit = sd[m] or 1.0
            for k in range(m, i, -1):
                slope *= c[k]
                a[k - 1] = slope * (sd[k - 1] / unit) ** 2
            slope = amount
            for k in range(m, j):
                slope = slope / c[k + 1] if c[k + 1] else 0.0
                a[k + 1] = slope * (sd[k + 1] / unit) ** 2
            top = m if amount > 0.0 else j + 1
            for k in range(i, min(top, n)):
                x = c[k] * z[k] + s[k]
                a[k] = min(a[k], x)
                z[k + 1] = x - a[k]
            for k in range(j, top, -1):
                # z = 0 after step j; behind the peak the recursion is stable backwards.
                z[k] = max(0.0, z[k + 1] + a[k] - s[k]) / c[k] if c[k] else 0.0
            if top <= j:
                a[top] = max(0.0, c[top] * z[top] + s[top] - z[top + 1])
        a[-1], z[-1] = c[-1] * z[-2] + s[-1], 0.0
        before = np.array(c) * np.array(z[:-1]) + np.array(s)
        lam = np.divide(a, before, out=np.zeros(n), where=before > 0.0)
        return ShiftPath(np.array(a), np.array(z[1:]), np.minimum(lam, 1.0))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        return {
            "tau": self.tau,
            "start": self.start,
            "first": self.first.tolist(),
            "last": self.last.tolist(),
            "peak": self.peak.tolist(),
            "amount": self.amount.tolist(),
            "mu": self.mu,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Shifts:
        """The inverse of `to_dict`. Whether the numbers prove anything is for `verify` to say."""
        names = {"tau", "start", "first", "last", "peak", "amount", "mu"}
        missing = sorted(names - data.keys())
        if missing:
            remedy = "give what Shifts.to_dict returns"
            raise InvalidInput("data", sorted(data), f"lacks {', '.join(missing)}", remedy)
        first, last, peak = (
            array_in(x, data[x], 1.0, _GREATEST_STEP) for x in ("first", "last", "peak")
        )
        return frozen_shifts(
            count("tau", data["tau"]),
            number_in("start", data["start"], 0.0),
            (first, last, peak),
            array_in("amount", data["amount"], 0.0, open_high=True),
            number_in("mu", data["mu"], 0.0),
        )


def frozen_shifts(
    tau: int,
    start: float,
    blocks: tuple[ArrayLike, ArrayLike, ArrayLike],
    amount: ArrayLike,
    mu: float,
) -> Shifts:
    """Shifts with arrays of their own that cannot be written to; `blocks`: first, last, peak."""
    first, last, peak = (np.array(x, dtype=np.int64) for x in blocks)
    a = np.array(amount, dtype=np.float64)
    for array in (first, last, peak, a):
        array.flags.writeable = False
    return Shifts(tau, start, first, last, peak, a, mu)
