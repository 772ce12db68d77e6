"""NoisyCGD: the paper's closed forms for cyclic batches, l of them in each of E epochs.

In the units of the iterate: `s = eta L / b`, `sd = eta sigma`. The bounds hold for the record at
any position; its place in the epoch is used only by the explicit shifts. The paper's l is `ell`.
"""

from __future__ import annotations

import math

import numpy as np

from shiftdp._checks import count, number_in
from shiftdp._errors import InvalidInput, UnmetHypothesis
from shiftdp._rounding import round_down, round_up
from shiftdp.interpolation.closed_forms._shared import (
    best_window,
    bounded,
    ceiling,
    contractive,
    horizon,
    long_enough,
    one_minus_power,
    one_minus_powers,
    signal,
)
from shiftdp.interpolation.closed_forms.explicit_shifts import ExplicitShifts
from shiftdp.interpolation.closed_forms.gradient_descent import gd


def mgd(sensitivity: float, noise: float, epochs: int) -> float:
    """[BSA24, Thm mgd] Composition over the E visits: mu = (s / sd) sqrt(E).

    >>> round(mgd(0.2, 1.0, 50), 3)
    1.414
    """
    return gd(sensitivity, noise, count("epochs", epochs, 1))


def mgd_sc(
    contraction: float, sensitivity: float, noise: float, batches: int, epochs: float
) -> float:
    """[BSA24, Thm mgd-sc] The cyclic bound for c-Lipschitz steps.

    mu = (s / sd) sqrt(1 + c^{2l-2} (1-c^2)/(1-c^l)^2 (1-c^{l(E-1)})/(1+c^{l(E-1)})); at c = 1 its
    limit (s / sd) sqrt(1 + (E-1)/l), already a factor sqrt(l) below composition for long runs.

    Args:
        contraction: c, in [0, 1].
        sensitivity: s.
        noise: sd.
        batches: l.
        epochs: E, or `math.inf`.

    >>> round(mgd_sc(0.99, 0.2, 1.0, batches=20, epochs=50), 3)
    0.237
    """
    c = contractive(contraction)
    s, sd = signal(sensitivity, noise)
    ell, E = count("batches", batches, 1), horizon("epochs", epochs)
    if s == 0.0:
        return 0.0
    return round_up(s / sd * math.sqrt(1.0 + _earlier_epochs(c, ell, E)))


def mgd_proj_window(
    sensitivity: float, noise: float, diameter: float, batches: int, window: int
) -> float:
    """[BSA24, Thm mgd-proj, before the ceiling] The bound that looks K = E - tau epochs back.

    mu = sqrt(s^2 + (D + s K)^2 / (l K)) / sd, for 1-Lipschitz steps and any whole 1 <= K <= E.
    For K = E the lemma's start time is negative; the bound holds all the same, because it exceeds
    the c = 1 form of mgd-sc: (D + s E)^2 / (l E) >= s^2 E / l.

    >>> round(mgd_proj_window(0.04 * 0.25, 0.04 * 3, 1.0, batches=10, window=100), 3)
    0.534
    """
    s, sd = signal(sensitivity, noise)
    D = bounded(diameter)
    ell, K = count("batches", batches, 1), count("window", window, 1)
    return round_up(math.hypot(s, (D + s * K) / math.sqrt(ell * K)) / sd)


def mgd_proj_best(
    sensitivity: float, noise: float, diameter: float, batches: int, epochs: float
) -> float:
    """[BSA24, Thm mgd-proj] The least of `mgd_proj_window` over whole 1 <= K <= E.

    >>> mgd_proj_best(1.0, 1.0, 2.1, 4, 9) < mgd_proj(1.0, 1.0, 2.1, 4, 9)
    True
    """
    s, _ = signal(sensitivity, noise)
    D = bounded(diameter)
    if s == 0.0:
        return 0.0
    return mgd_proj_window(s, noise, D, batches, best_window(s, D, horizon("epochs", epochs)))


