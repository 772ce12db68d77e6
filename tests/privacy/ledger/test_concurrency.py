"""Many processes, one ledger: nothing lost, nothing doubled, the budget never exceeded."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import random
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

from shiftdp import GaussianTradeoff
from shiftdp.privacy import BudgetExceeded, Entry, Ledger, LedgerUnavailable
from tests.privacy.charging_estimator import Mean
from tests.privacy.ledger.workers import append_many, certificate, charge, hold

SPAWN = multiprocessing.get_context("spawn")
DELTA = 1e-5
PATIENCE = 600.0  # of one who waits for what comes at once, however busy the machine


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """In memory where that is possible: SIGKILL loses nothing that the kernel was given.

    How long a disk takes to sync, 1,600 times, is no question for a test.
    """
    memory = Path("/dev/shm")
    if not (memory.is_dir() and os.access(memory, os.W_OK)):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


def budget_for(releases: int) -> float:
    """An epsilon that this many certificates just fit into: one more does not."""
    mu = certificate().mu or 0.0
    fits, more = (GaussianTradeoff(mu).power(k).epsilon(DELTA) for k in (releases, releases + 1))
    return 0.5 * (fits + more)


def writer(
    ledger: Ledger, i: int, first: int, last: int, folder: Path, pause: int | None = None
) -> Any:
    arguments = (ledger, f"w{i}", first, last, folder / f"receipts-{i}", pause)
    process = SPAWN.Process(target=append_many, args=arguments)
    process.start()
    return process


def receipts(folder: Path) -> dict[str, int]:
    """Which appends are known to have returned, and with which number."""
    known: dict[str, int] = {}
    for file in folder.glob("receipts-*"):
        writer_name = "w" + file.name.removeprefix("receipts-")
        for line in file.read_text().splitlines(keepends=True):
            words = line.split()
            if line.endswith("\n") and words[1] != "refused":
                known[f"{writer_name}/{words[0]}"] = int(words[1])
    return known


def progress(folder: Path, i: int) -> int:
    file = folder / f"receipts-{i}"
    return file.read_text().count("\n") if file.exists() else 0


def check_everything(ledger: Ledger, folder: Path) -> dict[str, Entry]:
    """No receipt without its entry; no key twice; a whole chain; the budget kept."""
    returned = receipts(folder)  # first: others go on writing
    ledger.verify()
    assert ledger.epsilon() <= ledger.terms.epsilon
    charged = ledger.entries()
    entries = {entry.key: entry for entry in charged if entry.key is not None}
    assert len(entries) == len(charged)
    for key, number in returned.items():
        assert entries[key].number == number
    return entries


@pytest.mark.parametrize(
    ("writers", "each", "kills"),
    [
        (3, 120, [(0, 5), (1, 15), (0, 20)]),
        pytest.param(8, 200, [(0, 10), (1, 30), (2, 50), (3, 70), (0, 60)], marks=pytest.mark.slow),
    ],
)
def test_writers_that_are_killed_and_started_again(
    quick_folder: Path, writers: int, each: int, kills: list[tuple[int, int]]
) -> None:
    """SIGKILL in mid-stream; `kills` says which writer, and after how many of its appends.

    One that is to be killed pauses a few appends later, in case the killer is held up.
    """
    ledger = Ledger.create(quick_folder / "ledger", epsilon=budget_for(writers * each), delta=DELTA)
    rng = random.Random(7)
    planned = list(kills)

    def start(i: int, first: int) -> Any:
        pause = min((after + 20 for j, after in planned if j == i), default=None)
        return writer(ledger, i, first, each, quick_folder, pause)

    processes = {i: start(i, 0) for i in range(writers)}
    while planned:
        due = [(i, after) for i, after in planned if progress(quick_folder, i) >= after][:1]
        for i, after in due:
            planned.remove((i, after))
            time.sleep(rng.uniform(0.0, 0.005))  # anywhere within an append
            assert processes[i].is_alive()
            os.kill(processes[i].pid, signal.SIGKILL)
            processes[i].join()
            assert processes[i].exitcode == -signal.SIGKILL
            # it repeats its last call, not knowing how that one ended
            again = max(0, progress(quick_folder, i) - 1)
            processes[i] = start(i, again)
        time.sleep(0.002)
        assert any(process.is_alive() for process in processes.values())
    check_everything(ledger, quick_folder)  # while the others go on
    for process in processes.values():
        process.join()
        assert process.exitcode == 0
    entries = check_everything(ledger, quick_folder)
    assert set(entries) == {f"w{i}/{k}" for i in range(writers) for k in range(each)}
    mu = certificate().mu or 0.0
    assert ledger.total() == GaussianTradeoff(mu).power(writers * each)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(certificate())


def test_the_budget_holds_when_all_want_the_last_of_it(tmp_path: Path) -> None:
    """Four processes ask for 30 each where 50 fit: exactly 50 are charged."""
    ledger = Ledger.create(tmp_path / "ledger", epsilon=budget_for(50), delta=DELTA)
    processes = [writer(ledger, i, 0, 30, tmp_path) for i in range(4)]
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert len(check_everything(ledger, tmp_path)) == 50
    answers = "".join(file.read_text() for file in tmp_path.glob("receipts-*"))
    assert answers.count("refused") == 4 * 30 - 50


def test_a_half_written_transaction_is_undone(tmp_path: Path) -> None:
    """Killed inside a transaction that had begun to change the file itself, journal and all."""
    ledger = Ledger.create(tmp_path / "ledger", epsilon=5.0, delta=DELTA)
    ledger.reserve(certificate(), label="kept")
    before = ledger.to_json()
    child = os.fork()
    if child == 0:
        import sqlite3

        connection = sqlite3.connect(ledger.path, isolation_level=None)
        connection.execute("PRAGMA cache_size = 1")  # pages are spilled to the file at once
        connection.execute("BEGIN IMMEDIATE")
        for i in range(2000):
            row = (f"{i:064}", "x" * 500)
            connection.execute("INSERT INTO documents VALUES (?, ?)", row)
        os.kill(os.getpid(), signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    journal = Path(f"{ledger.path}-journal")
    assert journal.stat().st_size > 0
    assert b"x" * 400 in ledger.path.read_bytes()  # the file holds what was never committed
    assert ledger.to_json() == before
    assert not journal.exists() or journal.stat().st_size == 0
    ledger.verify()
    assert ledger.reserve(certificate()).number == 2


def test_a_creation_that_was_killed_left_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    path.touch()  # as far as SQLite comes before its first commit
    ledger = Ledger.create(path, epsilon=1.0, delta=DELTA)
    ledger.verify()


def test_copies_are_the_same_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger.create("ledger", epsilon=5.0, delta=DELTA)
    state = pickle.dumps(ledger)
    assert len(state) < 500
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    copies = [pickle.loads(state), copy.deepcopy(ledger), copy.copy(ledger), clone(Mean(ledger))]
    for k, other in enumerate(copies):
        same = other.ledger if isinstance(other, Mean) else other
        assert same == ledger
        same.reserve(certificate())
        assert len(ledger.entries()) == k + 1


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_every_kind_of_process_pool(tmp_path: Path, method: str) -> None:
    ledger = Ledger.create(tmp_path / "ledger", epsilon=5.0, delta=DELTA)
    ledger.reserve(certificate())
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        workers = list(pool.map(charge, [ledger] * 8))
    assert os.getpid() not in workers
    assert len(ledger.entries()) == 9
    ledger.verify()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_threads_and_a_fork_among_them(tmp_path: Path) -> None:
    """The child is forked while other threads write; it inherits no half-open transaction."""
    ledger = Ledger.create(tmp_path / "ledger", epsilon=1e6, delta=DELTA)
    stop = threading.Event()

    def write(_: int) -> int:
        done = 0
        while not stop.is_set():
            charge(ledger)
            done += 1
        return done

    context = multiprocessing.get_context("fork")
    with ThreadPoolExecutor(3) as pool:
        counts = [pool.submit(write, i) for i in range(3)]
        children = []
        for _ in range(10):
            children.append(context.Process(target=charge, args=(ledger,)))
            children[-1].start()
        for child in children:
            child.join()
        stop.set()
        written = sum(count.result() for count in counts)
    assert [child.exitcode for child in children] == [0] * 10
    ledger.verify()
    assert len(ledger.entries()) == written + 10


def test_a_writer_that_hangs_is_named(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger", epsilon=5.0, delta=DELTA)
    ready, release = SPAWN.Event(), SPAWN.Event()
    process = SPAWN.Process(target=hold, args=(str(ledger.path), ready, release))
    process.start()
    assert ready.wait(PATIENCE)
    with pytest.raises(LedgerUnavailable, match=r"held by another process for more than 0\.05 s"):
        Ledger(ledger.path, timeout=0.05)
    release.set()
    process.join()
    assert Ledger(ledger.path, timeout=0.05).entries() == ()


class TestCrossValidation:
    """Every fit on private data is a release, in whichever process it runs."""

    X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0.0], [3.0]], 30, axis=0)
    y = np.repeat([0, 1], 30)

    def search(self, ledger: Ledger, **options: Any) -> GridSearchCV:
        grid = {"noise": [0.5, 1.0, 2.0]}
        folds = KFold(3, shuffle=True, random_state=0)  # which do not depend on the labels
        return GridSearchCV(Mean(ledger), grid, cv=folds, error_score="raise", **options)

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_every_fit_is_charged(self, tmp_path: Path, n_jobs: int) -> None:
        ledger = Ledger.create(tmp_path / "ledger", epsilon=5.0, delta=DELTA)
        search = self.search(ledger, n_jobs=n_jobs).fit(self.X, self.y)
        entries = ledger.entries()
        assert len(entries) == 3 * 3 + 1  # three candidates, three folds, one refit
        assert all(entry.completed for entry in entries)
        sizes = [entry.certificate.run.n for entry in entries if entry.certificate]  # type: ignore[union-attr]
        assert sorted(sizes) == [40] * 9 + [60]
        assert search.best_estimator_.ledger == ledger
        ledger.verify()

    def test_they_run_in_other_processes(self, tmp_path: Path) -> None:
        ledger = Ledger.create(tmp_path / "ledger", epsilon=5.0, delta=DELTA)

        def where(model: Mean, X: Any, y: Any) -> float:
            return float(model.process_)

        search = self.search(ledger, n_jobs=2, scoring=where, refit=False).fit(self.X, self.y)
        splits = [search.cv_results_[f"split{k}_test_score"] for k in range(3)]
        assert os.getpid() not in np.concatenate(splits)
        assert len(ledger.entries()) == 9

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_the_refusal_comes_out(self, tmp_path: Path, n_jobs: int) -> None:
        ledger = Ledger.create(tmp_path / "ledger", epsilon=1.0, delta=DELTA)
        with pytest.raises(BudgetExceeded) as caught:
            self.search(ledger, n_jobs=n_jobs).fit(self.X, self.y)
        assert caught.value.budget == 1.0
        assert caught.value.total > 1.0
        assert ledger.epsilon() <= 1.0
        ledger.verify()

    def test_or_before_the_search(self, tmp_path: Path) -> None:
        ledger = Ledger.create(tmp_path / "ledger", epsilon=1.0, delta=DELTA)
        with pytest.raises(BudgetExceeded):
            ledger.check(certificate(noise=0.5, n=40), times=10)
        assert ledger.entries() == ()
