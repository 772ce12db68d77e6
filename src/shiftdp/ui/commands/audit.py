"""`shiftdp audit`: attack the guarantees that the library prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shiftdp._errors import InvalidInput
from shiftdp.ui.group import Group
from shiftdp.ui.options import answer_options, option
from shiftdp.ui.output import down, print_json, print_table, print_text, up
from shiftdp.ui.progress import Bar, waiting
from shiftdp.ui.types import NUMBER, InFile, Word

if TYPE_CHECKING:
    from collections.abc import Callable

    from shiftdp.trials.report import AuditReport

_CONFIDENCE = option(
    "confidence", type=NUMBER, default=0.99, help="Of the verdict and of each bound, one-sided."
)


@click.group(
    "audit",
    cls=Group,
    examples=(
        "shiftdp audit exact --theorem 'Theorem B1'",
        "shiftdp audit trainer --only 'full batches' --runs 400",
    ),
)
def command() -> None:
    """Attack the guarantees: exact instances, the real trainer, your own model.

    A verdict `violated` ends with exit code 1. `consistent` means that this attack found no more
    than is certified: it is no proof, which is what `shiftdp verify` checks.
    """


@command.command(
    "exact",
    examples=(
        "shiftdp audit exact --theorem 'Theorem B1' --theorem 'Theorem B4'",
        "shiftdp audit exact --theorem 'Theorem V3' --delta 1e-6 --json",
    ),
)
@option("theorem", multiple=True, help="Only this theorem; may be given several times.")
@answer_options("delta")
def exact(theorem: tuple[str, ...], delta: float, json: bool) -> None:
    """For every theorem: what it certifies, what some losses really leak, and why they differ.

    The losses are worst cases whose law is computed and not sampled: linear recursions with the
    slopes of Theorem B5, random batches by convolution, projected walks, tilted densities. A ratio
    of 1.000 means that no proof can ever give less.
    """
    from shiftdp.trials.exact.table import HEADINGS, exact_audit

    with waiting("auditing", 1.0) as bar:
        found = exact_audit(delta=delta, theorems=theorem or None, progress=_advancing(bar))
    if json:
        print_json(found.to_dict())
    else:
        print_table(HEADINGS, found.cells(), right=(2, 3, 4), title=f"epsilon at delta = {delta:g}")
    _end(not found.consistent)


@command.command(
    "trainer",
    examples=(
        "shiftdp audit trainer --only 'full batches' --runs 400",
        "shiftdp audit trainer --only 'batches in turn' --runs 400 --confidence 0.999 --json",
    ),
)
@option("only", multiple=True, help="Only this trainer; may be given several times.")
@option(
    "runs",
    type=NUMBER,
    default=4000,
    help="Trainings on each data set, for each canary; a fifth for estimators, so 200 at least.",
)
@_CONFIDENCE
@answer_options("delta")
def trainer(only: tuple[str, ...], runs: int, confidence: float, delta: float, json: bool) -> None:
    """Train thousands of times on neighbouring data sets, and tell the two apart.

    The loop with each kind of batches, the public estimators, and each way to train one: with
    checkpoints, groups, partial_fit and forget. Each is attacked with the worst records; a test is
    learned on half of the runs and counted on the other half.
    """
    from shiftdp.trials.suite import trainer_audit

    with waiting("training", 1.0) as bar:
        trials = trainer_audit(
            runs=runs,
            names=only or None,
            confidence=confidence,
            delta=delta,
            progress=_advancing(bar),
        )
    if json:
        rows = [{"trainer": each.name, **each.report.to_dict()} for each in trials]
        print_json({"delta": delta, "confidence": confidence, "trainers": rows})
    else:
        print_table(
            ("trainer", "certified", "epsilon >=", "mu", "mu >=", "trainings", "verdict"),
            [[each.name, *_cells(each.report)] for each in trials],
            right=(1, 2, 3, 4, 5),
            title=f"epsilon at delta = {delta:g}; found with {100 * confidence:g}% confidence",
        )
    _end(any(each.report.violated for each in trials))


def _cells(report: AuditReport) -> list[str]:
    return [
        up(report.certified_epsilon),
        down(report.epsilon, 4),
        up(report.certified_mu),
        down(report.mu, 4),
        str(report.runs),
        report.verdict,
    ]


@command.command(
    "model",
    examples=(
        "shiftdp audit model model.shiftdp --canaries 50",
        "shiftdp audit model model.shiftdp --method shared_noise --json",
    ),
)
@click.argument("model", type=InFile(), metavar="MODEL")
@option("data", type=InFile(), help="A table to put canaries into, with as many records.")
@option("target", help="The column of --data to predict.")
@option(
    "method",
    type=Word(("one_run", "runs", "shared_noise")),
    default="one_run",
    help="One training with many canaries; many trainings; two with the same noise.",
)
@option("canaries", type=NUMBER, help="In one run; half of the records by default, 1000 at most.")
@option("runs", type=NUMBER, default=1000, help="Trainings on each data set, for --method runs.")
@_CONFIDENCE
@answer_options("delta")
def model(model: str, json: bool, **options: Any) -> None:
    """Train by the plan of a model file once more, on canaries, and see what shows.

    MODEL is what `shiftdp train` or `save_model` wrote. Its plan is run anew, on records of 0 or on
    --data, with canaries in the place of the last records. The model itself is not changed.
    """
    from shiftdp.trials.auditing import audit
    from shiftdp.trials.trainers import REGRESSION
    from shiftdp.ui.settings import read_model_file

    found = read_model_file(model, "model")
    plan = found.planned.plan
    data = None
    if options["data"] is not None:
        from shiftdp.training.table_files.reading import read
        from shiftdp.training.table_files.rules import Rules

        numbers = type(plan.loss).__name__ in REGRESSION
        table = read(options["data"], Rules(target=options["target"], numbers=numbers))
        data = (table.X, table.y if numbers else _coded(found.model, table.y, options["data"]))
    with waiting("training", 1.0) as bar:
        report = audit(
            plan,
            found.certificate,
            method=options["method"],
            data=data,
            runs=options["runs"],
            canaries=options["canaries"],
            confidence=options["confidence"],
            delta=options["delta"],
            progress=_advancing(bar),
        )
    if json:
        print_json(report.to_dict())
    else:
        print_text(str(report))
    _end(report.violated)


def _coded(fitted: Any, labels: Any, path: str) -> Any:
    """Labels by their place among the model's classes, as the loop has them."""
    import numpy as np

    classes = [str(name) for name in fitted.classes_]
    places = {name: place for place, name in enumerate(classes)}
    coded = [places.get(str(label)) for label in labels]
    if None in coded:
        raise InvalidInput(
            "data", path, "has labels that are no classes of the model", "give others, or mend them"
        )
    return np.array(coded)


def _advancing(bar: Bar) -> Callable[[int, int], None]:
    """A bar of length 1 that is told of numbers done and in all."""
    before = [0.0]

    def advance(done: int, total: int) -> None:
        part = done / max(total, 1)
        bar.advance(part - before[0])
        before[0] = part

    return advance


def _end(violated: bool) -> None:
    if violated:
        click.get_current_context().exit(1)
