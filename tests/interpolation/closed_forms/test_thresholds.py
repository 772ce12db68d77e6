"""Crossings in rational arithmetic, against a direct search."""

from __future__ import annotations

from fractions import Fraction

import pytest

from shiftdp._errors import InvalidInput
from shiftdp.interpolation.closed_forms.thresholds import gd_proj_crossing, mgd_proj_crossing

GRID = [("1", "0.25", "0.04"), ("1", "1", "0.03"), ("7/3", "0.6", "1/9"), ("0.01", "1", "0.1")]


@pytest.mark.parametrize("setting", GRID)
@pytest.mark.parametrize("batches", [1, 3, 40])
def test_the_crossings_are_the_first_epochs(setting: tuple[str, str, str], batches: int) -> None:
    D, r, eta = (Fraction(word) for word in setting)
    found = mgd_proj_crossing(D, r, eta, batches)
    R = D / (eta * r)
    level = 1 + (3 * R + -(-R // 1)) / batches  # (mu* / (L / (b sigma)))^2

    def first_from_start(epochs: int) -> bool:
        return 1 + Fraction(epochs - 1, batches) >= level

    assert found.composition >= level > found.composition - 1
    assert first_from_start(found.from_the_start)
    assert not first_from_start(found.from_the_start - 1)
    assert found.closed_form >= R > found.closed_form - 1
    t = gd_proj_crossing(D, r, eta)
    assert t >= 3 * R + -(-R // 1) > t - 1


def test_decimals_mean_what_they_say() -> None:
    """In binary, 1 / (0.01 * 1) and friends miss their whole number."""
    assert mgd_proj_crossing(1, 0.1, 0.3, 1).closed_form == 34
    assert gd_proj_crossing(3, 0.1, 0.3) == 400
    with pytest.raises(InvalidInput, match=r"learning_rate=0\.0"):
        gd_proj_crossing(1, 1, 0.0)
    with pytest.raises(InvalidInput, match="is not positive"):
        gd_proj_crossing(1, 1, Fraction(-1, 3))
