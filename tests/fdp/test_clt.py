"""The central limit theorem: near the truth, and never mistaken for a bound."""

from __future__ import annotations

import math

import mpmath
import pytest
from hypothesis import given
from mpmath import mpf

from shiftdp import InvalidInput, Uncertified
from shiftdp.fdp import GaussianTradeoff, subsampled_clt
from tests.fdp.catalogue import log_uniform


@given(log_uniform(1e-20, 20.0), log_uniform(1e-6, 1.0))
def test_the_formula_in_high_precision(mu: float, p: float) -> None:
    with mpmath.workdps(120):
        m = mpf(mu)
        phi = [mpmath.erfc(-x / mpmath.sqrt(2)) / 2 for x in (1.5 * m, -0.5 * m)]
        square = mpmath.exp(m * m) * phi[0] + 3 * phi[1] - 2
        true = float(mpf(p) * mpmath.sqrt(2 * 1000 * square))
    assert subsampled_clt(p, mu, 1000).value.mu == pytest.approx(true, rel=1e-12)


def test_it_is_typed_as_an_approximation() -> None:
    answer = subsampled_clt(0.025, 2 / 3, 2000)
    assert isinstance(answer, Uncertified)
    assert answer.kind == "approximation"
    assert "not a bound" in repr(answer)
    assert not isinstance(answer, GaussianTradeoff)
    with pytest.raises(TypeError):
        float(answer)  # type: ignore[arg-type]


@pytest.mark.parametrize(("p", "mu", "t"), [(0.0, 40.0, 10), (0.5, 40.0, 0), (0.5, 0.0, 10)])
def test_nothing_sampled_is_perfect_privacy(p: float, mu: float, t: int) -> None:
    assert subsampled_clt(p, mu, t).value == GaussianTradeoff(0.0)


def test_a_huge_mu_is_no_privacy() -> None:
    assert subsampled_clt(0.5, 40.0, 10).value.mu == math.inf
    assert subsampled_clt(0.5, 1e200, 10).value.mu == math.inf


@pytest.mark.parametrize(
    ("p", "mu", "t", "name"),
    [(1.5, 1.0, 1, "p"), (0.5, -1.0, 1, "mu"), (0.5, math.inf, 1, "mu"), (0.5, 1.0, 1.5, "t")],
)
def test_bad_input(p: float, mu: float, t: int, name: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        subsampled_clt(p, mu, t)
    assert refusal.value.name == name


def test_more_steps_than_floats_count_are_refused() -> None:
    with pytest.raises(InvalidInput, match="t="):
        subsampled_clt(0.1, 1.0, 10**400)
