"""Checkpoints and averages: which steps they are, and what they cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftdp import InvalidInput, NoisyCGD, NoisyGD, NoisySGD
from shiftdp.last_iterate.schedules.releases import (
    number_of_releases,
    release_steps,
    within_epochs,
)
from shiftdp.training import Logistic
from shiftdp.training.planning.checkpoints import (
    averaged_steps,
    checked_checkpoints,
    with_checkpoints,
)
from shiftdp.training.planning.planner import plan_for
from shiftdp.training.planning.problem import Overrides, Problem

SHAPE: dict[str, Any] = {"n": 40, "batch_size": 10, "learning_rate": 0.1, "noise": 1.0}
CYCLIC = NoisyCGD(**SHAPE, epochs=6)
PROBLEM = Problem(n=2_000, features=5, loss=Logistic(), feature_bound=1.0, epsilon=1.0, delta=1e-5)


@pytest.mark.parametrize(
    ("checkpoints", "average", "releases"),
    [
        ("epochs", None, "epochs"),
        (3, None, (8, 16, 24)),
        (1, None, None),
        ((0.5, 2), None, (2, 8, 24)),
        (None, 3, (16, 20, 24)),
        ((1,), 2, (4, 20, 24)),
        (None, None, None),
    ],
)
def test_they_are_steps_of_the_run(checkpoints: Any, average: int | None, releases: Any) -> None:
    assert with_checkpoints(CYCLIC, checkpoints, average).releases == releases


RESHUFFLED = NoisyCGD(**SHAPE, epochs=6, order="reshuffled")


@pytest.mark.parametrize("number", range(1, 7))
def test_so_many_of_a_reshuffled_run_are_ends_of_epochs(number: int) -> None:
    """Within an epoch they would fall back to composition."""
    run = with_checkpoints(RESHUFFLED, number, None)
    assert number_of_releases(run) == number
    assert not within_epochs(run)
    assert release_steps(run)[-1] == 24
    begun = NoisyCGD(**SHAPE, steps=22, order="reshuffled")
    assert number_of_releases(with_checkpoints(begun, number, None)) == number
    assert not within_epochs(with_checkpoints(begun, number, None))


@pytest.mark.parametrize("checkpoints", [7, 24, (0.5,), (1, 2.5), (1.26,)])
def test_within_an_epoch_of_a_reshuffled_run_there_are_none(checkpoints: Any) -> None:
    with pytest.raises(InvalidInput, match=r"ends of epochs are cheap.*order='shuffled_once'"):
        with_checkpoints(RESHUFFLED, checkpoints, None)


def test_one_checkpoint_less_takes_no_more_noise() -> None:
    base: dict[str, Any] = {"algorithm": "cgd", "epochs": 20, "l2": 0.01, "batch_size": 100}
    fewer, every = (
        plan_for(PROBLEM, Overrides(**base, order="reshuffled", checkpoints=number)).plan
        for number in (19, 20)
    )
    assert np.max(fewer.run.noise) <= np.max(every.run.noise)


def test_an_epoch_of_random_batches_is_a_pass_on_average() -> None:
    run = NoisySGD(**{**SHAPE, "batch_size": 15}, steps=16)
    assert averaged_steps(run, 2) == [13, 16]
    assert with_checkpoints(run, "epochs", None).releases == (3, 5, 8, 11, 13, 16)
    full = NoisyGD(n=40, steps=9, learning_rate=0.1, noise=1.0)
    assert averaged_steps(full, 3) == [7, 8, 9]


@pytest.mark.parametrize(
    ("checkpoints", "average", "name"),
    [
        ((7,), None, "checkpoints"),
        (25, None, "checkpoints"),
        (None, 7, "average"),
        (None, 2**53, "average"),  # found by fuzzing: a list of so many steps was made
    ],
)
def test_what_lies_beyond_the_run_is_refused(checkpoints: Any, average: Any, name: str) -> None:
    with pytest.raises(InvalidInput, match=name):
        with_checkpoints(CYCLIC, checkpoints, average)


@pytest.mark.parametrize("value", ["often", 0, [0.0], [-1], 2.5])
def test_what_is_no_checkpoint_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput, match="checkpoints"):
        checked_checkpoints(value)


@pytest.mark.parametrize("algorithm", ["gd", "cgd", "sgd"])
def test_the_noise_is_enough_for_all_of_them(algorithm: Any) -> None:
    base: dict[str, Any] = {"algorithm": algorithm, "epochs": 6, "l2": 0.01}
    alone = plan_for(PROBLEM, Overrides(**base, average=1)).plan
    every = plan_for(PROBLEM, Overrides(**base, checkpoints="epochs")).plan
    spent = every.certificate.epsilon(1e-5)
    assert 0.999 < spent <= 1.0
    every.certificate.verify()
    assert "released" in every.certificate.statement()
    if every.run.learning_rate == alone.run.learning_rate and algorithm == "cgd":
        assert every.run.noise > alone.run.noise  # type: ignore[operator]


@pytest.mark.parametrize("checkpoints", [np.array([1, 2]), np.array([2.0])])
def test_arrays_of_epochs_are_lists_of_epochs(checkpoints: Any) -> None:
    """Found by fuzzing: they were compared with a word."""
    assert Overrides(checkpoints=checkpoints).checkpoints == tuple(checkpoints.tolist())
