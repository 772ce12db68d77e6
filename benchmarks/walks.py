"""How much of shiftdp a reader has to follow: files and functions that five common calls enter.

A function counts if it has a name, stands in a file of shiftdp and is called, in any thread, while
no module of shiftdp is being loaded: module and class bodies, decorators, constants, comprehensions
and lambdas do not count, nor do the methods that dataclasses write. A file counts if one of its
functions does. Each walk has a process of its own, so that none finds the caches of another.
The last is `shiftdp reproduce --quick --runs 1`: every table and figure of the paper, and the
training on the small digits of scikit-learn, once for each setting.

    python benchmarks/walks.py              # a table of both numbers
    python benchmarks/walks.py --json       # files, functions, and all of them by name
    python benchmarks/walks.py --write      # into docs/architecture.md, with the tree of src/
    python benchmarks/walks.py --check      # whether that page still says what is
    python benchmarks/walks.py --only fit   # those whose name has this in it; no others are checked

`--check` allows what moves with every change: a tenth of a walk and two more, a quarter of the
lines of a folder and fifty more, three modules. Which folders there are has to be exact.
"""

from __future__ import annotations

import argparse
import inspect
import io
import json
import multiprocessing
import re
import runpy
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from pathlib import Path
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


# --- the page ---------------------------------------------------------------------------------

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
Size = tuple[int, int]

# Files and functions: as the rebuilding began, counted by a reviewer (of one walk files alone), and
# as it ended, counted by this program; and the files that were aimed at.
BEGUN = ["20 (77)", "33 (214)", "44 (233)", "25", "99 (587)"]
REBUILT = ["20 (119)", "39 (242)", "39 (287)", "24 (140)", "109 (697)"]
AIMS = [14, 24, 34, 18, 85]


def tree() -> dict[str, Size]:
    """Modules and lines of each folder of src/shiftdp, those of the folders in it apart."""
    found = {}
    for folder in sorted([Path(HOUSE), *Path(HOUSE).rglob("*/")]):
        modules = sorted(folder.glob("*.py"))
        if modules:
            lines = sum(len(one.read_text(encoding="utf-8").splitlines()) for one in modules)
            own = [one for one in modules if one.name != "__init__.py"]
            found[folder.relative_to(HOUSE).as_posix()] = len(own), lines
    return found


def walks_table(sizes: dict[str, Size]) -> list[str]:
    rows = ["| walk | begun | rebuilt | now | aim |", "| --- | --- | --- | --- | --- |"]
    parts = zip(sizes.items(), BEGUN, REBUILT, AIMS, strict=True)
    for (walk, (files, functions)), begun, rebuilt, aim in parts:
        rows.append(f"| `{walk}` | {begun} | {rebuilt} | {files} ({functions}) | {aim} |")
    return rows


def tree_table(found: dict[str, Size]) -> list[str]:
    """A room a row, with all that is in it, and its folders below."""
    rows = ["| folder | modules | lines |", "| --- | --- | --- |"]
    for folder, size in found.items():
        inside = [one for name, one in found.items() if f"{name}/".startswith(f"{folder}/")]
        room = folder != "." and "/" not in folder
        modules, lines = (sum(one[i] for one in inside) if room else size[i] for i in (0, 1))
        name = "the root" if folder == "." else f"**{folder}/**" if room else f"{folder}/"
        rows.append(f"| {name} | {modules} | {lines:,} |")
    rows.append(f"| all | {sum(m for m, _ in found.values())} | "
                f"{sum(n for _, n in found.values()):,} |")  # fmt: skip
    return rows


def with_table(page: str, name: str, rows: list[str]) -> str:
    """The page with these rows between the marks of a table."""
    marks = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, rest = page.split(marks[0])
    return "\n".join([before + marks[0], *rows, marks[1]]) + rest.split(marks[1])[1]


def numbers_of(page: str, name: str) -> dict[str, Size]:
    """Two numbers of each row of a table, by what stands in its first column."""
    table = page.split(f"<!-- {name} -->")[1].split(f"<!-- end of {name} -->")[0]
    found = {}
    for row in table.strip().splitlines()[2:]:
        first, *cells = (cell.strip(" `*") for cell in row.strip("| ").split("|"))
        stated = cells[2] if name == "walks" else " ".join(cells)
        files, functions = (int(one) for one in re.findall(r"\d+", stated.replace(",", "")))
        found[first] = files, functions
    return found


def differences(page: str, sizes: dict[str, Size]) -> list[str]:
    """What the page says otherwise, by more than is allowed."""
    stated, wrong = numbers_of(page, "walks"), []
    for walk, now in sizes.items():
        then = stated.get(walk, (0, 0))
        if any(abs(a - b) > 0.1 * b + 2 for a, b in zip(now, then, strict=True)):
            wrong.append(f"{walk}: {now[0]} files and {now[1]} functions, where it has {then}")
    then, now = (
        numbers_of(text, "tree") for text in (page, with_table(page, "tree", tree_table(tree())))
    )
    wrong += [f"{name}: only in one of the two" for name in sorted({*then} ^ {*now})]
    for name in sorted({*then} & {*now}):
        (modules, lines), (had, long) = now[name], then[name]
        if abs(modules - had) > max(3, had // 10) or abs(lines - long) > 0.25 * long + 50:
            wrong.append(f"{name}: {modules} modules, {lines} lines, where it has {then[name]}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description="Files and functions that five calls enter.")
    task = parser.add_mutually_exclusive_group()
    for name in ("json", "write", "check"):
        task.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--only", default="", help="walks whose name has this in it")
    parser.add_argument("--page", type=Path, default=PAGE)
    asked = parser.parse_args()
    chosen = [walk for walk in WALKS if asked.only in walk]
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh, max_tasks_per_child=1) as pool:
        found = dict(zip(chosen, pool.map(entered, chosen), strict=True))
    sizes = {walk: (len(files), sum(map(len, files.values()))) for walk, files in found.items()}
    if asked.json:
        print(json.dumps({walk: [*size, found[walk]] for walk, size in sizes.items()}))
    elif asked.write:
        page = with_table(asked.page.read_text(encoding="utf-8"), "walks", walks_table(sizes))
        asked.page.write_text(with_table(page, "tree", tree_table(tree())), encoding="utf-8")
    elif asked.check:
        wrong = differences(asked.page.read_text(encoding="utf-8"), sizes)
        sys.exit("\n".join([*wrong, "take it anew with --write"]) if wrong else 0)
    else:
        rows = [(walk, *map(str, size)) for walk, size in sizes.items()]
        print_table(("walk", "files", "functions"), rows)


if __name__ == "__main__":
    main()
