"""Which runs are listed, and which are not."""

from dataclasses import replace
from typing import Any

import pytest

from shiftdp import InvalidInput
from shiftdp.training.planning.planner import plan_for
from shiftdp.training.planning.problem import Overrides
from tests.training.planning.test_planner import CANCER, DIGITS


def test_random_subsets_for_replace_one_only() -> None:
    chosen = Overrides(sampling="without_replacement", epochs=5)
    plan = plan_for(replace(DIGITS, adjacency="replace_one"), chosen).plan
    assert plan.certificate.epsilon(1e-5) <= 1.0
    with pytest.raises(InvalidInput, match="poisson"):
        plan_for(DIGITS, chosen)


@pytest.mark.parametrize("algorithm", ["gd", "cgd", "sgd", None])
@pytest.mark.parametrize("epochs", [1.1e6, 1e9, 1e300])
def test_runs_without_end_are_refused_before_anything_is_made_for_them(
    algorithm: Any, epochs: float
) -> None:
    with pytest.raises(InvalidInput, match="longer than 1000000 steps") as refused:
        plan_for(CANCER, Overrides(algorithm=algorithm, epochs=epochs))
    assert (refused.value.name, refused.value.value) == ("epochs", epochs)


def test_of_many_batches_those_that_make_a_run_too_long_are_not_listed() -> None:
    planned = plan_for(CANCER, Overrides(epochs=9e5, learning_rate=1e-6))
    assert planned.plan.run.steps == 900_000
    assert not planned.others
