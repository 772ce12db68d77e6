"""What centred rows are worth: the default call beside the same call with `centre=False`.

    python benchmarks/centring.py [--data satellite,digits] [--seeds 20] [--first 400]
        [--epsilons 0.1,0.3,1,3] [--adjacency replace_one] [--write]

Per cent right on test records and logarithmic loss at delta = 1e-5, mean over splits, and the mean
difference with its standard error, split by split. Where public numbers say that a centre would be
lost in its noise, both are the same, and there is no row. The splits are other ones than those that
the rule was set on (300 to 389). `--write` puts the rows into docs/planner.md.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from _hindsight import error
from _tasks import DELTA, ROOT, Task
from sklearn.metrics import log_loss
from utility import EPSILONS, TASKS

from shiftdp.sklearn import PrivateLogisticRegression, WeakSignalWarning

PAGE = ROOT / "docs" / "planner.md"
BEGIN, END = "<!-- benchmarks/centring.py begins -->\n", "<!-- benchmarks/centring.py ends -->\n"
HEADER = (
    "data (n)", "epsilon", "neighbours", "right, as they are", "centred", "gain", "log-loss",
    "centred", "splits",
)  # fmt: skip


class Score(NamedTuple):
    """Of one model on its test records."""

    right: float
    loss: float


def measured(task: Task, epsilon: float, seed: int, centre: bool | None) -> Score | None:
    """One fit of the default call; None if it was to be centred and is not."""
    data = task.draws[seed]
    model = PrivateLogisticRegression(
        epsilon, DELTA, task.bound, classes=range(task.classes), adjacency=task.adjacency,
        centre=centre, random_state=seed,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakSignalWarning)
        model.fit(data.X, data.y)
    if centre is None and not model.plan_.plan.centred:
        return None
    found = log_loss(data.labels, model.predict_proba(data.test), labels=range(task.classes))
    return Score(100.0 * model.score(data.test, data.labels), float(found))


def rows(names: list[str], epsilons: list[float], seeds: range, adjacency: Any) -> Iterator[str]:
    for name in names:
        task = TASKS[name](seeds.stop)._replace(adjacency=adjacency)
        for epsilon in epsilons:
            centred = [measured(task, epsilon, seed, None) for seed in seeds]
            if None in centred:
                continue
            plain = [measured(task, epsilon, seed, False) for seed in seeds]
            one, other = np.array(plain), np.array(centred)
            gain = other[:, 0] - one[:, 0]
            cells = [
                f"{name} ({task.n:,})", f"{epsilon:g}", adjacency, f"{one[:, 0].mean():.1f}",
                f"{other[:, 0].mean():.1f}", f"{gain.mean():+.1f} ± {error(gain):.1f}",
                f"{one[:, 1].mean():.3f}", f"{other[:, 1].mean():.3f}", str(len(seeds)),
            ]  # fmt: skip
            yield "| " + " | ".join(cells) + " |"


def write(lines: list[str]) -> None:
    """Put the rows into the page, in place of those of the same data, budget and neighbours."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    inside, after = rest.split(END)
    kept = {tuple(line.split(" | ")[:3]): line for line in inside.splitlines()[3:] if line}
    kept |= {tuple(line.split(" | ")[:3]): line for line in lines}
    head = f"| {' | '.join(HEADER)} |\n|{' --- |' * len(HEADER)}\n"
    body = "".join(f"{line}\n" for line in kept.values())
    PAGE.write_text(f"{before}{BEGIN}\n{head}{body}\n{END}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    every = [name for name in TASKS if name != "mnist"]  # of which there is one split
    parser.add_argument("--data", default=",".join(every))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=400)
    parser.add_argument("--epsilons", default=",".join(map(str, EPSILONS)))
    parser.add_argument("--adjacency", default="replace_one", choices=("replace_one", "zero_out"))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    print(f"| {' | '.join(HEADER)} |\n|{' --- |' * len(HEADER)}")
    seeds = range(options.first, options.first + options.seeds)
    budgets = [float(part) for part in options.epsilons.split(",")]
    found = []
    for line in rows(options.data.split(","), budgets, seeds, options.adjacency):
        print(line, flush=True)
        found.append(line)
    if options.write:
        write(found)


if __name__ == "__main__":
    main()
