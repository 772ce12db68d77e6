"""The options of `shiftdp train` are the parameters of the models."""

import inspect

import pytest

import shiftdp.sklearn as room
from shiftdp.ui.commands.train import command
from shiftdp.ui.training.options import COST, DATA, MODELS, PLAN, RESULT, SCORE


@pytest.mark.parametrize("name", MODELS.values())
def test_what_overrides_the_planner_is_a_parameter_of_each_model(name: str) -> None:
    assert set(PLAN) <= set(inspect.signature(getattr(room, name)).parameters)


def test_the_options_come_in_the_order_of_the_headings() -> None:
    names = [one.name for one in command.params]
    given = ["data", *DATA, *COST, *PLAN, *SCORE, *RESULT, "delta", "save", "json"]
    assert names[: len(given)] == given
