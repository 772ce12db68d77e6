"""What the closed forms of Theorem B1 for equal steps share: pieces of a path, pooling, and starts.

Steps are equal: Lipschitz constant c and noise sd, and only some of them visit the record. Then the
weights `w_k = c^(t-k)` are powers, and the path of least energy (`shiftdp.interpolation.shifts`)
has few straight pieces. Each *piece* is a run of steps with the sum p of the displacements in it
and the sum v of the squared noises, both weighted, in units of the noise and of the weight at its
peak: that is its last step if c <= 1, its first one if c > 1.

`minorant` pools neighbouring pieces while their slopes do not increase, which leaves the greatest
convex minorant. A *plan* is a start with the pieces that follow it; the plan of least energy wins.

**Rounding.** A mu that is stated together with shifts has to be at least what a verifier proves
with them, which rounds every step upwards and computes powers and logarithms by another library.
Three errors count; `STATED` is five times the first and third.

- The amounts. They are quotients of geometric sums and powers `exp(N log c)`. The exponent is at
  most 745 in size (beyond, the power is 0), and is off by a part 2^-52, which moves the power by
  a part of at most 745 * 2^-52 < 2^-42; everything else errs by under 2^-47. The energy of a
  block is a minimum over feasible shifts, so wrong amounts raise it in proportion to their error
  only.
- The distances. The verifier adds a part of at most 2^-50 to the distance in every step that it
  follows without a shift (`interpolation.verification`), which is what `tail` counts.
- The sum, its root, and the verifier's own last factors: a part of under 2^-46.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from shiftdp._rounding import STATED
from shiftdp.interpolation.schedule import Shifts, frozen_shifts

_FOLLOWED_STEP = 2.0**-50  # what the verifier adds in a step that it follows without a shift
_MOST_FOLLOWED = 2**30  # more steps than this no verifier follows one by one
_UNDERFLOWN_POWER = 2.0**-500  # pays for powers of c that underflow, and for their square roots


class Piece(NamedTuple):
    """The steps `first` to `last`, with pooled p and v in units of the weight at `peak`.

    A piece without steps (v = 0) is a displacement alone, which the next one absorbs.
    """

    first: int
    last: int
    peak: int
    p: float
    v: float

    @property
    def slope(self) -> float:
        """The shift at the peak, in units of the noise."""
        return self.p / self.v


class Plan(NamedTuple):
    """A start after step `tau` at distance `start`, the pieces from there on, and their mu^2."""

    energy: float
    tau: int
    start: float
    pieces: Sequence[Piece]


class _Candidate(Protocol):
    @property
    def energy(self) -> float: ...


C = TypeVar("C", bound=_Candidate)


def geometric_sum(log_q: float, n: int) -> float:
    """`1 + q + ... + q^(n-1)` for `log q <= 0`, without cancellation.

    >>> geometric_sum(0.0, 7), round(geometric_sum(math.log(0.5), 3), 12)
    (7.0, 1.75)
    """
    return math.expm1(n * log_q) / math.expm1(log_q) if log_q else float(n)


def minorant(
    pieces: Iterable[Piece], power: Callable[[int], float], *, expanding: bool = False
) -> list[Piece]:
    """Pool neighbours while the slopes do not increase.

    Args:
        pieces: in the order of time.
        power: n -> c^n, or c^-n if expanding: what a weight falls by in n steps, going away from
            the peak.
        expanding: whether c > 1, so that peaks are at the first steps.

    >>> flat, steep = Piece(1, 2, 2, 1.0, 2.0), Piece(3, 4, 4, 3.0, 2.0)
    >>> len(minorant([flat, steep], lambda n: 1.0)), minorant([steep, flat], lambda n: 1.0)[0].p
    (2, 4.0)
    """
    blocks: list[Piece] = []
    for following in pieces:
        piece = following
        while blocks:
            ahead = blocks[-1]
            if not expanding:
                shrink = power(piece.last - piece.first + 1)
                if ahead.p * piece.v <= piece.p * shrink * ahead.v:
                    break
                p, v = ahead.p * shrink + piece.p, ahead.v * shrink * shrink + piece.v
                pooled = Piece(ahead.first, piece.last, piece.last, p, v)
            else:
                shrink = power(piece.first - ahead.first)
                if ahead.v > 0.0 and ahead.p * piece.v * shrink < piece.p * ahead.v:
                    break
                p, v = ahead.p + piece.p * shrink, ahead.v + piece.v * shrink * shrink
                pooled = Piece(ahead.first, piece.last, ahead.first, p, v)
            blocks.pop()
            piece = pooled
        blocks.append(piece)
    return blocks


def least_energy(plans: Iterable[C]) -> C:
    """The first of the plans with the least energy."""
    return min(plans, key=lambda plan: plan.energy)


def lowest(plan: Callable[[int], C], most: int) -> C:
    """The plan of least energy among 1..most, if it falls and then rises: doubling, then thirds.

    >>> from types import SimpleNamespace
    >>> lowest(lambda i: SimpleNamespace(energy=(i - 1234.4) ** 2), 10**9).energy < 0.2
    True
    """
    low, at, high = 1, 1, min(2, most)
    best = plan(1)
    while high > at:
        further = plan(high)
        if further.energy > best.energy:
            break
        low, at, best = at, high, further
        high = min(2 * high, most)
    while high - low > 2:
        left = low + (high - low) // 3
        right = high - (high - low) // 3
        if plan(left).energy <= plan(right).energy:
            high = right
        else:
            low = left
    return least_energy([best, *(plan(i) for i in range(low, high + 1))])


def stated_mu(mu: float, tail: int = 0) -> float:
    """The mu to state for a closed form whose float evaluation is `mu`.

    Args:
        mu: the value in floats. 0 may be a power that underflowed, and does not stay 0.
        tail: steps through which a verifier may have to carry the distance without a shift.

    >>> 0.0 < stated_mu(0.0) < 1e-150, 1.0 < stated_mu(1.0) <= 1.0 + 2e-12
    (True, True)
    """
    followed = min(tail, _MOST_FOLLOWED) * _FOLLOWED_STEP
    return mu * (1.0 + STATED + followed) + _UNDERFLOWN_POWER


def as_shifts(plan: Plan, noise: float, tail: int = 0) -> Shifts:
    """The shifts of a plan for steps with this noise, with the mu to state for them.

    `tail`: steps through which a verifier may have to carry the distance without a shift.
    """
    first, last, peak = ([piece[i] for piece in plan.pieces] for i in range(3))
    amounts = [piece.slope * noise for piece in plan.pieces]
    return frozen_shifts(
        plan.tau, plan.start, (first, last, peak), amounts, stated_mu(math.sqrt(plan.energy), tail)
    )
