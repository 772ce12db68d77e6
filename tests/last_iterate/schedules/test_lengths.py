"""Lengths and numbers a step: what is refused, with the way out."""

from __future__ import annotations

import math
from typing import Any

import pytest

from shiftdp import InvalidInput
from shiftdp.last_iterate.schedules.lengths import (
    length,
    no_epochs,
    per_step,
    steps_in,
    whole_epochs,
)


def test_one_number_serves_all_steps_and_many_serve_one_each() -> None:
    assert per_step("noise", 2, 5) == 2.0
    assert per_step("noise", (1, 2.5), 2) == (1.0, 2.5)
    with pytest.raises(InvalidInput, match=r"one entry a step \(3\)"):
        per_step("noise", (1, 2.5), 3)


def test_a_run_without_end_has_equal_steps() -> None:
    assert per_step("noise", 2.0, length("steps", math.inf)) == 2.0
    with pytest.raises(InvalidInput, match="a run without end has equal steps; give one number"):
        per_step("noise", (1.0, 2.0), length("steps", math.inf))


@pytest.mark.parametrize("lengths", [{"epochs": 3, "steps": None}, {"epochs": None, "steps": 12}])
def test_epochs_and_steps_say_the_same(lengths: dict[str, Any]) -> None:
    assert steps_in(**lengths, batches=4) == whole_epochs(**lengths, batches=4) == 12


@pytest.mark.parametrize(("epochs", "steps"), [(None, 13), (2.25, None)])
def test_random_allocation_ends_with_an_epoch(epochs: float | None, steps: float | None) -> None:
    with pytest.raises(InvalidInput, match="not a whole number of epochs, of 4 steps each"):
        whole_epochs(epochs, steps, 4)
    assert whole_epochs(math.inf, None, 4) == math.inf


def test_other_random_batches_have_no_epochs() -> None:
    assert no_epochs(None, 7) == 7
    with pytest.raises(InvalidInput, match=r"epochs=7 is for random allocation.*give steps"):
        no_epochs(7, None)
