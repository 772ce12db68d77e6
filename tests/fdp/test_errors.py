"""Whatever makes no sense raises InvalidInput, with the name, the value and a remedy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shiftdp
from shiftdp import InvalidInput, ShiftdpError
from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    Identity,
    LaplaceTradeoff,
    Maximum,
    Minimum,
    Mixture,
    PiecewiseLinear,
    Subsampled,
    WithFailure,
    dominates,
    renyi_epsilon,
    zcdp_epsilon,
)

F: Any = GaussianTradeoff(1.0)
NOT_NUMBERS: list[Any] = [
    "1",
    None,
    True,
    np.True_,
    1j,
    {},
    ...,
    b"1",
    math.nan,
    [[1], [2, 3]],
]
NEGATIVE: list[Any] = [*NOT_NUMBERS, -1.0, -1e-300, -(10**400), [1.0, 2.0], []]
PROBABILITY: list[Any] = [*NEGATIVE, 1.0 + 1e-15, math.inf, 10**400]
FINITE: list[Any] = [*NEGATIVE, math.inf, 10**400]
# where an array may stand, too
SHARES: list[Any] = [*NOT_NUMBERS, -1e-300, 1.0 + 1e-15, math.inf, 10**400]
SHARES += [[], [[]], [0.5, math.nan], [0.5, 2.0], ["0.5"], [True, False], [0.5, None]]

CASES: list[tuple[str, str, Callable[[Any], Any], list[Any]]] = [
    ("Gaussian mu", "mu", GaussianTradeoff, NEGATIVE),
    ("Laplace mu", "mu", LaplaceTradeoff, FINITE),
    ("ApproxDP epsilon", "epsilon", ApproxDPTradeoff, NEGATIVE),
    ("ApproxDP delta", "delta", lambda v: ApproxDPTradeoff(1.0, v), PROBABILITY),
    ("failure", "failure", lambda v: WithFailure(F, v), PROBABILITY),
    ("subsample", "p", F.subsample, PROBABILITY),
    ("Subsampled", "p", lambda v: Subsampled(F, v), [*PROBABILITY, 0.0]),
    ("f(alpha)", "alpha", F, SHARES),
    ("epsilon(delta)", "delta", F.epsilon, SHARES),
    ("delta(epsilon)", "epsilon", F.delta, [*NOT_NUMBERS, [], [1.0, math.nan], ["1"]]),
    ("tpr", "fpr", F.tpr, PROBABILITY),
    ("bayes_risk", "prior", F.bayes_risk, PROBABILITY),
    ("renyi", "order", F.renyi, [*FINITE, 1.0, 0.5]),
    ("power", "k", F.power, [*NOT_NUMBERS, -1, 0.5, math.inf, -(10**400), [1]]),
    ("budget epsilon", "epsilon", lambda v: GaussianTradeoff.from_budget(v, 0.1), NEGATIVE),
    ("budget delta", "delta", lambda v: GaussianTradeoff.from_budget(1.0, v), PROBABILITY),
    ("zcdp rho", "rho", lambda v: zcdp_epsilon(v, delta=1e-5), FINITE),
    ("zcdp delta", "delta", lambda v: zcdp_epsilon(1.0, delta=v), [*PROBABILITY, 0.0, 1.0]),
    (
        "renyi delta",
        "delta",
        lambda v: renyi_epsilon(lambda a: a, delta=v),
        [*PROBABILITY, 0.0, 1.0],
    ),
    ("weights", "weights", lambda v: Mixture([F, F], v), [[1.0], [1, -1], [0, 0], ["a", "b"]]),
    ("weights shape", "weights", lambda v: Mixture([F, F], v), [[], [[1.0, 2.0]], [math.inf, 1]]),
    ("mixture", "components", Mixture, [[], [1.0], ["f"], 3]),
    ("minimum", "components", Minimum, [[], [1.0], [F, None], 3]),
    ("maximum", "components", Maximum, [[], [1.0], [F, None], 3]),
    ("compose", "factors", F.compose, [1.0, None, "f", [F]]),
    ("base", "base", lambda v: WithFailure(v, 0.1), [1.0, None]),
    ("subsampled base", "base", lambda v: Subsampled(v, 0.1), [1.0, None]),
    ("dominates f", "f", lambda v: dominates(v, F), [1.0, None]),
    ("dominates g", "g", lambda v: dominates(F, v), [1.0, None]),
    ("knots", "alpha", lambda v: PiecewiseLinear(v, [1, 0]), [["0", "1"], [0, 2], [], None]),
]


@pytest.mark.parametrize(
    ("name", "call", "value"),
    [
        pytest.param(name, call, value, id=f"{label}: {str(value)[:24]}")
        for label, name, call, values in CASES
        for value in values
    ],
)
def test_bad_input_is_refused(name: str, call: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(InvalidInput) as refusal:
        call(value)
    error = refusal.value
    assert error.name == name
    assert error.remedy.startswith(("give", "choose"))
    assert str(error).startswith(f"{name}=")
    assert error.remedy in str(error)
    assert len(str(error)) < 300
    assert isinstance(error, ValueError)
    assert isinstance(error, ShiftdpError)


def test_the_value_is_the_offending_one() -> None:
    with pytest.raises(InvalidInput) as refusal:
        F([0.1, 0.2, 1.5, 0.3])
    assert refusal.value.value == 1.5
    with pytest.raises(InvalidInput) as refusal:
        GaussianTradeoff(-2.0)
    assert refusal.value.value == -2.0


@pytest.mark.parametrize(
    "value", [1, 1.0, np.float32(1), np.float64(1), np.int64(1), np.array(1.0)]
)
def test_any_real_number_will_do(value: Any) -> None:
    f = GaussianTradeoff(value)
    assert type(f.mu) is float
    assert f == GaussianTradeoff(1.0)
    assert hash(f) == hash(GaussianTradeoff(1.0))
    assert WithFailure(F, value * 0 + 0.0) == WithFailure(F, 0.0)
    assert ApproxDPTradeoff(value) == ApproxDPTradeoff(1.0)


@pytest.mark.parametrize("values", [(0.1, 0.2), [0, 1], np.array([0.1], np.float32), range(2)])
def test_any_array_of_reals_will_do(values: Any) -> None:
    assert np.asarray(F(values)).shape == (len(values),)
    assert np.asarray(F.delta(values)).dtype == np.float64


def test_the_public_names_are_there() -> None:
    assert {"GaussianTradeoff", "ApproxDPTradeoff", "Identity", "dominates"} <= set(shiftdp.__all__)
    assert all(hasattr(shiftdp, name) for name in shiftdp.__all__)
    assert Identity().compose(Identity()) == Identity()