def mgd_proj(
    sensitivity: float, noise: float, diameter: float, batches: int, epochs: float
) -> float:
    """[BSA24, Thm mgd-proj] mu = sqrt(s^2 + 3 s D / l + (s^2 / l) ceil(D / s)) / sd, E >= D / s.

    Args:
        sensitivity: s.
        noise: sd.
        diameter: D, finite.
        batches: l.
        epochs: E >= D / s = D b / (eta L), or `math.inf`.

    >>> round(mgd_proj(0.04 * 0.25, 0.04 * 3, 1.0, batches=10, epochs=100), 3)
    0.534
    """
    s, sd = signal(sensitivity, noise)
    D = bounded(diameter)
    ell = count("batches", batches, 1)
    if s == 0.0:
        return 0.0
    K = ceiling(D, s)
    long_enough("epochs", epochs, K)
    return round_up(math.sqrt(s * s + (3.0 * s * D + s * s * K) / ell) / sd)


def mgd_quadratic(
    slope: float, sensitivity: float, noise: float, batches: int, epochs: int
) -> float:
    """[BSA24, lower bound after Thm proj-lb] What quadratics with step `x -> slope x` attain.

    (s / sd) sqrt((1 - q^{lE})/(1 + q^{lE}) (1 - q^2)/(1 - q^l)^2), record in the last batch. A
    lower bound for every class that holds the quadratic: slope 1 - eta m or 1 - eta M, *with its
    sign*. (The paper writes c for the slope; that needs eta <= 2/(M+m).) If m = M, no other loss
    is in the class and this is its exact mu at the last position.

    >>> round(mgd_quadratic(0.9, 1.0, 1.0, batches=3, epochs=3), 3)
    1.069
    >>> round(mgd_quadratic(-0.5, 1.0, 1.0, batches=1, epochs=2), 3)
    0.447
    """
    q = number_in("slope", slope, -1.0, 1.0)
    s, sd = signal(sensitivity, noise)
    ell, E = count("batches", batches, 1), count("epochs", epochs, 1)
    if q == 1.0:
        return round_down(s / sd * math.sqrt(E / ell))
    # 1 - q^k without cancellation: |q|^k has the sign of q for odd k.
    one_minus_l, one_minus_all = _one_minus_signed(q, ell), _one_minus_signed(q, ell * E)
    if q == -1.0:
        # Even l: as q = 1. Odd l: consecutive visits cancel, one is left over if E is odd.
        visits = E if ell % 2 == 0 else E % 2
        return round_down(s / sd * visits / math.sqrt(ell * E))
    shift = one_minus_all / one_minus_l
    spread = one_minus_power(1.0 - abs(q), 2 * ell * E) / ((1.0 - abs(q)) * (1.0 + abs(q)))
    return round_down(s / sd * shift / math.sqrt(spread))


