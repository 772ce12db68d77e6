"""Products of different mechanisms: our interval and the one of dp_accounting have to meet."""

from __future__ import annotations

from typing import Any

import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given
from hypothesis import strategies as st

import shiftdp as sdp
from shiftdp.fdp import Minimum, PoissonReplaceOne, PoissonZeroOut
from shiftdp.fdp.composition.composite import Composite

MESH = 1e-3
ONE = NeighboringRelation.REPLACE_ONE

# (kind, parameters, how often): gaussian (noise), laplace (scale), poisson (p, noise)
Part = tuple[str, tuple[float, ...], int]


def ours(parts: list[Part], relation: NeighboringRelation | None = None) -> sdp.TradeoffFunction:
    """The product, the world with the record first."""
    laws = [_law(kind, values, relation).power(count) for kind, values, count in parts]
    return laws[0].compose(*laws[1:])


def _law(
    kind: str, values: tuple[float, ...], relation: NeighboringRelation | None
) -> sdp.TradeoffFunction:
    if kind == "gaussian":
        return sdp.GaussianTradeoff((2 if relation == ONE else 1) / values[0])
    if kind == "laplace":
        return sdp.LaplaceTradeoff(1 / values[0])
    p, noise = values
    if relation == ONE:
        return PoissonReplaceOne(p, 0.0, 1 / noise)
    return PoissonZeroOut(p, 0.0, 1 / noise)


def theirs(
    parts: list[Part], delta: float, relation: NeighboringRelation | None = None
) -> tuple[float, float]:
    """Their optimistic and pessimistic epsilon."""
    ends = []
    for pessimistic in (False, True):
        total: Any = None
        for kind, values, count in parts:
            law = _pld(kind, values, relation, pessimistic).self_compose(count)
            total = law if total is None else total.compose(law)
        ends.append(float(total.get_epsilon_for_delta(delta)))
    return ends[0], ends[1]


def _pld(
    kind: str, values: tuple[float, ...], relation: NeighboringRelation | None, pessimistic: bool
) -> Any:
    common: dict[str, Any] = {
        "value_discretization_interval": MESH,
        "pessimistic_estimate": pessimistic,
    }
    if kind == "laplace":
        return pld.from_laplace_mechanism(values[0], **common)
    if relation is not None:
        common["neighboring_relation"] = relation
    if kind == "gaussian":
        return pld.from_gaussian_mechanism(values[0], **common)
    p, noise = values
    return pld.from_gaussian_mechanism(noise, sampling_prob=p, **common)


def interval(f: sdp.TradeoffFunction, delta: float) -> tuple[float, float]:
    """Both directions, and the worse of the two."""
    ends = []
    for g in (f, f.inverse()):
        known = g.epsilon_interval(delta) if isinstance(g, Composite) else (g.epsilon(delta),) * 2
        ends.append(known)
    return max(low for low, _ in ends), max(high for _, high in ends)


def meet(one: tuple[float, float], other: tuple[float, float]) -> bool:
    # closed forms are exact to 1e-11 or so, and theirs carries the rounding of its transforms
    slack = 1e-9
    return one[0] <= other[1] + slack and other[0] <= one[1] + slack


MIXED: list[list[Part]] = [
    [("gaussian", (2.0,), 3), ("laplace", (4.0,), 5)],
    [("poisson", (0.05, 1.0), 40), ("gaussian", (5.0,), 1)],
    [("poisson", (0.02, 0.8), 30), ("poisson", (0.2, 2.0), 10), ("laplace", (3.0,), 2)],
    [("poisson", (0.01, 1.0), 100), ("gaussian", (4.0,), 2), ("laplace", (5.0,), 1)],
]


@pytest.mark.parametrize("parts", MIXED, ids=range(len(MIXED)))
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_zero_out(parts: list[Part], delta: float) -> None:
    low, high = interval(ours(parts), delta)
    assert low <= high <= low + 1.1e-3
    assert meet((low, high), theirs(parts, delta))


@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_replace_one(delta: float) -> None:
    parts: list[Part] = [("poisson", (0.05, 1.5), 40), ("poisson", (0.2, 3.0), 5)]
    parts.append(("gaussian", (8.0,), 2))
    low, high = interval(ours(parts, ONE), delta)
    assert low <= high <= low + 1.1e-3
    assert meet((low, high), theirs(parts, delta, ONE))


def test_directions_are_composed_on_their_own() -> None:
    """The worse direction of a product is not the product of the worse directions."""
    parts: list[Part] = [("poisson", (0.3, 0.6), 2), ("laplace", (1.0,), 1)]
    f = ours(parts)
    bound = theirs(parts, 1e-3)
    assert meet(interval(f, 1e-3), bound)
    step = PoissonZeroOut(0.3, 0.0, 1 / 0.6)
    both = Minimum((step, step.inverse())).power(2).compose(sdp.LaplaceTradeoff(1.0))
    assert both.epsilon(1e-3) >= interval(f, 1e-3)[0]


def test_grouping_does_not_matter() -> None:
    """The same product in another order, and in parts: the intervals meet."""
    a, b = PoissonZeroOut(0.05, 0.0, 1.0), sdp.GaussianTradeoff(0.3)
    c = sdp.GaussianTradeoff(1.0).subsample(0.1)
    ways = [
        a.power(20).compose(b, c.power(10)),
        c.power(4).compose(a.power(5)).compose(b).compose(a.power(15).compose(c.power(6))),
    ]
    assert meet(interval(ways[0], 1e-5), interval(ways[1], 1e-5))


def test_sampling_without_replacement_among_theirs() -> None:
    """C_p(G) is not in their library, but at p = 1 it is a Gaussian, and lies between for less."""
    parts: list[Part] = [("gaussian", (2.0,), 4), ("laplace", (4.0,), 2)]
    rest = ours(parts)
    one = sdp.GaussianTradeoff(1.0)
    whole = theirs([*parts, ("gaussian", (1.0,), 5)], 1e-5)
    assert meet(interval(rest.compose(one.subsample(1.0).power(5)), 1e-5), whole)
    some = interval(rest.compose(one.subsample(0.1).power(5)), 1e-5)
    assert theirs(parts, 1e-5)[0] <= some[1]
    assert some[0] <= whole[1]


@pytest.mark.slow
@given(
    st.floats(0.01, 0.5),
    st.floats(0.7, 3.0),
    st.integers(1, 30),
    st.floats(1.0, 5.0),
    st.integers(1, 4),
    st.sampled_from([1e-2, 1e-5]),
)
def test_random_products(
    p: float, noise: float, steps: int, scale: float, count: int, delta: float
) -> None:
    parts: list[Part] = [("poisson", (p, noise), steps), ("laplace", (scale,), count)]
    assert meet(interval(ours(parts), delta), theirs(parts, delta))
