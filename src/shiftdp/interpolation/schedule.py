"""Step schedules: all that the shifted-interpolation engine needs to know about a run.

Step k maps `x` to `Proj(phi_k(x) + N(0, sd_k^2 I))`, where `phi_k` and the `phi'_k` of the adjacent
data set are `c_k`-Lipschitz and at most `s_k` apart. All three numbers are in the units of the
iterate: for noisy gradient descent `s_k = eta_k L / b_k` and `sd_k = eta_k sigma_k`. Steps of a
`Schedule` may be without noise (`sd_k = 0`): the distance of two runs is carried through them.

*Shifts* are the certificate of Theorem shift on a schedule: a start, and by how much each step is
shifted. Shifts that are best come in blocks, in each of which one number fixes all of them, so a
certificate of a million steps can be a few numbers. [BSA24, Thm shift; Theorem B1]
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftdp._checks import Array, array_in, count, number_in
from shiftdp._errors import InvalidInput


@dataclass(frozen=True, eq=False)
class Schedule:
    """Any sequence of steps: one entry of each array a step; a noise may be 0.

    >>> schedule = Schedule([0.9, 0.9], sensitivity=[1.0, 0.0], noise=[1.0, 1.0])
    >>> schedule.steps
    2
    """

    contraction: Array
    sensitivity: Array
    noise: Array
    diameter: float = math.inf
    steps: int = field(init=False)

    def __init__(
        self,
        contraction: ArrayLike,
        sensitivity: ArrayLike,
        noise: ArrayLike,
        diameter: float = math.inf,
    ) -> None:
        c = array_in("contraction", contraction, 0.0, open_high=True)
        s = array_in("sensitivity", sensitivity, 0.0, open_high=True)
        sd = array_in("noise", noise, 0.0, open_high=True)
        if not (c.ndim == s.ndim == sd.ndim == 1 and c.size == s.size == sd.size):
            raise InvalidInput(
                "contraction, sensitivity, noise",
                (c.shape, s.shape, sd.shape),
                "have different shapes",
                "give three one-dimensional arrays with one entry a step",
            )
        for array in (c, s, sd):
            array.flags.writeable = False
        object.__setattr__(self, "contraction", c)
        object.__setattr__(self, "sensitivity", s)
        object.__setattr__(self, "noise", sd)
        object.__setattr__(self, "diameter", number_in("diameter", diameter, 0.0, open_low=True))
        object.__setattr__(self, "steps", c.size)

    def window(self, begin: int, end: int) -> tuple[Array, Array, Array]:
        """Contraction, sensitivity and noise of the steps `begin + 1` to `end`, counted from 1."""
        part = slice(begin, end)
        return self.contraction[part], self.sensitivity[part], self.noise[part]


class Progression(NamedTuple):
    """Visits at the steps `first`, `first + period`, ...: `number` of them, equally strong."""

    first: int
    period: int
    number: int
    sensitivity: float

    @property
    def last(self) -> int:
        return self.first + self.period * (self.number - 1)

    def up_to(self, step: int) -> int:
        """How many visits there are at the steps 1 to `step`."""
        if step < self.first:
            return 0
        return min(self.number, (step - self.first) // self.period + 1)

    def within(self, begin: int, end: int) -> range:
        """The visits at the steps `begin` to `end`."""
        low, high = (self.first + self.period * self.up_to(j) for j in (begin - 1, end))
        return range(low, high, self.period)


@dataclass(frozen=True)
class PeriodicSchedule:
    """Equal steps, of which only every `period`-th one, from `first` on, touches the record.

    Full batches are `period=1, first=1`; cyclic batches have the number of batches as period and
    the position of the record's batch as `first`. Memory does not grow with `steps`.

    >>> PeriodicSchedule(0.9, 1.0, 1.0, period=3, first=2, steps=7).expand().sensitivity
    array([0., 1., 0., 0., 1., 0., 0.])
    """

    contraction: float
    sensitivity: float
    noise: float
    period: int
    first: int
    steps: int
    diameter: float = math.inf

    def __post_init__(self) -> None:
        number_in("contraction", self.contraction, 0.0, open_high=True)
        number_in("sensitivity", self.sensitivity, 0.0, open_high=True)
        number_in("noise", self.noise, 0.0, open_low=True, open_high=True)
        number_in("diameter", self.diameter, 0.0, open_low=True)
        count("period", self.period, 1)
        count("first", self.first, 1)
        count("steps", self.steps, 1)
        if self.first > self.period:
            raise InvalidInput(
                "first", self.first, "lies beyond the period", f"give 1 to {self.period}"
            )

    @property
    def visits(self) -> int:
        """How many steps touch the record."""
        return max(0, (self.steps - self.first) // self.period + 1)

    @property
    def last_visit(self) -> int:
        """The last step (counted from 1) that touches the record; 0 if none does."""
        return self.first + self.period * (self.visits - 1) if self.visits else 0

    @property
    def progressions(self) -> tuple[Progression, ...]:
        """The visits."""
        return (Progression(self.first, self.period, self.visits, self.sensitivity),)

    def window(self, begin: int, end: int) -> tuple[Array, Array, Array]:
        """Contraction, sensitivity and noise of the steps `begin + 1` to `end`, counted from 1.

        >>> PeriodicSchedule(0.9, 1.0, 1.0, period=3, first=2, steps=7).window(3, 6)[1]
        array([0., 1., 0.])
        """
        size = end - begin
        s = np.zeros(size)
        s[(self.first - 1 - begin) % self.period :: self.period] = self.sensitivity
        return np.full(size, float(self.contraction)), s, np.full(size, float(self.noise))

    def expand(self) -> Schedule:
        """This schedule as a `Schedule`, with every step listed."""
        return Schedule(*self.window(0, self.steps), self.diameter)


@dataclass(frozen=True)
class ReshuffledSchedule:
    """Equal steps: `epochs` of them with a visit at the end, then `rest` steps with one or none.

    Args:
        contraction: c of each step.
        earlier: sensitivity of the visits at the ends of the epochs.
        final: sensitivity of the final visit.
        noise: deviation of each step.
        period: steps in an epoch.
        epochs: how many there are before the last one; may be 0.
        rest: steps of the last epoch.
        position: where in the last epoch the final visit is, 1 to `rest`; 0 for none.
        diameter: of the constraint set.

    >>> shape = dict(period=3, epochs=1, rest=2, position=1)
    >>> ReshuffledSchedule(0.9, 2.0, 1.0, noise=1.0, **shape).expand().sensitivity
    array([0., 0., 2., 1., 0.])
    """

    contraction: float
    earlier: float
    final: float
    noise: float
    period: int
    epochs: int
    rest: int
    position: int
    diameter: float = math.inf

    @property
    def steps(self) -> int:
        return self.epochs * self.period + self.rest

    @property
    def progressions(self) -> tuple[Progression, ...]:
        """The visits."""
        final = self.epochs * self.period + self.position
        return (
            Progression(self.period, self.period, self.epochs, self.earlier),
            Progression(final, 1, 1 if self.position else 0, self.final),
        )

    def window(self, begin: int, end: int) -> tuple[Array, Array, Array]:
        """Contraction, sensitivity and noise of the steps `begin + 1` to `end`, counted from 1."""
        size, whole = end - begin, self.epochs * self.period
        s = np.zeros(size)
        s[-(begin + 1) % self.period : max(0, whole - begin) : self.period] = self.earlier
        place = whole + self.position - 1 - begin
        if self.position and 0 <= place < size:
            s[place] = self.final
        return np.full(size, self.contraction), s, np.full(size, self.noise)

    def expand(self) -> Schedule:
        """This schedule as a `Schedule`, with every step listed."""
        return Schedule(*self.window(0, self.steps), self.diameter)


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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shifts) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        """All numbers, in a form that can be compared."""
        arrays = (self.first, self.last, self.peak, self.amount)
        return self.tau, self.start, self.mu, *(tuple(x.tolist()) for x in arrays)

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
