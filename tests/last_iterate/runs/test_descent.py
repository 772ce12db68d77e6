"""Descriptions of runs: what is refused, and the same run written in other ways."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from shiftdp import InvalidInput
from shiftdp.last_iterate import ExponentialMechanism, LangevinMC, NoisyCGD, NoisyGD

GD: dict[str, Any] = {"n": 10, "steps": 3, "learning_rate": 0.1, "noise": 1.0}
CGD: dict[str, Any] = {"n": 10, "batch_size": 4, "steps": 7, "learning_rate": 0.1, "noise": 1.0}
LMC: dict[str, Any] = {"steps": 10, "learning_rate": 0.1}

BAD_NUMBERS = [math.nan, math.inf, -math.inf, -1.0, 0.0, "1", None, True, 1j, {1.0}]
BAD_COUNTS = [math.nan, math.inf, -1, 0, 1.5, "3", None, True, [3], np.array([3, 4]), 10**400]
SOME_ZERO = [0.1, 0.0, *[0.1] * 5]
BAD_SEQUENCES = [
    [],
    (),
    np.array([]),
    [0.1, 0.1],
    [0.1] * 8,
    [0.1, math.nan, *[0.1] * 5],
    [0.1, -0.1, *[0.1] * 5],
    SOME_ZERO,
    [0.1, math.inf, *[0.1] * 5],
    ["0.1"] * 7,
    [True] * 7,
    [[0.1] * 7],
    [[0.1], [0.1, 0.2]],
    np.full((7, 1), 0.1),
    [None] * 7,
    "abcdefg",
    b"abcdefg",
]


def refuse(kind: Any, parts: dict[str, Any], name: str, value: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        kind(**{**parts, name: value})
    assert caught.value.name == name
    assert caught.value.remedy
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("value", BAD_COUNTS, ids=repr)
def test_bad_counts(value: Any) -> None:
    refuse(NoisyGD, GD, "n", value)
    refuse(NoisyCGD, CGD, "n", value)
    refuse(NoisyCGD, CGD, "batch_size", value)
    if isinstance(value, float) and value == math.inf:  # a run without end
        return
    refuse(NoisyGD, GD, "steps", value)
    refuse(LangevinMC, LMC, "steps", value)
    if value is not None:
        refuse(NoisyCGD, CGD, "steps", value)


@pytest.mark.parametrize("value", BAD_NUMBERS, ids=repr)
def test_bad_numbers(value: Any) -> None:
    for kind, parts in ((NoisyGD, GD), (NoisyCGD, CGD)):
        for name in ("learning_rate", "noise"):
            refuse(kind, parts, name, value)
    refuse(LangevinMC, LMC, "learning_rate", value)


@pytest.mark.parametrize("value", BAD_SEQUENCES, ids=repr)
def test_bad_sequences(value: Any) -> None:
    refuse(NoisyCGD, CGD, "learning_rate", value)
    refuse(LangevinMC, LMC, "learning_rate", value)
    if value is not SOME_ZERO:  # steps may be without noise
        refuse(NoisyCGD, CGD, "noise", value)


@pytest.mark.parametrize(
    "value", [math.nan, -math.inf, -1, 0, 0.0, -0.5, "2", True, 1 / 7, 1e-300, 1.7e308, 10**30, [2]]
)
def test_bad_epochs(value: Any) -> None:
    parts = {name: part for name, part in CGD.items() if name != "steps"}
    refuse(NoisyCGD, parts, "epochs", value)


def test_exactly_one_length() -> None:
    for lengths in ({}, {"epochs": 2, "steps": 6}):
        parts = {**{name: part for name, part in CGD.items() if name != "steps"}, **lengths}
        with pytest.raises(InvalidInput, match="exactly one of the two") as caught:
            NoisyCGD(**parts)
        assert caught.value.name == "epochs, steps"


def test_a_batch_is_no_larger_than_the_data() -> None:
    refuse(NoisyCGD, CGD, "batch_size", 11)
    assert NoisyCGD(**{**CGD, "batch_size": 10}).batches == 1


@pytest.mark.parametrize("order", ["random", "", None, "Fixed", 1, ["fixed"]])
def test_unknown_orders(order: Any) -> None:
    refuse(NoisyCGD, CGD, "order", order)


def test_epochs_and_steps_say_the_same() -> None:
    parts = {name: part for name, part in CGD.items() if name != "steps"}
    assert NoisyCGD(**parts, epochs=2) == NoisyCGD(**parts, steps=6)
    for whole in (7, 7.0, np.int64(7)):
        assert NoisyCGD(**parts, epochs=7 / 3) == NoisyCGD(**{**parts, "steps": whole})
    assert NoisyCGD(**parts, epochs=2.0) == NoisyCGD(**parts, epochs=2)
    assert NoisyCGD(**parts, epochs=2).epochs == 2
    assert NoisyCGD(**parts, steps=7).epochs == pytest.approx(7 / 3)


def test_batches_and_their_sizes() -> None:
    run = NoisyCGD(**CGD)
    assert [run.size_of(j) for j in (1, 2, 3)] == [4, 4, 2]
    assert sum(run.size_of(j) for j in range(1, run.batches + 1)) == run.n
    even = NoisyCGD(**{**CGD, "n": 12})
    assert [even.size_of(j) for j in (1, 2, 3)] == [4, 4, 4]
    full = NoisyGD(**GD)
    assert (full.batches, full.size_of(1), full.order) == (1, 10, "fixed")


def test_sequences_become_tuples_of_floats() -> None:
    rates = np.linspace(0.1, 0.7, 7)
    run = NoisyCGD(**{**CGD, "learning_rate": rates, "noise": list(range(1, 8))})
    rates[0] = 99.0
    assert run.learning_rate == pytest.approx(tuple(np.linspace(0.1, 0.7, 7)))
    assert run.noise == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)
    assert NoisyGD(**{**GD, "learning_rate": np.float64(0.1)}) == NoisyGD(**GD)
    assert NoisyGD(**{**GD, "learning_rate": np.array(0.1)}) == NoisyGD(**GD)
    assert NoisyGD(**{**GD, "steps": 1, "noise": [2.0]}).noise == (2.0,)


def test_they_are_frozen_and_hashable() -> None:
    for run in (NoisyGD(**GD), NoisyCGD(**CGD), LangevinMC(**LMC), ExponentialMechanism()):
        hash(run)
        for field in dataclasses.fields(run):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(run, field.name, 1)


def test_an_order_that_is_an_array_is_refused_by_its_name() -> None:
    with pytest.raises(InvalidInput, match="order="):
        NoisyCGD(
            n=10, batch_size=5, epochs=2, learning_rate=0.1, noise=1.0, records_per_person=2,
            arrangement="one_per_batch", order=np.array([]),  # type: ignore[arg-type]
        )  # fmt: skip
