"""Payments of Theorem B3 for steps that differ: they lead the runs together, at little cost."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp.last_iterate.schedules.led_together import (
    MOST_LAWS,
    UnequalSteps,
    all_in_the_last_step,
    few_distinct,
    group_laws,
    grouped_payments,
)


def random_steps(seed: int, t: int, diameter: float) -> tuple[np.ndarray, UnequalSteps]:
    rng = np.random.default_rng(seed)
    c = rng.choice([0.5, 0.9, 1.0, 1.1], t)
    s, sd = rng.uniform(0.5, 2.0, t), rng.uniform(0.2, 3.0, t)
    return c, UnequalSteps.of(c, s, s, sd, diameter)


@given(st.integers(0, 10**6), st.integers(2, 25), st.integers(1, 7), st.floats(0, 1))
def test_payments_lead_the_runs_together(seed: int, t: int, most: int, share: float) -> None:
    """In fractions: nothing is left of the distance, and little more was paid than that."""
    c, steps = random_steps(seed, t, math.inf if seed % 2 else 1.7)
    count = 1 + round(share * (t - 2))
    for groups in (grouped_payments(steps, count, most), all_in_the_last_step(steps, count, most)):
        assert sum(n for _, n in groups) == count
        assert len(groups) <= max(most, 2)
        paid = [a for a, n in groups for _ in range(n)]
        z = start = Fraction(steps.start(t - count))
        spent = Fraction(0)
        for k, a in zip(range(t - count, t), paid, strict=True):
            z = Fraction(c[k]) * z - Fraction(a) * Fraction(steps.sd[k])
            spent = Fraction(c[k]) * spent + Fraction(a) * Fraction(steps.sd[k])
        assert z <= 0
        assert -z <= spent * Fraction(1, 10**9)
        assert spent > 0 or start == 0


def test_more_groups_cost_less_and_break_where_the_noise_jumps() -> None:
    t = 300
    sd = np.concatenate([np.ones(280), np.full(20, 3.0)])
    steps = UnequalSteps.of(np.full(t, 0.99), np.ones(t), np.ones(t), sd, math.inf)

    def cost(most: int) -> float:
        return sum(n * a * a for a, n in grouped_payments(steps, 200, most))

    shares, need = steps.need(200)
    best = need**2 / np.sum(shares**2)
    assert cost(1) > cost(3) > cost(6) > cost(20) > best
    assert cost(6) < 1.05 * best
    sizes = [n for _, n in grouped_payments(steps, 200, 6)]
    assert 180 in np.cumsum(sizes)


def test_a_step_that_forgets_asks_for_no_payment() -> None:
    c = np.array([1.0, 0.9, 0.0, 0.9])
    steps = UnequalSteps.of(c, np.ones(4), np.ones(4), np.ones(4), math.inf)
    assert grouped_payments(steps, 3, 4) == ((0.0, 3),)
    assert steps.longest == 1


@pytest.mark.parametrize("most", [4, 12, 64])
def test_laws_charge_each_step_of_a_group_at_least_what_it_costs(most: int) -> None:
    s = np.random.default_rng(2).uniform(0.1, 2.0, 90)
    groups = ((0.1, 20), (0.2, 30), (0.3, 10))
    laws = group_laws(s, groups, most)
    assert sum(map(len, laws)) <= max(most, len(groups))
    begin = 30
    for (_, n), charged in zip(groups, laws, strict=True):
        listed = np.repeat([x for x, _ in charged], [k for _, k in charged])
        assert len(listed) == n
        assert np.all(np.sort(listed) >= np.sort(s[begin : begin + n]))
        begin += n


@given(
    st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=60),
    st.integers(1, 20),
)
def test_each_value_is_rounded_up_to_one_of_few(values: list[float], most: int) -> None:
    found = few_distinct(np.array(values), most)
    assert len(found) <= most
    assert sum(n for _, n in found) == len(values)
    charged = np.repeat([x for x, _ in found], [n for _, n in found])
    assert np.all(np.sort(charged) >= np.sort(values))
    assert {x for x, _ in found} <= set(values)
    assert max(charged) == max(values)


def test_few_values_stay_as_they_are() -> None:
    values = np.array([0.3, 0.1, 0.3, 0.2, 0.1, 0.3])
    assert few_distinct(values) == ((0.1, 2), (0.2, 1), (0.3, 3))


@pytest.mark.parametrize(
    "values",
    [np.geomspace(0.1, 1.0, 5000), np.linspace(0.1, 1.0, 5000), 1.0 / np.linspace(1, 10, 5000)],
)
def test_rounding_costs_little(values: np.ndarray) -> None:
    found = few_distinct(values)
    assert len(found) <= MOST_LAWS
    rounded = sum(n * x * x for x, n in found) / np.sum(values**2)
    even = np.ceil(np.linspace(0, 1, 5000) * MOST_LAWS) / MOST_LAWS * (len(values) - 1)
    by_rank = np.sum(np.square(np.sort(values)[even.astype(int)])) / np.sum(values**2)
    assert 1.0 < rounded < 1.04
    assert rounded <= by_rank * (1 + 1e-3)
