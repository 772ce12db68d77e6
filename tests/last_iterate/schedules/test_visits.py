"""Where a record is visited: one position, or one that stands for a group."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shiftdp import UnmetHypothesis
from shiftdp.interpolation import Schedule
from shiftdp.last_iterate import Geometry, NoisyCGD
from shiftdp.last_iterate.schedules.visits import (
    Visits,
    can_merge,
    has_equal_steps,
    schedule_of,
    schedules_of,
    step_constants,
    table_of,
)

PLAIN = Geometry(strong_convexity=0.0, smoothness=1.0, sensitivity=1.0)
RATES = (0.8, 0.4, 0.2, 0.1, 0.1, 0.05, 0.05, 0.02)


def falling(order: str = "shuffled_once", steps: int = 8) -> NoisyCGD:
    return NoisyCGD(n=8, batch_size=2, steps=steps, learning_rate=RATES[:steps], noise=1.0,
                    order=order)  # type: ignore[arg-type]  # fmt: skip


def test_a_position_stands_for_itself_or_for_a_group() -> None:
    assert list(Visits("every", 3).group) == [3]
    assert list(Visits("every", 3, 1).group) == [1, 2, 3]
    assert list(Visits("every", 0).group) == []


def test_a_group_is_visited_as_strongly_as_its_strongest() -> None:
    found = schedule_of(falling(), PLAIN, Visits("every", 3, 1)).window(0, 8)[1]
    # contraction 1: the first of the group is the strongest, 0.8/2 and 0.1/2
    assert found == pytest.approx([0, 0, 0.4, 0, 0, 0, 0.05, 0])
    final = schedule_of(falling("reshuffled"), PLAIN, Visits("final", 4, 2)).window(0, 8)[1]
    assert final == pytest.approx([0, 0, 0, 0.4, 0, 0, 0, 0.025])


def test_what_an_instance_attains_is_the_position_alone() -> None:
    found = schedule_of(falling(), PLAIN, Visits("every", 3, 1), attained=True).window(0, 8)[1]
    assert found == pytest.approx([0, 0, 0.1, 0, 0, 0, 0.025, 0])


def test_an_expanding_group_of_equal_steps_grows_on_its_way() -> None:
    geometry = Geometry(strong_convexity=-1.0, smoothness=1.0, sensitivity=1.0)
    run = NoisyCGD(n=8, batch_size=2, epochs=2, learning_rate=0.5, noise=1.0, order="reshuffled")
    alone, group = (
        schedule_of(run, geometry, visits).window(0, 8)[1]
        for visits in (Visits("final", 3), Visits("final", 3, 1))
    )
    assert group[6] == pytest.approx(1.5**2 * alone[6])
    assert group[6] >= 1.5**2 * 0.25
    assert group[3] == alone[3] == pytest.approx(1.5**3 * 0.25)


def test_schedules_of_unequal_steps_are_as_short_as_there_are_visits() -> None:
    cases = [Visits("every", j) for j in (1, 2, 3, 4)]
    lengths = [schedule.steps for schedule in schedules_of(falling(), PLAIN, cases)]
    assert lengths == [4, 4, 4, 3]
    equal = NoisyCGD(n=8, batch_size=2, epochs=2, learning_rate=0.5, noise=1.0)
    assert has_equal_steps(equal)
    assert [one.steps for one in schedules_of(equal, PLAIN, cases)] == [8] * 4


def test_expanding_steps_on_a_bounded_set_are_not_merged() -> None:
    geometry = Geometry(strong_convexity=-1.0, smoothness=1.0, sensitivity=1.0, diameter=2.0)
    assert not can_merge(table_of(falling(), geometry))
    assert can_merge(table_of(falling(), PLAIN))
    (schedule,) = schedules_of(falling(), geometry, [Visits("every", 2)])
    assert isinstance(schedule, Schedule)
    assert schedule.steps == 8


def test_constants_are_those_of_the_learning_rates() -> None:
    geometry = Geometry(strong_convexity=0.5, smoothness=2.0, sensitivity=3.0)
    c, s, sd = step_constants(falling(), geometry, 8)
    eta = np.array(RATES)
    assert c == pytest.approx(np.maximum(abs(1 - 0.5 * eta), abs(1 - 2 * eta)))
    assert s == pytest.approx(eta * 1.5)
    assert sd == pytest.approx(eta)
    down = step_constants(falling(), geometry, 8, attained=True)
    assert np.all(down[0] <= c)
    assert np.all(down[1] < s)


def test_runs_beyond_listing_are_refused() -> None:
    class Endless:
        steps = 1 << 25
        batches = 4

    with pytest.raises(UnmetHypothesis, match="too many to be treated one by one"):
        table_of(Endless(), PLAIN)  # type: ignore[arg-type]
    assert math.isinf(PLAIN.diameter)
