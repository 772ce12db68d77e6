"""Campaigns: `make fuzz`, or `python -m tests.fuzz.run --seconds 600 --target certificates`.

Every pair of a target and an engine is tried for a moment first, and then all of them for their
share of the time that is left. Each runs in a process of its own, which may die of an input: that
input is kept, and the campaign goes on behind it. What is found is in out/fuzz, one file an input
with what it led to beside it, and the numbers of inputs are in out/fuzz/totals.csv, or where
`--totals` says.

Two engines. `random`: bytes of a seeded generator, so that a campaign can be repeated. `atheris`:
libFuzzer, which changes inputs that reached new branches of shiftdp; it needs the extra `fuzz`.
Hypothesis is the third: it runs the same targets in the tests, and shrinks what it finds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.process import HEAD, Ended, Job, keep
from tests.fuzz.totals import Line, note

OUT = Path("out/fuzz")
_MOMENT = 1.0  # seconds of a first try, or less where a campaign is short
_FIRST = 1 / 3  # of a campaign is for first tries, at most


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    words.add_argument("--target", action="append", help="one of them; all unless told")
    words.add_argument("--engine", choices=("random", "atheris", "both"), default="both")
    words.add_argument("--seconds", type=float, default=600.0, help="in all, by the clock")
    words.add_argument("--inputs", type=int, default=0, help="at most so many a target")
    words.add_argument("--seed", type=int, default=0, help="of the engine random")
    words.add_argument("--totals", type=Path, help="where inputs are counted")
    given = words.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    if given.engine == "both" and find_spec("atheris") is None:
        print("without atheris (the extra `fuzz`, on Linux) all inputs are random", flush=True)
        given.engine = "random"
    engines = ("random", "atheris") if given.engine == "both" else (given.engine,)
    sys.exit(_campaign(given, engines))


class Nursery:
    """The process of an engine, which has loaded everything and starts those of the targets."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        with (OUT / f"nursery-{engine}.log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz.process", engine],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def run(self, job: Job) -> Ended:
        pipe, replies = self._process.stdin, self._process.stdout
        if pipe is None or replies is None:
            raise RuntimeError("a nursery without pipes")
        pipe.write(json.dumps(job._asdict()) + "\n")
        pipe.flush()
        line = replies.readline()
        if not line:
            raise RuntimeError(f"the nursery of {self.engine} has ended")
        return Ended(**json.loads(line))

    def close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process.wait()


def _campaign(given: argparse.Namespace, engines: tuple[str, ...]) -> int:
    from tests.fuzz.catalogue import EVERY, TARGETS

    plan = [
        (engine, name)
        for engine in engines
        for name in given.target or [*EVERY]
        if engine == "atheris" or name in TARGETS  # a whole file is no use to the engine `random`
    ]
    tried = dict.fromkeys(plan, 0)
    before, end = set(_findings()), time.monotonic() + given.seconds
    nurseries = {engine: Nursery(engine) for engine in engines}
    moment = min(_MOMENT, _FIRST * given.seconds / len(plan))

    def try_one(pair: tuple[str, str], seconds: float, seed: int) -> None:
        engine, name = pair
        left = given.inputs and given.inputs - tried[pair]
        if not given.inputs or left > 0:
            totals = given.totals or OUT / "totals.csv"
            tried[pair] += run_target(nurseries[engine], name, seconds, left, seed, totals)

    try:
        for number, pair in enumerate(plan):
            try_one(pair, moment, given.seed + number)
        shares = sum(EVERY[name].share for _, name in plan)
        # those whose inputs are quick first: one that overruns takes its time from all that follow
        for number, pair in sorted(enumerate(plan), key=lambda each: EVERY[each[1][1]].seconds):
            seconds = max(0.0, end - time.monotonic()) * EVERY[pair[1]].share / shares
            shares -= EVERY[pair[1]].share
            if seconds > moment:
                try_one(pair, seconds, given.seed + len(plan) + number)
    finally:
        for nursery in nurseries.values():
            nursery.close()
    for (engine, name), number in tried.items():
        print(f"{name:<18} {engine:<8} {number:>9,} inputs", flush=True)
    new = sorted(set(_findings()) - before)
    print(f"{sum(tried.values()):,} inputs, {len(new)} findings", *new, sep="\n  ")
    return 1 if new else 0


def _findings() -> list[str]:
    return [str(path) for path in OUT.glob("*.txt")]


def run_target(
    nursery: Nursery, name: str, seconds: float, inputs: int, seed: int, totals: Path
) -> int:
    """One target, until its time is over; as many processes as die of inputs."""
    end, tried = time.monotonic() + seconds, 0
    while (left := end - time.monotonic()) > 0 and (not inputs or tried < inputs):
        with TemporaryDirectory(prefix="shiftdp-fuzz-") as folder:
            state = Path(folder) / "state"
            state.write_bytes(HEAD.pack(0, 0, 0))
            began = time.monotonic()
            more = inputs and inputs - tried
            job = Job(name, left, more, seed, str(OUT.resolve()), str(state))
            code, megabytes = nursery.run(job)
            data = state.read_bytes()
        done, answered, size = HEAD.unpack_from(data)
        tried += done
        died = code not in (0, 1)
        if died:
            lost = data[HEAD.size : HEAD.size + size]
            keep(OUT, name, lost, f"the process ended with {code}")
        day, spent = datetime.now(UTC).date().isoformat(), round(time.monotonic() - began)
        numbers = (seed, done, answered, spent, megabytes, code)
        note(totals, Line(day, name, nursery.engine, *map(str, numbers)))
        if not died or not done:
            break
        seed += 1_000
    return tried


if __name__ == "__main__":
    main()
