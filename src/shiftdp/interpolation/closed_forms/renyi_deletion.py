"""Earlier Renyi bounds for deletion by further steps, Chien and others (2024), as a baseline.

A run is trained with a record; then it goes on without it. Both bounds compare the model after the
further steps with the one that never had the record, and hold for strongly convex losses and steps
of equal length and noise. They are restated with the constants of the authors' public programs, in
the symbols of this library: a step adds Gaussian noise of standard deviation `noise` = sd to the
iterate (theirs: sd^2 = 2 eta sigma^2), and two gradients of a record differ by at most L (theirs:
2 M, with M-Lipschitz losses). Theorem V3 is never above them; see docs/forgetting.md.
"""

from __future__ import annotations

import math

from shiftdp._checks import count, finite
from shiftdp._rounding import round_up
from shiftdp.interpolation.closed_forms._shared import (
    horizon,
    one_minus_power,
    signal,
    strictly_contractive,
)


def renyi_deletion_cyclic(
    contraction: float,
    sensitivity: float,
    noise: float,
    *,
    batches: int,
    epochs: float,
    further_steps: int,
) -> float:
    """[CWCL24, cyclic] rho = (Z/sd)^2 (1 - c^2)/(c^{-2k} - 1), Z = s (1 - c^{lE})/(1 - c^l).

    Z is the farthest that training can carry two runs apart which share their noise: the record's
    batch comes last in its epoch, and each epoch adds s to a distance that has shrunk by c^l. The
    k further steps have to hide all of Z. The authors take E = infinity; Z for E epochs is the same
    argument, and smaller.

    Args:
        contraction: c, in (0, 1).
        sensitivity: s = eta L / b.
        noise: sd = eta sigma.
        batches: l; 1 for full batches.
        epochs: E, of training.
        further_steps: k >= 1.

    Returns:
        rho such that the deletion is (alpha, rho alpha)-Renyi for every alpha > 1.

    >>> rho = renyi_deletion_cyclic(0.9999, 1.0, 1.5, batches=40, epochs=50, further_steps=2000)
    >>> round(rho, 4)
    0.3726
    """
    c = strictly_contractive(contraction)
    s, sd = signal(sensitivity, noise)
    ell, E = count("batches", batches, 1), horizon("epochs", epochs)
    k = count("further_steps", further_steps, 1)
    decay = 1.0 - c
    apart = s * one_minus_power(decay, ell * E) / one_minus_power(decay, ell)
    growth = math.expm1(min(-2.0 * k * math.log(c), _LARGEST_EXPONENT))
    return round_up((apart / sd) ** 2 * decay * (1.0 + c) / growth)


def renyi_deletion_full_batch(
    order: float,
    sensitivity: float,
    noise: float,
    *,
    learning_rate: float,
    strong_convexity: float,
    further_steps: int,
) -> float:
    """[CWCL24, full batches] D_alpha <= alpha 2 s^2/(eta m sd^2) exp(-k eta m / alpha).

    The factor of alpha is their bound on training until nothing changes any more; each further step
    multiplies it by exp(-eta m / alpha), by a log-Sobolev inequality.

    Args:
        order: alpha > 1.
        sensitivity: s = eta L / n.
        noise: sd = eta sigma.
        learning_rate: eta, at most 1/smoothness.
        strong_convexity: m > 0.
        further_steps: k.

    >>> round(
    ...     renyi_deletion_full_batch(
    ...         2.0, 0.1, 1.0, learning_rate=0.05, strong_convexity=1.0, further_steps=100
    ...     ),
    ...     4,
    ... )
    0.0657
    """
    alpha = finite("order", order, 1.0, open_low=True)
    s, sd = signal(sensitivity, noise)
    eta = finite("learning_rate", learning_rate, 0.0, open_low=True)
    m = finite("strong_convexity", strong_convexity, 0.0, open_low=True)
    k = count("further_steps", further_steps, 0)
    trained = 2.0 * (s / sd) ** 2 / (eta * m)
    return round_up(alpha * trained * math.exp(-k * eta * m / alpha))


_LARGEST_EXPONENT = 700.0
"""Beyond it `exp` overflows; the bound is then below 1e-300 of (Z/sd)^2, and is left there."""
