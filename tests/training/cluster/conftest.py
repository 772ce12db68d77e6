"""A cluster of two processes on this machine, which the tests of this folder share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.training.cluster.faults import settle


class Shared:
    """A cluster that is made anew when one of its processes does not come back.

    Dask starts a worker again that was killed, but not one that is killed while it starts.
    """

    def __init__(self) -> None:
        self._open = ExitStack()
        self._client: Any = None

    def client(self) -> Any:
        from distributed import Client, LocalCluster

        if self._client is not None:
            if settle(self._client):
                return self._client
            self.close()
        made = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
        self._client = self._open.enter_context(Client(self._open.enter_context(made)))
        return self._client

    def close(self) -> None:
        self._client = None
        self._open.close()


@pytest.fixture(scope="session")
def shared() -> Iterator[Shared]:
    clusters = Shared()
    yield clusters
    clusters.close()


@pytest.fixture
def client(shared: Shared) -> Any:
    """Of a cluster with two workers that are there."""
    return shared.client()
