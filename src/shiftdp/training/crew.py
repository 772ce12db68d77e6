"""Threads: a crew that shares out each batch, or one thread for each of several jobs."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import cache
from threading import Event
from typing import Any, Self, TypeVar

__all__ = [
    "Context",
    "Crew",
    "at_once",
    "cores",
    "products_can_be_limited",
    "single_threaded_products",
]

Result = TypeVar("Result")


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


def at_once(jobs: Sequence[Callable[[Event], Result]], threads: int) -> list[Result]:
    """What the jobs return, in their order; the caller's thread is one of those that run them.

    When one fails, the event that all are given is set, jobs that have not begun do not begin, and
    the error is raised when all have ended.
    """
    waiting = deque(enumerate(jobs))
    results: dict[int, Result] = {}
    stop = Event()

    def work() -> None:
        while waiting and not stop.is_set():
            try:
                k, job = waiting.popleft()
            except IndexError:  # somebody else took it
                return
            try:
                results[k] = job(stop)
            except BaseException:
                stop.set()
                raise

    with ThreadPoolExecutor(max(1, threads - 1)) as pool:
        others = [pool.submit(work) for _ in range(min(threads, len(jobs)) - 1)]
        try:
            work()
            for other in others:
                other.result()
        except BaseException:  # an interrupt, while others are waited for
            stop.set()
            raise
    return [results[k] for k in range(len(jobs))]


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
