"""Random batches: what is refused, and how long random allocation is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from shiftdp import InvalidInput
from shiftdp.last_iterate import NoisySGD
from tests.last_iterate.runs.test_descent import refuse

SGD: dict[str, Any] = {"n": 10, "batch_size": 4, "steps": 6, "learning_rate": 0.1, "noise": 1.0}


def test_random_batches_take_one_number_a_step() -> None:
    rates, noise = np.linspace(0.1, 0.6, 6), [1.0] * 3 + [2.0] * 3
    for sampling in ("without_replacement", "poisson", "random_allocation"):
        given = {**SGD, "learning_rate": rates, "noise": noise, "sampling": sampling}
        run = NoisySGD(**given)
        assert run.learning_rate == tuple(rates.tolist())
        assert run.noise == tuple(noise)
        assert NoisySGD(**vars(run)) == run
        hash(run)
    for name in ("learning_rate", "noise"):
        refuse(NoisySGD, SGD, name, [0.1] * 5)
        refuse(NoisySGD, {**SGD, "steps": math.inf}, name, [0.1] * 5)


def test_random_allocation_is_run_in_epochs() -> None:
    parts = {**SGD, "sampling": "random_allocation"}
    run = NoisySGD(**parts)
    assert (run.batches, run.epochs, run.participation) == (3, 2, 1 / 3)
    del parts["steps"]
    assert NoisySGD(**parts, epochs=2) == run
    assert NoisySGD(**parts, epochs=math.inf).steps == math.inf
    refuse(NoisySGD, parts, "steps", 7)
    refuse(NoisySGD, parts, "epochs", 2.5)
    refuse(NoisySGD, {**parts, "sampling": "poisson"}, "epochs", 2)
    assert NoisySGD(**parts, epochs=2, batch_cap=9).batch_cap == 9
    refuse(NoisySGD, SGD, "batch_cap", 9)


@pytest.mark.parametrize(("epochs", "steps"), [(None, 13), (2.25, None)])
def test_random_allocation_ends_with_an_epoch(epochs: float | None, steps: float | None) -> None:
    parts = {**SGD, "sampling": "random_allocation", "epochs": epochs, "steps": steps}
    with pytest.raises(InvalidInput, match="not a whole number of epochs, of 4 steps each"):
        NoisySGD(**{**parts, "n": 16})


def test_other_random_batches_have_no_epochs() -> None:
    with pytest.raises(InvalidInput, match=r"epochs=7 is for random allocation.*give steps"):
        NoisySGD(**{**SGD, "steps": None}, epochs=7)


def test_which_runs_are_endless_and_which_are_in_epochs() -> None:
    assert not NoisySGD(**SGD).endless
    assert NoisySGD(**{**SGD, "steps": math.inf}).endless
    assert not NoisySGD(**SGD).in_epochs
    assert NoisySGD(**SGD, sampling="random_allocation").in_epochs
