"""How likely a Poisson batch is too large."""

from __future__ import annotations

import pytest

from shiftdp.last_iterate.theorems.batch_cap import cap_failure, choose_cap, tail_probability


@pytest.mark.parametrize(
    ("n", "p", "at_least"),
    [(100, 0.1, 25), (9999, 0.01, 175), (10**6, 1e-3, 1300), (50, 0.3, 40), (50, 0.3, 50)],
)
def test_the_tail_is_that_of_the_binomial_law(n: int, p: float, at_least: int) -> None:
    from scipy.stats import binom

    exact = float(binom.sf(at_least - 1, n, p))
    assert exact <= tail_probability(n, p, at_least) <= exact * (1 + 1e-3)


def test_the_ends_are_certain() -> None:
    assert tail_probability(10, 0.5, 11) == 0.0
    assert tail_probability(10, 0.5, 4) == 1.0
    assert tail_probability(10, 1.0, 10) == 1.0
    assert cap_failure(100, 0.1, 100, 10**6) == 0.0
    assert cap_failure(100, 0.1, 5, 10) == 1.0


def test_the_least_cap_is_chosen() -> None:
    cap = choose_cap(10_000, 0.01, 1000, 1e-8)
    assert cap_failure(10_000, 0.01, cap, 1000) <= 1e-8
    assert cap_failure(10_000, 0.01, cap - 1, 1000) > 1e-8
