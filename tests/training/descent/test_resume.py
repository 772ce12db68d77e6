"""Runs that go on after their process died, from an encrypted state: the same run, one release."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftdp import NoisyGD
from shiftdp.training import Aes, System, descend
from shiftdp.training.descent.batches import batches
from shiftdp.training.descent.state_file import EncryptedState, new_key
from tests.training.descent.interrupted import RUNS, Died, N, broken_off, data, plan_of


@pytest.fixture
def state(tmp_path: Path) -> EncryptedState:
    return EncryptedState(tmp_path / "run", new_key(), every=2)


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("step", [1, 3])
def test_in_test_mode_the_model_is_that_of_the_undisturbed_run(
    name: str, step: int, state: EncryptedState
) -> None:
    plan = plan_of(name)
    broken_off(plan, state, step)
    broken_off(plan, state, step)  # once more, from where it was
    steps: list[int] = []
    found = descend(plan, *data(), state=state, progress=lambda done, total: steps.append(done))
    np.testing.assert_array_equal(found, descend(plan, *data()))
    assert steps[0] == step // 2 * 2 + 1  # after the last one that was saved
    assert steps[-1] == plan.run.steps


@pytest.mark.parametrize("entropy", [System(), Aes()])
def test_the_noise_of_a_run_that_goes_on_is_fresh(
    entropy: Any, state: EncryptedState, tmp_path: Path
) -> None:
    plan = plan_of(entropy=entropy)
    broken_off(plan, state, 5)
    copy = replace(state, path=tmp_path / "copy")
    for end in ("", ".count"):
        shutil.copy(f"{state.path}{end}", f"{copy.path}{end}")
    one, two = (descend(plan, *data(), state=each) for each in (state, copy))
    assert (one != two).any()


@pytest.mark.parametrize("name", ["shuffled_once", "reshuffled"])
def test_a_drawn_order_is_kept(
    name: str, state: EncryptedState, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[list[int]] = []

    def watched(run: Any, stream: Any, *, mapped: bool = False) -> Any:
        for batch in batches(run, stream, mapped=mapped):
            used.append(np.asarray(batch.rows).tolist())
            yield batch

    monkeypatch.setattr("shiftdp.training.descent.loop.batches", watched)
    plan = plan_of(name, System())
    broken_off(plan, state, 3)
    first = used[:3]
    used.clear()
    descend(plan, *data(), state=state)
    assert used[:3] == first  # those of the steps that were done, drawn again
    assert sorted(row for batch in used[:5] for row in batch) == list(range(N))
    assert (used[5:] == used[:5]) == (name == "shuffled_once")


def test_a_finished_run_gives_its_model_again_and_no_other(state: EncryptedState) -> None:
    plan = plan_of(entropy=System())
    steps: list[int] = []
    first = descend(plan, *data(), state=state)
    again = descend(plan, *data(), state=state, progress=lambda done, total: steps.append(done))
    np.testing.assert_array_equal(first, again)
    assert not steps


def test_releases_are_saved_before_they_are_shown_and_shown_again_as_they_were(
    state: EncryptedState,
) -> None:
    run = NoisyGD(n=N, steps=9, learning_rate=0.5, noise=0.1, releases=[3, 7])
    plan = replace(plan_of(entropy=System()), run=run)
    seen: list[dict[int, Any]] = [{}, {}]

    def show(step: int, model: Any) -> None:
        seen[0][step] = model
        if step == 3:
            raise Died  # the moment somebody has seen it

    with pytest.raises(Died):
        descend(plan, *data(), state=replace(state, every=100), checkpoints=show)
    steps: list[int] = []
    descend(
        plan,
        *data(),
        state=replace(state, every=100),
        checkpoints=seen[1].__setitem__,
        progress=lambda done, total: steps.append(done),
    )
    np.testing.assert_array_equal(seen[0][3], seen[1][3])
    assert steps[0] == 4
    assert sorted(seen[1]) == [3, 7, 9]


def test_nothing_of_an_iterate_is_on_disk_in_clear(state: EncryptedState) -> None:
    """The weights of a run without noise in its first steps are known: they are not in the file."""
    run = NoisyGD(n=N, steps=9, learning_rate=[0.5] * 9, noise=[0.0] * 8 + [0.1])
    plan = replace(plan_of(), run=run)
    seen: list[bytes] = []

    def progress(done: int, total: int) -> None:
        seen.append(Path(state.path).read_bytes() if done == 2 else b"")
        if done == 3:
            raise Died

    with pytest.raises(Died):
        descend(plan, *data(), state=state, progress=progress)
    X, y = data()
    w = np.zeros(4)
    ones = np.column_stack([X, np.ones(N)])
    for _ in range(2):
        w = w - 0.5 * (ones.T @ (1.0 / (1.0 + np.exp(-ones @ w)) - y) / N + 0.01 * w)
    stored = seen[1]
    for number in w:
        head = np.float64(number).tobytes()[4:]  # the digits that roundings do not reach
        assert head not in stored
    assert json.loads(Path(f"{state.path}.count").read_text()).keys() == {"run", "count"}


@pytest.mark.parametrize("write", range(1, 12))
def test_a_run_that_dies_at_any_write_can_go_on(
    write: int, state: EncryptedState, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = os.replace
    done = 0

    def dying_replace(source: Any, target: Any) -> None:
        nonlocal done
        done += 1
        if done == write:
            raise Died
        own(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", dying_replace)
        with pytest.raises(Died):
            descend(plan_of(), *data(), state=state)
    np.testing.assert_array_equal(
        descend(plan_of(), *data(), state=state), descend(plan_of(), *data())
    )
