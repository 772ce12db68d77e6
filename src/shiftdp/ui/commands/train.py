"""`shiftdp train`: a private model of a table, with its certificate.

What it is made of is in `shiftdp.ui.training`; here is the order in which it happens.
"""

from __future__ import annotations

import os
from typing import Any

import click
import numpy as np

from shiftdp.training.table_files.parts import parts_of
from shiftdp.ui.group import Command
from shiftdp.ui.progress import waiting
from shiftdp.ui.refusals import Refused
from shiftdp.ui.report import save
from shiftdp.ui.training.answer import ending_of, not_covered_by, print_model
from shiftdp.ui.training.models import estimator_of
from shiftdp.ui.training.options import training_options
from shiftdp.ui.training.runs import fit, require_signal, warn_of_delta, write
from shiftdp.ui.training.scoring import Holdout
from shiftdp.ui.training.tables import plan_by_shape, read_numbers, require_in_memory, rules_of
from shiftdp.ui.training.tuning import (
    print_search,
    refuse_with_tuning,
    search_of_numbers,
    search_of_pipeline,
)
from shiftdp.ui.types import InData


@click.command(
    "train",
    cls=Command,
    examples=(
        "shiftdp train data.csv --target y --classes 0,1 --epsilon 1 --delta 1e-5 "
        "--feature-bound 1 -o model.shiftdp",
        "shiftdp train data.csv --target y --classes 0,1 --epsilon 1 --feature-bound 1 --dry-run",
        "shiftdp train people.csv --schema people.toml --classes no,yes --epsilon 1 "
        "-o model.shiftdp",
        "shiftdp train folder/ --target y --classes 0,1 --epsilon 1 --feature-bound 1 "
        "--memory 512MB -o model.shiftdp",
        "shiftdp train data.csv --target y --classes 0,1 --epsilon 1 --feature-bound 10 --tune "
        "--private-score 0.5 -o model.shiftdp",
    ),
)
@click.argument("data", type=InData(), metavar="DATA", nargs=-1, required=True)
@training_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Train a private linear model on a table, and certify it.

    DATA is a CSV file with a line of names, a Parquet file, an npz file with one matrix and the
    target, or an svmlight file; several of them are parts of one table, and so are the files of a
    folder, in the order of their names. With --schema, CSV and Parquet files may have categories,
    true and false, and missing entries; the certificate is of preparation and model. The planner
    chooses the run by the shape of the table and the budget alone; every choice can be overridden.
    A plan whose noise is predicted to be above its signal is refused, with the cure. Nothing but
    the model leaves the run, and its score if --private-score asks for one.
    """
    if options["output"] is None and not options["dry_run"]:
        raise Refused("-o: is missing; give a file for the model, or --dry-run", ctx)
    if not options["dry_run"] and not options["force"] and os.path.isfile(options["output"]):
        path = options["output"]
        problem = "is there already, and trained again on the same records it is a second release"
        raise Refused(f"-o {path}: {problem}; give another name, or --force", ctx)
    refuse_with_tuning(ctx, options)
    options["data"] = parts_of(options["data"])
    if options["schema"] is not None:
        _of_raw_table(ctx, options)
    else:
        _of_numbers(ctx, options)


def _of_numbers(ctx: click.Context, options: dict[str, Any]) -> None:
    """A table of numbers, whose rows are held to --feature-bound."""
    from shiftdp.training.planning import outlook_of

    if options["feature_bound"] is None:
        raise Refused(
            "--feature-bound: is missing; give it, or --schema with the ranges of the columns", ctx
        )
    if options["groups"] is not None and (options["tune"] or options["private_score"] is not None):
        raise Refused(
            "--groups: people with several records are not covered by --tune and --private-score; "
            "leave one out",
            ctx,
        )
    estimator, holdout = estimator_of(options), Holdout(ctx, options)
    if options["dry_run"]:
        with waiting("planning"):
            planned = plan_by_shape(estimator, options)
            require_signal(ctx, outlook_of(planned, estimator._overrides()), options)
        warn_of_delta(ctx, planned.problem.n, options)
        save(planned.plan.certificate, options["save"])
        print_model(planned, options)
        return
    names: list[Any] = []
    held = options["tune"] or holdout.wanted

    def table() -> tuple[Any, ...]:
        from shiftdp.training.estimators.inputs import outputs_of

        found = read_numbers(options)
        names.append(found.names)
        if held:
            require_in_memory(found.X, options, "with --tune and --private-score")
        X, y = holdout.split(found.X, found.y)
        outputs = outputs_of(estimator, y, X.shape[0])
        planned = estimator.plan(*X.shape, outputs, dense=isinstance(X, np.ndarray))
        require_signal(ctx, outlook_of(planned, estimator._overrides()), options)
        known = () if found.people is None else (found.people,)
        return (X, y, *known)

    model = search_of_numbers(estimator, options) if options["tune"] else estimator
    account = fit(ctx, model, table, options)
    chosen = model.best_estimator_ if options["tune"] else model
    if names[0] is not None:
        chosen.feature_names_in_ = np.array(names[0], dtype=object)
    write(ctx, model, options, account)
    score = holdout.score(chosen)
    save(model.certificate_, options["save"])
    if options["tune"]:
        print_search(model, options, not_covered_by(options), score, ending_of(options))
    else:
        print_model(model.plan_, options, score)


def _of_raw_table(ctx: click.Context, options: dict[str, Any]) -> None:
    """A raw table that --schema describes: encoder and model in one pipeline."""
    from shiftdp.training.preparation.schema import read_schema
    from shiftdp.ui.table_training import (
        dry,
        pipeline_of,
        print_pipeline,
        read_in_memory,
        read_table,
    )

    if options["feature_bound"] is not None:
        raise Refused(
            "--feature-bound: is not for --schema, which bounds the rows itself; leave it out", ctx
        )
    if options["groups"] is not None:
        raise Refused(
            "--groups: is not for --schema, whose encoder protects one record a person; leave it "
            "out",
            ctx,
        )
    schema = read_schema(options["schema"])
    options = {**options, "target": options["target"] or schema.target}
    if options["classes"] is None and schema.classes is not None and options["model"] != "huber":
        options["classes"] = tuple(map(str, schema.classes))
    estimator = estimator_of(options)
    holdout = Holdout(ctx, options)
    pipeline, rules = pipeline_of(estimator, schema, options), rules_of(options)
    with waiting("planning"):
        whole = dry(pipeline, options["data"], schema, rules, holdout.kept)
        require_signal(ctx, whole.outlook, options)
    if options["dry_run"]:
        warn_of_delta(ctx, whole.certificate.n, options)
    ending, score, leaks = ending_of(options), None, not_covered_by(options)
    if not options["dry_run"]:
        model = pipeline
        if options["tune"]:
            model = search_of_pipeline(pipeline, whole.planned, options)
        held = options["tune"] or holdout.wanted

        def table() -> tuple[Any, Any]:
            read = read_in_memory if held else read_table
            return holdout.split(*read(options["data"], schema, rules, options["memory"]))

        account = fit(ctx, model, table, options)
        write(ctx, model, options, account)
        score = holdout.score(model.best_estimator_ if options["tune"] else model)
        if options["tune"]:
            save(model.certificate_, options["save"])
            print_search(model, options, leaks, score, ending)
            return
        whole = whole._replace(planned=model.plan_, certificate=model.certificate_)
    save(whole.certificate, options["save"])
    print_pipeline(whole, options, leaks, ending, score)
