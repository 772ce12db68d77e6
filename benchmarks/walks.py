"""How much of shiftdp a reader has to follow: files and functions that five common calls enter.

A function counts if it has a name, stands in a file of shiftdp and is called, in any thread, while
no module of shiftdp is being loaded: module and class bodies, decorators, constants, comprehensions
and lambdas do not count, nor do the methods that dataclasses write. A file counts if one of its
functions does. Each walk has a process of its own, so that none finds the caches of another.
The last is `shiftdp reproduce --quick --runs 1`: every table and figure of the paper, and the
training on the small digits of scikit-learn, once for each setting.

    python benchmarks/walks.py [--json]    # JSON: files, functions, and all of them by name
"""

from __future__ import annotations

import inspect
import io
import json
import multiprocessing
import runpy
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from types import CodeType, FrameType

import numpy as np
from _timing import print_table

import shiftdp as sdp

HOUSE = sdp.__file__.removesuffix("__init__.py")
GEOMETRY = {"strong_convexity": 0.002, "smoothness": 32.502, "sensitivity": 10.0}
STEPS = {"n": 60_000, "batch_size": 1_500, "learning_rate": 0.05, "noise": 0.01}


def certify(run: object) -> None:
    sdp.certify(run, sdp.Geometry(**GEOMETRY)).epsilon(1e-5)


def fit() -> None:
    from shiftdp.sklearn import PrivateLogisticRegression

    X = np.random.default_rng(1).uniform(-0.5, 0.5, (500, 4))
    model = PrivateLogisticRegression(epsilon=1.0, delta=1e-5, feature_bound=1.0, classes=[0, 1])
    model.fit(X, X[:, 0] > 0)


def calibrate(run: object) -> None:
    sdp.calibrate_noise(run, sdp.Geometry(**GEOMETRY), epsilon=1.0, delta=1e-5)


def reproduce() -> None:
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        sys.argv = ["shiftdp", "reproduce", "--quick", "--runs", "1", "--json", "--out", folder]
        try:
            runpy.run_module("shiftdp", run_name="__main__")
        except SystemExit as end:
            if end.code:
                raise RuntimeError(f"shiftdp reproduce ended with {end.code}") from end


WALKS: dict[str, Callable[[], None]] = {
    "certify(NoisyCGD), epsilon": lambda: certify(sdp.NoisyCGD(**STEPS, epochs=50)),
    "certify(NoisySGD), epsilon": lambda: certify(sdp.NoisySGD(**STEPS, steps=2_000)),
    "PrivateLogisticRegression.fit": fit,
    "calibrate_noise": lambda: calibrate(sdp.NoisyCGD(**STEPS, epochs=50)),
    "shiftdp reproduce": reproduce,
}


def entered(walk: str) -> dict[str, list[str]]:
    """The functions that a walk calls, by file."""
    counted: dict[CodeType, bool] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code not in counted:
            counts = _is_function(frame.f_code)
            if not (counts and _loading(frame)):  # it may be called again, after loading
                counted[frame.f_code] = counts

    threading.setprofile(note)
    sys.setprofile(note)
    WALKS[walk]()
    sys.setprofile(None)
    found: dict[str, set[str]] = {}
    for code in [code for code, counts in counted.copy().items() if counts]:
        found.setdefault(code.co_filename.removeprefix(HOUSE), set()).add(code.co_qualname)
    return {file: sorted(names) for file, names in sorted(found.items())}


def _is_function(code: CodeType) -> bool:
    named = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")
    return bool(named) and code.co_filename.startswith(HOUSE)


def _loading(frame: FrameType | None) -> bool:
    """Whether a module of shiftdp is being loaded further up; `__main__` is run, not loaded."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals["__name__"].startswith("shiftdp"):
            return True
        frame = frame.f_back
    return False


def main() -> None:
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh, max_tasks_per_child=1) as pool:
        found = dict(zip(WALKS, pool.map(entered, WALKS), strict=True))
    sizes = {walk: (len(files), sum(map(len, files.values()))) for walk, files in found.items()}
    if "--json" in sys.argv:
        print(json.dumps({walk: [*size, found[walk]] for walk, size in sizes.items()}))
    else:
        rows = [(walk, *map(str, size)) for walk, size in sizes.items()]
        print_table(("walk", "files", "functions"), rows)


if __name__ == "__main__":
    main()
