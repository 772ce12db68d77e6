"""Accuracy at a given privacy: the planner beside the best of every other way, in hindsight.

    python benchmarks/utility.py [--quick] [--data german,spam] [--seeds 20] [--epsilons 1,3]
        [--passes all,1] [--adjacency zero_out] [--ours] [--rows ours,Opacus]

delta = 1e-5, mean and standard error over seeds (MNIST apart: a new split each). All see the same
features, held to the same public bound. `--passes all` leaves the passes to the planner; numbers
limit all runs to so many passes over the data. Every row is printed, also where we lose, and in the
end all of them once more as a table:

- planner: the default call of the estimators, public numbers only;
- composition: full batches, also on centred rows (Theorem P2), and Poisson batches, of any rate,
  equal or falling;
- placed noise: small batches in turn by their last iterate (Theorem P1);
- Opacus: Poisson batches with the noise of its PRV accountant, made by the loop here;
- objective perturbation (Redberg, Koskela and Wang 2023), output perturbation, diffprivlib;
- no privacy, and the largest class.

All but the first and the last two are the best of a grid. It is found with some seeds, the more
promising ones with more, and made again with others: the best of many noisy means is above what it
would be again. `--quick` has small grids and 4 seeds and leaves other libraries out, as `--ours`
does. `--rows` names those to make. Other libraries run in environments of their own (`wall/`). The
tables are looked for in the folder that SHIFTDP_TABLES names, else in ../shared/data/tables; MNIST
in SHIFTDP_MNIST. `measured` is what the wall shows: fewer rows, each with its guarantee.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from _families import (
    FULL,
    QUICK,
    Grid,
    centred,
    full_batches,
    of_plan,
    own_multiplier,
    placed,
    poisson,
)
from _hindsight import ALL, ROUNDS, Result, best, error, references, rivals
from _tasks import (
    DELTA,
    Task,
    cancer,
    digits,
    many_classes,
    mnist,
    parity,
    synthetic,
    table,
)
from wall.accuracy import Guarantee, Score
from wall.environments import PeerFailed

from shiftdp.training.planning.planner import Overrides, plan_for

EPSILONS = (0.1, 0.3, 1.0, 3.0)
TASKS: dict[str, Callable[[int], Task]] = {
    **{name: table(name) for name in ("ionosphere", "german", "spam", "satellite")},
    "classes": many_classes,
    "digits": digits,
    "cancer": cancer,
    "parity": parity,
    "synthetic": synthetic,
    "mnist": mnist,
}
OTHERS = ("Opacus", "objective perturbation", "output perturbation", "diffprivlib")
"""Methods that are not ours."""

CLOSE = 0.7  # points that the planner may be below our own best in hindsight
LEAST = {("german", 0.1, None): 69.0, ("spam", 3.0, 1): 93.2, ("satellite", 3.0, 1): 81.3}
"""What the planner has to reach, by data, epsilon and passes."""

COMPOSED = ("full batches", "centred", "Poisson")
OURS = (*COMPOSED, "placed noise")


def rows(
    task: Task, epsilon: float, passes: int | None, screen: int, seeds: range, grid: Grid,
    wanted: tuple[str, ...], known: dict[str, Result],
) -> list[str]:  # fmt: skip
    """Print all rows of one setting; the cells of one row of the table."""
    began = time.process_time()
    limit = "" if passes is None else f", {passes} passes"
    print(f"\n{task.name} (n = {task.n}, {task.adjacency}), epsilon = {epsilon:g}{limit}, "
          f"{len(seeds)} seeds")  # fmt: skip
    planned = plan_for(task.problem(epsilon), Overrides(epochs=passes, centre=None))
    facts = planned.choices()
    what = f"{facts['algorithm']}, batches of {facts['batch_size']}, {facts['epochs']:g} passes"
    own = of_plan(task, planned.plan)
    planner = Result(what, tuple(own(s) for s in seeds))
    print(f"  {'planner':<24}{planner}", flush=True)
    ours: dict[str, Result] = {}
    if "ours" in wanted:
        length = passes or (100 if task.n < 50_000 else 50)
        families = {
            "full batches": full_batches(task, epsilon, length, grid),
            "centred": centred(task, epsilon, length, grid),
            "Poisson": poisson(task, epsilon, passes or 20, grid, own_multiplier),
            "placed noise": placed(task, epsilon, passes or 5, grid),
        }
        for name, tries in families.items():
            result = best(tries, screen, seeds)
            assert result is not None
            ours[name] = result
            print(f"  {name:<24}{result}", flush=True)
    others: dict[str, Result | None] = dict.fromkeys(OTHERS)
    for name, listed in rivals(task, epsilon, passes, grid):
        if name not in wanted:
            continue
        try:
            others[name] = result = best(listed(), screen, seeds, rounds_of(name))
            print(f"  {name:<24}{result or 'meets this budget with no ridge'}", flush=True)
        except PeerFailed as missing:
            print(f"  {name:<24}does not run here: {missing}", flush=True)
    for name, result in known.items():
        print(f"  {name:<24}{result}")
    cells = [task.name, str(passes or "all"), f"{epsilon:g}", planner.short]
    if ours:
        cells += [ours[name].short for name in OURS]
        cells += _goals(task, epsilon, passes, planner, ours)
    cells += [result.short if result else "" for name, result in others.items() if name in wanted]
    print(f"  [{time.process_time() - began:.0f} s]", flush=True)
    return [*cells, *(f"{result.mean:.1f}" for result in known.values())]


def _goals(
    task: Task, epsilon: float, passes: int | None, planner: Result, ours: dict[str, Result]
) -> list[str]:
    """Print whether the goals are met; the planner beside the best composition, and beside all."""
    top = max(ours.values(), key=lambda one: one.mean)
    composed = max((ours[name] for name in COMPOSED), key=lambda one: one.mean)
    gain = np.subtract(planner.values, composed.values)
    behind = np.subtract(planner.values, top.values)
    goals = [(f"at most {CLOSE} below our best in hindsight", behind.mean() >= -CLOSE)]
    if (task.name, epsilon, passes) in LEAST:
        least = LEAST[task.name, epsilon, passes]
        goals.append((f"at least {least:g}", planner.mean >= least))
    print(f"  planner beside our best {behind.mean():+.2f} ± {error(behind):.2f}; "
          + "; ".join(f"{goal}: {'met' if met else 'MISSED'}" for goal, met in goals),
          flush=True)  # fmt: skip
    return [f"{one.mean():+.2f} ± {error(one):.2f}" for one in (gain, behind)]


def rounds_of(way: str) -> tuple[tuple[int, float, int], ...]:
    """How the best of a way is found: runs of the loop take long, the others do not."""
    return ROUNDS if way.startswith(("shiftdp", "Opacus")) else ALL


DEFAULT = "shiftdp, default"
SETTING = {"default": DEFAULT, "delta": DELTA, "adjacency": "zero_out"}
"""What holds of all scores of the wall."""


def measured(full: bool, names: Sequence[str] = ()) -> Iterator[list[Score]]:
    """Accuracies for the wall, of one table after the other, each with what it was paid with.

    Six tables, four budgets and 20 splits, with small grids; with `full` those of the functions
    above. `names` are the tables to take instead.
    """
    screen, count, grid = 8, 20, FULL if full else QUICK
    tables = ("ionosphere", "german", "cancer", "digits", "spam", "satellite")
    seeds = range(screen, screen + count)
    for name in names or tables:
        scores: list[Score] = []
        task = TASKS[name](screen + count)
        for epsilon in EPSILONS:
            paid = Guarantee(epsilon, DELTA, task.adjacency)
            pure = replace_guarantee(paid)
            found = accuracies(task, epsilon, screen, seeds, grid)
            for way, result in found.items():
                guarantee = pure if way.startswith("diffprivlib") else paid
                scores.append(Score(name, way, result.what, guarantee, result.values))
                print(f"{name}, epsilon = {epsilon:g}, {way}: {scores[-1].short}", flush=True)
        for way, result in references(task, seeds).items():
            scores.append(Score(name, way, "", None, result.values))
        yield scores


def replace_guarantee(paid: Guarantee) -> Guarantee:
    """What diffprivlib gives for the same epsilon."""
    return paid._replace(delta=0.0, adjacency="replace_one")


def accuracies(
    task: Task, epsilon: float, screen: int, seeds: range, grid: Grid
) -> dict[str, Result]:
    """Our default, our best in hindsight, and the best of every other way in hindsight."""
    planned = plan_for(task.problem(epsilon), Overrides(centre=None))
    facts, own = planned.choices(), of_plan(task, planned.plan)
    what = f"{facts['algorithm']}, {facts['epochs']:g} passes, public numbers only"
    found = {DEFAULT: Result(what, tuple(own(s) for s in seeds))}
    tries = [*full_batches(task, epsilon, 100, grid), *centred(task, epsilon, 100, grid)]
    tries += placed(task, epsilon, 5, grid)
    tries += poisson(task, epsilon, 20, grid, own_multiplier)
    ways: dict[str, Callable[[], Any]] = {"shiftdp, in hindsight": lambda: tries}
    ways |= {f"{name}, in hindsight": listed for name, listed in rivals(task, epsilon, None, grid)}
    for way, listed in ways.items():
        try:
            result = best(listed(), screen, seeds, rounds_of(way))
        except PeerFailed as failure:
            print(f"{way} does not run here: {failure}")
            continue
        if result is not None:
            found[way] = result
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few seeds, small grids, --ours")
    parser.add_argument("--ours", action="store_true", help="no rows of other libraries")
    parser.add_argument("--rows", default=None, help=f"some of {','.join(('ours', *OTHERS))}")
    parser.add_argument("--data", default="german,spam", help=f"some of {','.join(TASKS)}")
    parser.add_argument("--seeds", type=int, default=None, help="20, or 4 if quick")
    parser.add_argument("--epsilons", default=None, help="0.1,0.3,1,3 unless told")
    parser.add_argument("--passes", default="all", help="some of all,1,2,5 (all)")
    parser.add_argument("--adjacency", choices=("zero_out", "replace_one"), default="zero_out")
    options = parser.parse_args()
    seeds = options.seeds or (4 if options.quick else 20)
    screen, grid = (2, QUICK) if options.quick else (8, FULL)
    budgets = EPSILONS
    if options.epsilons:
        budgets = tuple(float(part) for part in options.epsilons.split(","))
    wanted: tuple[str, ...] = ("ours", *OTHERS)
    if options.quick or options.ours:
        wanted = ("ours",)
    if options.rows:
        wanted = tuple(name for name in wanted if name in options.rows.split(","))
    lines = []
    for name in options.data.split(","):
        task = TASKS[name](screen + seeds)._replace(adjacency=options.adjacency)
        again = range(screen, screen + seeds)
        known = references(task, again)
        for part in options.passes.split(","):
            for epsilon in budgets:
                passes = None if part == "all" else int(part)
                lines.append(rows(task, epsilon, passes, screen, again, grid, wanted, known))
    columns = ["data", "passes", "epsilon", "planner"]
    if "ours" in wanted:
        columns += [*OURS, "planner - best composition", "planner - our best"]
    columns += [*(name for name in OTHERS if name in wanted), "no privacy", "largest class"]
    print("\n| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns))
    print("\n".join("| " + " | ".join(cells) + " |" for cells in lines))


if __name__ == "__main__":
    main()
