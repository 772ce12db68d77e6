"""The processes of a campaign: a nursery for each engine, and a child of it for each target.

A nursery loads the package once, instrumented for libFuzzer or as it is, and forks a child for each
job that it reads from its standard input; the child may die of an input. What a child has tried is
in a file of state, which survives it: how many inputs, how many of them were answered and not
refused, and the present one.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

HEAD = struct.Struct("<QQQ")
"""Inputs tried, inputs answered, and the length of the present one, which follows."""

_IDLE = 900.0  # seconds, by any clock, that a child may take longer than it was given
_PAUSE = 0.02  # seconds between two looks at a child
_CORPUS = 32  # random inputs that libFuzzer begins from, where there are no valid files ...
_SHORT, _FEW = 2.0, 2  # ... and so many where it has less than so many seconds: all are tried first


class Job(NamedTuple):
    """What a child does: a target until its time is over, or so many inputs (0 for any number)."""

    target: str
    seconds: float
    inputs: int
    seed: int
    out: str
    state: str


class Ended(NamedTuple):
    """How a child ended: its exit code, or minus the signal, and the most megabytes it held."""

    code: int
    megabytes: int


def nurse(engine: str) -> None:
    """Load everything, then fork a child for each line of standard input, one after the other."""
    if engine == "atheris":
        import atheris

        with atheris.instrument_imports(include=["shiftdp"]):
            import tests.fuzz.catalogue
    else:
        import tests.fuzz.catalogue  # noqa: F401
    for line in sys.stdin:
        job = Job(**json.loads(line))
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            _in_child(engine, job)
        ended = _ended(child, job.seconds + _IDLE)
        sys.stdout.write(json.dumps(ended._asdict()) + "\n")
        sys.stdout.flush()


def _ended(child: int, seconds: float) -> Ended:
    end = time.monotonic() + seconds
    while True:
        found, status, used = os.wait4(child, os.WNOHANG)
        if found:
            return Ended(os.waitstatus_to_exitcode(status), used.ru_maxrss // 1024)
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            end = float("inf")
        time.sleep(_PAUSE)


def _in_child(engine: str, job: Job) -> None:
    code = 1
    try:
        with open(Path(job.out) / f"{job.target}-{engine}.log", "ab") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        _work(engine, job)
        code = 0
    except SystemExit as error:  # of libFuzzer
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _work(engine: str, job: Job) -> None:
    from tests.fuzz.catalogue import EVERY

    target = EVERY[job.target]
    attempt = guarded(job.target, target, Path(job.state), Path(job.out))
    if engine == "atheris":
        _follow(job, target, attempt)
    else:
        draw(job, target.size, attempt)


# --- one input after the other ---


def guarded(name: str, target: Any, state: Path, out: Path) -> Callable[[bytes], None]:
    """One input within its limits; a finding is kept, and the process goes on."""
    from tests.fuzz.limits import TooLong, limited, refusals_allowed

    file = os.open(state, os.O_WRONLY)
    tried = answered = 0

    def attempt(data: bytes) -> None:
        nonlocal tried, answered
        os.pwrite(file, HEAD.pack(tried, answered, len(data)) + data, 0)
        try:
            with limited(target.seconds, target.megabytes), refusals_allowed() as refused:
                target.attempt(data)
            answered += not refused
        except (Exception, TooLong) as error:
            keep(out, name, data, "".join(traceback.format_exception(error)), _signature(error))
        tried += 1
        os.pwrite(file, HEAD.pack(tried, answered, len(data)), 0)

    return attempt


def keep(out: Path, name: str, data: bytes, what: str, where: str = "") -> None:
    """An input with what it led to, unless one like it is kept already."""
    like = hashlib.sha256((where or what).encode("utf-8", "replace")).hexdigest()[:12]
    if not (out / f"{name}-{like}.txt").exists():
        (out / f"{name}-{like}.bin").write_bytes(data)
        (out / f"{name}-{like}.txt").write_text(what, encoding="utf-8", errors="replace")


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


def draw(job: Job, size: int, attempt: Callable[[bytes], None]) -> None:
    """Random inputs, the same for a seed; one at least."""
    rng, end, tried = random.Random(job.seed), time.monotonic() + job.seconds, 0
    while not tried or (time.monotonic() < end and (not job.inputs or tried < job.inputs)):
        attempt(rng.randbytes(rng.choice((size // 4, size, size))))
        tried += 1


def _follow(job: Job, target: Any, attempt: Callable[[bytes], None]) -> None:
    """libFuzzer from the valid files, or from some random bytes."""
    import atheris

    rng = random.Random(job.seed)
    number = _FEW if job.seconds < _SHORT else _CORPUS
    seeds = target.seeds() if target.seeds else [rng.randbytes(target.size) for _ in range(number)]
    with TemporaryDirectory(prefix="shiftdp-corpus-") as folder:
        for number, seed in enumerate(seeds):
            (Path(folder) / f"{number:04}").write_bytes(seed)
        longest = max(target.size, *(len(seed) for seed in seeds))
        words = [
            "shiftdp", f"-max_total_time={max(1, int(job.seconds))}", f"-max_len={longest}",
            f"-runs={job.inputs or -1}", f"-seed={job.seed + 1}", "-rss_limit_mb=0",
            "-timeout=3600", f"-artifact_prefix={folder}/", "-verbosity=0",
            "-print_final_stats=1", folder,
        ]  # fmt: skip
        atheris.Setup(words, attempt)
        atheris.Fuzz()


if __name__ == "__main__":
    nurse(sys.argv[1])
