"""What each of two processes does in the tests of ranks; spawned, so it is a module of its own."""

from __future__ import annotations

import os
import pickle
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from shiftdp import Ledger
from shiftdp.torch import PrivateHead
from shiftdp.training import Plan, Seeded, Softmax
from shiftdp.training.descent.gradient import LocalSource
from shiftdp.training.descent.loop import descend_on
from shiftdp.training.descent.records import Indices, prepare
from shiftdp.training.descent.source import BatchGradient, Source
from shiftdp.training.heads.loaders import reader_of
from shiftdp.training.heads.ranks import Ranks
from shiftdp.training.heads.recomputed import RecomputedSource
from shiftdp.training.heads.source import DeviceSource
from shiftdp.training.losses.base import Floats
from tests.training.heads.examples import RUNS, plan_of, records

LOSS = Softmax(classes=4)
SIZES = [60, 30]
FIELDS: dict[str, Any] = {
    "epsilon": 4.0, "feature_bound": 2.0, "classes": 4, "random_state": 3, "epochs": 4,
}  # fmt: skip


def whole_plan(name: str) -> Plan:
    return plan_of(RUNS[name], LOSS, clipping="envelope", clip=0.6)


def part(rank: int) -> slice:
    return slice(sum(SIZES[:rank]), sum(SIZES[: rank + 1]))


def tensors(rows: slice) -> tuple[torch.Tensor, torch.Tensor]:
    X, y = records(LOSS)
    return torch.from_numpy(X[rows]), torch.from_numpy(y[rows])


@dataclass(frozen=True)
class Failing:
    """Records that can be summed a few times only."""

    source: Source
    times: int
    kill: bool = False

    @property
    def features(self) -> int:
        return self.source.features

    @property
    def mapped(self) -> bool:
        return False

    @contextmanager
    def gradient(self, plan: Plan, models: Floats) -> Iterator[BatchGradient]:
        if self.times == 0:
            raise OSError("a secret")
        left = [self.times]

        def gradient(at: Floats, rows: Indices) -> Floats:
            left[0] -= 1
            if left[0] == 0 and self.kill:
                os.kill(os.getpid(), signal.SIGKILL)
            if left[0] == 0:
                raise ArithmeticError("a secret")
            return own(at, rows)

        with self.source.gradient(plan, models) as own:
            yield gradient


def local(plan: Plan, rank: int) -> LocalSource:
    X, y = records(LOSS)
    own = part(rank)
    return LocalSource(prepare(plan, X[own], y[own], part=SIZES[rank]), Ranks().threads)


def trained(name: str, kind: str = "local") -> Any:
    plan, ranks = whole_plan(name), Ranks()
    source: Source = local(plan, ranks.rank)
    if kind == "device":
        source = DeviceSource.of(plan, local(plan, ranks.rank).records, torch.device("cpu"))
    if kind == "recomputed":
        reader = reader_of(*tensors(part(ranks.rank)))
        source = RecomputedSource.of(plan, reader, torch.device("cpu"), ranks.threads)
    return ranks.descend(plan, source, SIZES, lambda whole: descend_on(plan, whole))


def failing(rank: int, times: int, kill: bool = False) -> Any:
    """A run in which this rank cannot go on after some steps."""
    plan, ranks = whole_plan("fixed"), Ranks()
    source: Source = local(plan, ranks.rank)
    if ranks.rank == rank:
        source = Failing(source, times, kill)
    return ranks.descend(plan, source, SIZES, lambda whole: descend_on(plan, whole))


def interrupted() -> Any:
    """A run that the first rank leaves."""
    plan, ranks = whole_plan("poisson"), Ranks()

    def stop(step: int, steps: int) -> None:
        if step == 3:
            raise KeyboardInterrupt

    return ranks.descend(
        plan,
        local(plan, ranks.rank),
        SIZES,
        lambda whole: descend_on(plan, whole, progress=stop),
    )


def fitted(**fields: Any) -> Any:
    layer = PrivateHead(**{**FIELDS, **fields}).fit(*tensors(part(Ranks().rank)))
    return layer.weight.detach().numpy(), layer.certificate.to_json()


def fitted_from_a_loader() -> Any:
    data = TensorDataset(*tensors(slice(0, sum(SIZES))))
    loader: DataLoader[Any] = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    return PrivateHead(**FIELDS, algorithm="gd").fit(loader).weight.detach().numpy()


def alone(rank: int) -> Any:
    """The second rank trains by itself, and the first one does something else."""
    if rank == 0:
        return None
    head = PrivateHead(**FIELDS, distributed=False)
    return head.fit(*tensors(slice(0, sum(SIZES)))).weight.detach().numpy()


def with_a_bad_label() -> Any:
    X, y = tensors(part(Ranks().rank))
    if Ranks().rank == 1:
        y[0] = 17
    return PrivateHead(**FIELDS).fit(X, y)


def with_other_features() -> Any:
    X, y = tensors(part(Ranks().rank))
    return PrivateHead(**FIELDS).fit(X[:, : 3 + Ranks().rank], y)


def charged(folder: Path) -> Any:
    """A ledger, of the first rank, that has no room."""
    ledger = None
    if Ranks().first:
        ledger = Ledger.create(folder / "ledger", epsilon=0.1, delta=1e-5)
    return fitted(ledger=ledger, random_state=None)


def told(work: Callable[[], Any]) -> Any:
    """What comes of it: a value, or the name of an exception and its text."""
    try:
        return work()
    except BaseException as error:
        return type(error).__name__, str(error)


def meet(rank: int, folder: str) -> None:
    """Two processes of one machine, which need no network to find each other."""
    if Path("/sys/class/net/lo").exists():
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)


def work(rank: int, folder: str) -> None:
    """Everything that two ranks are asked to do, one after another in one group."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    meet(rank, folder)
    opened: list[str] = []
    draw = Seeded.open

    def counted(self: Seeded, role: Any) -> Any:
        opened.append(role)
        return draw(self, role)

    Seeded.open = counted  # type: ignore[method-assign]
    found: dict[str, Any] = {f"run {name}": told(partial(trained, name)) for name in RUNS}
    found["opened"] = list(opened)
    found["device"] = told(lambda: trained("poisson", "device"))
    found["recomputed"] = told(lambda: trained("shuffled", "recomputed"))
    found["second rank fails"] = told(lambda: failing(1, 4))
    found["first rank fails"] = told(lambda: failing(0, 4))
    found["second rank cannot begin"] = told(lambda: failing(1, 0))
    found["first rank cannot begin"] = told(lambda: failing(0, 0))
    found["interrupted"] = told(interrupted)
    found["bad label"] = told(with_a_bad_label)
    found["other features"] = told(with_other_features)
    found["no room in the ledger"] = told(lambda: charged(Path(folder)))
    found["the same records"] = told(lambda: PrivateHead(**FIELDS).fit(*tensors(slice(0, 30))))
    found["head"] = told(fitted)
    found["average"] = told(lambda: fitted(average=2, algorithm="gd"))
    found["alone"] = told(lambda: alone(rank))
    found["loader"] = told(fitted_from_a_loader)
    Path(folder, f"rank {rank}").write_bytes(pickle.dumps(found))
    dist.destroy_process_group()


def killed(rank: int, folder: str) -> None:
    """The second rank is killed in the middle of a step."""
    torch.set_num_threads(1)
    meet(rank, folder)
    Path(folder, f"rank {rank}").write_bytes(pickle.dumps(told(lambda: failing(1, 3, kill=True))))
