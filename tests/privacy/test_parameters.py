"""The same run, or the same losses, with one number replaced."""

from __future__ import annotations

import pytest

from shiftdp import InvalidInput, LangevinMC, NoisyCGD, NoisyGD, NoisySGD
from shiftdp.last_iterate.runs import Run
from shiftdp.privacy import calibrate_epochs
from shiftdp.privacy.parameters import parameters_of, with_parameter
from tests.privacy.spending import STRONG


def test_sequences_fix_the_length() -> None:
    run = NoisyGD(n=50, steps=3, learning_rate=(0.1, 0.2, 0.1), noise=0.5)
    with pytest.raises(InvalidInput, match="fixes the number of steps: steps cannot change"):
        calibrate_epochs(run, STRONG, epsilon=1.0, delta=1e-5)


RUNS: list[Run] = [
    NoisyGD(n=50, steps=3, learning_rate=0.1, noise=0.5),
    NoisyCGD(n=60, batch_size=10, epochs=4, learning_rate=0.1, noise=0.5, order="reshuffled"),
    NoisySGD(n=60, batch_size=10, steps=24, learning_rate=0.1, noise=0.5, sampling="poisson"),
    NoisySGD(n=60, batch_size=10, epochs=4, learning_rate=0.1, noise=0.5,
             sampling="random_allocation"),
    LangevinMC(steps=7, learning_rate=0.1),
]  # fmt: skip


OTHERS: dict[str, float] = {
    "records_per_person": 2,
    "prox_convexity": 0.3,
    "n": 80, "batch_size": 5, "steps": 12, "epochs": 2, "learning_rate": 0.2, "noise": 0.7,
    "strong_convexity": 0.1, "smoothness": 3.0, "sensitivity": 1.5, "diameter": 0.5,
    "gradient_bound": 2.0, "batch_cap": 30,
}  # fmt: skip


@pytest.mark.parametrize("run", RUNS, ids=lambda run: type(run).__name__)
def test_one_number_is_replaced_and_nothing_else(run: Run) -> None:
    for name in parameters_of(run, STRONG):
        changed, geometry = with_parameter(run, STRONG, name, OTHERS[name])
        assert type(changed) is type(run)
        of_run = hasattr(run, name)
        assert getattr(changed if of_run else geometry, name) == OTHERS[name]
        given, found = ({**vars(a), **vars(b)} for a, b in ((run, STRONG), (changed, geometry)))
        follows = {name, "steps"} if run.in_epochs else {name}
        assert {field for field in given if given[field] != found[field]} <= follows
        before = getattr(run if of_run else STRONG, name)
        assert with_parameter(changed, geometry, name, before) == (run, STRONG)


@pytest.mark.parametrize(("name", "value"), [("n", 120), ("batch_size", 20), ("batch_size", 7)])
def test_epochs_stay_where_the_batches_change(name: str, value: int) -> None:
    for run in (RUNS[1], RUNS[3]):
        changed, _ = with_parameter(run, STRONG, name, value)
        assert isinstance(changed, (NoisyCGD, NoisySGD))
        assert changed.epochs == 4
        assert changed.steps == 4 * changed.batches


@pytest.mark.parametrize("name", ["noise", "learning_rate"])
def test_a_schedule_is_multiplied_as_a_whole(name: str) -> None:
    run = NoisySGD(n=60, batch_size=10, steps=3, learning_rate=[0.1, 0.2, 0.4], noise=[1, 4, 2])
    changed, _ = with_parameter(run, STRONG, name, 0.8)
    old = getattr(run, name)
    assert getattr(changed, name) == pytest.approx([x * 0.8 / max(old) for x in old])
    for length in ("steps", "n", "batch_size"):
        with pytest.raises(InvalidInput, match="fixes the number of steps"):
            with_parameter(run, STRONG, length, 30)


def test_words_are_no_numbers_to_replace() -> None:
    for name in ("order", "adjacency", "sampling"):
        with pytest.raises(InvalidInput, match="is not known"):
            with_parameter(RUNS[1], STRONG, name, 1.0)
