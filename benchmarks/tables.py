"""AUC that a raw table loses to privacy, by what is declared of it.

    python benchmarks/tables.py [--laws skewed,skewed4] [--records 5000,50000] [--runs 10]
        [--first 700] [--epsilon 1] [--ways declared,learnt] [--hindsight] [--write]

Tables are drawn from the laws of `_raw_tables.py`, or split (German credit). A row is the mean over
`--runs` seeds from `--first` on: the AUC on 20,000 held-out records of the pipeline at
(epsilon, 1e-5), that of logistic regression without privacy on the same columns, encoded by exact
statistics, and the difference with its standard error. Ways:

- declared: ranges and categories are declared, scales are left to the pipeline: the default;
- ranges: the same with `scale="range"`, so that nothing is learnt;
- moments: the same with `scale="moments"`, learnt whatever the budget;
- learnt: no schema;
- weighted, learnt weighted: the first and the last with `class_weight={"no": 0.1, "yes": 1}`, which
  somebody declares who knows that positives are few.

`--hindsight` adds the best of 35 other reaches and clips around the plan of each pipeline, chosen
on the runs that it is measured on, with noise of their own. `--write`
puts the other columns into docs/tables.md in place of those that are there.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from _hindsight import error
from _raw_tables import LAWS, TEST, Law, scaled
from _tasks import DELTA, ROOT

from shiftdp.sklearn import (
    PrivateLogisticRegression,
    PrivatePipeline,
    PrivateTableEncoder,
    WeakSignalWarning,
)
from shiftdp.training import Plan, Seeded, descend

HELD_OUT = 20_000
FREE: dict[str, Any] = {"epsilon": 1e5, "delta": 0.1}
"""A budget with which the statistics that are learnt are exact for all purposes."""

WAYS: dict[str, Any] = {
    "declared": None, "ranges": "range", "moments": "moments", "weighted": None,
    "learnt": None, "learnt weighted": None,
}  # fmt: skip
"""The scale of numbers in each."""
WEIGHTS = {"no": 0.1, "yes": 1.0}

REACHES = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0)
CLIPS = (0.35, 0.5, 0.7, 1.0, 1.4)
PAGE = ROOT / "docs" / "tables.md"
BEGIN, END = "<!-- benchmarks/tables.py begins -->\n", "<!-- benchmarks/tables.py ends -->\n"


class Run(NamedTuple):
    """AUC of one table: with privacy, without, and with privacy by other reaches and clips."""

    private: float
    plain: float
    others: tuple[float, ...] = ()


def schema_of(law: Law, way: str) -> Any:
    """What is declared."""
    return None if way.startswith("learnt") else scaled(law.declared, WAYS[way])


def measured(law: Law, way: str, n: int, seed: int, epsilon: float, hindsight: bool) -> Run:
    """One table, and one model of it."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    X, y = law.draw(n, seed)
    others, labels = law.draw(HELD_OUT, TEST + seed)
    encoder = PrivateTableEncoder(schema_of(law, way), random_state=seed)
    weights = WEIGHTS if way.endswith("weighted") else None
    model = PrivateLogisticRegression(
        classes=["no", "yes"], class_weight=weights, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakSignalWarning)
        private = PrivatePipeline([encoder, model], epsilon, DELTA).fit(X, y)
    layout = encoder.layout_  # with the scales that the pipeline has settled
    columns = dict(zip(layout.names, layout.columns, strict=True))
    exact = PrivateTableEncoder(columns, random_state=seed, **FREE).fit(X)
    plain = LogisticRegression(C=1e6, max_iter=2_000).fit(exact.transform(X), y)

    def area(scores: Any) -> float:
        return float(roc_auc_score(labels == "yes", scores))

    tried: tuple[float, ...] = ()
    if hindsight:
        rows, tests = encoder.transform(X), encoder.transform(others)
        plan = replace(private.plan_.plan, entropy=Seeded(seed))
        weights = (descend(one, rows, y == "yes") for one in around(plan))
        tried = tuple(area(tests @ w[:-1]) for w in weights)
    without = area(plain.decision_function(exact.transform(others)))
    return Run(area(private.decision_function(others)), without, tried)


def around(plan: Plan) -> Iterator[Plan]:
    """The same run with other reaches and clips; its noise follows the clip."""
    assert plan.clip is not None
    rates, noise = np.array(plan.run.learning_rate), np.array(plan.run.noise)
    for reach, clip in product(REACHES, CLIPS):
        run = replace(plan.run, learning_rate=rates * reach / clip, noise=noise * clip)
        yield replace(plan, run=run, clip=plan.clip * clip)


def row(law: Law, way: str, n: int, runs: Sequence[Run]) -> str:
    private, plain = (np.array([getattr(one, name) for one in runs]) for name in Run._fields[:2])
    loss = plain - private
    shown = [
        law.name, f"{n:,}", way, str(len(runs)), f"{plain.mean():.3f}", f"{private.mean():.3f}",
        f"{loss.mean():.3f} ± {error(loss):.3f}", f"{loss.max():.3f}",
    ]  # fmt: skip
    return "| " + " | ".join(shown) + " |"


HEADER = (
    "law, positives", "records", "schema", "runs", "not private", "private", "loss",
    "largest loss of a run",
)  # fmt: skip


def write(lines: Sequence[str]) -> None:
    """Put the rows into the page, in place of those of the same law, records and schema."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    inside, after = rest.split(END)
    kept = {key(line): line for line in inside.splitlines()[3:] if line}
    kept |= {key(line): line for line in lines}
    head = f"| {' | '.join(HEADER)} |\n|{' --- |' * len(HEADER)}\n"
    body = "".join(f"{line}\n" for line in kept.values())
    PAGE.write_text(f"{before}{BEGIN}\n{head}{body}\n{END}{after}", encoding="utf-8")


def key(line: str) -> tuple[str, ...]:
    return tuple(line.split(" | ")[:3])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--laws", default=",".join(LAWS), help=f"some of {','.join(LAWS)}")
    parser.add_argument("--records", default="5000", help="of training tables (5000)")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--first", type=int, default=700, help="the first seed")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--ways", default="declared,ranges,learnt", help=f"of {','.join(WAYS)}")
    parser.add_argument("--hindsight", action="store_true")
    parser.add_argument("--write", action="store_true", help="the rows into docs/tables.md")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.runs)
    lines = []
    print(f"| {' | '.join(HEADER)} |\n|{' --- |' * len(HEADER)}")
    for name, way in product(options.laws.split(","), options.ways.split(",")):
        law = LAWS[name]()
        for n in [700] if name == "german" else map(int, options.records.split(",")):
            found = [
                measured(law, way, n, seed, options.epsilon, options.hindsight) for seed in seeds
            ]
            lines.append(row(law, way, n, found))
            print(lines[-1], flush=True)
            if options.hindsight:
                loss = np.array([[one.plain] for one in found]) - [one.others for one in found]
                best = loss.mean(axis=0).min()
                print(f"  the best of {loss.shape[1]} in hindsight loses {best:.3f}", flush=True)
            if options.write:
                write(lines)


if __name__ == "__main__":
    main()
