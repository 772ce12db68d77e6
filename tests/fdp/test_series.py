"""Functions by their power series."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf

from shiftdp.fdp._series import exp_excess


@given(st.floats(-1.0, 1.0))
def test_exp_excess_keeps_all_digits(y: float) -> None:
    exact = mpmath.expm1(mpf(y)) - mpf(y)
    assert float(exp_excess(np.array([y]))[0]) == pytest.approx(float(exact), rel=1e-15, abs=1e-307)
