"""Measure the claims of all files of benchmarks/, and write what they found.

    python benchmarks/wall [--only calibrate,composition] [--full] [--timing] [--no-accuracy]
        [--data ionosphere] [--pages]

`--full` takes the long claims too, and all data sets and splits of the accuracies. `--timing` takes
the claims about time and leaves all others as they were: what depends on how busy the machine is.
`--data` names the tables of which accuracies are measured, with `--only utility`. `--pages` writes
the pages from benchmarks/results.json, and measures nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

HOME = Path(__file__).resolve().parents[1]
sys.path[0] = str(HOME)

from wall.environments import ONE_THREAD, end_servers  # noqa: E402

os.environ.update(ONE_THREAD)  # before anything loads a BLAS

from wall.collect import claims_of, files, is_timing  # noqa: E402
from wall.figure import draw  # noqa: E402
from wall.machine import described  # noqa: E402
from wall.print import show  # noqa: E402
from wall.store import KEPT, ROOT, Results, pages  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="files, by name and separated by commas")
    parser.add_argument("--full", action="store_true", help="long claims, all data and splits")
    parser.add_argument("--timing", action="store_true", help="claims about time, and no others")
    parser.add_argument("--no-accuracy", action="store_true", help="times only")
    parser.add_argument("--data", default="", help="tables of the accuracies, others stay")
    parser.add_argument("--pages", action="store_true", help="write the pages, measure nothing")
    options = parser.parse_args()
    results = Results.read() if KEPT.is_file() else Results(described())
    if not options.pages:
        wanted = options.only.split(",") if options.only else [*files(), "utility"]
        for name in [name for name in wanted if name in files()]:
            if options.timing and not results.timed(name):
                continue
            began, environment = time.perf_counter(), dict(os.environ)
            try:
                claims = claims_of(name, options.full)
                rows = show(filter(is_timing, claims) if options.timing else claims)
            except ImportError as missing:
                print(f"{name} is left as it was: {missing}")
                continue
            finally:
                end_servers()
                # Dask leaves settings of malloc there: later processes took twice as long with them
                os.environ.clear()
                os.environ.update(environment)
            print(f"{name}: {time.perf_counter() - began:.0f} s\n", flush=True)
            joined = results.updated(rows) if options.timing else results.joined(rows, [name])
            results = Results(described(), joined, results.scores, results.setting)
            results.write()
        if "utility" in wanted and not (options.no_accuracy or options.timing):
            from utility import SETTING, measured

            tables = options.data.split(",") if options.data else []
            for scores in measured(options.full, tables):
                results = Results(results.machine, results.rows, results.scored(scores), SETTING)
                results.write()
    for path, text in pages(results).items():
        path.write_text(text)
    draw(results.rows, ROOT / "docs" / "images" / "benchmarks.svg")
    missed = [row.name for row in results.rows if row.met is False]
    print(f"\n{len(results.rows)} claims; goals missed: {', '.join(missed) or 'none'}")


if __name__ == "__main__":
    main()
