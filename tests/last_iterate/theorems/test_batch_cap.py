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


def test_probabilities_of_steps_that_depend_on_each_other_are_added_up() -> None:
    """Two records in two batches, at most one of them in each: it fails unless they part."""
    one = tail_probability(2, 0.5, 2)
    assert cap_failure(3, 0.5, 2, 2) == pytest.approx(1 - (1 - one) ** 2)
    assert 0.5 <= cap_failure(3, 0.5, 2, 2, independent=False) <= 1.0
    rare = cap_failure(10_000, 0.01, 175, 1000, independent=False)
    assert cap_failure(10_000, 0.01, 175, 1000) <= rare
    cap = choose_cap(10_000, 0.01, 1000, 1e-8, independent=False)
    assert cap_failure(10_000, 0.01, cap, 1000, independent=False) <= 1e-8
