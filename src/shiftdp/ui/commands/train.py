"""`shiftdp train`: a private model of a table, with its certificate.

What it is made of is in `shiftdp.ui.training`; here is the order in which it happens.
"""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from shiftdp._files import write_file
from shiftdp.ui.group import Command
from shiftdp.ui.refusals import Refused
from shiftdp.ui.report import save
from shiftdp.ui.training.answer import ending_of, not_covered_by, print_model
from shiftdp.ui.training.models import estimator_of
from shiftdp.ui.training.options import training_options
from shiftdp.ui.training.runs import fit, write
from shiftdp.ui.training.tables import plan_by_shape, read_numbers, rules_of
from shiftdp.ui.types import InFile


@click.command(
    "train",
    cls=Command,
    examples=(
        "shiftdp train data.csv --target y --classes 0,1 --epsilon 1 --delta 1e-5 "
        "--feature-bound 1 -o model.shiftdp",
        "shiftdp train data.csv --target y --classes 0,1 --epsilon 1 --feature-bound 1 --dry-run",
        "shiftdp train people.csv --schema people.toml --classes no,yes --epsilon 1 "
        "-o model.shiftdp",
    ),
)
@click.argument("data", type=InFile(), metavar="DATA")
@training_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Train a private linear model on a table, and certify it.

    DATA is a CSV file with a line of names, a Parquet file, an npz file with one matrix and the
    target, or an svmlight file. With --schema, a CSV or Parquet file may have categories, true and
    false, and missing entries; the certificate is of preparation and model. The planner chooses the
    run by the shape of the table and the budget alone; every choice can be overridden. Nothing but
    the model leaves the run.
    """
    if options["output"] is None and not options["dry_run"]:
        raise Refused("-o: is missing; give a file for the model, or --dry-run", ctx)
    if options["schema"] is not None:
        _of_raw_table(ctx, options)
    else:
        _of_numbers(ctx, options)


def _of_numbers(ctx: click.Context, options: dict[str, Any]) -> None:
    """A table of numbers, whose rows are held to --feature-bound."""
    if options["feature_bound"] is None:
        raise Refused(
            "--feature-bound: is missing; give it, or --schema with the ranges of the columns", ctx
        )
    estimator = estimator_of(options)
    if options["dry_run"]:
        planned = plan_by_shape(estimator, options)
    else:
        names: list[Any] = []

        def table() -> tuple[Any, ...]:
            found = read_numbers(options)
            names.append(found.names)
            known = () if found.people is None else (found.people,)
            return (found.X, found.y, *known)

        account = fit(ctx, estimator, table, options)
        if names[0] is not None:
            estimator.feature_names_in_ = np.array(names[0], dtype=object)
        write(estimator, options["output"], account)
        planned = estimator.plan_
    save(planned.plan.certificate, options["save"])
    print_model(planned, options)


def _of_raw_table(ctx: click.Context, options: dict[str, Any]) -> None:
    """A raw table that --schema describes: encoder and model in one pipeline."""
    from shiftdp.training.preparation.schema import read_schema
    from shiftdp.ui.table_training import (
        PlannedPipeline,
        dry,
        pipeline_of,
        print_pipeline,
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
    pipeline, rules = pipeline_of(estimator, schema, options), rules_of(options)
    if options["dry_run"]:
        whole = dry(pipeline, options["data"], schema, rules)
    else:
        account = fit(ctx, pipeline, lambda: read_table(options["data"], schema, rules), options)
        write(pipeline, options["output"], account)
        whole = PlannedPipeline(pipeline.plan_, pipeline.certificate_)
    if options["save"] is not None:
        write_file(options["save"], whole.certificate.to_json() + "\n")
    print_pipeline(whole, options, not_covered_by(options), ending_of(options))
