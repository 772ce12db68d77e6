"""Long runs that do not contract: the last steps step by step, all others under one line.

**Theorem C6.** Equal steps, c = 1, displacement and noise 1, t of them; V_k is 1 with probability
p, independently. Let mu_J be mu of the last J steps alone, N_n the participations in the n steps
before them, and Q a number such that `N_n <= Q (J + n)` for all n. Then

    mu(V)^2 <= (mu_J + Q sqrt(J))^2 + Q^2 (t - J),

mu_J and Q being independent, and for every theta > 0, with `psi = log(1 - p + p e^theta)`,

    P(Q > psi / theta) <= e^(-psi J).

*Proof.* Let M be the majorant of the path of the last J steps, constant from J on. The whole path
is below `M(L) + Q L`, which is concave and has the energy `mu_J^2 + 2 Q M(J) + Q^2 t`; a larger
path has a larger mu [Lemma C0a], and `M(J) <= sqrt(J) mu_J` by Cauchy and Schwarz. The products
`e^(theta N_n - n psi)` are a martingale of mean 1. If `N_n > (psi/theta) (J + n)` for some n, it
exceeds `e^(psi J)` there, which has a probability of at most e^(-psi J) [Ville]. ∎

The line costs a part of about 1.5 J/t of mu, and Q, which is about p (1 + 1/(2 p J)), the rest: for
many participations there is a J for which both are small. The cost does not grow with t.
"""

from __future__ import annotations

import math

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import GENEROUS
from shiftdp.interpolation.participation.ages import StartLaw
from shiftdp.interpolation.participation.law import Grid, ParticipationLaw
from shiftdp.interpolation.participation.sticks import Sticks, walk_law

_MANY = 1800.0  # participations, in the mean, from which on the line is the tighter bound
_SHARE = 0.6  # of the root of their number: how many are to be followed ...
_ENOUGH = 125.0  # ... and at most so many: what the slope costs is a part of 1/250 then
_PER_OCTAVE = 4  # tails of the slope that are told apart, for each factor of 2
_RARE = 1e-5  # of delta: what is rarer counts as the largest value that there can be
_CELLS = 3000  # into which mu is rounded up


def recent_steps(p: float, steps: float) -> float:
    """How many of the last steps to follow: all, or fewer if very many participate. [Theorem C6]

    >>> recent_steps(0.01, 1000), recent_steps(0.01, 10**6), recent_steps(0.01, 10**12)
    (1000, 6000, 12500)
    """
    mean = p * steps
    if mean < _MANY:
        return steps
    return math.ceil(min(_SHARE * math.sqrt(mean), _ENOUGH) / p)


def slope_law(p: float, recent: float, negligible: float) -> StartLaw:
    """A law of Q: tails of 2^(-k/4), and 1, the steepest slope, for what is `negligible`."""
    count = math.ceil(-math.log2(negligible) * _PER_OCTAVE)
    tail = 2.0 ** (-np.arange(count + 1) / _PER_OCTAVE)
    psi = -np.log(tail[1:]) / recent
    theta = np.log1p(np.expm1(psi) / p)
    values = np.append(np.minimum(psi / theta * (1.0 + GENEROUS), 1.0), 1.0)
    return StartLaw(values, tail - np.append(tail[1:], 0.0))


def long_run_law(
    p: float, steps: float, recent: int, *, delta: float
) -> tuple[ParticipationLaw, Grid | Sticks | None]:
    """A law that dominates mu(V) for equal steps with c = 1, and the grid of the last steps.

    Args:
        p: probability of taking part.
        steps: how many there are.
        recent: J, how many of them are followed.
        delta: the tail that matters.
    """
    young, grid = walk_law(p, recent, delta=delta)
    slope = slope_law(p, recent, _RARE * delta)
    inner = np.array(young.mu)[:, None] + slope.values * math.sqrt(recent)
    mu = np.sqrt(inner**2 + slope.values**2 * (steps - recent)).ravel()
    weight = np.outer(young.weight, slope.probabilities).ravel()
    mu = np.minimum(mu, math.sqrt(steps)) * (1.0 + GENEROUS)  # no path has more than all steps
    return _in_cells(mu, weight, _RARE * delta), grid


def _in_cells(mu: Array, weight: Array, rare: float) -> ParticipationLaw:
    """Values rounded up to even cells; those beyond what is `rare` become the largest."""
    order = np.argsort(mu)
    mu, weight = mu[order], weight[order]
    beyond = np.cumsum(weight[::-1])[::-1]
    last = int(np.count_nonzero(beyond > rare)) - 1
    cell = (mu[last] - mu[0]) / _CELLS * (1.0 + GENEROUS)
    place = np.minimum(np.ceil((mu - mu[0]) / max(cell, math.ulp(mu[0]))), _CELLS + 1)
    mass = np.bincount(place.astype(np.int64), weight, _CELLS + 2)
    values = mu[0] + np.arange(_CELLS + 2) * cell
    values[-1] = max(mu[-1], values[-1])
    above = np.minimum(np.cumsum(mass[::-1])[::-1] * (1.0 + GENEROUS), 1.0)
    above[0] = 1.0
    weight = above - np.append(above[1:], 0.0)
    kept = weight > 0.0
    return ParticipationLaw(tuple(values[kept].tolist()), tuple(weight[kept].tolist()))
