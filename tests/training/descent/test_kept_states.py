"""What is refused of a kept state: copies, changes, other runs, two endings."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftdp import InvalidInput, Ledger, NoisyGD
from shiftdp.training import System, TrainingStopped, descend
from shiftdp.training.descent.state_file import EncryptedState, StateRefused, new_key
from tests.training.descent.interrupted import Died, N, broken_off, data, plan_of


@pytest.fixture
def state(tmp_path: Path) -> EncryptedState:
    return EncryptedState(tmp_path / "run", new_key(), every=2)


@pytest.mark.parametrize("key", [None, b"short", "0" * 32])
def test_an_iterate_in_clear_is_refused(key: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"in clear would be a release; .*releases="):
        EncryptedState(tmp_path / "run", key)


# --- states that are not gone on from ---


def test_an_older_copy_of_a_state_is_refused(state: EncryptedState, tmp_path: Path) -> None:
    plan = plan_of(entropy=System())
    broken_off(plan, state, 3)
    shutil.copy(state.path, tmp_path / "old")
    descend(plan, *data(), state=state)
    shutil.copy(tmp_path / "old", state.path)
    with pytest.raises(StateRefused, match="not the last state of its run"):
        descend(plan, *data(), state=state)


def test_a_state_without_its_counter_is_refused(state: EncryptedState) -> None:
    plan = plan_of()
    broken_off(plan, state, 3)
    Path(f"{state.path}.count").unlink()
    with pytest.raises(StateRefused, match="not the last state of its run"):
        descend(plan, *data(), state=state)


def test_a_state_that_is_ahead_of_its_counter_is_the_last_one(
    state: EncryptedState, tmp_path: Path
) -> None:
    """A process may die between the two files."""
    plan = plan_of()
    broken_off(plan, state, 3)
    counter = Path(f"{state.path}.count")
    before = counter.read_text()
    broken_off(plan, state, 5)
    counter.write_text(before)
    np.testing.assert_array_equal(descend(plan, *data(), state=state), descend(plan, *data()))


def test_other_plans_records_and_keys_are_refused(state: EncryptedState) -> None:
    plan = plan_of()
    broken_off(plan, state, 3)
    X, y = data()
    with pytest.raises(StateRefused, match="is of another plan"):
        descend(replace(plan, l2=0.02), X, y, state=state)
    other = X.copy()
    other[7, 1] += 1e-12
    with pytest.raises(StateRefused, match="is of other records"):
        descend(plan, other, y, state=state)
    with pytest.raises(StateRefused, match="is of other records"):
        descend(plan, X, 1 - y, state=state)
    with pytest.raises(StateRefused, match="has another key"):
        descend(plan, X, y, state=replace(state, key=new_key()))
    np.testing.assert_array_equal(descend(plan, X, y, state=state), descend(plan, X, y))


@pytest.mark.parametrize("place", [0, 20, 35, 100, -1])
def test_a_changed_byte_is_found(place: int, state: EncryptedState) -> None:
    plan = plan_of()
    broken_off(plan, state, 3)
    raw = bytearray(Path(state.path).read_bytes())
    raw[place] ^= 1
    Path(state.path).write_bytes(raw)
    with pytest.raises(StateRefused, match="was changed, or has another key"):
        descend(plan, *data(), state=state)


def test_a_state_in_use_is_refused(state: EncryptedState) -> None:
    plan = plan_of()

    def progress(done: int, total: int) -> None:
        descend(plan, *data(), state=state)

    with pytest.raises(TrainingStopped, match="StateRefused after step 1"):
        descend(plan, *data(), state=state, progress=progress)


def test_what_is_no_state_or_has_no_folder_is_refused(tmp_path: Path) -> None:
    plan: Any = plan_of()
    with pytest.raises(InvalidInput, match="is no EncryptedState"):
        descend(plan, *data(), state="file")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="in no folder"):
        descend(plan, *data(), state=EncryptedState(tmp_path / "a" / "b", new_key()))


# --- estimators, and their ledger ---


class Interrupted:
    """An estimator's run that ends after some steps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
        from shiftdp.training.descent import resume

        own = resume.Kept.note

        def note(kept: Any, done: int, models: Any, released: Any) -> None:
            own(kept, done, models, released)
            if done == step:
                raise Died

        self._patch = monkeypatch.context()
        self._note, self._class = note, resume.Kept

    def __enter__(self) -> None:
        self._patch.__enter__().setattr(self._class, "note", self._note)

    def __exit__(self, *error: object) -> None:
        self._patch.__exit__(None, None, None)


