"""Budgets of every kind: what they mean, what a certificate spends, what is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp import (
    GaussianTradeoff,
    Geometry,
    InvalidInput,
    NoisyGD,
    certify,
)
from shiftdp.privacy import Budget, budget_of

GEOMETRY = Geometry(strong_convexity=1.0, smoothness=10.0, sensitivity=1.0)
KINDS: list[dict[str, Any]] = [
    {"epsilon": 1.0, "delta": 1e-5},
    {"epsilon": 0.0, "delta": 0.1},
    {"mu": 0.7},
    {"renyi": 0.3, "order": 4.0},
    {"advantage": 0.25},
    {"tpr": 0.1, "fpr": 0.02},
]


@pytest.mark.parametrize("terms", KINDS)
def test_a_gaussian_spends_what_its_mu_says(terms: dict[str, Any]) -> None:
    budget = budget_of(**terms)
    mu = budget.mu(budget.limit)
    for factor in (1 - 1e-6, 1 + 1e-6):
        # one step of full-batch descent on n records is G(L / (n sigma))
        run = NoisyGD(n=1, steps=1, learning_rate=0.1, noise=1.0 / (mu * factor))
        certificate = certify(run, GEOMETRY)
        assert budget.met(certificate) == (factor < 1)
        assert budget.excess(certificate) == pytest.approx(math.log(factor), abs=1e-9)


@pytest.mark.parametrize("terms", KINDS)
def test_budgets_read_as_they_are_written(terms: dict[str, Any]) -> None:
    budget = budget_of(**terms)
    shown = ", ".join(f"{name}={value!r}" for name, value in terms.items())
    assert repr(budget) == f"Budget({shown})"
    assert str(budget).startswith(next(iter(terms)))
    assert budget.with_limit(0.5) == Budget(budget.measure, 0.5, budget.at)


@given(st.floats(0.01, 20.0), st.sampled_from([1e-300, 1e-10, 1e-5, 0.1]))
def test_over_has_the_sign_of_the_excess(mu: float, delta: float) -> None:
    epsilon = GaussianTradeoff(mu).epsilon(delta)
    budget = budget_of(epsilon=epsilon, delta=delta)
    assert budget.over(epsilon) <= 0.0 < budget.over(math.nextafter(epsilon, math.inf))
    assert budget.over(math.inf) == math.inf


@pytest.mark.parametrize(
    ("terms", "name"),
    [
        ({}, "budget"),
        ({"epsilon": 1.0, "delta": 1e-5, "mu": 1.0}, "budget"),
        ({"delta": 1e-5}, "budget"),
        ({"epsilon": 1.0}, "delta"),
        ({"mu": 1.0, "delta": 1e-5}, "delta"),
        ({"renyi": 1.0}, "order"),
        ({"tpr": 0.1}, "fpr"),
        ({"advantage": 0.1, "fpr": 0.1}, "fpr"),
        ({"epsilon": -1.0, "delta": 1e-5}, "epsilon"),
        ({"epsilon": math.inf, "delta": 1e-5}, "epsilon"),
        ({"epsilon": math.nan, "delta": 1e-5}, "epsilon"),
        ({"epsilon": 1.0, "delta": 0.0}, "delta"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta"),
        ({"renyi": 1.0, "order": 1.0}, "order"),
        ({"advantage": 1.0}, "advantage"),
        ({"tpr": 1.0, "fpr": 0.1}, "tpr"),
        ({"mu": "1"}, "mu"),
    ],
)
def test_meaningless_budgets_are_refused(terms: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        budget_of(**terms)
    assert refusal.value.name == name


def test_a_keyword_that_is_no_budget_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match=r"^eps=1.0 is no part of a budget; give epsilon with"):
        budget_of(eps=1.0, delta=1e-5)
