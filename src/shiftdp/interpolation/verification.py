"""The independent check of a certificate: what mu do these shifts prove? Cost O(t).

Nothing here is shared with the solver, and nothing here trusts it. Equal steps are left to
`verification_equal_steps`, whose cost is free of t, unless they expand, are few, and come in many
blocks. Any other schedule is followed step by step, if it has no more than 2^24 of them, which
takes half a minute. The argument has two parts.

**Any distances prove something.** Let `z_tau` bound `|X_tau - X'_tau|`, let `z_{tau+1}, ..., z_t`
be *any* numbers >= 0 with `z_t = 0`, and put `a_k = max(0, c_k z_{k-1} + s_k - z_k)`. Then the last
iterates satisfy `T(X_t, X'_t) >= G(mu)` with `mu^2 = sum (a_k / sd_k)^2`. *Proof.* Where
`c_k z_{k-1} + s_k >= z_k` this is Theorem shift with `lambda_k = a_k / (c_k z_{k-1} + s_k)`;
elsewhere `lambda_k = 0` and `z_k` is a larger, hence still valid, bound on the distance. ∎
So the floats `z_k` that the recursion of a certificate yields need not be accurate: they *are* the
certificate, exactly as they stand, and only `a_k` has to be rounded in the safe direction.

**Steps without noise** can pay for nothing: there `a_k = 0` is asked for, that is a float z_k that
is provably at least `c_k z_{k-1} + s_k`. Where lambda_k = 0 the proof above needs no noise: the
interpolated process and X' take the same step from the same point. A certificate whose distance
is to be 0 at a step without noise, or whose amount stands at one, is refused.

**Rounding.** With `u = 2^-53`, `c_k z_{k-1} + s_k - z_k` is written without error as a sum
`r + e + f + g` by Dekker's product and Knuth's sums, where `|e| + |f| + |g| <= 3 u b`,
`b = c_k z_{k-1} + z_k + s_k`. Adding up the small terms errs by less than `16 u^2 b`; the code adds
`64 u^2 b`, and `2^-1070` for products that underflow. Every later operation (sum, quotient,
square, `math.fsum`, root) errs by a factor of at least `1 - u` and is paid for with a factor
`1 + 4 u` or more. An overflow gives infinity or "not a number", reported as `mu = inf`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._errors import VerificationFailed
from shiftdp.interpolation.claimed_shifts import (
    WINDOW,
    ClaimedShifts,
    Steps,
    carried,
    distances_backwards,
    distances_forwards,
)
from shiftdp.interpolation.verification_equal_steps import (
    Claim,
    EqualSteps,
    proved_mu_of_equal_steps,
)

# How far the shift recorded for a block may be from the one its recursion ends with, against mu.
_AGREEMENT = 1e-5
# Steps that are followed one by one at most.
_MOST_STEPS = 1 << 24
# Factors and addends of "Rounding" above, with u = 2^-53.
_UP = 1.0 + 2.0**-51  # 4 u, for two operations
_SHIFT_ERROR = 2.0**-100  # 64 u^2, as a part of b
_SHIFT_UNDERFLOW = 2.0**-1070  # for the products of one shift, and for quotients and squares
_ENERGY_UP = 1.0 + 2.0**-48  # 32 u, for quotients, squares and sums of sums
_SPLITTER = 2.0**27 + 1.0  # splits a float into halves of 26 bits [Veltkamp]
# Equal steps that expand are followed one by one if they are fewer, and in more blocks, than this:
# a block costs as much as a thousand steps.
_MANY_STEPS, _FEW_BLOCKS = 1 << 20, 100


def proved_mu(schedule: Steps, shifts: Claim) -> float:
    """The mu that Theorem shift proves with these start, blocks and amounts, rounded up.

    It is a rigorous upper bound whatever the amounts are: poor ones only make it large. Raises
    `VerificationFailed` if the blocks do not cover the steps after `tau`, if `start` is not a
    proved bound on the distance of the two runs at `tau`, or if something is to be shifted in a
    step without noise. [BSA24, Thm shift]

    >>> from shiftdp.interpolation.schedule import Schedule
    >>> from shiftdp.interpolation.shifts import optimal_shifts
    >>> schedule = Schedule([1.0, 1.0], [3.0, 0.0], [1.0, 1.0])
    >>> round(proved_mu(schedule, optimal_shifts(schedule)), 9)  # 3 / sqrt(2)
    2.121320344
    """
    return _prove(schedule, shifts)[0]


def verify(schedule: Steps, shifts: Claim) -> float:
    """Check a certificate from scratch; returns the mu proved, which is at most `shifts.mu`.

    Raises `VerificationFailed` if the stated mu is below what the shifts prove (no tolerance: the
    solver rounds its mu up far enough), or if an amount is not the shift that its block ends with.
    """
    mu, gap = _prove(schedule, shifts)
    if not mu <= shifts.mu:
        raise VerificationFailed(
            f"the shifts prove mu={mu!r}, more than the stated mu={shifts.mu!r}; "
            "the certificate was altered or belongs to another schedule"
        )
    if not gap <= _AGREEMENT * mu:
        raise VerificationFailed(
            f"a block does not end where its amount says (off by {gap!r} against mu={mu!r}); "
            "the amounts were altered or belong to another schedule"
        )
    return mu


def _prove(schedule: Steps, shifts: Claim) -> tuple[float, float]:
    """The proved mu, and the largest gap (over the noise) between an amount and the shift used."""
    _check_blocks(schedule, shifts)
    if isinstance(schedule, EqualSteps) and _in_closed_form(schedule, shifts):
        return proved_mu_of_equal_steps(schedule, shifts)
    _check_length(schedule, shifts)
    _check_start(schedule, shifts)
    begin, z = shifts.tau, shifts.start
    if shifts.amount[0] == 0.0 and shifts.amount.size > 1:
        begin = int(shifts.last[0])
        z = _unshifted(schedule, shifts.tau, begin, z)
    claimed = ClaimedShifts(schedule, shifts, begin)
    _check_peaks(claimed)
    behind = distances_backwards(claimed)
    if claimed.begin > begin:
        z = 0.0  # c = 0 forgets the distance
    energies: list[float] = []
    gap, moved = 0.0, False
    for lo, hi in claimed.windows():
        c, s, sd = schedule.window(lo, hi)
        window = claimed.at(lo, hi, sd)
        # z_k was found from the right if step k + 1 lies behind the peak of its block.
        found = None if behind is None else behind[lo - claimed.begin : hi - claimed.begin]
        ahead = distances_forwards(z, (c, s, sd), window, found)
        before = np.concatenate(([z], ahead[:-1]))
        noisy = sd > 0.0
        _check_carried(lo, noisy, window.closes, ahead)
        a = np.where(noisy, _shift_above(c, s, before, ahead), 0.0)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            unit = np.where(noisy, sd, 1.0)
            energies.append(_sum((a / unit) ** 2))
            off = np.abs(a - window.a) / unit
        moved = moved or bool(np.any(a > 0.0))
        checked = off[window.peaks]
        if checked.size:
            gap = max(gap, float(np.max(checked)))
        z = float(ahead[-1])
    energy = _sum(np.array(energies))
    if not energy < math.inf:
        return math.inf, gap
    if moved:
        # The second term pays for quotients and squares that underflow, even if all of them do.
        energy = energy * _ENERGY_UP + schedule.steps * _SHIFT_UNDERFLOW
    return math.sqrt(energy) * _UP, gap


def _in_closed_form(schedule: EqualSteps, shifts: Claim) -> bool:
    """Whether equal steps are checked block by block, at a cost free of their number.

    Where c > 1 and there are many blocks, few steps are checked sooner one by one.
    """
    if schedule.contraction <= 1.0 or shifts.first.size <= _FEW_BLOCKS:
        return True
    return schedule.steps - shifts.tau > _MANY_STEPS


def _check_length(schedule: Steps, shifts: Claim) -> None:
    """Bounded work, whatever the certificate says."""
    from_diameter = shifts.tau == 0 or shifts.start >= schedule.diameter
    length = schedule.steps - (shifts.tau if from_diameter else 0)
    if length > _MOST_STEPS:
        raise VerificationFailed(
            f"{length} steps are too many to follow one by one (at most {_MOST_STEPS})"
        )


def _check_peaks(claimed: ClaimedShifts) -> None:
    """Refuse an amount at a step without noise, which has no shift."""
    bare = claimed.shifts.peak[(claimed.sd_peak == 0.0) & (claimed.shifts.amount > 0.0)]
    if bare.size:
        raise VerificationFailed(f"an amount stands at step {bare[0]}, which has no noise")


def _check_carried(
    lo: int, noisy: NDArray[np.bool_], closes: NDArray[np.bool_], ahead: Array
) -> None:
    """Refuse a block that ends, its distance being gone, in a step without noise.

    Such a step has no shift: it only carries the distance on, so that 0 is left where 0 was.
    """
    paying = np.flatnonzero(~noisy & closes & (ahead > 0.0))
    if paying.size:
        raise VerificationFailed(
            f"step {lo + 1 + int(paying[0])} has no noise, and a distance of "
            f"{float(ahead[paying[0]])!r} is to vanish in it"
        )


def _sum(terms: Array) -> float:
    """The sum with one rounding; infinity if it overflows."""
    try:
        return math.fsum(terms.tolist())
    except OverflowError:
        return math.inf


def _check_blocks(schedule: Steps, shifts: Claim) -> None:
    first, last, peak, amount = shifts.first, shifts.last, shifts.peak, shifts.amount
    sizes = {first.size, last.size, peak.size, amount.size}
    if not 0 <= shifts.tau < schedule.steps or len(sizes) != 1 or not first.size:
        raise VerificationFailed(f"tau={shifts.tau} or the number of blocks is out of range")
    covered = (
        first[0] == shifts.tau + 1
        and last[-1] == schedule.steps
        and np.all(first[1:] == last[:-1] + 1)
        and np.all((first <= peak) & (peak <= last))
    )
    if not covered:
        raise VerificationFailed(
            f"the blocks do not cover the steps {shifts.tau + 1} to {schedule.steps}"
        )
    if not np.all((amount >= 0.0) & (amount < math.inf)):
        raise VerificationFailed("an amount is negative or not finite")


def _check_start(schedule: Steps, shifts: Claim) -> None:
    """`start` must bound the distance at `tau`: 0 at the start, D always, or the free recursion."""
    tau, start = shifts.tau, shifts.start
    if math.isnan(start) or start < 0.0:
        raise VerificationFailed(f"start={start!r} is not a distance")
    if tau == 0 or start >= schedule.diameter:
        return
    z = _unshifted(schedule, 0, tau, 0.0)
    if not start >= z:
        raise VerificationFailed(
            f"start={start!r} is not a bound on the distance at tau={tau}, which may reach {z!r}"
        )


def _unshifted(schedule: Steps, begin: int, end: int, z: float) -> float:
    """A bound on the distance after step `end`, from z after step `begin`, without any shift."""
    for lo in range(begin, end, WINDOW):
        c, s, _ = schedule.window(lo, min(lo + WINDOW, end))
        for ck, sk in zip(c.tolist(), s.tolist(), strict=True):
            z = carried(z, ck, sk)
    return z


def _shift_above(c: Array, s: Array, before: Array, after: Array) -> Array:
    """At least `max(0, c z_{k-1} + s - z_k)`, and barely more: see the top of the module."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        p = c * before
        c_high, c_low = _split(c)
        z_high, z_low = _split(before)
        e = ((c_high * z_high - p) + c_high * z_low + c_low * z_high) + c_low * z_low
        q, f = _two_sum(p, -after)
        r, g = _two_sum(q, s)
        b = p + s + after
        some = (b > 0.0) | ((c > 0.0) & (before > 0.0))  # a product may underflow to 0
        margin = _SHIFT_ERROR * b + np.where(some, _SHIFT_UNDERFLOW, 0.0)
        a: Array = np.maximum(0.0, r + (((e + f) + g) + margin)) * _UP
    return a


def _split(x: Array) -> tuple[Array, Array]:
    """Two halves of at most 26 bits whose sum is x."""
    scaled = _SPLITTER * x
    high = scaled - (scaled - x)
    return high, x - high


def _two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """Knuth: the rounded sum and its exact error."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)
