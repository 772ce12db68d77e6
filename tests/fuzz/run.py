"""Campaigns: `make fuzz`, or `python -m tests.fuzz.run --seconds 600 --target certificates`.

Each target runs in a process of its own, which may die of an input: that input is kept, and the
campaign goes on behind it. What is found is in out/fuzz, one file an input with what it led to
beside it, and the numbers of inputs are in out/fuzz/totals.csv, a line a process.

Two engines. `random`: bytes of a seeded generator, so that a campaign can be repeated. `atheris`:
libFuzzer, which changes inputs that reached new branches of shiftdp; it needs the extra `fuzz`.
Hypothesis is the third: it runs the same targets in the tests, and shrinks what it finds.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import os
import random
import resource
import signal
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

OUT = Path("out/fuzz")
_HEAD = struct.Struct("<QQ")  # how many inputs were tried, and how long the present one is
_IDLE = 900.0  # seconds, by any clock, that a process may take longer than it was given


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    words.add_argument("--target", action="append", help="one of them; all unless told")
    words.add_argument("--engine", choices=("random", "atheris", "both"), default="both")
    words.add_argument("--seconds", type=float, default=600.0, help="in all, by the clock")
    words.add_argument("--inputs", type=int, default=0, help="at most so many a target")
    words.add_argument("--seed", type=int, default=0, help="of the engine random")
    words.add_argument("--state", help=argparse.SUPPRESS)  # of a process that runs one target
    given = words.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    if given.state:
        _work(given)
        return
    if given.engine == "both" and find_spec("atheris") is None:
        print("without atheris (the extra `fuzz`, on Linux) all inputs are random", flush=True)
        given.engine = "random"
    engines = ("random", "atheris") if given.engine == "both" else (given.engine,)
    sys.exit(_campaign(given, engines))


# --- the process that starts others ---


def _campaign(given: argparse.Namespace, engines: tuple[str, ...]) -> int:
    from tests.fuzz.catalogue import EVERY, TARGETS

    every = given.target or [*EVERY]
    plan = [
        (engine, name)
        for name in every
        for engine in engines
        if engine == "atheris" or name in TARGETS  # a whole file is no use to the engine `random`
    ]
    # those whose inputs are quick first: one that overruns takes its time from all that follow
    plan.sort(key=lambda each: EVERY[each[1]].seconds)
    shares = sum(EVERY[name].share for _, name in plan)
    total = 0
    before = set(_findings())
    end = time.monotonic() + given.seconds
    for number, (engine, name) in enumerate(plan):
        left = end - time.monotonic()
        if left <= 0.0:
            print(f"the time is over: {len(plan) - number} of {len(plan)} targets were not tried")
            break
        # what the start of a process takes is not of use to others
        seconds = left * EVERY[name].share / shares
        shares -= EVERY[name].share
        tried = _run(engine, name, seconds, given.inputs, given.seed + number)
        total += tried
        print(f"{name:<18} {engine:<8} {tried:>9,} inputs", flush=True)
    new = sorted(set(_findings()) - before)
    print(f"{total:,} inputs, {len(new)} findings", *new, sep="\n  ")
    return 1 if new else 0


def _findings() -> list[str]:
    return [str(path) for path in OUT.glob("*.txt")]


def _run(engine: str, name: str, seconds: float, inputs: int, seed: int) -> int:
    """One target by one engine, until its time is over; as many processes as die of inputs."""
    end, tried = time.monotonic() + seconds, 0
    while (left := end - time.monotonic()) > 0 and (not inputs or tried < inputs):
        with TemporaryDirectory(prefix="shiftdp-fuzz-") as folder:
            state = Path(folder) / "state"
            state.write_bytes(_HEAD.pack(0, 0))
            command = [
                sys.executable, "-m", "tests.fuzz.run", "--target", name, "--engine", engine,
                "--seconds", str(left), "--seed", str(seed), "--state", str(state),
                "--inputs", str(inputs and inputs - tried),
            ]  # fmt: skip
            began = time.monotonic()
            with (OUT / f"{name}-{engine}.log").open("ab") as log:
                try:
                    code = subprocess.run(
                        command, stdout=log, stderr=log, timeout=left + _IDLE, check=False
                    ).returncode
                except subprocess.TimeoutExpired:
                    code = -int(signal.SIGKILL)
            data = state.read_bytes()
            done, size = _HEAD.unpack_from(data)
            tried += done
            died = code not in (0, 1)
            if died:
                _keep(name, data[_HEAD.size : _HEAD.size + size], f"the process ended with {code}")
            _note(name, engine, seed, done, time.monotonic() - began, code)
            if not died or not done:
                break
            seed += 1_000
    return tried


def _note(name: str, engine: str, seed: int, done: int, seconds: float, code: int) -> None:
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    row = [
        datetime.now(UTC).date().isoformat(),
        name,
        engine,
        seed,
        done,
        round(seconds),
        peak,
        code,
    ]
    path = OUT / "totals.csv"
    fresh = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        if fresh:
            writer.writerow(
                ["date", "target", "engine", "seed", "inputs", "seconds", "megabytes", "code"]
            )
        writer.writerow(row)


def _keep(name: str, data: bytes, what: str, where: str = "") -> None:
    """An input with what it led to, unless one like it is kept already."""
    like = hashlib.sha256((where or what).encode("utf-8", "replace")).hexdigest()[:12]
    if not (OUT / f"{name}-{like}.txt").exists():
        (OUT / f"{name}-{like}.bin").write_bytes(data)
        (OUT / f"{name}-{like}.txt").write_text(what, encoding="utf-8", errors="replace")


# --- a process that runs one target ---


def _work(given: argparse.Namespace) -> None:
    if given.engine == "atheris":
        import atheris

        with atheris.instrument_imports(include=["shiftdp"]):
            from tests.fuzz.catalogue import EVERY
    else:
        from tests.fuzz.catalogue import EVERY
    (name,) = given.target
    target = EVERY[name]
    attempt = _guarded(name, target, Path(given.state))
    if given.engine == "atheris":
        _follow(given, target, attempt)
    else:
        _draw(given, target.size, attempt)


def _guarded(name: str, target: Any, state: Path) -> Callable[[bytes], None]:
    """One input within its limits; a finding is kept, and the process goes on."""
    from tests.fuzz.limits import TooLong, limited, refusals_allowed

    file = os.open(state, os.O_WRONLY)
    tried = 0

    def attempt(data: bytes) -> None:
        nonlocal tried
        os.pwrite(file, _HEAD.pack(tried, len(data)) + data, 0)
        try:
            with limited(target.seconds, target.megabytes), refusals_allowed():
                target.attempt(data)
        except (Exception, TooLong) as error:
            _keep(name, data, "".join(traceback.format_exception(error)), _signature(error))
        tried += 1
        os.pwrite(file, _HEAD.pack(tried, len(data)), 0)

    return attempt


def _signature(error: BaseException) -> str:
    """Findings are alike if the same line of the package, or of a target, raised the same."""
    frames = traceback.extract_tb(error.__traceback__)
    while error.__cause__ is not None:
        error = error.__cause__
        frames = traceback.extract_tb(error.__traceback__) or frames
    ours = [frame for frame in frames if "shiftdp" in frame.filename] or frames
    last = ours[-1]
    first = str(error.args[0])[:60] if error.args and type(error).__name__ == "Broken" else ""
    return f"{type(error).__name__} {last.filename}:{last.lineno} {first}"


def _draw(given: argparse.Namespace, size: int, attempt: Callable[[bytes], None]) -> None:
    rng, end, tried = random.Random(given.seed), time.monotonic() + given.seconds, 0
    while time.monotonic() < end and (not given.inputs or tried < given.inputs):
        attempt(rng.randbytes(rng.choice((size // 4, size, size))))
        tried += 1


def _follow(given: argparse.Namespace, target: Any, attempt: Callable[[bytes], None]) -> None:
    """libFuzzer from the valid files, or from some random bytes."""
    import atheris

    rng = random.Random(given.seed)
    seeds = target.seeds() if target.seeds else [rng.randbytes(target.size) for _ in range(32)]
    with TemporaryDirectory(prefix="shiftdp-corpus-") as folder:
        for number, seed in enumerate(seeds):
            (Path(folder) / f"{number:04}").write_bytes(seed)
        longest = max(target.size, *(len(seed) for seed in seeds))
        words = [
            "shiftdp", f"-max_total_time={max(1, int(given.seconds))}", f"-max_len={longest}",
            f"-runs={given.inputs or -1}", f"-seed={given.seed + 1}", "-rss_limit_mb=0",
            "-timeout=3600", f"-artifact_prefix={folder}/", "-verbosity=0",
            "-print_final_stats=1", folder,
        ]  # fmt: skip
        atheris.Setup(words, attempt)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
