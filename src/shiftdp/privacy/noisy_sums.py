"""Sums over records that are released with Gaussian noise, and what they cost.

Every statistic that a preparation learns is such a sum: one record adds a vector, and what is
released is the sum of the vectors of all records, plus independent normal numbers of deviation
`noise` in every entry. If one record can move the sum by at most D, the release is G(D / noise)
[DRS22, Thm 1], and several of them, whichever was chosen by the results of the ones before it as
long as its noise was fixed beforehand, are G(sqrt(sum of squares)) [DRS22, Cor 2].

**Theorem S1 (what one record can do).** The vectors of the three kinds, and how far apart two of
them can be. Missing entries add 0, and so does a record that is zeroed out.

- `histogram`: a 1 at the entry's place among bins that are public. D^2 = 2, and 1 under zero-out.
- `categories`: a 1 at the entry's category, whichever it is. D^2 as above; see Theorem S2 for the
  names of the categories.
- `moments`: (t, 1.4 t^2, 1) for an entry t in [-1, 1], scaled by a range that was fixed before.
  D = 2.

*Proof of the last.* To 0: 1 + 1.96 + 1 < 4. Between t and s, let u = |t - s| in [0, 2]; for given u
the distance is largest where |t + s| is, at 2 - u, and its square is u^2 (1 + 1.96 (2 - u)^2). It
is at most 4, since 4 less it is (2 - u) (2 + u - 1.96 u^2 (2 - u)), and the second factor is at
least 0.9 on [0, 2]: it is least at the root 1.19 of 5.88 u^2 - 7.84 u + 1, where it is 0.94. QED

Entries t are rounded to multiples of 2^-20, so that all sums are sums of whole numbers and exact in
any order. Only their conversion to floats rounds: once for t, twice for 1.4 t^2, and not for the
count, each time by a part of 2^-53 of at most n. So the sums of neighbours are at most
D + 2 n 2^-53 |(1, 2.8)| < D + n 2^-50 apart.

**Theorem S2 (names of categories).** A category that occurs in the data is released if its count
plus noise reaches a threshold T > 1. Let q = P(1 + noise Z >= T), Z being standard normal. The
release is G(D / noise) (x) h_q: with probability q everything is revealed, else it is as above.

*Proof.* Of two neighbours, let c be the category that only the first one has, and c' the one that
only the second has, if any; each has a count of 1. With probability at least 1 - q the noise of c
keeps it below T, independently of all other noise. Given that, what is released of the first data
set is what the same mechanism releases of the categories that both have; likewise of the second. On
these the counts differ by a vector of norm at most D. So the two laws are (1 - q) P + q A and
(1 - q) Q + q B, with T(P, Q) >= G(D / noise). [BSA24, Lemma complim; DRS22, Eq 12] QED

**Theorem S4 (scores).** Two more kinds measure a model that is public, or was released before:

- `gains`: g - 1/2 for a gain g in [0, 1] that the record has under the model, such as 1 where its
  label is predicted. D = 1, and 1/2 under zero-out.
- `errors`: (a - 1/2, b - 1/2) with a and b in [0, 1]. D^2 = 2, and 1/2 under zero-out.

A `histogram` of a score of the model together with the label is one of the kind above.

*Proof.* Both entries lie in [-1/2, 1/2], a zeroed record adds 0. They are multiples of 2^-21, and
sums of up to 2^31 of them are exact in floats. QED
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from shiftdp._checks import GREATEST, LEAST, choice, magnitude
from shiftdp._errors import InvalidInput
from shiftdp._rounding import AMPLE, EIGHT_ROUNDINGS, FOUR_ROUNDINGS, ULP
from shiftdp.fdp import GaussianTradeoff, Identity, TradeoffFunction
from shiftdp.fdp.functions.failure import WithFailure
from shiftdp.last_iterate.geometry import Adjacency

SumKind = Literal["histogram", "categories", "moments", "gains", "errors"]

LARGEST_SCORED = 2**31
"""Records whose gains are summed exactly."""

SECOND = 1.4
"""The weight of t^2 in `moments`: as large as it can be without making the sensitivity larger."""


@dataclass(frozen=True, kw_only=True)
class NoisySum:
    """One sum over the records that is released with noise. Theorems S1 and S2 above.

    Args:
        kind: which vectors are added.
        column: of which column.
        noise: the deviation of the noise in every entry.
        threshold: of `categories`, the noisy count from which on a category is released.

    >>> one = NoisySum(kind="histogram", column="age", noise=10.0)
    >>> round(sums_tradeoff([one], n=1000, adjacency="zero_out").gdp_mu, 6)
    0.1
    """

    kind: SumKind
    column: str
    noise: float
    threshold: float | None = None

    def __post_init__(self) -> None:
        choice("kind", self.kind, get_args(SumKind))
        object.__setattr__(self, "noise", magnitude("noise", self.noise, LEAST, GREATEST))
        if not isinstance(self.column, str):
            raise InvalidInput("column", self.column, "is no name", "give text")
        if (self.threshold is not None) != (self.kind == "categories"):
            raise InvalidInput(
                "threshold", self.threshold, f"does not go with kind={self.kind!r}",
                "give one for categories, and for these alone",
            )  # fmt: skip
        if self.threshold is not None:
            limit = magnitude("threshold", self.threshold, 1.0, GREATEST)
            object.__setattr__(self, "threshold", limit)

    def square(self, n: int, adjacency: Adjacency) -> Fraction:
        """mu^2 = (D / noise)^2, exactly."""
        return squared_sensitivity(self.kind, n, adjacency) / Fraction(self.noise) ** 2

    @property
    def failure(self) -> float:
        """q of Theorem S2, rounded up; 0 where no names are released."""
        if self.threshold is None:
            return 0.0
        from scipy.special import ndtr

        # the noise takes 2^53 values: a probability of theirs is off by at most two of them
        tail = ndtr(-(self.threshold - 1.0) / self.noise * (1.0 - AMPLE))
        return min(1.0, float(tail) * (1.0 + AMPLE) + 2 * ULP)


def squared_sensitivity(kind: SumKind, n: int, adjacency: Adjacency) -> Fraction:
    """D^2 of Theorem S1, with what rounding adds."""
    if kind == "moments":
        return (2 + n * Fraction(EIGHT_ROUNDINGS)) ** 2
    if kind == "gains":
        return Fraction(1, 4) if adjacency == "zero_out" else Fraction(1)
    if kind == "errors":
        return Fraction(1, 2) if adjacency == "zero_out" else Fraction(2)
    return Fraction(1 if adjacency == "zero_out" else 2)


def noise_for(kind: SumKind, n: int, adjacency: Adjacency, mu: float) -> float:
    """The least noise for which such a sum is G(mu), rounded up."""
    from shiftdp.privacy.ledger.running_total import least_root

    sensitivity = least_root(squared_sensitivity(kind, n, adjacency))
    return sensitivity / mu * (1.0 + FOUR_ROUNDINGS)


def threshold_for(noise: float, failure: float) -> float:
    """The least threshold whose probability of failure is at most this, rounded up."""
    from scipy.special import ndtri

    allowed = max(failure * (1.0 - 4 * AMPLE) - 4 * ULP, math.ulp(0.0))
    return float(1.0 - noise * ndtri(allowed) * (1.0 + 8 * AMPLE))


def of_declared_ranges(sums: Sequence[NoisySum]) -> tuple[NoisySum, ...]:
    """The moments within ranges that were declared: of columns that have no histogram.

    >>> age = NoisySum(kind="moments", column="age", noise=10.0)
    >>> of_declared_ranges([age]) == (age,)
    True
    >>> of_declared_ranges([NoisySum(kind="histogram", column="age", noise=10.0), age])
    ()
    """
    learnt = {one.column for one in sums if one.kind == "histogram"}
    return tuple(one for one in sums if one.kind == "moments" and one.column not in learnt)


def sums_tradeoff(sums: Sequence[NoisySum], *, n: int, adjacency: Adjacency) -> TradeoffFunction:
    """What all of these sums cost together: G(mu), failing with the probability of Theorem S2.

    >>> names = NoisySum(kind="categories", column="city", noise=20.0, threshold=120.0)
    >>> f = sums_tradeoff([names], n=1000, adjacency="replace_one")
    >>> round(f.base.mu, 4), f.failure < 2e-9
    (0.0707, True)
    """
    # here, as the ledger knows of these sums
    from shiftdp.privacy.ledger.running_total import least_root

    if not sums:
        return Identity()
    base = GaussianTradeoff(least_root(sum((s.square(n, adjacency) for s in sums), Fraction(0))))
    # the probability that any fails is at most the sum
    failure = math.fsum(one.failure for one in sums) * (1.0 + FOUR_ROUNDINGS)
    return WithFailure(base, min(1.0, failure)) if failure > 0.0 else base
