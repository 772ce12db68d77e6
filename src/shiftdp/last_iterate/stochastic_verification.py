"""Check the shifts of Theorem B3 in decimal arithmetic, without the code that made them."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

from shiftdp._errors import VerificationFailed
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.stochastic_run import NoisySGD
from shiftdp.last_iterate.stochastic_shifts import StochasticProof

__all__ = ["verify_stochastic"]

# far more digits than the 1e-12 by which shifts are rounded up
_DIGITS = Context(prec=80, Emin=-(10**15), Emax=10**15)
_SLACK = Decimal("1e-60")
_SAME = Fraction(1, 2**49)  # how much more a constant may be than what it rounds


def verify_stochastic(
    run: NoisySGD, geometry: Geometry, proof: StochasticProof, p: float, s: float, failure: float
) -> None:
    """Raise `VerificationFailed` unless shifts, constants and failure are those of a proof.

    The constants are recomputed in rational arithmetic from the run and the geometry, the distance
    of the two runs is followed group by group to the last step, and must not be positive there. A
    step may only be more private than what it is charged for: p, s and `failure` may be more than
    they have to be, not less.
    """
    tau, groups, cap = proof.tau, proof.groups, proof.cap
    _require(0 <= tau < run.steps, f"tau={tau} is not among 0 to {run.steps - 1}")
    _require(all(n >= 1 for _, n in groups), "a group of steps is empty")
    _require(sum(n for _, n in groups) == run.steps - tau, "the groups are not the steps after tau")
    _require(all(0.0 <= a < math.inf for a, _ in groups), "a shift is negative or infinite")
    eta, sigma, b = Fraction(run.learning_rate), Fraction(run.noise), run.batch_size
    L, poisson = Fraction(geometry.sensitivity), run.sampling == "poisson"
    apart = L / (b * sigma)
    each = apart
    if poisson and geometry.adjacency == "replace_one":
        # the norm of one gradient, of which the distance of two says nothing
        _require(geometry.gradient_bound is not None, "no bound on the norm of a gradient is given")
        each = Fraction(geometry.gradient_bound or 0.0) / (b * sigma)
    _require_not_less(p, Fraction(b, run.n), "participation")
    _require_not_less(s, each, "sensitivity")
    _require(poisson == (cap is not None), "a batch cap goes with Poisson sampling")
    c = _lipschitz(run, geometry, cap)
    far = math.isinf(geometry.diameter)
    diameter = None if far else Fraction(geometry.diameter) / (eta * sigma)
    with localcontext(_DIGITS):
        slope = _decimal(c)
        # the distance at tau, and how many steps have to keep to the batch cap for it
        starts = [(_separation(slope, _decimal(apart), tau), run.steps)]
        if diameter is not None:
            starts.append((_decimal(diameter), run.steps - tau))
        together = [counted for start, counted in starts if _meet(slope, start, groups)]
        _require(bool(together), "the shifts do not bring the two runs together")
        if cap is not None:
            least = _failure(run, cap, min(together))
            _require(Decimal(failure) >= least, "the batch cap fails more often than stated")
        else:
            _require(failure == 0.0, "nothing fails without a batch cap")


def _meet(slope: Decimal, start: Decimal, groups: tuple[tuple[float, int], ...]) -> bool:
    """Whether the distance, followed group by group, is gone at the end."""
    distance = scale = start * (1 + _SLACK)
    for a, n in groups:
        power = slope**n if slope else Decimal(0)
        distance = power * distance - Decimal(a) * _series(slope, power, n)
        scale = power * scale
    return distance <= -_SLACK * scale


def _lipschitz(run: NoisySGD, geometry: Geometry, cap: int | None) -> Fraction:
    """max |1 - eta m|, |1 - eta M|; a learning rate of 2/M in floats means just that."""
    _require(math.isfinite(geometry.smoothness), "the losses are not known to be smooth")
    m, M = Fraction(geometry.strong_convexity), Fraction(geometry.smoothness)
    if cap is not None:
        _require(m >= 0, "Poisson sampling is covered for convex losses only")
        M = m + (M - m) * min(cap, run.n) / run.batch_size
    eta = Fraction(run.learning_rate)
    slow, fast = abs(1 - eta * m), abs(1 - eta * M)
    if 1 < fast <= 1 + Fraction(1, 2**50):
        fast = Fraction(1)
    return max(slow, fast)


def _separation(slope: Decimal, gap: Decimal, steps: int) -> Decimal:
    """How far apart coupled runs are after so many steps."""
    power = slope**steps if slope or not steps else Decimal(0)
    return gap * _series(slope, power, steps) if steps else Decimal(0)


def _series(slope: Decimal, power: Decimal, n: int) -> Decimal:
    """1 + c + ... + c^{n-1}."""
    return Decimal(n) if slope == 1 else (1 - power) / (1 - slope)


def _failure(run: NoisySGD, cap: int, steps: int) -> Decimal:
    """1 - (1 - P[Bin(n-1, p) >= B])^steps from below, within a part of 1e-3 or so.

    The first terms of the tail are summed, each from the last by the ratio of binomials; the first
    one is (with Robbins' lower bound on N! and upper bounds on the others) from below as well.
    """
    N, B = run.n - 1, cap
    if B > N:
        return Decimal(0)
    p = _decimal(Fraction(run.batch_size, run.n))
    if p == 1 or N * p >= B:
        return Decimal(1) if p == 1 else Decimal("0.25")
    if B == N:
        first = p**N
    else:
        log_first = -(B * (B / (N * p)).ln() + (N - B) * ((N - B) / (N * (1 - p))).ln())
        inverse = 1 / (12 * Decimal(N) + 1) - 1 / (12 * Decimal(B)) - 1 / (12 * Decimal(N - B))
        pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494")
        first = (log_first + inverse).exp() * (N / (2 * pi * B * (N - B))).sqrt()
    tail, term = first, first
    for k in range(B, min(N, B + 10_000)):
        term *= (N - k) * p / ((k + 1) * (1 - p))
        tail += term
        if term < tail * Decimal("1e-6"):
            break
    return 1 - (1 - tail) ** steps


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _require_not_less(stated: float, least: Fraction, what: str) -> None:
    _require(math.isfinite(stated), f"the {what} is not finite")
    _require(Fraction(stated) >= least, f"the {what} {stated!r} is less than that of the run")
    _require(
        Fraction(stated) <= least * (1 + _SAME) or stated <= 1e-300,
        f"the {what} {stated!r} is that of another run",
    )


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise VerificationFailed(problem)
