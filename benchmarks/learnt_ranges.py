"""Whether ranges that noise would hide are refused, and others not: the rule of a tenth.

    python benchmarks/learnt_ranges.py [--laws wide,normal] [--fits 10] [--first 200]

Nothing is declared. Each fit has a twin whose ranges, means and categories are exact and whose
model has the same budget. A fit is *spoilt* if its AUC is above 1/2 by less than half of what its
twin's mean is, and a setting if more than one fit of ten is. The rule of
`training/preparation/outlook.py` looks at the noise of a range, as a part of the records, and
refuses beyond a tenth. Refused settings that are not spoilt are false alarms, settings that are
spoilt and not refused are misses. What the forecast of the model refuses is not looked at here.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from _hindsight import error
from _raw_tables import LAWS, TEST, loans, normal, wide
from _tasks import DELTA

from shiftdp.fdp import GaussianTradeoff
from shiftdp.sklearn import PrivateTableEncoder
from shiftdp.training import Logistic, Plan, Seeded, descend
from shiftdp.training.planning.planner import plan_for
from shiftdp.training.planning.problem import Problem
from shiftdp.training.preparation.outlook import LARGEST
from shiftdp.training.preparation.pipeline import SHARE

TABLES: dict[str, Callable[[int, int], Any]] = {"wide": wide, "normal": normal, "loans": loans}
TABLES |= {name: LAWS[name]().draw for name in ("stays", "mixed", "skewed")}
SETTINGS = ((2_000, 0.05), (2_000, 0.1), (2_000, 0.15), (2_000, 0.2), (2_000, 0.3),
            (5_000, 0.05), (5_000, 0.1), (5_000, 0.3))  # fmt: skip
HELD_OUT = 5_000


@cache
def plan_of(n: int, features: int, bound: float, epsilon: float) -> Plan:
    problem = Problem(
        n=n, features=features, loss=Logistic(), feature_bound=bound, epsilon=epsilon, delta=DELTA
    )
    return plan_for(problem).plan


def area(encoder: Any, left: float, X: Any, y: Any, others: Any, labels: Any, seed: int) -> float:
    """The AUC of a private model on these columns."""
    from sklearn.metrics import roc_auc_score

    rows = encoder.transform(X)
    plan = plan_of(*rows.shape, encoder.feature_bound_, left)
    w = descend(replace(plan, entropy=Seeded(seed)), rows, y == "yes")
    return float(roc_auc_score(labels == "yes", encoder.transform(others) @ w[:-1]))


def setting(name: str, n: int, epsilon: float, seeds: range) -> tuple[str, bool, bool]:
    """A row, whether it is refused, and whether it is spoilt."""
    mu = GaussianTradeoff.from_budget(epsilon, DELTA).mu
    own, left = (GaussianTradeoff(mu * math.sqrt(a)).epsilon(DELTA) for a in (SHARE, 1 - SHARE))
    found, noise = [], 0.0
    for seed in seeds:
        X, y = TABLES[name](n, seed)
        others, labels = TABLES[name](HELD_OUT, TEST + seed)
        learnt = PrivateTableEncoder(random_state=seed, epsilon=own, delta=DELTA).fit(X)
        exact = PrivateTableEncoder(random_state=seed, epsilon=1e5, delta=0.1).fit(X)
        noise = next(o.noise for o in learnt.certificate_.sums if o.kind == "histogram") / n
        given = (left, X, y, others, labels, seed)
        found.append((area(learnt, *given), area(exact, *given)))
    fits, twins = np.array(found).T
    part = float(np.mean(fits - 0.5 < 0.5 * (twins.mean() - 0.5)))
    refused, spoilt = noise > LARGEST, part > 0.1
    what = {(True, False): "false alarm", (False, True): "miss", (True, True): "refused"}
    cells = [
        name, f"{n:,}", f"{epsilon:g}", f"{noise:.3f}", f"{fits.mean():.3f} ± {error(fits):.3f}",
        f"{fits.min():.2f}, {fits.max():.2f}", f"{twins.mean():.3f} ± {error(twins):.3f}",
        f"{part:.0%}", what.get((refused, spoilt), ""),
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |", refused, spoilt


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--laws", default=",".join(TABLES), help=f"some of {','.join(TABLES)}")
    parser.add_argument("--fits", type=int, default=10)
    parser.add_argument("--first", type=int, default=200, help="the first seed")
    options = parser.parse_args()
    columns = ("law", "records", "epsilon", "noise, as a part of the records", "AUC",
               "least, largest", "exact ranges", "spoilt", "")  # fmt: skip
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
    seeds = range(options.first, options.first + options.fits)
    seen = []
    for name in options.laws.split(","):
        for n, epsilon in SETTINGS:
            line, *told = setting(name, n, epsilon, seeds)
            seen.append(tuple(told))
            print(line, flush=True)
    print(f"\n{len(seen)} settings: {seen.count((True, False))} false alarms of "
          f"{sum(refused for refused, _ in seen)} refused, {seen.count((False, True))} misses of "
          f"{sum(not refused for refused, _ in seen)} others")  # fmt: skip


if __name__ == "__main__":
    main()
