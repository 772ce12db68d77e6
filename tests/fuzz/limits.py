"""What may happen while an input is tried: our own errors, within a time and a memory.

Everything else is a finding: another exception, a warning that is not ours, a number that is not
one, more processor time or memory than a target states.
"""

from __future__ import annotations

import math
import signal
import sys
import threading
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np

from shiftdp import ShiftdpError, SmallLastBatch
from shiftdp.training.assumed_bound import AssumedBoundWarning
from shiftdp.training.estimators.surroundings import PrivacyLeakWarning
from shiftdp.training.large_delta import LargeDeltaWarning
from shiftdp.training.planning import WeakSignalWarning

OURS = (
    AssumedBoundWarning,
    LargeDeltaWarning,
    PrivacyLeakWarning,
    SmallLastBatch,
    WeakSignalWarning,
)

MEGABYTE = 1 << 20


class Broken(Exception):
    """A property that does not hold; says which, and for what."""


class TooLong(BaseException):
    """More processor time than the target states. Not an `Exception`, lest somebody catch it."""


@contextmanager
def refusals_allowed() -> Iterator[list[BaseException]]:
    """Errors of this package pass, if they say something; all warnings but ours are errors.

    What is yielded has the refusal in it afterwards, if there was one.
    """
    refused: list[BaseException] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for category in OURS:
            warnings.simplefilter("ignore", category)
        try:
            yield refused
        except ShiftdpError as error:
            require(bool(str(error).strip()), "an error that says nothing", type(error))
            refused.append(error)


@contextmanager
def limited(seconds: float, megabytes: float) -> Iterator[None]:
    """So much processor time, and so much address space more than there is now.

    The time is that of the process (`ITIMER_PROF`), so that a busy machine makes no difference. The
    space is that of the system (`RLIMIT_AS`), which has native code in it too.
    """
    if sys.platform != "linux" or threading.current_thread() is not threading.main_thread():
        yield  # elsewhere there is no such limit, and signals are for the main thread
        return
    import resource

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLong(f"more than {seconds:g} s of processor time")

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", encoding="ascii") as file:
        most = int(file.read().split()[0]) * resource.getpagesize() + int(megabytes * MEGABYTE)
    old = signal.signal(signal.SIGPROF, stop)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, old)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def peak_of(action: Callable[[], object]) -> int:
    """The most bytes that Python and NumPy held at once while it ran, beside those before."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def require(holds: bool, *what: Any) -> None:
    if not holds:
        raise Broken(*what)


def require_number(value: Any, what: str, low: float = 0.0, high: float = math.inf) -> float:
    """Not NaN, and in its range; of an array, all of it."""
    numbers = np.asarray(value, dtype=np.float64)
    require(bool(np.all((numbers >= low) & (numbers <= high))), what, value)
    return float(numbers.flat[0])
