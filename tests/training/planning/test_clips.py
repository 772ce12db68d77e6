"""Which clips are compared, and what is expected of them."""

import math
from dataclasses import replace

import pytest

from shiftdp.training import Huber, Softmax
from shiftdp.training.planning.planner import plan_for
from shiftdp.training.planning.problem import Overrides
from shiftdp.training.planning.setting import clipping_under, clips
from tests.training.planning.test_planner import CANCER, DIGITS


def test_none_and_those_below_what_records_begin_with_are_compared() -> None:
    found = clips(DIGITS, Overrides())
    start = math.sqrt(0.9) * DIGITS.norm_bound
    norms = [clip.norm for clip in found]
    assert norms == [pytest.approx(share * start) for share in (0.25, 0.5, 1.0)] + [None]
    of_one = [clip.norm for clip in clips(CANCER, Overrides())]
    shares = [pytest.approx(share * 0.5 * CANCER.norm_bound) for share in (0.25, 0.35, 0.5, 1.0)]
    assert of_one == [*shares, None]
    costs = [clip.reference.clipping for clip in found]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == 0.0


def test_the_sensitivity_is_that_of_the_plan_but_for_rounding() -> None:
    for adjacency in ("zero_out", "replace_one"):
        problem = replace(CANCER, adjacency=adjacency)
        plan = plan_for(problem, Overrides(algorithm="gd", clip=1.0)).plan
        (clip,) = clips(problem, Overrides(clip=1.0))
        assert clip.sensitivity == pytest.approx(plan.geometry.sensitivity, rel=1e-9)


def test_losses_that_begin_with_their_largest_gradient_are_not_clipped() -> None:
    (only,) = clips(replace(CANCER, loss=Huber(width=2.0)), Overrides())
    assert (only.clipping, only.norm) == ("none", None)


def test_the_average_of_a_falling_residual_is_that_of_a_fine_sum() -> None:
    for clip in clips(CANCER, Overrides()):
        bound = 1.0 if clip.norm is None else clip.norm / CANCER.norm_bound
        fine = [min(bound, 0.5 * (k + 0.5) / 10_000) for k in range(10_000)]
        assert clip.reference.slope == pytest.approx(sum(fine) / 10_000, rel=1e-6)


def test_several_classes_under_composition_are_clipped_plainly() -> None:
    first, *_, last = clips(DIGITS, Overrides())
    assert clipping_under(first, DIGITS.loss, composed=True) == "plain"
    assert clipping_under(first, DIGITS.loss, composed=False) == "envelope"
    assert clipping_under(first, Softmax(classes=2), composed=True) == "envelope"
    assert clipping_under(last, DIGITS.loss, composed=True) == "none"


def test_the_clip_loosens_with_the_budget_and_the_records() -> None:
    rich = replace(CANCER, n=1_000_000, features=50, epsilon=3.0)
    assert plan_for(rich).choices()["clip"] is None
    assert plan_for(CANCER).choices()["clip"] == pytest.approx(0.175 * CANCER.norm_bound)
    poor = replace(CANCER, epsilon=0.1)
    assert plan_for(poor).choices()["clip"] == pytest.approx(0.125 * CANCER.norm_bound)
