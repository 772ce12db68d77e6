"""Workers that die in the middle of a step, or while they read, when a file tells them to."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from numpy.typing import NDArray

from shiftdp.training import Logistic
from shiftdp.training.losses.base import Floats

_PATIENCE = 15  # seconds for a process that was killed to be started again


def settle(client: Any) -> bool:
    """Wait until all workers are there, and until those who watch over them know it.

    Dask starts a worker again that was killed, but not one that is killed while it starts: whether
    all are back.
    """
    watchers = client.cluster.workers.values()
    try:
        client.wait_for_workers(len(watchers), timeout=_PATIENCE)
    except TimeoutError:
        return False

    async def known() -> None:
        for watcher in watchers:
            await watcher.process.running.wait()

    client.sync(known)
    return True


def order_death(client: Any, folder: Path) -> None:
    """The next process that looks will die, if Dask has all of them in its care."""
    if settle(client):
        (folder / "die").touch()
        (folder / f"order-{len(list(folder.glob('order-*')))}").touch()


def obey(folder: str) -> None:
    """Die, as `kill -9` has it, if it was ordered and no other process did so first."""
    try:
        os.rename(Path(folder, "die"), Path(folder, f"dead-{os.getpid()}"))
    except OSError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def deaths(folder: Path) -> int:
    """How many died; as many as were ordered to, and one at least."""
    found = len(list(folder.glob("dead-*")))
    assert found == len(list(folder.glob("order-*"))) > 0
    return found


@dataclass(frozen=True)
class Mortal(Logistic):
    """The logistic loss of a process that may have to die between the two products of a step."""

    folder: str = ""

    def residuals(self, z: Floats, targets: NDArray[Any], limits: Floats | None) -> None:
        obey(self.folder)
        super().residuals(z, targets, limits)


def from_files(folder: Path, X: NDArray[Any], blocks: int) -> Any:
    """An array whose blocks are read from files each time, by a process that may have to die."""
    parts = np.array_split(X, blocks)
    for number, part in enumerate(parts):
        np.save(folder / f"{number}.npy", part)

    def read(block_info: Any = None) -> NDArray[Any]:
        obey(str(folder))
        found: NDArray[Any] = np.load(folder / f"{block_info[None]['chunk-location'][0]}.npy")
        return found

    chunks = (tuple(len(part) for part in parts), X.shape[1:])
    return da.map_blocks(read, chunks=chunks if X.ndim == 2 else chunks[:1], dtype=X.dtype)
