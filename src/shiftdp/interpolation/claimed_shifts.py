"""What a certificate claims, step by step: the shifts of its blocks, and the distances they leave.

Part of the independent verifier, and shared with no solver. Nothing here has to be exact: whatever
distances come out, `shiftdp.interpolation.verification` proves what they are worth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp.interpolation.verification_equal_steps import Claim

# Steps handled at once: enough to hide the cost of NumPy calls, few enough to stay in cache.
WINDOW = 1 << 14
# A shift below this fraction of the distance drowns in the rounding of the distance.
_FAINT = 2.0**-40
# A distance that is carried is raised by 4 u, u = 2^-53: two roundings, and a little.
_UP = 1.0 + 2.0**-51
_CARRY_UP = 1.0 + 2.0**-50  # the same where nothing may be shifted away: 8 u for three roundings
_CARRY_UNDERFLOW = 2.0**-1073  # and what the product may lose to underflow


class Steps(Protocol):
    """What is asked of a schedule: its length, the diameter, and any stretch of steps."""

    @property
    def steps(self) -> int: ...
    @property
    def diameter(self) -> float: ...
    def window(self, begin: int, end: int) -> tuple[Array, Array, Array]: ...


class Window(NamedTuple):
    """What the certificate says of one window of steps, one entry a step."""

    a: Array  # the shifts, as its blocks and amounts give them
    closes: NDArray[np.bool_]  # whether the distance is 0 after the step
    next_behind: NDArray[np.bool_]  # whether the next step lies behind the peak of its block
    peaks: NDArray[np.intp]  # where the amounts of the blocks stand


class ClaimedShifts:
    """The shifts that a certificate claims, window by window of the steps after `begin`.

    In a block `a_k / sd_k^2` falls by `c_k` from step k to k - 1, so shifts are quotients of
    exponentials of sums of `log c`, and 0 where there is no noise. These sums are kept per window
    (`base`) and within it, so that long runs do not wash out their differences. Steps up to the
    last one with c = 0 are forgotten.
    """

    def __init__(self, schedule: Steps, shifts: Claim, begin: int) -> None:
        self.shifts, self.steps = shifts, schedule.steps
        self.begin = begin
        blocks = shifts.first.size
        self.at_peak, self.sd_peak = np.zeros(blocks), np.ones(blocks)
        self.base = np.zeros((self.steps - self.begin - 1) // WINDOW + 2)
        self.grid = self.begin
        for number, lo in enumerate(range(self.begin, self.steps, WINDOW)):
            hi = min(lo + WINDOW, self.steps)
            c, _, sd = schedule.window(lo, hi)
            zeros = np.flatnonzero(c == 0.0)
            if zeros.size:
                self.begin = lo + int(zeros[-1])
            sums = self._local_sums(c)
            self.base[number + 1] = self.base[number] + sums[-1]
            inside = slice(*np.searchsorted(shifts.peak, (lo + 1, hi + 1)).tolist())
            at = shifts.peak[inside] - (lo + 1)
            self.at_peak[inside], self.sd_peak[inside] = sums[at], sd[at]
        self.steps_of = schedule.window

    @staticmethod
    def _local_sums(c: Array) -> Array:
        return np.cumsum(np.log(np.where(c > 0.0, c, 1.0)))

    def windows(self) -> Iterator[tuple[int, int]]:
        """The windows of steps `lo + 1` to `hi`, from the first step that counts on."""
        first = self.grid + (self.begin - self.grid) // WINDOW * WINDOW
        for lo in range(first, self.steps, WINDOW):
            yield max(lo, self.begin), min(lo + WINDOW, self.steps)

    def at(self, lo: int, hi: int, sd: Array) -> Window:
        """The window of steps `lo + 1` to `hi`, whose noises are `sd`."""
        shifts = self.shifts
        k = np.arange(lo + 1, hi + 1)
        block = np.searchsorted(shifts.last, k)
        number = (lo - self.grid) // WINDOW
        whole = self.grid + number * WINDOW
        sums = self._local_sums(self.steps_of(whole, hi)[0])[lo - whole :]
        amount, peak = shifts.amount[block], shifts.peak[block]
        other = (peak - 1 - self.grid) // WINDOW
        fall = self.at_peak[block] - sums + (self.base[other] - self.base[number])
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            a = amount * np.exp(fall + 2.0 * np.log(sd / self.sd_peak[block]))
            a = np.where((amount > 0.0) & (sd > 0.0), a, 0.0)
        # A block that shifts at all ends at distance 0, and so does the run.
        last = k == shifts.last[block]
        closes = (last & (amount > 0.0)) | (k == self.steps)
        next_behind = (k >= peak) & ~last & (amount > 0.0)
        peaks = np.flatnonzero((k == peak) & (amount > 0.0))
        return Window(a, closes, next_behind, peaks)


def carried(z: float, c: float, s: float) -> float:
    """At least `c z + s`, whatever is rounded: the distance after a step without a shift."""
    return (c * z + s) * _CARRY_UP + _CARRY_UNDERFLOW if z and c else s


def distances_forwards(
    z: float, steps: tuple[Array, Array, Array], window: Window, behind: Array | None
) -> Array:
    """`z_k = c_k z_{k-1} + s_k - a_k`, at least 0, and 0 where a block closes.

    Behind the peak of a block the distances are those found backwards, if there are any. Through a
    step without noise the distance is carried, whatever the certificate says.
    """
    out = []
    c, s, sd = (x.tolist() for x in steps)
    found = c if behind is None else behind.tolist()
    rows = zip(
        *(c, s, sd, window.a.tolist(), window.closes.tolist(), window.next_behind.tolist(), found),
        strict=True,
    )
    for ck, sk, sdk, ak, close, is_behind, zk in rows:
        if not sdk:
            z = carried(z, ck, sk)
        elif close:
            z = 0.0
        elif is_behind:
            z = zk
        else:
            x = ck * z + sk
            z = x - ak
            if ak < x * _FAINT:
                # Rounded to nearest, every other step would show a spurious shift of u z.
                z *= _UP
            elif z < 0.0:
                z = 0.0
        out.append(z)
    return np.array(out)


def distances_backwards(claimed: ClaimedShifts) -> Array | None:
    """`z_{k-1} = (z_k + a_k - s_k) / c_k` behind the peak of a block, where c > 1 as a rule.

    There the forward recursion would amplify rounding errors. One number a step is stored; None if
    every block peaks at its end, as it does for contractions with constant noise.
    """
    shifts = claimed.shifts
    if not np.any((shifts.peak < shifts.last) & (shifts.amount > 0.0)):
        return None
    behind = np.zeros(claimed.steps - claimed.begin)
    z = 0.0
    for lo, hi in reversed(list(claimed.windows())):
        some = slice(
            int(np.searchsorted(shifts.last, lo + 1)),
            int(np.searchsorted(shifts.first, hi, side="right")),
        )
        if not np.any(shifts.peak[some] < np.minimum(shifts.last[some], hi + 1)):
            z = 0.0  # no step here lies behind a peak
            continue
        c, s, sd = claimed.steps_of(lo, hi)
        window = claimed.at(lo, hi, sd)
        out = []
        rows: Iterable[tuple[float, float, float]]
        # Step k + 1 leads from z_{k+1} to z_k, which is kept if `next_behind` holds at k.
        rows = zip(c[::-1].tolist(), s[::-1].tolist(), window.a[::-1].tolist(), strict=True)
        for (ck, sk, ak), keep in zip(rows, window.next_behind[::-1].tolist(), strict=True):
            if not keep:
                z = 0.0
            out.append(z)
            z = z + ak - sk
            z = z / ck if z > 0.0 and ck > 0.0 else 0.0
        behind[lo - claimed.begin : hi - claimed.begin] = out[::-1]
    return behind
