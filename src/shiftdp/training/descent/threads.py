"""Threads that share out the records of a batch, and products that keep to their thread."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import cache
from typing import Any, Self

__all__ = [
    "Context",
    "Crew",
    "cores",
    "products_can_be_limited",
    "single_threaded_products",
]


class Context(ABC):
    """Something that a with statement closes."""

    @abstractmethod
    def close(self) -> None:
        """Give back what is held, and write over what is private."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Crew(Context):
    """Threads that share out a batch: a part for each of them, the first for the caller.

    Use it as a context: the threads are there while it is open.

    Args:
        size: threads, the caller's among them.
        limited: whether matrix products use no other threads than those that call them.
    """

    def __init__(self, size: int, *, limited: bool) -> None:
        self.size = size
        self._limited = limited
        self._pool: ThreadPoolExecutor | None = None
        self._held = ExitStack()

    def share(self, job: Callable[[int, int, int], object], first: int, last: int) -> None:
        """Call job(k, start, stop) for the k-th part of what is from `first` to `last`."""
        if self._pool is None:
            job(0, first, last)
            return
        ends = [first + (last - first) * k // self.size for k in range(self.size + 1)]
        parts = [self._pool.submit(job, k, ends[k], ends[k + 1]) for k in range(1, self.size)]
        job(0, ends[0], ends[1])
        for part in parts:
            part.result()

    def __enter__(self) -> Self:
        if self._limited:
            self._held.enter_context(single_threaded_products())
        if self.size > 1:
            self._pool = self._held.enter_context(ThreadPoolExecutor(self.size - 1))
        return self

    def close(self) -> None:
        self._pool = None
        self._held.close()


def cores() -> int:
    """How many threads can run at once."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def products_can_be_limited() -> bool:
    """Whether threadpoolctl is there to keep matrix products to the thread that calls them."""
    return _libraries() is not None


def single_threaded_products() -> AbstractContextManager[Any]:
    """While it is entered, matrix products use the thread that calls them, if that can be had.

    It holds for products of all threads: one of them enters it for all.
    """
    libraries = _libraries()
    limit: AbstractContextManager[Any] = (
        nullcontext() if libraries is None else libraries.limit(limits=1, user_api="blas")
    )
    return limit


@cache
def _libraries() -> Any:
    """What makes products, as threadpoolctl finds it, which takes milliseconds; None without it."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()
