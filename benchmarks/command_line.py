"""Claim: `shiftdp --help` takes less than 150 ms, and `shiftdp account ...` less than 500 ms.

Whole processes, from start to exit, beside two floors measured in the same run: an interpreter that
does nothing, and one that loads NumPy. The best of many is shown, as a warm machine that is left
alone would have it, with the median beside it; processor time does not count what else runs.

    python benchmarks/command_line.py
"""

from __future__ import annotations

import os
import shlex
import statistics
import subprocess
import sys
import time

from _timing import print_table

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
    before = os.times()
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    clock = time.perf_counter() - start
    after = os.times()
    used = after.children_user + after.children_system
    return clock, used - before.children_user - before.children_system


def main() -> None:
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
    print()
    for name, claim in (("shiftdp --help", HELP), ("shiftdp account", ACCOUNT)):
        held = min(clocks[name]) < claim
        print(f"{name} below {1e3 * claim:.0f} ms: {'yes' if held else 'NO'}")


if __name__ == "__main__":
    main()
