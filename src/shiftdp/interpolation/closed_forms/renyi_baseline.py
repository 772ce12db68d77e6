"""The best Renyi bounds known before the paper, Ye and Shokri (2022), kept as a baseline.

Each is a rho such that the run is (alpha, rho alpha)-RDP for every alpha > 1; the conversions to
(epsilon, delta) live with the other conversions.
"""

from __future__ import annotations

import math

from shiftdp._checks import count, finite
from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import round_up
from shiftdp.interpolation.closed_forms._shared import (
    horizon,
    one_minus_power,
    signal,
    strictly_contractive,
)


def renyi_cyclic(
    contraction: float, sensitivity: float, noise: float, batches: int, epochs: float
) -> float:
    """[YS22, Thm 3.3] rho = (r^2/2)(1 + c^{l-2} (1-c^2)(1-c^{l(E-1)}) / (1-c^l)^2), r = s/sd.

    At c = 1 the limit diverges (unless E = 1), so strongly convex losses are asked for.

    Args:
        contraction: c, in (0, 1).
        sensitivity: s = eta L / b.
        noise: sd = eta sigma.
        batches: l.
        epochs: E.

    >>> round(renyi_cyclic(0.9999, 1000.0, 1500.0, batches=40, epochs=50), 4)
    0.7167
    """
    c = strictly_contractive(contraction)
    s, sd = signal(sensitivity, noise)
    ell, E = count("batches", batches, 1), horizon("epochs", epochs)
    decay = 1.0 - c
    gap, before = one_minus_power(decay, ell), one_minus_power(decay, ell * (E - 1.0))
    earlier = math.exp((ell - 2) * math.log(c)) * decay * (1.0 + c) / gap / gap * before
    return round_up((s / sd) ** 2 / 2.0 * (1.0 + earlier))


def renyi_full_batch(
    contraction: float,
    sensitivity: float,
    noise: float,
    steps: float,
    *,
    learning_rate: float,
    strong_convexity: float,
) -> float:
    """[YS22, Thm D.6] rho = (1+c)/(1-c) (1 - (1 - eta m/2)^t) r^2, r = s/sd = L/(n sigma).

    >>> round(renyi_full_batch(0.95, 0.1, 1.0, 10, learning_rate=0.05, strong_convexity=1.0), 4)
    0.0872
    """
    c = strictly_contractive(contraction)
    s, sd = signal(sensitivity, noise)
    t = horizon("steps", steps)
    eta = finite("learning_rate", learning_rate, 0.0, open_low=True)
    m = finite("strong_convexity", strong_convexity, 0.0, open_low=True)
    if eta * m / 2.0 > 1.0:
        raise UnmetHypothesis(
            "learning_rate", eta, "exceeds 2/strong_convexity", "lower it below 2/smoothness"
        )
    r = s / sd
    return round_up((1.0 + c) / (1.0 - c) * one_minus_power(eta * m / 2.0, t) * r * r)
