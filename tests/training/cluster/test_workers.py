"""Workers that are killed: nothing is lost, nothing is done twice, and the model is the same."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftdp import NoisyCGD, NoisyGD
from shiftdp.training import Plan, Seeded, TrainingStopped, descend
from shiftdp.training.cluster.collection import table_of
from shiftdp.training.cluster.doors import descend as descend_on_workers
from shiftdp.training.cluster.guard import ClusterFailed
from shiftdp.training.cluster.workers import Workers
from tests.training.cluster.faults import Mortal, deaths, from_files, order_death, settle
from tests.training.cluster.tables import N, as_arrays, numbers
from tests.training.cluster.test_source import require_equal


def plan_of(folder: Path, run: Any = None) -> Plan:
    run = run or NoisyGD(n=N, steps=8, learning_rate=0.5, noise=0.02)
    return Plan(run=run, loss=Mortal(str(folder)), feature_bound=1.0, l2=0.01, entropy=Seeded(5))


def ordering(client: Any, folder: Path, steps: set[int]) -> Callable[[int, int], None]:
    """After each of these steps, a worker is told to die in the middle of the next one."""

    def progress(done: int, total: int) -> None:
        if done in steps:
            order_death(client, folder)

    return progress


def require_undisturbed(
    client: Any, folder: Path, plan: Plan, steps: set[int], blocks: int = 5
) -> None:
    """The run with deaths ends with the weights of the run without."""
    X, y = numbers()
    parts = from_files(folder, X, blocks)
    labels = as_arrays(X, y, parts.chunks[0])[1]
    found = descend_on_workers(
        plan, parts, labels, client=client, progress=ordering(client, folder, steps)
    )
    assert 1 <= deaths(folder) <= len(steps)
    require_equal(plan, found, descend(plan, X, y))


def test_a_worker_that_dies_in_the_middle_of_a_step_is_replaced(
    client: Any, tmp_path: Path
) -> None:
    require_undisturbed(client, tmp_path, plan_of(tmp_path), {2, 5})


@pytest.mark.slow
@pytest.mark.parametrize("order", ["fixed", "shuffled_once", "reshuffled"])
def test_so_it_is_many_times_over(client: Any, tmp_path: Path, order: Any) -> None:
    run = NoisyCGD(n=N, batch_size=60, epochs=4, learning_rate=0.2, noise=0.05, order=order)
    require_undisturbed(client, tmp_path, plan_of(tmp_path, run), set(range(1, 24, 4)))


def test_noise_is_drawn_once_a_step_whatever_happens(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []
    plan = plan_of(tmp_path)
    opened = type(plan.entropy).open

    def counting(self: Any, role: Any) -> Any:
        stream: Any = opened(self, role)
        fill = stream.fill

        def counted(out: Any) -> None:
            drawn.append(out.size)
            fill(out)

        vars(stream)["fill"] = counted
        return stream

    monkeypatch.setattr(type(plan.entropy), "open", counting)
    X, y = numbers()
    done: list[int] = []

    def progress(step: int, total: int) -> None:
        done.append(step)
        if step == 3:
            order_death(client, tmp_path)

    descend_on_workers(plan, *as_arrays(X, y), client=client, progress=progress)
    assert deaths(tmp_path) == 1
    assert done == list(range(1, plan.run.steps + 1))
    assert drawn == [X.shape[1] + 1] * plan.run.steps


def test_a_worker_may_die_while_it_reads(client: Any, tmp_path: Path) -> None:
    X, y = numbers()
    plan = plan_of(tmp_path)
    parts = from_files(tmp_path, X, 4)
    order_death(client, tmp_path)
    labels = as_arrays(X, y, parts.chunks[0])[1]
    found = descend_on_workers(plan, parts, labels, client=client)
    assert deaths(tmp_path) == 1
    require_equal(plan, found, descend(plan, X, y))


@pytest.mark.slow
def test_both_workers_may_die_at_once_between_steps(client: Any, tmp_path: Path) -> None:
    X, y = numbers()
    plan = plan_of(tmp_path)

    def progress(done: int, total: int) -> None:
        if done in (2, 6):
            settle(client)
            for process in client.run(os.getpid).values():
                os.kill(process, signal.SIGKILL)

    found = descend_on_workers(plan, *as_arrays(X, y), client=client, progress=progress)
    require_equal(plan, found, descend(plan, X, y))


@pytest.mark.parametrize(
    "change", [pytest.param("shorter", marks=pytest.mark.slow), "other entries"]
)
def test_records_that_changed_when_they_are_read_again_are_refused(
    client: Any, tmp_path: Path, change: str
) -> None:
    X, y = numbers()
    plan = plan_of(tmp_path)
    parts = from_files(tmp_path, X, 4)
    labels = as_arrays(X, y, parts.chunks[0])[1]

    def progress(done: int, total: int) -> None:
        if done == 3:
            for number in range(4):
                part = np.load(tmp_path / f"{number}.npy")
                part[0] += 1e-9
                np.save(tmp_path / f"{number}.npy", part[1:] if change == "shorter" else part)
            order_death(client, tmp_path)

    kind = "InvalidInput" if change == "shorter" else "RecordsChanged"
    with pytest.raises(TrainingStopped, match=f"{kind} after step 3 of 8; nothing was released"):
        descend_on_workers(plan, parts, labels, client=client, progress=progress)


@pytest.mark.slow
def test_a_worker_that_dies_each_time_is_given_up(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shiftdp.training.cluster.workers._ATTEMPTS", 2)
    X, y = numbers()
    table = table_of(*as_arrays(X, y))
    workers = Workers(client, table, table.numbers("given"))
    workers.load()
    workers.tell("assemble")
    plan = replace(plan_of(tmp_path), entropy=Seeded(1))
    workers.tell("prepare", plan)
    workers.tell("begin", plan, (1, 1, X.shape[1] + 1))
    own = workers._answer

    def dying(member: Any, future: Any) -> Any:
        (tmp_path / "die").touch()  # at once, whether others are back or not
        return own(member, future)

    monkeypatch.setattr(workers, "_answer", dying)
    with pytest.raises(ClusterFailed, match="lost 2 times in a row"):
        workers.ask("step", {0: (np.zeros((1, 1, X.shape[1] + 1)), slice(0, 5))})
    workers.close()
    (tmp_path / "die").unlink(missing_ok=True)


def test_blocks_are_dealt_out_in_turn_and_let_go_of(client: Any) -> None:
    X, y = numbers()
    table = table_of(*as_arrays(X, y))
    workers = Workers(client, table, table.numbers("given"))
    assert workers.shards == [(0, 2, 4), (1, 3, 5)]
    assert workers.threads == 1
    contents = workers.load()
    assert [one.sizes for one in contents] == [(100, 0, 90), (7, 50, 60)]
    assert sorted(workers.addresses) == sorted(client.nthreads())
    workers.close()


def test_a_cluster_without_workers_is_waited_for_once() -> None:
    class Empty:
        """A client of a cluster to which no worker comes."""

        def __init__(self) -> None:
            self.waited: list[float] = []

        def nthreads(self) -> dict[str, int]:
            return {}

        def wait_for_workers(self, number: int, timeout: float) -> None:
            self.waited.append(timeout)
            raise TimeoutError

    client, table = Empty(), table_of(*as_arrays(*numbers()))
    with pytest.raises(ClusterFailed, match="no worker came within 120 seconds"):
        Workers(client, table, table.numbers("given"))
    assert client.waited == [120.0]
