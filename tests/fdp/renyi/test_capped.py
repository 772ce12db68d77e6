"""Renyi moments of the bound for batches without replacement: never below, and close."""

from __future__ import annotations

import math

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from shiftdp.fdp import HiddenExchange
from shiftdp.fdp.pairs.mean_law import MeanLaw
from shiftdp.fdp.renyi.capped import capped_log_moment
from tests.fdp.catalogue import log_uniform
from tests.fdp.hidden_laws import Law, atoms, capped_integrand, fixed_point, laws


def exact_log_moment(f: HiddenExchange, order: float) -> mpf:
    """M - 1 = int_x^inf phi (B^order - B - 1 + B^(1 - order)), by mpmath's quadrature."""
    law = atoms(f)
    with mpmath.workdps(30):
        start, top, k = fixed_point(law), law[-1][1], mpf(order)

        def g(y: mpf) -> mpf:
            b = capped_integrand(law, y)
            return mpmath.npdf(y) * (b**k - b - 1 + b ** (1 - k))

        end = k * top + 14
        cells = int(end - start) + 2
        inner = {m for _, m in law if m > start} | set(mpmath.linspace(start, end, cells))
        return mpmath.log1p(mpmath.quad(g, sorted(inner)))


@settings(max_examples=8)
@given(laws(log_uniform(0.01, 4.0), log_uniform(1e-5, 1.0), 3), st.floats(1.01, 10.0))
def test_moments_against_mpmath(law: Law, order: float) -> None:
    f = HiddenExchange(*law)
    if f.gdp_mu is not None:
        return
    exact, found = exact_log_moment(f, order), f._log_moment(order)
    assert exact <= found <= exact * (1 + mpf("1e-3"))


def test_orders_of_any_size_have_a_bound() -> None:
    f = HiddenExchange((0.5, 3.0), (0.9, 0.1))
    divergences = [f.renyi(order) for order in (1.0001, 1.5, 30.0, 1e3, 1e6)]
    assert all(math.isfinite(d) for d in divergences)
    assert divergences == sorted(divergences)
    assert f.renyi(1e3) == pytest.approx(1e3 * 9 / 2, rel=1e-2)  # the largest value alone


def test_a_moment_that_no_float_can_hold_is_infinite() -> None:
    law = MeanLaw.of((1.0, 1e100), (0.5, 0.5))
    assert capped_log_moment(law, 0.1, 1e100) == math.inf


def test_starting_left_of_the_fixed_point_raises_it() -> None:
    law = MeanLaw.of((0.5, 3.0), (0.9, 0.1))
    assert capped_log_moment(law, 0.1, 2.0) >= capped_log_moment(law, 0.3, 2.0)
