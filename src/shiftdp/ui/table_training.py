"""`shiftdp train --schema`: a raw table, its encoder and its model under one budget."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from shiftdp._errors import InvalidInput
from shiftdp.privacy.noisy_sums import of_declared_ranges
from shiftdp.training.table_files.labels import BadLabels, Labels
from shiftdp.training.table_files.parts import (
    Paths,
    files_of,
    format_of,
    require_records,
    shown,
)
from shiftdp.training.table_files.raw_files import (
    RawFile,
    columns_of,
    read_blocks,
    read_raw,
    records_in,
)
from shiftdp.training.table_files.rules import no_column
from shiftdp.ui.output import plain, print_json, print_text, up
from shiftdp.ui.progress import waiting
from shiftdp.ui.report import pipeline_document

if TYPE_CHECKING:
    from shiftdp.privacy.pipeline_certificate import PipelineCertificate
    from shiftdp.training.planning.planner import Planned
    from shiftdp.training.preparation.outlook import PipelineOutlook
    from shiftdp.training.preparation.schema import Schema
    from shiftdp.ui.training.scoring import HeldOut


_ABSENT = "give a table with that name, or mend the schema"


class PlannedPipeline(NamedTuple):
    """What runs, what all of it costs, and what was expected of it."""

    planned: Planned
    certificate: PipelineCertificate
    outlook: PipelineOutlook


def pipeline_of(estimator: Any, schema: Schema, options: dict[str, Any]) -> Any:
    """The encoder of the schema and the model, within the budget of the command."""
    from shiftdp.sklearn import PrivatePipeline, PrivateTableEncoder

    estimator.set_params(ledger=None)
    encoder = PrivateTableEncoder(schema, random_state=options["random_state"])
    return PrivatePipeline(
        [("table", encoder), ("model", estimator)],
        options["epsilon"],
        options["delta"],
        ledger=options["ledger"],
    )


def read_table(
    paths: Paths, schema: Schema, rules: Any, memory: float = math.inf
) -> tuple[Any, Any]:
    """The columns of the schema, and the labels.

    Args:
        paths: of one file, or of all parts.
        schema: the columns.
        rules: how the target is read.
        memory: how many bytes reading and training may add to the process. If the table and its
            encoding would take more, both are put on disk.
    """
    from shiftdp.training.preparation.stored import StoredTable
    from shiftdp.training.table_files.rules import WORKING

    target = _target(shown(paths), schema, rules.target)
    columns_of(paths)  # refuses parts of different tables
    n = records_in(paths)
    require_records(shown(paths), n)
    table = StoredTable(schema, n, memory - WORKING)
    every = Labels(n, rules.classes, numbers=rules.numbers, disk=table.on_disk)

    def keep(block: RawFile) -> None:
        table.add(block.columns)
        every.add(block.columns[target])

    read_blocks(paths, [*schema.columns, target], keep, _ABSENT, memory - WORKING)
    table.require_full()
    return table, _result(every, paths)


def read_in_memory(paths: Paths, schema: Schema, rules: Any, memory: float) -> tuple[Any, Any]:
    """The columns of a table, all in memory, and its target; refused if that is above `memory`."""
    from shiftdp.training.preparation.stored import bytes_of

    target = _target(shown(paths), schema, rules.target)
    columns_of(paths)  # refuses parts of different tables
    if bytes_of(schema, records_in(paths)) > memory:
        raise InvalidInput(
            "memory", memory,
            "is less than the table takes, and with --tune and --private-score it is not read in "
            "blocks", "give more",
        )  # fmt: skip
    raw = read_raw(paths, [*schema.columns, target], _ABSENT)
    every = Labels(raw.n, rules.classes, numbers=rules.numbers)
    every.add(raw.columns[target])
    return raw.table(list(schema.columns)), _result(every, paths)


def _result(every: Labels, paths: Paths) -> Any:
    try:
        return every.result()
    except BadLabels as error:
        problem = str(error)
    raise InvalidInput(
        "data", shown(paths), problem, "give all labels by classes=..., or mend them"
    )


def dry(
    pipeline: Any, paths: Paths, schema: Schema, rules: Any, kept: Callable[[int], int]
) -> PlannedPipeline:
    """Plan, certificate and outlook by names and the number of records, of which some are kept."""
    from shiftdp.training.preparation.budget import layout_in_pipeline
    from shiftdp.training.preparation.layout import layout_of
    from shiftdp.training.preparation.outlook import outlook_of_pipeline
    from shiftdp.training.preparation.reading import RawTable

    path = shown(paths)
    names = [column.name for column in columns_of(paths)]
    for name in schema.columns:
        if name not in names:
            raise InvalidInput("data", path, f"has no column {name!r}", _ABSENT)
    target = _target(path, schema, rules.target)
    if target not in names:
        raise no_column(path, names, target, shown=format_of(files_of(paths)[0]) != "csv")
    n = kept(records_in(paths))
    require_records(path, n)
    classes = rules.classes
    outputs = len(classes) if classes is not None and len(classes) > 2 else 1
    planned, certificate = pipeline.plan(names, n, outputs)
    (_, encoder), (_, model) = pipeline.steps[-2:]
    known = layout_of(schema, RawTable(tuple(names), (), n))
    layout = layout_in_pipeline(known, encoder, pipeline, n, model.adjacency)
    found = outlook_of_pipeline(pipeline, layout, n, planned, model)
    return PlannedPipeline(planned, certificate, found)


def _target(path: str, schema: Schema, target: str | None) -> str:
    if target is None:
        raise InvalidInput("target", None, "is missing", f"name a column of {path}")
    if target in schema.columns:
        raise InvalidInput(
            "target",
            target,
            "is among the columns of the schema: the model would be shown what it is to predict",
            "take it out of the columns, or name another target",
        )
    return target


def print_pipeline(
    whole: PlannedPipeline,
    options: dict[str, Any],
    not_covered: list[str],
    ending: str,
    score: HeldOut | None = None,
) -> None:
    """The answer of `shiftdp train --schema`."""
    planned, certificate, _ = whole
    private = certificate.private and planned.plan.entropy.private
    with waiting("accounting"):
        document = pipeline_document(certificate, options["delta"])
    if options["json"]:
        print_json(
            {
                **document,
                "private": private,
                "not_covered": not_covered,
                "plan": planned.choices(),
                "reasons": planned.reasons,
                "output": options["output"],
                **({} if score is None else score.document()),
            }
        )
        return
    print_text(str(planned))
    print_text()
    delta = plain(document["delta"])
    print_text(f"The whole pipeline costs epsilon = {up(document['epsilon'])} at delta = {delta}:")
    _print_parts(certificate, document, print_text)
    for leak in not_covered:
        print_text(f"not covered: {leak}")
    if not private:
        print_text("NOT PRIVATE: --random-state made this run reproducible.")
    if score is not None:
        print_text(score.text())
    print_text(ending)


def _print_parts(
    certificate: PipelineCertificate, document: dict[str, Any], say: Callable[[str], None]
) -> None:
    if not certificate.sums:
        say("  the preparation is public: everything is declared, and it costs nothing")
    else:
        prepared = up(document["preparation"]["epsilon"])
        declared = of_declared_ranges(certificate.sums)
        why = "is learnt" if declared else "the schema leaves to be learnt"
        say(f"  the preparation alone {prepared}, for what {why}:")
        for one in certificate.sums:
            where = " in its declared range" if one in declared else ""
            say(f"    {one.kind} of {one.column}{where}, with noise of {one.noise:.4g}")
        if declared:
            say(
                "    Declared ranges are standardised by these means and deviations;"
                ' scale = "range" in the schema avoids it.'
            )
    model = document["model"]
    say(f"  the model alone {up(model['epsilon'])}, by {model['bound']}")
