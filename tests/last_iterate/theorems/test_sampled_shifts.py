"""Shifts of Theorem B3: they lead the runs together, at little cost."""

from __future__ import annotations

import pytest

from shiftdp.last_iterate.theorems.sampled_shifts import grouped_shifts, last_shift


@pytest.mark.parametrize("c", [0.0, 1e-3, 0.5, 0.99, 1 - 1e-9, 1.0, 1.001, 1.3])
@pytest.mark.parametrize("count", [1, 2, 7, 400])
@pytest.mark.parametrize("most", [1, 3, 8])
def test_shifts_lead_the_runs_together(c: float, count: int, most: int) -> None:
    """sum c^{t-k} a_k >= c^T z, in exact arithmetic, with little to spare."""
    from fractions import Fraction

    for groups in (grouped_shifts(c, 2.0, count, most), last_shift(c, 2.0, count)):
        assert sum(n for _, n in groups) == count
        assert all(a >= 0.0 for a, _ in groups)
        z = Fraction(2)
        for a, n in groups:
            for _ in range(n):
                z = Fraction(c) * z - Fraction(a)
                z = z.limit_denominator(10**60)
        need = float(Fraction(c) ** count * 2) if c < 1 else 2.0 * c**count
        assert z <= 1e-50
        assert float(z) >= -1e-10 * max(need, 1e-300) - 1e-40


def test_more_groups_cost_less() -> None:
    def cost(most: int) -> float:
        return sum(n * a * a for a, n in grouped_shifts(0.99, 1.0, 500, most))

    best = 0.99**1000 / sum(0.99 ** (2 * j) for j in range(500))
    assert cost(1) > cost(3) > cost(6) > cost(12) > best
    assert cost(6) < 1.02 * best
