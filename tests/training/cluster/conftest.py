"""A cluster of two processes on this machine, which the tests of this folder share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    two = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with two as made, Client(made) as client:
        yield client


@pytest.fixture
def client(cluster: Any) -> Any:
    """Both of its workers are there: those that an earlier test ended have come back."""
    cluster.wait_for_workers(2, timeout=60)
    return cluster
