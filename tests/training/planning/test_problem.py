"""What a planner is given: choices that contradict each other are refused by name."""

from typing import Any

import pytest

from shiftdp import InvalidInput
from shiftdp.training import Logistic
from shiftdp.training.planning.problem import Overrides, Problem


@pytest.mark.parametrize(
    ("overrides", "name"),
    [
        ({"algorithm": "sgd", "order": "fixed"}, "order"),
        ({"sampling": "poisson", "order": "fixed"}, "order, sampling"),
        ({"algorithm": "gd", "last_batch": "drop"}, "last_batch"),
        ({"sampling": "poisson", "last_batch": "drop"}, "last_batch, sampling"),
        ({"last_batch": "pad"}, "last_batch"),
        ({"algorithm": "adam"}, "algorithm"),
        ({"epochs": 0}, "epochs"),
        ({"l2": -1.0}, "l2"),
    ],
    ids=str,
)
def test_choices_that_cannot_be_are_refused(overrides: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        Overrides(**overrides)
    assert refusal.value.name == name


@pytest.mark.parametrize(
    ("changes", "name"),
    [({"n": 0}, "n"), ({"loss": "hinge"}, "loss"), ({"epsilon": 0.0}, "epsilon"),
     ({"delta": 1.0}, "delta"), ({"adjacency": "add"}, "adjacency"), ({"compute": 0}, "compute")],
    ids=str,
)  # fmt: skip
def test_numbers_that_describe_no_problem_are_refused(changes: dict[str, Any], name: str) -> None:
    numbers: dict[str, Any] = {
        "n": 100,
        "features": 3,
        "loss": Logistic(),
        "feature_bound": 1.0,
        "epsilon": 1.0,
        "delta": 1e-5,
    }
    with pytest.raises(InvalidInput) as refusal:
        Problem(**{**numbers, **changes})
    assert refusal.value.name == name


def test_the_passes_are_those_that_the_compute_allows() -> None:
    few = Problem(
        n=100,
        features=4,
        loss=Logistic(),
        feature_bound=1.0,
        epsilon=1.0,
        delta=1e-5,
        compute=10_500,
    )
    # two products of 100 records with 5 parameters: 1,000 multiplications a pass
    assert few.epochs == 10
