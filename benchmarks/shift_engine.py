"""Claim: the best shifts of an arbitrary schedule with projection cost little more than one pass.

Time and peak memory of `optimal_shifts` (all starts, shifts, and the proof of mu) at t = 10^5, 10^6
and 10^7, beside two floors measured in the same run: one compiled isotonic regression and one
cumulative sum of the same length. Growth is set against t log t. The periodic call follows. On the
wall are t = 10^5 and 10^6 of the first setting.

    python benchmarks/shift_engine.py [largest power of ten, 7 by default]
"""

from __future__ import annotations

import math
import resource
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator

import numpy as np
import scipy
from wall import Claim, Here, same, show

from shiftdp.interpolation.periodic import optimal_shifts_periodic
from shiftdp.interpolation.schedule import PeriodicSchedule, Schedule
from shiftdp.interpolation.shifts import optimal_shifts
from shiftdp.interpolation.verification import verify


def arbitrary(t: int, rng: np.random.Generator, c_low: float, diameter: float) -> Schedule:
    """Random contractions, noises and visits; no structure to exploit."""
    s = rng.uniform(0.0, 1.0, t) * (rng.random(t) < 0.3)
    return Schedule(rng.uniform(c_low, 1.0, t), s, rng.uniform(0.5, 2.0, t), diameter)


def timed(call: Callable[[], object], repeat: int = 1) -> float:
    begin = time.perf_counter()
    for _ in range(repeat):
        call()
    return (time.perf_counter() - begin) / repeat


def peak_memory(call: Callable[[], object]) -> float:
    """Megabytes allocated at the worst moment, beyond the schedule itself."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def claims(full: bool) -> Iterator[Claim]:
    rng = np.random.default_rng(0)
    short, long = (arbitrary(t, rng, 1.0 - 1.0 / t, t / 20.0) for t in (10**5, 10**6))

    def solved(schedule: Schedule) -> int:
        return int(optimal_shifts(schedule).last[-1])  # all steps are covered

    def isotonic() -> int:
        found = scipy.optimize.isotonic_regression(short.sensitivity, weights=short.noise)
        return len(found.x)

    yield Claim(
        name="shift_engine/isotonic",
        what="the best shifts of an arbitrary schedule of 10^5 steps with projection",
        ours=Here("optimal_shifts", lambda: solved(short)),
        other=Here("one isotonic regression", isotonic),
        agree=same(),
        accuracy="the same length",
        kind="floor",
    )

    def per(schedule: Schedule) -> float:
        t = len(schedule.noise)
        return t * math.log2(t)

    yield Claim(
        name="shift_engine/growth",
        what="the same for 10^6 steps beside 10^5, each divided by t log t",
        ours=Here("optimal_shifts", lambda: solved(long) // len(long.noise), per=per(long)),
        other=Here("10^5 steps", lambda: solved(short) // len(short.noise), per=per(short)),
        agree=same(),
        accuracy="a shift for each step",
        kind="floor",
        rounds=3,
    )


def main(largest: int) -> None:
    show(claims(full=False))
    rng = np.random.default_rng(0)
    scipy.optimize.isotonic_regression(np.ones(2))  # loads the module
    # The diameter decides how many starts have to be compared; t/20 leaves about t of them open.
    settings = {
        "c in [1 - 1/t, 1], D = t/20": lambda t: arbitrary(t, rng, 1.0 - 1.0 / t, t / 20.0),
        "c in [.999, 1], D = 100": lambda t: arbitrary(t, rng, 0.999, 100.0),
        "c in [.99, 1.01], D = 1000": lambda t: Schedule(
            rng.uniform(0.99, 1.01, t), rng.uniform(0.0, 1.0, t), rng.uniform(0.5, 2.0, t), 1000.0
        ),
    }
    for name, make in settings.items():
        print(f"\n{name}")
        print("       t    solve   verify  isotonic   cumsum   s / (t log2 t)    peak MB    mu")
        for power in range(5, largest + 1):
            t = 10**power
            schedule = make(t)
            floor = timed(
                lambda y=schedule.sensitivity, w=schedule.noise: scipy.optimize.isotonic_regression(
                    y, weights=w
                )
            )
            sums = timed(lambda y=schedule.noise: np.cumsum(y))
            solve = timed(lambda x=schedule: optimal_shifts(x))
            shifts = optimal_shifts(schedule)
            check = timed(lambda x=schedule, y=shifts: verify(x, y))
            memory = peak_memory(lambda x=schedule: optimal_shifts(x)) if power <= 6 else math.nan
            print(
                f"   10^{power}  {solve:6.3f} s {check:6.3f} s  {floor:6.3f} s {sums:6.4f} s"
                f"   {solve / (t * math.log2(t)):.2e} s   {memory:8.0f}    {shifts.mu:.6f}"
            )
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(f"\nlargest resident set of the whole run: {rss:.0f} MB")

    print("\nperiodic, 10^6 epochs of 40 steps")
    for c, diameter in ((0.9999, math.inf), (1.0, math.inf), (1.0, 1000.0), (1.0001, 1000.0)):
        short = PeriodicSchedule(c, 1.0, 1.0, 40, 13, 40 * 10**6, diameter)
        optimal_shifts_periodic(short)
        call = timed(lambda x=short: optimal_shifts_periodic(x), 20)
        print(f"   c = {c}, D = {diameter}: {1e6 * call:9.1f} microseconds")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