def mgd_sc_shifts(
    contraction: float, sensitivity: float, batches: int, epochs: int, position: int
) -> ExplicitShifts:
    """[BSA24, Lemma mgd-sc-opt] The shifts that prove mgd-sc for the record in batch j, tau = 0.

    For j <= k <= t* = l(E-1) + j - 1: a_k = c^{t-k+j-2} (1-c^2) / ((1-c^l)(1+c^{t-l})) s. Then
    s at the last visit t* + 1, where z is back at 0, and nothing after it.

    >>> shifts = mgd_sc_shifts(1.0, 1.0, batches=2, epochs=2, position=1)
    >>> shifts.a, shifts.z
    (array([0.5, 0.5, 1. , 0. ]), array([0. , 0.5, 0. , 0. , 0. ]))
    """
    c = contractive(contraction)
    s, _ = signal(sensitivity, 1.0)
    ell, E, j = _position(batches, epochs, position)
    t, span = ell * E, ell * (E - 1)
    a, z = np.zeros(t), np.zeros(t + 1)
    a[span + j - 1] = s
    if span and c > 0.0:
        i = np.arange(1, span + 1)  # k = j - 1 + i, i-th step from the first visit on
        visits, since = (i - 1) // ell + 1, (i - 1) % ell
        if c == 1.0:
            shift, left = np.full(span, 1.0 / ell), visits - i / ell
        else:
            whole = one_minus_power(1.0 - c, ell) * (2.0 - one_minus_power(1.0 - c, span))
            shift = c ** (span - i + ell - 1.0) * (1.0 - c) * (1.0 + c) / whole
            brought = c**since * one_minus_powers(c, ell * visits) / one_minus_power(1.0 - c, ell)
            left = brought - c ** (span - i + ell - 1.0) * one_minus_powers(c, 2 * i) / whole
        a[j - 1 : j - 1 + span] = shift * s
        left[-1] = 0.0
        z[j : j + span] = np.maximum(left, 0.0) * s
    elif span:
        z[j : j + span : ell] = s  # c = 0: no shift is needed, the next step forgets the distance
    return ExplicitShifts(0, a, z)


def mgd_proj_shifts(
    sensitivity: float, diameter: float, batches: int, epochs: int, position: int, window: int
) -> ExplicitShifts:
    """[BSA24, Lemma mgd-proj-opt, corrected] The shifts of mgd-proj, K = E - tau epochs back.

    a_k = (D + s K) / (l K) on tau* < k <= t* = l(E-1) + j - 1, with tau* = j + l(tau-1) - 1 (the
    paper prints j + l(tau-1), from which z does not end at 0); then s at the last visit. The start
    must not lie before the run, so K <= E - 1.

    >>> mgd_proj_shifts(1.0, 2.0, batches=2, epochs=3, position=1, window=2).z
    array([2., 2., 1., 1., 0., 0., 0.])
    """
    s, _ = signal(sensitivity, 1.0)
    D = bounded(diameter)
    ell, E, j = _position(batches, epochs, position)
    K = count("window", window, 1)
    if K > E - 1:
        raise UnmetHypothesis(
            "window",
            K,
            f"starts before the run: tau* = {j - 1 + ell * (E - 1 - K)}",
            "take window <= epochs - 1; for window = epochs the shifts of mgd-sc are better",
        )
    start = j + ell * (E - K - 1) - 1
    i = np.arange(ell * K + 1)
    shift = (D + s * K) / (ell * K)
    a, z = np.zeros(ell * E - start), np.zeros(ell * E - start + 1)
    a[: ell * K], a[ell * K] = shift, s
    z[: ell * K + 1] = np.maximum(D + s * -(-i // ell) - i * shift, 0.0)
    z[ell * K] = 0.0
    return ExplicitShifts(start, a, z)


def _earlier_epochs(c: float, ell: int, E: float) -> float:
    """`c^{2l-2} (1-c^2)/(1-c^l)^2 (1-c^{l(E-1)})/(1+c^{l(E-1)})`: what E - 1 epochs add to 1."""
    if c == 1.0:
        return (E - 1.0) / ell
    if c == 0.0:
        return 0.0
    decay = 1.0 - c
    gap, before = one_minus_power(decay, ell), one_minus_power(decay, ell * (E - 1.0))
    faded = math.exp((2 * ell - 2) * math.log(c))
    return faded * (decay * (1.0 + c) / gap / gap) * (before / (2.0 - before))


def _one_minus_signed(q: float, k: int) -> float:
    gap = one_minus_power(1.0 - abs(q), k)
    return 2.0 - gap if q < 0 and k % 2 else gap


def _position(batches: int, epochs: int, position: int) -> tuple[int, int, int]:
    ell, E = count("batches", batches, 1), count("epochs", epochs, 1)
    j = count("position", position, 1)
    if j > ell:
        raise InvalidInput("position", j, "lies beyond the epoch", f"give 1 to {ell}")
    return ell, E, j
