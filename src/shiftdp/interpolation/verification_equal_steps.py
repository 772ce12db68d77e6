"""The independent check of shifts on equal steps, in decimal arithmetic. Its cost is free of t.

Nothing here is shared with the solver. Steps are equal: Lipschitz constant c, noise sd, and visits
that come in arithmetic progressions. Let step i displace by `s_i` (0 without a visit), let the two
runs be at most z apart after step tau, and let `a_i >= 0` be any shifts. Put

    S(j) = sum_{i>j} c^{t-i} s_i,      A(j) = sum_{i>j} c^{t-i} a_i.

**If A(j) >= S(j) for tau <= j < t, and A(tau) >= S(tau) + c^{t-tau} z, then the last iterates are
G(mu) with mu^2 = sum (a_i / sd)^2.** *Proof.* Shift by `min(a_i, what there is)`. The distance that
is left follows `z_i = max(0, c z_{i-1} + s_i - a_i)`, so after step t it is the largest of 0, of
`S(j) - A(j)` (it was 0 after step j, and never since) and of `S(tau) + c^{t-tau} z - A(tau)` (it
was never 0). All of them are at most 0. What was paid is at most the sum. [BSA24, Thm shift] ∎

**Where to look.** S is constant between visits and A falls, so `j = v - 1` for the visits v is
enough. In one block `a_i = amount c^{peak-i}`; seen over the clock `sum c^{2(t-i)}`, A is linear
there, and if c <= 1 the points of S in front of equally spaced visits of equal strength form a
concave chain (from one to the next its slope changes by the factor c^period): A - S is least at the
first or at the last of those visits in the block. If c > 1, put `x = c^-v`: in the block S is an
increasing linear function of x, and A a convex quadratic one that increases with it. So S/A rises
and then falls along the visits, and so does S - (1 + e) A for any e: their largest values are found
by bisection.

**Amounts are floats** and miss the inequalities by rounding. The verifier repairs them: all shifts
are multiplied by 1 + e, and the last one is raised by r, which makes up for what is left (amounts
that underflow). By the triangle inequality `mu <= (1 + e) sqrt(sum (a_i/sd)^2) + r/sd`, for any
e >= 0 with the r that goes with it. e is what the worst inequality asks for, up to 1e-9.

**Rounding.** Powers and sums have 100 digits; 1 - c loses 16 of them and a power with an exponent
below 2^53 another 16, so everything is right to 1e-60, which is paid for with a factor 1 + 1e-40.
`sd` may have been rounded up: it is lowered by 2^-50.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Context, Decimal, localcontext
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._errors import VerificationFailed
from shiftdp.interpolation.schedule import Progression

_DIGITS = Context(prec=100, Emin=-(10**17), Emax=10**17)  # a float to the power 2^53 has a place
_UP = 1 + Decimal("1e-40")  # see "Rounding" above
_NOISE_DOWN = 1 - Decimal(2) ** -50  # eight roundings in which a caller may have computed it
_MOST_REPAIR = Decimal("1e-9")  # what asks for more is not a rounding error, and is made up by r
_DIGIT = Decimal("1e-50")  # more than what a sum of powers is off by, as a part
_GREATEST = Decimal("1.7e308")  # nearly the greatest float


@runtime_checkable
class EqualSteps(Protocol):
    """A schedule of equal steps, as far as it is asked for here."""

    @property
    def contraction(self) -> float: ...
    @property
    def noise(self) -> float: ...
    @property
    def steps(self) -> int: ...
    @property
    def diameter(self) -> float: ...
    @property
    def progressions(self) -> tuple[Progression, ...]: ...


class Claim(Protocol):
    """What is asked of a certificate: see `shiftdp.interpolation.shifts.Shifts`."""

    @property
    def tau(self) -> int: ...
    @property
    def start(self) -> float: ...
    @property
    def first(self) -> NDArray[np.int64]: ...
    @property
    def last(self) -> NDArray[np.int64]: ...
    @property
    def peak(self) -> NDArray[np.int64]: ...
    @property
    def amount(self) -> Array: ...
    @property
    def mu(self) -> float: ...


def proved_mu_of_equal_steps(schedule: EqualSteps, shifts: Claim) -> tuple[float, float]:
    """The mu that these shifts prove, rounded up, and how much of it they could do without.

    The second number compares A(tau) with what it has to reach: it is about 0 for shifts that were
    made for this run. The blocks must cover the steps after tau.

    >>> from shiftdp.interpolation.periodic import optimal_shifts_periodic
    >>> from shiftdp.interpolation.schedule import PeriodicSchedule
    >>> schedule = PeriodicSchedule(0.9, 1.0, 1.0, period=40, first=40, steps=40 * 10**6)
    >>> mu, excess = proved_mu_of_equal_steps(schedule, optimal_shifts_periodic(schedule))
    >>> round(mu, 6), excess < 1e-12
    (1.000026, True)
    """
    with localcontext(_DIGITS):
        return _Check(schedule, shifts).mu()


class _Check:
    def __init__(self, schedule: EqualSteps, shifts: Claim) -> None:
        self.c, self.sd = Decimal(schedule.contraction), Decimal(schedule.noise) * _NOISE_DOWN
        self.t, self.D = schedule.steps, schedule.diameter
        self.visits = [row for row in schedule.progressions if row.number and row.sensitivity]
        self.tau, self.start = shifts.tau, shifts.start
        self.blocks: Sequence[tuple[int, int, int, float]] = list(
            zip(
                *(x.tolist() for x in (shifts.first, shifts.last, shifts.peak, shifts.amount)),
                strict=True,
            )
        )

    def mu(self) -> tuple[float, float]:
        self._check_start()
        if not self.visits and not self.start:
            return 0.0, 0.0  # the two runs are the same
        energy, later = Decimal(0), Decimal(0)
        pairs: list[tuple[Decimal, Decimal]] = []  # S(j) and A(j), where it matters
        stretches: list[_Stretch] = []  # of visits between the first and the last of a block
        for first, last, peak, amount in reversed(self.blocks):
            strength = self._strength(last, peak, amount)
            weight = strength * self._power(self.t - last)
            for row in self.visits:
                visits = row.within(first, last)
                stretch = _Stretch(self, visits, last, later, weight)
                pairs.extend(stretch.at(k) for k in {0, len(visits) - 1} if visits)
                if self.c > 1 and len(visits) > 2:
                    stretches.append(stretch)
                    pairs.append(stretch.highest(lambda s, a: s / a if a else s))
            whole = self._sum(2, last - first + 1)
            later += weight * whole
            energy += strength**2 * whole
        begun = self._displacement(self.tau)
        if self.start:
            begun += self._power(self.t - self.tau) * Decimal(self.start)
        pairs.append((begun, later))
        asked = [s / a - 1 for s, a in pairs if a < s <= a * (1 + _MOST_REPAIR)]
        # a little more than asked for: where c > 1 the last digit of a power is no small number
        repair = max(asked) + _DIGIT if asked else Decimal(0)
        raised = 1 + repair
        pairs.extend(stretch.highest(lambda s, a: s - raised * a) for stretch in stretches)
        rest = max(s - a * (1 + repair) for s, a in pairs)
        mu = (1 + repair) * energy.sqrt() / self.sd * _UP
        if rest > 0:
            mu += rest * _UP / self.sd
        excess = mu * (1 - begun / later) if later > 0 else Decimal(0)
        return float_above(mu), float(max(excess, Decimal(0)))

    def _check_start(self) -> None:
        """`start` must bound the distance at `tau`: 0 at the start, D always, or S's recursion."""
        if math.isnan(self.start) or self.start < 0.0:
            raise VerificationFailed(f"start={self.start!r} is not a distance")
        if self.tau == 0 or self.start >= self.D:
            return
        free = Decimal(0)
        for row in self.visits:
            count = row.up_to(self.tau)
            if count:
                latest = row.first + row.period * (count - 1)
                series = self._sum(row.period, count)
                free += Decimal(row.sensitivity) * self._power(self.tau - latest) * series
        if not Decimal(self.start) >= free * _UP:
            raise VerificationFailed(
                f"start={self.start!r} is not a bound on the distance at tau={self.tau}, which may "
                f"reach {float(free)!r}"
            )

    def _strength(self, last: int, peak: int, amount: float) -> Decimal:
        """The shift in the last step of the block."""
        if not amount or peak == last:
            return Decimal(amount)
        if not self.c:
            raise VerificationFailed("a block with shifts goes on after a step that forgets")
        return Decimal(amount) / self._power(last - peak)

    def _displacement(self, j: int) -> Decimal:
        """S(j): what the visits after step j add to the distance at the end."""
        total = Decimal(0)
        for row in self.visits:
            count = row.number - row.up_to(j)
            if count:
                weight = self._power(self.t - row.last) * self._sum(row.period, count)
                total += Decimal(row.sensitivity) * weight
        return total

    def _power(self, n: int) -> Decimal:
        """c^n, with 0^0 = 1."""
        return self.c**n if n else Decimal(1)

    def _sum(self, stride: int, n: int) -> Decimal:
        """1 + c^stride + ... + c^{stride (n-1)}."""
        if self.c == 1 or n <= 1:
            return Decimal(n)
        return (1 - self._power(stride * n)) / (1 - self._power(stride))


class _Stretch(NamedTuple):
    """The visits of one progression in one block, with what A(j) is made of there.

    Any other progression lies in front of them or behind them.
    """

    check: _Check
    visits: range
    last: int
    later: Decimal
    weight: Decimal

    def at(self, k: int) -> tuple[Decimal, Decimal]:
        """S(j) and A(j) in front of the k-th of the visits."""
        v = self.visits[k]
        ahead = self.later + self.weight * self.check._sum(2, self.last - v + 1)
        return self.check._displacement(v - 1), ahead

    def highest(self, of: Callable[[Decimal, Decimal], Decimal]) -> tuple[Decimal, Decimal]:
        """The (S(j), A(j)) of largest value, which rises and then falls along the visits."""
        low, high = 0, len(self.visits) - 1
        while low < high:
            middle = (low + high) // 2
            if of(*self.at(middle)) < of(*self.at(middle + 1)):
                low = middle + 1
            else:
                high = middle
        return self.at(low)


def float_above(value: Decimal) -> float:
    """The least float that is not below a number >= 0; infinity if there is none."""
    if not value < _GREATEST:
        return math.inf
    near = float(value)
    return near if Decimal(near) >= value else math.nextafter(near, math.inf)
