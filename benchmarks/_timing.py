"""How the benchmarks measure and print."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

__all__ = ["best_of", "print_table"]


def best_of(call: Callable[[], object], seconds: float = 0.5) -> float:
    """Seconds of processor time that one call takes: the best of as many batches as fit.

    What else runs on the machine does not count, and a batch is long enough for the clock.
    """
    call()
    number = 1
    while (spent := _batch(call, number)) < 2e-3:
        number *= 4
    best, end = spent, time.perf_counter() + seconds
    while time.perf_counter() < end:
        best = min(best, _batch(call, number))
    return best / number


def _batch(call: Callable[[], object], number: int) -> float:
    start = time.process_time()
    for _ in range(number):
        call()
    return time.process_time() - start


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Plain columns, the first to the left and the others to the right."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    for row in (header, ["-" * width for width in widths], *rows):
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        print("  ".join(cells))
