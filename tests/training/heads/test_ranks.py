"""Two real processes: the model of one, noise that is drawn once, and failures of all together."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch.distributed as dist
from torch.multiprocessing.spawn import spawn

from shiftdp import InvalidInput
from shiftdp.last_iterate import Certificate
from shiftdp.last_iterate.sum_rounding import THREADS
from shiftdp.torch import PrivateHead
from shiftdp.training import descend
from shiftdp.training.heads.ranks import Ranks
from tests.training.heads import workers
from tests.training.heads.examples import RUNS, records

pytestmark = pytest.mark.skipif(not dist.is_available(), reason="torch without distributed")
CLOSE = 1e-9  # of weights of size 1


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What two ranks report."""
    folder = tmp_path_factory.mktemp("ranks")
    spawn(workers.work, args=(str(folder),), nprocs=2)  # type: ignore[no-untyped-call]
    return [pickle.loads(Path(folder, f"rank {rank}").read_bytes()) for rank in range(2)]


@pytest.mark.parametrize("name", RUNS)
def test_the_weights_are_those_of_one_process(found: list[dict[str, Any]], name: str) -> None:
    expected = descend(workers.whole_plan(name), *records(workers.LOSS))
    for rank in found:
        assert np.abs(rank[f"run {name}"] - expected).max() <= CLOSE


def test_so_they_are_on_a_device_and_with_features_that_are_not_kept(
    found: list[dict[str, Any]],
) -> None:
    for rank in found:
        assert np.abs(rank["device"] - rank["run poisson"]).max() <= CLOSE
        assert np.abs(rank["recomputed"] - rank["run shuffled"]).max() <= CLOSE


def test_only_the_first_rank_draws_noise_and_batches(found: list[dict[str, Any]]) -> None:
    assert found[0]["opened"] == ["batches", "noise"] * len(RUNS)
    assert found[1]["opened"] == []


@pytest.mark.parametrize(
    ("what", "names"),
    [
        ("second rank fails", ("TrainingStopped", "RankFailed")),
        ("first rank fails", ("TrainingStopped", "RankFailed")),
        ("second rank cannot begin", ("TrainingStopped", "RankFailed")),
        ("first rank cannot begin", ("TrainingStopped", "TrainingStopped")),
        ("interrupted", ("KeyboardInterrupt", "TrainingStopped")),
        ("bad label", ("TrainingStopped", "InvalidInput")),
        ("other features", ("InvalidInput", "InvalidInput")),
        ("no room in the ledger", ("BudgetExceeded", "TrainingStopped")),
        ("the same records", ("InvalidInput", "InvalidInput")),
    ],
)
def test_if_one_rank_fails_all_do_and_nothing_is_released(
    found: list[dict[str, Any]], what: str, names: tuple[str, str]
) -> None:
    """The group goes on working: what comes after in the same processes is tested below."""
    for rank, name in zip(found, names, strict=True):
        kind, text = rank[what]
        assert kind == name
        assert "secret" not in text
        if kind in ("TrainingStopped", "RankFailed"):
            assert "nothing was released" in text


def test_a_head_is_that_of_one_process_on_every_rank(found: list[dict[str, Any]]) -> None:
    head = PrivateHead(**workers.FIELDS)
    expected = head.fit(*workers.tensors(slice(0, sum(workers.SIZES)))).weight.detach().numpy()
    averaged = PrivateHead(**workers.FIELDS, average=2, algorithm="gd")
    mean = averaged.fit(*workers.tensors(slice(0, 90))).weight.detach().numpy()
    for rank in found:
        assert np.abs(rank["head"][0] - expected).max() <= CLOSE
        assert np.abs(rank["average"][0] - mean).max() <= CLOSE
        assert Certificate.from_json(rank["head"][1]) == head.certificate_
    assert np.abs(found[1]["alone"] - expected).max() == 0.0


def test_full_batches_of_a_distributed_loader_are_those_of_all_records(
    found: list[dict[str, Any]],
) -> None:
    head = PrivateHead(**workers.FIELDS, algorithm="gd", centre=False)  # ranks do not centre
    expected = head.fit(*workers.tensors(slice(0, sum(workers.SIZES)))).weight.detach().numpy()
    for rank in found:
        assert np.abs(rank["loader"] - expected).max() <= CLOSE


@pytest.mark.slow
def test_a_rank_that_is_killed_ends_the_run_of_the_other(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=workers.killed, args=(k, str(tmp_path))) for k in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert both[1].exitcode == -signal.SIGKILL
    kind, text = pickle.loads((tmp_path / "rank 0").read_bytes())
    assert (kind, "nothing was released" in text) == ("TrainingStopped", True)
    assert not (tmp_path / "rank 1").exists()


def test_one_process_is_all_ranks() -> None:
    ranks = Ranks()
    assert (ranks.rank, ranks.number, ranks.threads) == (0, 1, THREADS)
    assert ranks.from_first(lambda: 3) == ranks.agreed(lambda: 3) == 3
    assert ranks.shared("x") == ["x"]
    ranks.require_apart(np.zeros((1, 1)), np.zeros(1))


def test_more_ranks_than_the_proof_allows_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dist, "is_initialized", lambda: True)
    monkeypatch.setattr(dist, "get_rank", lambda: 0)
    monkeypatch.setattr(dist, "get_world_size", lambda: THREADS + 1)
    with pytest.raises(InvalidInput, match="64 processes or fewer"):
        Ranks()
    monkeypatch.setattr(dist, "get_world_size", lambda: 5)
    assert Ranks().threads * 5 <= THREADS
