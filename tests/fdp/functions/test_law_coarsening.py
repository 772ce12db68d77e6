"""Coarsened laws: never smaller in the stochastic order, and hardly worse."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import gamma, norm, poisson

from shiftdp import InvalidInput
from shiftdp.fdp import HiddenExchange, HiddenReplaceOne, HiddenZeroOut
from shiftdp.fdp.functions.law_coarsening import cheapest_cells, coarsened
from tests.fdp.catalogue import log_uniform
from tests.fdp.hidden_laws import Law, laws


def smooth(name: str, size: int = 3000) -> Law:
    """Laws of some thousand values, as runs have them."""
    mu = np.linspace(0.0, 20.0, size)
    if name == "bulk":  # many participations
        density = norm.pdf(mu, 2.0, 0.15) + 1e-12 * np.exp(-mu)
    elif name == "steps":  # few, of which each counts
        density = sum(
            poisson.pmf(k, 0.3) * norm.pdf(mu, math.sqrt(0.2 + 4.0 * k), 0.1) for k in range(30)
        )
    else:
        density = gamma.pdf(mu, 4.0, scale=0.25)
    weight = np.asarray(density) + 1e-40
    return tuple(mu.tolist()), tuple((weight / weight.sum()).tolist())


def tails(law: Law) -> dict[float, Fraction]:
    """Pr(W >= x) at each value, exactly; 1 at the first."""
    found, total = dict[float, Fraction](), Fraction(0)
    for m, w in reversed(list(zip(*law, strict=True))):
        total += Fraction(w)
        found[m] = total
    found[law[0][0]] = Fraction(1)
    return found


def assert_dominates(large: Law, small: Law) -> None:
    """Between two values of the larger law its tail is that at the upper one."""
    of_large = tails(large)
    values = np.array(large[0])
    for m, tail in tails(small).items():
        at = int(np.searchsorted(values, m))
        assert at < values.size
        assert min(of_large[float(values[at])], Fraction(1)) >= min(tail, Fraction(1))


@settings(max_examples=60)
@given(laws(log_uniform(1e-4, 50.0), log_uniform(1e-18, 1.0), 30), st.integers(1, 20))
def test_no_tail_falls_by_as_much_as_a_rounding(law: Law, most: int) -> None:
    found = coarsened(*law, most)
    assert len(found[0]) <= most
    assert_dominates(found, law)
    assert set(found[0]) <= set(law[0])
    assert found[0][-1] == law[0][-1]
    HiddenExchange(*found)  # it is a law


@pytest.mark.parametrize(("name", "cost"), [("bulk", 0.0015), ("steps", 0.0035), ("broad", 0.01)])
def test_three_hundred_values_cost_little(name: str, cost: float) -> None:
    """The more, the broader the law is: cells have to be narrow wherever some delta has its x."""
    law = smooth(name)
    found = coarsened(*law, 300)
    assert 290 <= len(found[0]) <= 300
    assert_dominates(found, law)
    for fine, coarse in (
        (HiddenExchange(*law), HiddenExchange(*found)),
        (HiddenReplaceOne(*law), HiddenReplaceOne(*found)),
        (HiddenZeroOut(*law, swapped=True), HiddenZeroOut(*found, swapped=True)),
    ):
        for delta in (1e-5, 1e-8, 1e-12):
            assert 1.0 <= coarse.epsilon(delta) / fine.epsilon(delta) <= 1.0 + cost
    # the other direction of a zero-out counts less: its epsilon is the smaller one
    back = HiddenZeroOut(*found).epsilon(1e-8) / HiddenZeroOut(*law).epsilon(1e-8)
    assert 1.0 <= back <= 1.02


def test_the_cost_falls_with_the_number_of_values() -> None:
    law = smooth("broad")
    exact = HiddenExchange(*law).epsilon(1e-7)
    costs = [HiddenExchange(*coarsened(*law, n)).epsilon(1e-7) / exact - 1.0 for n in (20, 80, 320)]
    assert costs[0] > 2.5 * costs[1] > 2.5 * 2.5 * costs[2] > 0.0


def test_even_cells_cost_more() -> None:
    law = smooth("steps")
    mu, weight = np.array(law[0]), np.array(law[1])
    ends = np.arange(29, 3000, 30)
    even = tuple(mu[ends]), tuple(np.add.reduceat(weight, np.append(0, ends[:-1] + 1)))
    best = coarsened(*law, 100)
    for delta in (1e-5, 1e-9, 1e-12):
        assert HiddenExchange(*best).epsilon(delta) < HiddenExchange(*even).epsilon(delta)


def test_rare_values_far_out_are_not_joined_with_the_rest() -> None:
    mu = (*np.linspace(0.0, 5.0, 500).tolist(), 100.0, 1e4)
    weight = np.append(np.exp(-np.array(mu[:-2])), [1e-14, 1e-15])
    found = coarsened(mu, weight / weight.sum(), 100)
    assert found[0][-2:] == (100.0, 1e4)
    assert found[0][-3] <= 5.0


def test_a_law_with_few_values_stays_as_it_is() -> None:
    mu, weight = (0.0, 1.0, 2.5), (0.5, 0.25, 0.25)
    assert coarsened(mu, weight, 3) == (mu, weight)
    assert coarsened(mu, weight, 300) == (mu, weight)


def test_values_without_weight_are_left_out() -> None:
    assert coarsened((0.0, 1.0, 2.0), (0.5, 0.0, 0.5), 3) == ((0.0, 2.0), (0.5, 0.5))
    assert coarsened((0.0, 1.0, 2.0), (0.5, 0.5, 0.0), 1) == ((1.0,), (1.0,))


def test_one_value_is_the_largest() -> None:
    assert coarsened((0.0, 1.0, 2.5), (0.5, 0.25, 0.25), 1) == ((2.5,), (1.0,))
    assert coarsened((0.0, 1e-30), (0.5, 0.5), 1) == ((1e-30,), (1.0,))


def test_weights_that_add_up_to_a_little_more_than_one_lose_it_at_the_bottom() -> None:
    mu, weight = (0.5, 1.0, 2.0), (1e-18, 0.5, 0.5)
    assert coarsened(mu, weight, 3) == ((1.0, 2.0), (0.5, 0.5))


@pytest.mark.parametrize(("name", "arguments"), [
    ("most", ((1.0, 2.0), (0.5, 0.5), 0)),
    ("weight", ((1.0, 2.0), (1.0,), 2)),
    ("mu", ((), (), 2)),
    ("mu", ((2.0, 1.0), (0.5, 0.5), 2)),
    ("mu", ((-1.0, 1.0), (0.5, 0.5), 2)),
    ("weight", ((1.0, 2.0), (0.0, 0.0), 2)),
    ("weight", ((1.0, 2.0), (-0.5, 0.5), 2)),
])  # fmt: skip
def test_arguments_are_checked(name: str, arguments: tuple[Law, Law, int]) -> None:
    with pytest.raises(InvalidInput, match=f"^{name}="):
        coarsened(*arguments)  # type: ignore[arg-type]


LAWS = st.lists(st.tuples(st.floats(0.01, 1.0), st.floats(0.01, 1.0)), min_size=4, max_size=9)


def costs(weights: np.ndarray, u: np.ndarray, ends: list[int]) -> list[float]:
    """What moving each cell to its largest value costs."""
    cells = np.split(np.arange(u.size), np.array(ends[:-1]) + 1)
    return [float(np.sum(weights[cell] * (u[cell[-1]] - u[cell]))) for cell in cells]


@given(LAWS, st.integers(1, 4), st.booleans())
def test_the_dearest_cell_is_as_cheap_as_can_be(
    law: list[tuple[float, float]], most: int, from_below: bool
) -> None:
    weights, u = np.array([w for w, _ in law]), np.cumsum([step for _, step in law])
    rows = (weights, weights * u)
    if from_below:
        mass, moment = (-np.append(0.0, np.cumsum(row)) for row in rows)
    else:
        mass, moment = (np.append(np.cumsum(row[::-1])[::-1], 0.0) for row in rows)
    whole = float(np.sum(weights * (u[-1] - u)))
    ends = cheapest_cells(u, (mass, moment), most, (1e-12, 2.0 * whole), 1e-6).tolist()
    assert len(ends) <= most
    assert ends == sorted(set(ends))
    assert ends[-1] == u.size - 1
    least = min(
        max(costs(weights, u, [*cut, u.size - 1]))
        for cut in combinations(range(u.size - 1), min(most, u.size) - 1)
    )
    assert max(costs(weights, u, ends)) <= least * (1.0 + 1e-5) + 1e-9
