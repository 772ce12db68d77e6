"""Threads: every part is done once, errors come out, and all end when one fails."""

from __future__ import annotations

import os
import signal
import threading
from functools import partial
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp.training.crew import Crew, at_once

PATIENCE = 600.0  # of one who waits for what comes at once, however busy the machine


@given(size=st.integers(1, 4), first=st.integers(0, 9), number=st.integers(0, 30))
def test_parts_cover_everything_once(size: int, first: int, number: int) -> None:
    seen: list[tuple[int, int, int]] = []
    with Crew(size, limited=False) as crew:
        crew.share(lambda *part: seen.append(part), first, first + number)
    assert [k for k, _, _ in sorted(seen)] == list(range(size))
    covered = [i for _, start, stop in sorted(seen) for i in range(start, stop)]
    assert covered == list(range(first, first + number))


def test_an_error_in_another_thread_comes_out() -> None:
    def fail(k: int, start: int, stop: int) -> None:
        if k == 1:
            raise ValueError("here")

    with Crew(2, limited=False) as crew, pytest.raises(ValueError, match="here"):
        crew.share(fail, 0, 10)


@given(jobs=st.integers(1, 9), threads=st.integers(1, 4))
def test_results_come_in_order(jobs: int, threads: int) -> None:
    def job(k: int, stop: Event) -> int:
        assert not stop.is_set()
        return k * k

    found = at_once([partial(job, k) for k in range(jobs)], threads)
    assert found == [k * k for k in range(jobs)]


@pytest.mark.parametrize("failing", [0, 1])
@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_when_one_fails_the_others_are_told(failing: int, kind: type[BaseException]) -> None:
    """Whether it is the caller's thread or another."""
    both = threading.Barrier(2)
    told: list[bool] = []
    begun: list[int] = []

    def job(k: int, stop: Event) -> None:
        begun.append(k)
        mine = threading.current_thread() is threading.main_thread()
        if k < 2:
            both.wait()
        if mine == (failing == 0):
            raise kind("here")
        told.append(stop.wait(PATIENCE))

    with pytest.raises(kind, match="here"):
        at_once([partial(job, k) for k in range(6)], 2)
    assert told == [True]
    assert sorted(begun) == [0, 1]


def test_an_interrupt_while_others_are_waited_for_ends_them() -> None:
    both = threading.Barrier(2)
    told: list[bool] = []

    def job(stop: Event) -> None:
        both.wait()
        if threading.current_thread() is not threading.main_thread():
            os.kill(os.getpid(), signal.SIGINT)  # Python tells the main thread
            told.append(stop.wait(PATIENCE))

    with pytest.raises(KeyboardInterrupt):
        at_once([job, job], 2)
    assert told == [True]


def test_two_threads_work_at_the_same_time() -> None:
    both = threading.Barrier(2)

    def job(stop: Event) -> int:
        both.wait()  # both are there,
        ident = threading.get_ident()
        both.wait()  # and neither has left
        return ident

    assert len(set(at_once([job, job], 2))) == 2
