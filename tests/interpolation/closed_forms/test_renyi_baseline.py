"""The prior Renyi bounds: never below what the run attains, and the formulas as printed."""

from __future__ import annotations

import math

import mpmath
import pytest

from shiftdp._errors import UnmetHypothesis
from shiftdp.interpolation.closed_forms.cyclic_descent import mgd_sc
from shiftdp.interpolation.closed_forms.gradient_descent import gd_sc
from shiftdp.interpolation.closed_forms.renyi_baseline import renyi_cyclic, renyi_full_batch


@pytest.mark.parametrize("c", [0.5, 0.9, 0.9999, 1 - 1e-9])
@pytest.mark.parametrize(("batches", "epochs"), [(1, 3), (2, 1), (5, 20), (40, 200)])
def test_the_cyclic_bound(c: float, batches: int, epochs: int) -> None:
    with mpmath.workdps(60):
        q, ell, E = mpmath.mpf(c), batches, epochs
        earlier = q ** (ell - 2) * (1 - q**2) * (1 - q ** (ell * (E - 1))) / (1 - q**ell) ** 2
        exact = float(mpmath.mpf(0.7) ** 2 / 2 * (1 + earlier))
    found = renyi_cyclic(c, 0.7, 1.0, batches, epochs)
    assert found == pytest.approx(exact, rel=1e-13)
    assert found >= mgd_sc(c, 0.7, 1.0, batches, epochs) ** 2 / 2 * (1 - 1e-13)


@pytest.mark.parametrize("t", [1, 10, 1000])
def test_the_full_batch_bound(t: int) -> None:
    found = renyi_full_batch(0.95, 0.1, 1.0, t, learning_rate=0.05, strong_convexity=1.0)
    assert found == pytest.approx(39 * (1 - 0.975**t) * 0.01, rel=1e-12)
    assert found >= gd_sc(0.95, 0.1, 1.0, t) ** 2 / 2


def test_the_convex_case_is_refused() -> None:
    with pytest.raises(UnmetHypothesis, match=r"contraction=1\.0 is not inside \(0, 1\)"):
        renyi_cyclic(1.0, 1.0, 1.0, 2, 2)
    assert math.isfinite(renyi_cyclic(0.9, 1.0, 1.0, 2, math.inf))
