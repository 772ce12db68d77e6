"""Claim: `shiftdp --help` takes less than 150 ms, and `shiftdp account ...` less than 500 ms.

Whole processes, from start to exit, in processor time, beside a floor measured in the same run: an
interpreter that loads NumPy. Run by itself, the file shows the clock too, the best and the median
of many, and other commands.

    python benchmarks/command_line.py
"""

from __future__ import annotations

import resource
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator

from _timing import print_table
from wall import Claim, Limit, Reads, same, show

HELP, ACCOUNT = 0.150, 0.500
ROUNDS = 25
LINE = (
    "cgd --n 60000 --batch-size 1500 --epochs 50 --learning-rate 0.05 --noise 0.01 "
    "--strong-convexity 0.002 --smoothness 32.502 --sensitivity 10 --delta 1e-5"
)
RUN = shlex.split(LINE)
# what the installed script does, without depending on where it was installed
PROGRAM = [sys.executable, "-c", "from shiftdp.ui.main import main; main()"]


def processes() -> dict[str, list[str]]:
    python = [sys.executable, "-c"]
    return {
        "floor: python -c pass": [*python, "pass"],
        "floor: import numpy": [*python, "import numpy"],
        "import shiftdp": [*python, "import shiftdp"],
        "import click": [*python, "import click"],
        "shiftdp --help": [*PROGRAM, "--help"],
        "shiftdp account --help": [*PROGRAM, "account", "--help"],
        "shiftdp account": [*PROGRAM, "account", *RUN],
        "shiftdp account --json": [*PROGRAM, "account", *RUN, "--json"],
        "shiftdp compare": [*PROGRAM, "compare", *RUN],
        "shiftdp calibrate noise": [*PROGRAM, "calibrate", "noise", *RUN[:-2], "--epsilon", "1"],
    }


def taken(command: list[str]) -> tuple[float, float]:
    """Seconds on the clock, and of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    clock = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def claims(full: bool) -> Iterator[Claim]:
    commands = processes()

    def side(name: str) -> Reads:
        return Reads(name, lambda: (taken(commands[name])[1], "ends without error"))

    for name, limit in (("shiftdp --help", HELP), ("shiftdp account", ACCOUNT)):
        others = (Limit("limit", limit, "ends without error"), side("floor: import numpy"))
        for other in others:
            is_limit = isinstance(other, Limit)
            yield Claim(
                name=f"command_line/{name.split()[-1].strip('-')}{'' if is_limit else ', NumPy'}",
                what=f"`{name}`, a whole process",
                ours=side(name),
                other=other,
                agree=same(),
                kind="limit" if is_limit else "floor",
                goal=1.0 if is_limit else None,
                rounds=9,
            )


def main() -> None:
    show(claims(full=False))
    print()
    clocks: dict[str, list[float]] = {name: [] for name in processes()}
    processor: dict[str, list[float]] = {name: [] for name in processes()}
    for _ in range(ROUNDS):  # in turn, so that a busy moment is shared by all
        for name, command in processes().items():
            clock, used = taken(command)
            clocks[name].append(clock)
            processor[name].append(used)
    floor = min(clocks["floor: python -c pass"])
    print_table(
        ("", "best, ms", "median, ms", "processor, ms", "floors"),
        [
            (
                name,
                f"{1e3 * min(clocks[name]):.0f}",
                f"{1e3 * statistics.median(clocks[name]):.0f}",
                f"{1e3 * min(processor[name]):.0f}",
                f"{min(clocks[name]) / floor:.1f}",
            )
            for name in clocks
        ],
    )


if __name__ == "__main__":
    main()
