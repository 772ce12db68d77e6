"""Thm proj-lb is a statement, not a number."""

from __future__ import annotations

from shiftdp.interpolation.closed_forms.constrained_optimality import (
    ConstrainedLowerBound,
    constrained_lower_bound,
)


def statement(noise: float, passes: float, diameter: float = 1.0) -> ConstrainedLowerBound:
    return constrained_lower_bound(
        sensitivity=1.0,
        diameter=diameter,
        learning_rate=0.1,
        noise=noise,
        n=100,
        batch_size=10,
        passes=passes,
    )


def test_it_says_when_it_does_not_apply() -> None:
    assert statement(noise=0.1, passes=99).ruled_out
    assert not statement(noise=0.1, passes=100).ruled_out
    assert statement(noise=0.2, passes=100).ruled_out  # sigma^2 eta n / (L D) = 0.4
    assert statement(noise=1e-9, passes=100, diameter=1e-4).ruled_out  # D/s = 0.01


def test_it_never_shows_a_mu() -> None:
    applies = statement(noise=0.1, passes=100)
    assert "without a known value" in str(applies)
    assert not hasattr(applies, "mu")
    assert not hasattr(applies, "__float__")
