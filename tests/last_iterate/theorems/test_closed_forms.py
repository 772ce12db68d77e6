"""The paper's closed forms, called with the numbers of the run."""

from __future__ import annotations

import math

import pytest

from shiftdp.interpolation.closed_forms.cyclic_descent import mgd_proj_best, mgd_sc
from shiftdp.interpolation.closed_forms.gradient_descent import gd_proj_best, gd_sc
from tests.last_iterate.theorems import usual
from tests.last_iterate.theorems.by_name import CGD, GD, bounds

EXAMPLES: usual.Examples = {
    "Thm gd-sc": (usual.GD, usual.RIDGE),
    "Thm mgd-sc": (usual.CGD, usual.RIDGE),
    "Thm gd-proj": (usual.GD, usual.BALL),
    "Thm mgd-proj": (usual.CGD, usual.BALL),
}


def test_closed_forms_of_the_paper_are_called_with_the_numbers_of_the_run() -> None:
    full = bounds(GD, diameter=1.5)
    c, s, sd = 0.9, 0.2 * 3.0 / 30, 0.2 * 0.4
    assert full["Thm gd (composition)"].mu == pytest.approx(s / sd * math.sqrt(20))
    assert full["Thm gd-sc"].mu == pytest.approx(gd_sc(c, s, sd, 20))
    assert full["Thm gd-proj"].mu == pytest.approx(gd_proj_best(s, sd, 1.5, 20))
    cyclic, s = bounds(CGD, diameter=1.5), 0.2 * 3.0 / 10
    assert cyclic["Thm mgd (composition)"].mu == pytest.approx(s / sd * math.sqrt(20))
    assert cyclic["Thm mgd-sc"].mu == pytest.approx(mgd_sc(c, s, sd, 3, 20))
    assert cyclic["Thm mgd-proj"].mu == pytest.approx(mgd_proj_best(s, sd, 1.5, 3, 20))
