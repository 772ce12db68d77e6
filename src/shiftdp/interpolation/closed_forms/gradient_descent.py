"""NoisyGD: the paper's closed forms for contractive noisy iterations whose steps are all alike.

All are in the units of the iterate (see `schedule`): NoisyGD has `s = eta L / n`, `sd = eta sigma`,
so `s / sd = L / (n sigma)`, and then gd-sc *is* cni-sc and gd-proj *is* cni-proj.
A contraction is taken at its word: a caller who computes it must round it up.
"""

from __future__ import annotations

import math

import numpy as np

from shiftdp._checks import count
from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import round_up
from shiftdp.interpolation.closed_forms._shared import (
    best_window,
    bounded,
    ceiling,
    contractive,
    horizon,
    long_enough,
    one_minus_powers,
    signal,
    stationary_factor,
)
from shiftdp.interpolation.closed_forms.explicit_shifts import ExplicitShifts


def gd(sensitivity: float, noise: float, steps: int) -> float:
    """[BSA24, Thm gd] Composition: mu = (s / sd) sqrt(t). Asks nothing of the losses.

    Args:
        sensitivity: s, the largest distance between the two step maps at one point.
        noise: sd, the standard deviation of one step's noise.
        steps: t.

    >>> round(gd(0.1, 1.0, 1000), 3)
    3.162
    """
    s, sd = signal(sensitivity, noise)
    return round_up(s / sd * math.sqrt(count("steps", steps, 1)))


def gd_sc(contraction: float, sensitivity: float, noise: float, steps: float) -> float:
    """[BSA24, Thm gd-sc, cni-sc] mu = (s / sd) sqrt((1 - c^t)/(1 + c^t) (1 + c)/(1 - c)).

    For c-Lipschitz steps, c <= 1. At c = 1 it is composition, at c = 0 the last step alone.

    Args:
        contraction: c, in [0, 1].
        sensitivity: s.
        noise: sd.
        steps: t; `math.inf` gives the stationary law.

    >>> [round(gd_sc(0.98, 0.1, 1.0, t), 3) for t in (10, 100, 1000, math.inf)]
    [0.316, 0.871, 0.995, 0.995]
    """
    c = contractive(contraction)
    s, sd = signal(sensitivity, noise)
    if s == 0.0:
        return 0.0
    return round_up(s / sd * math.sqrt(stationary_factor(1.0 - c, horizon("steps", steps))))


def gd_proj_window(sensitivity: float, noise: float, diameter: float, window: int) -> float:
    """[BSA24, Thm cni-proj, before the ceiling] mu = (s sqrt(K) + D / sqrt(K)) / sd, K = t - tau.

    For 1-Lipschitz steps projected on a set of diameter D, and any whole number 1 <= K <= t.

    >>> gd_proj_window(0.5, 1.0, 1.0, 2) < gd_proj_window(0.5, 1.0, 1.0, 3)
    True
    """
    s, sd = signal(sensitivity, noise)
    D = bounded(diameter)
    root = math.sqrt(count("window", window, 1))
    return round_up((s * root + D / root) / sd)


def gd_proj_best(sensitivity: float, noise: float, diameter: float, steps: float) -> float:
    """[BSA24, Thm cni-proj] The least of `gd_proj_window` over whole 1 <= K <= t, at any t.

    >>> gd_proj_best(1.0, 1.0, 2.1, 100) ** 2 / gd_proj(1.0, 1.0, 2.1, 100) ** 2 < 0.91
    True
    """
    s, _ = signal(sensitivity, noise)
    D = bounded(diameter)
    if s == 0.0:
        return 0.0
    return gd_proj_window(s, noise, D, best_window(s, D, horizon("steps", steps)))


def gd_proj(sensitivity: float, noise: float, diameter: float, steps: float) -> float:
    """[BSA24, Thm gd-proj, cni-proj] mu = sqrt(3 s D + s^2 ceil(D / s)) / sd, once t >= D / s.

    For 1-Lipschitz steps projected on a set of diameter D. `gd_proj_best` is never above it.

    Args:
        sensitivity: s > 0.
        noise: sd.
        diameter: D, finite.
        steps: t >= D / s, or `math.inf`.

    >>> round(gd_proj(0.2 * 0.25, 0.2 * 8, 1.0, 80), 3)
    0.28
    """
    s, sd = signal(sensitivity, noise)
    D = bounded(diameter)
    if s == 0.0:
        return 0.0
    K = ceiling(D, s)
    long_enough("steps", steps, K)
    return round_up(math.sqrt(3.0 * s * D + s * s * K) / sd)


def gd_sc_shifts(contraction: float, sensitivity: float, steps: int) -> ExplicitShifts:
    """[BSA24, Lemma gd-sc-opt] The shifts that attain gd-sc, from tau = 0.

    a_k = c^{t-k} (1 + c) / (1 + c^t) s,  z_k = (1 - c^k)(1 - c^{t-k}) / ((1 + c^t)(1 - c)) s.

    >>> gd_sc_shifts(0.5, 1.0, 2).a.round(3)
    array([0.6, 1.2])
    """
    c = contractive(contraction)
    s, _ = signal(sensitivity, 1.0)
    t = count("steps", steps, 1)
    if c == 1.0:
        return ExplicitShifts(0, np.full(t, s), np.zeros(t + 1))
    k = np.arange(t + 1, dtype=np.float64)
    whole = 2.0 - float(one_minus_powers(c, t))
    a = np.power(c, t - k[1:]) * ((1.0 + c) / whole * s)
    z = one_minus_powers(c, k) * one_minus_powers(c, t - k) / (whole * (1.0 - c)) * s
    return ExplicitShifts(0, a, z)


def gd_proj_shifts(sensitivity: float, diameter: float, steps: int, window: int) -> ExplicitShifts:
    """[BSA24, Lemma gd-proj-opt] a_k = s + R, z_k = R (t - k), R = D / (t - tau), K = t - tau.

    >>> gd_proj_shifts(1.0, 3.0, steps=10, window=3).z
    array([3., 2., 1., 0.])
    """
    s, _ = signal(sensitivity, 1.0)
    D = bounded(diameter)
    t, K = count("steps", steps, 1), count("window", window, 1)
    if t < K:
        raise UnmetHypothesis(
            "window", K, f"exceeds the {t} steps of the run", "take 1 <= window <= steps"
        )
    R = D / K
    return ExplicitShifts(t - K, np.full(K, s + R), R * np.arange(K, -1.0, -1.0))