def died_halfway(
    state: EncryptedState, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Any, Ledger, EncryptedState]:
    """A model whose fit died after four of eight steps, its ledger, and a copy of its state."""
    from shiftdp.sklearn import PrivateLogisticRegression

    ledger = Ledger.create(folder / "ledger", epsilon=1.5, delta=1e-5)
    model = PrivateLogisticRegression(
        classes=[0, 1], ledger=ledger, algorithm="gd", epochs=8, learning_rate=0.5
    )
    with Interrupted(monkeypatch, 4), pytest.raises(Died):
        model.fit(*data(), state=state)
    copy = replace(state, path=folder / "copy")
    for end in ("", ".count"):
        shutil.copy(f"{state.path}{end}", f"{copy.path}{end}")
    return model, ledger, copy


def test_a_fit_that_goes_on_is_charged_once(
    state: EncryptedState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, ledger, copy = died_halfway(state, tmp_path, monkeypatch)
    X, y = data()
    model.fit(X, y, state=state)
    assert [entry.completed for entry in ledger.entries()] == [True]
    weights = model.coef_.copy()
    np.testing.assert_array_equal(model.fit(X, y, state=state).coef_, weights)
    # a second ending of the same run is refused, and so is what it would have released
    with pytest.raises(InvalidInput, match="is of a run that was completed"):
        model.fit(X, y, state=copy)
    assert len(ledger.entries()) == 1


def test_a_second_ending_at_the_same_time_is_refused_when_it_comes_to_its_end(
    state: EncryptedState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shiftdp.training.descent import resume

    model, _, copy = died_halfway(state, tmp_path, monkeypatch)
    X, y = data()
    own = resume.Kept.finish
    others: list[Any] = []

    def finish(kept: Any, step: int, released: Any) -> None:
        if not others:
            others.append(1)
            other = type(model)(**model.get_params())
            others.append(other.fit(X, y, state=copy))
        own(kept, step, released)

    monkeypatch.setattr(resume.Kept, "finish", finish)
    with pytest.raises(InvalidInput, match="is of a run that was completed"):
        model.fit(X, y, state=state)
    assert hasattr(others[1], "coef_")
    assert not hasattr(model, "coef_")
    with pytest.raises(InvalidInput, match="is of a run that was completed"):
        model.fit(X, y, state=state)


# --- what a hostile reader of `resume` tried ---


def test_a_plan_with_another_long_schedule_is_another_plan(state: EncryptedState) -> None:
    """Runs print a long schedule by its range, which two schedules can have in common."""
    noise = [0.1] * 6 + [0.5] * 6
    rates = [0.5] * 12
    first, other = (
        replace(plan_of(), run=NoisyGD(n=N, steps=12, learning_rate=rates, noise=one))
        for one in (noise, noise[::-1])
    )
    assert repr(first) == repr(other)
    broken_off(first, state, 7)
    with pytest.raises(StateRefused, match="is of another plan"):
        descend(other, *data(), state=state)


def test_a_state_of_another_version_is_refused(
    state: EncryptedState, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It might draw another order of batches from the same key."""
    broken_off(plan_of(), state, 3)
    monkeypatch.setattr("shiftdp.training.descent.resume.VERSION", "99.0")
    with pytest.raises(StateRefused, match="is of another version of shiftdp, "):
        descend(plan_of(), *data(), state=state)


def test_files_are_for_their_owner_alone(state: EncryptedState, tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        broken_off(plan_of(), state, 3)
    finally:
        os.umask(old)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == dict.fromkeys(("run", "run.count", "run.lock"), 0o600)


def test_a_counter_without_end_is_no_counter(state: EncryptedState) -> None:
    broken_off(plan_of(), state, 3)
    counter = Path(f"{state.path}.count")
    counter.write_text(json.dumps({**json.loads(counter.read_text()), "count": float("inf")}))
    with pytest.raises(StateRefused, match="not the last state of its run"):
        descend(plan_of(), *data(), state=state)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_process_that_was_forked_has_no_ending_of_its_own(state: EncryptedState) -> None:
    child = -1

    def progress(done: int, total: int) -> None:
        nonlocal child
        if done == 3:
            child = os.fork()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks with threads
        try:
            found = descend(plan_of(), *data(), state=state, progress=progress)
        except TrainingStopped:
            os._exit(7)
        if child == 0:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    np.testing.assert_array_equal(found, descend(plan_of(), *data()))
