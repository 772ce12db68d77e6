"""Thm proj-lb: the constrained bounds are optimal up to a constant that is only known to exist.

The theorem has universal constants c_0 and c_1 without values, so it is kept as a statement with
its conditions: there is no mu to read off it.
"""

from __future__ import annotations

from dataclasses import dataclass

from shiftdp._checks import finite
from shiftdp.interpolation.closed_forms._shared import bounded, horizon

_LARGEST_C0 = 0.2  # the theorem's c_0 lies in (0, 1/5)


@dataclass(frozen=True)
class ConstrainedLowerBound:
    """[BSA24, Thm proj-lb] as it applies to one run.

    Args:
        long_enough: whether t (or E) >= D/s >= 1/2, s = eta L / (batch size).
        noise_ratio: sigma^2 eta n / (L D); the theorem asks for at most c_0, known only to be
            below 1/5.
    """

    long_enough: bool
    noise_ratio: float

    rate = "mu >= c_1 sqrt(L D / (eta n)) / sigma, for some universal c_1 > 0 without a known value"

    @property
    def ruled_out(self) -> bool:
        """Whether the theorem certainly says nothing about this run."""
        return not self.long_enough or self.noise_ratio >= _LARGEST_C0

    def __str__(self) -> str:
        if self.ruled_out:
            return "Thm proj-lb does not apply to this run"
        return (
            f"Thm proj-lb: if sigma^2 eta n / (L D) = {self.noise_ratio:.3g} is at most a universal"
            f" c_0 in (0, 1/5) without a known value, then {self.rate}"
        )


def constrained_lower_bound(
    *,
    sensitivity: float,
    diameter: float,
    learning_rate: float,
    noise: float,
    n: int,
    batch_size: int,
    passes: float,
) -> ConstrainedLowerBound:
    """The statement for NoisyGD (batch_size = n, passes = t) or NoisyCGD (passes = E).

    Args:
        sensitivity: L, of a record's gradient.
        diameter: D.
        learning_rate: eta.
        noise: sigma, on the mean gradient.
        n: records.
        batch_size: b.
        passes: how often the record is visited.

    >>> run = dict(learning_rate=0.1, noise=1.0, n=100, batch_size=100, passes=10_000)
    >>> print(constrained_lower_bound(sensitivity=1.0, diameter=1.0, **run))
    Thm proj-lb does not apply to this run
    """
    L = finite("sensitivity", sensitivity, 0.0, open_low=True)
    eta = finite("learning_rate", learning_rate, 0.0, open_low=True)
    sigma = finite("noise", noise, 0.0, open_low=True)
    D = bounded(diameter)
    needed = D * batch_size / (eta * L)
    return ConstrainedLowerBound(
        long_enough=bool(horizon("passes", passes) >= needed >= 0.5),
        noise_ratio=sigma * sigma * eta * n / (L * D),
    )
