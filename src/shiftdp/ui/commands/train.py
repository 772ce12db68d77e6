"""`shiftdp train`: a private model of a table, with its certificate."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from shiftdp._files import write_file
from shiftdp.ui.group import Command
from shiftdp.ui.options import ANSWER, answer_options, option_group
from shiftdp.ui.output import print_json, print_text
from shiftdp.ui.progress import waiting
from shiftdp.ui.refusals import Refused, print_warning
from shiftdp.ui.report import CLASSES_LEARNT, document_of, print_document, save
from shiftdp.ui.types import NUMBER, InFile, OutFile, Word

if TYPE_CHECKING:
    from shiftdp.last_iterate import Certificate
    from shiftdp.privacy import Entry, Ledger
    from shiftdp.privacy.pipeline_certificate import PipelineCertificate
    from shiftdp.training.planning.planner import Planned
    from shiftdp.ui.data_files import Rules

_MODELS = {
    "logistic": "PrivateLogisticRegression",
    "svc": "PrivateLinearSVC",
    "huber": "PrivateHuberRegressor",
}
_CUT = 0.9  # a row that is scaled by less has lost a part of its length that matters
_ENDINGS = ("shiftdp", "skops")  # the latter of old: what is written is the same
_PLAN: dict[str, dict[str, Any]] = {
    "algorithm": {
        "type": Word(("gd", "cgd", "sgd")),
        "help": "Full batches, batches in turn, or random ones.",
    },
    "order": {
        "type": Word(("fixed", "shuffled_once", "reshuffled")),
        "help": "Of batches in turn.",
    },
    "last_batch": {
        "type": Word(("own_size", "divide_by_b", "drop")),
        "help": "What is done with records that do not fill a batch; divide_by_b by default.",
    },
    "sampling": {
        "type": Word(("without_replacement", "poisson")),
        "help": "Of random batches.",
    },
    "batch_size": {"type": NUMBER, "help": "How many records a batch has."},
    "epochs": {"type": NUMBER, "help": "Passes over the data."},
    "learning_rate": {"type": NUMBER, "help": "The step size."},
    "l2": {"type": NUMBER, "help": "The ridge."},
    "clip": {"type": NUMBER, "help": "The norm that gradients are clipped to; inf for none."},
    "noise": {
        "type": NUMBER,
        "help": "On the mean gradient; refused if it costs more than --epsilon.",
    },
    "average": {
        "type": NUMBER,
        "help": "The model is the mean of those after so many last passes, and pays for each.",
    },
}


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
@option_group(
    "The data",
    target={"help": "The column, or the array, to predict."},
    model={
        "type": Word(tuple(_MODELS)),
        "default": "logistic",
        "help": "Logistic regression, a linear SVC (two classes), or Huber regression.",
    },
    classes={
        "help": "All labels, with commas between them. Without it they are read off the data, "
        "which the certificate does not cover.",
    },
    width={
        "type": NUMBER,
        "default": 1.0,
        "help": "Of the zone where the loss is a parabola (svc, huber).",
    },
    schema={
        "type": InFile(),
        "help": "What is public about the columns (TOML or JSON; shiftdp schema writes one): "
        "ranges, categories, missing entries. What it leaves out is learnt within the budget.",
    },
    features={
        "type": NUMBER,
        "help": "How many there are. svmlight needs it: it must not be read off the data.",
    },
    first_index={
        "type": Word(("0", "1")),
        "default": "1",
        "help": "The index of the first feature (svmlight).",
    },
    intercept={"switch": True, "default": True, "help": "Join a constant, or not."},
)
@option_group(
    "What it may cost",
    feature_bound={
        "type": NUMBER,
        "help": "Rows that are longer are scaled down to it. It must not be read off the data. "
        "Needed without --schema, which bounds the rows itself.",
    },
    oversized={
        "type": Word(("scale", "refuse")),
        "default": "scale",
        "help": "What happens to rows that are longer.",
    },
    epsilon={"type": NUMBER, "required": True, "help": "What the model may cost."},
    adjacency={
        "type": Word(("replace_one", "zero_out")),
        "default": "replace_one",
        "help": "Which data sets are neighbours.",
    },
    ledger={"type": InFile(), "help": "Charge this ledger before the run."},
    random_state={
        "type": NUMBER,
        "help": "A seed: the run can be repeated, and is NOT private.",
    },
)
@option_group(
    "Instead of what the planner chooses",
    **_PLAN,
    compute={
        "type": NUMBER,
        "default": 1e11,
        "help": "How many multiplications the run may take.",
    },
)
@option_group(
    ANSWER,
    output={
        "short": "-o",
        "type": OutFile(_ENDINGS),
        "help": "Write the model to this file (.shiftdp).",
    },
    dry_run={
        "is_flag": True,
        "help": "Show the plan and its certificate; of the data only the shape is read.",
    },
)
@answer_options("delta", "save")
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
        _with_schema(ctx, options)
        return
    if options["feature_bound"] is None:
        raise Refused(
            "--feature-bound: is missing; give it, or --schema with the ranges of the columns", ctx
        )
    estimator = _estimator(options)
    if options["dry_run"]:
        planned = _dry(estimator, options)
    else:
        planned = _train(ctx, estimator, options)
    save(planned.plan.certificate, options["save"])
    _report(planned, options)


def _estimator(options: dict[str, Any]) -> Any:
    from shiftdp.training.descent.entropy import MissingPackage

    try:
        import shiftdp.sklearn as room
    except MissingPackage as error:
        raise click.ClickException(str(error)) from None
    kind = options["model"]
    shared = {name: options[name] for name in _PLAN}
    if kind != "huber":
        shared["classes"] = _classes(options["classes"])
    if kind != "logistic":
        shared["width"] = options["width"]
    return getattr(room, _MODELS[kind])(
        epsilon=options["epsilon"],
        delta=options["delta"],
        feature_bound=1.0 if options["feature_bound"] is None else options["feature_bound"],
        adjacency=options["adjacency"],
        fit_intercept=options["intercept"],
        compute=options["compute"],
        oversized=options["oversized"],
        ledger=options["ledger"],
        random_state=options["random_state"],
        **shared,
    )


def _classes(given: str | tuple[str, ...] | None) -> list[Any] | None:
    """The labels of the command line, with commas between them, or those of a schema."""
    if given is None:
        return None
    words = [word.strip() for word in (given.split(",") if isinstance(given, str) else given)]
    for kind in (int, float):
        try:
            return [kind(word) for word in words]
        except ValueError:
            continue
    return list(words)


def _rules(options: dict[str, Any]) -> Rules:
    from shiftdp._checks import count
    from shiftdp.ui.data_files import Rules

    features = options["features"]
    return Rules(
        target=options["target"],
        features=None if features is None else count("features", features, 1),
        first_index=int(options["first_index"]),
        classes=_classes(options["classes"]),
        numbers=options["model"] == "huber",
    )


def _dry(estimator: Any, options: dict[str, Any]) -> Planned:
    from shiftdp.ui.data_files import shape_of

    shape = shape_of(options["data"], _rules(options))
    classes = getattr(estimator, "classes", None)
    outputs = len(classes) if classes is not None and len(classes) > 2 else 1
    planned: Planned = estimator.plan(shape.n, shape.features, outputs)
    return planned


def _train(ctx: click.Context, estimator: Any, options: dict[str, Any]) -> Planned:
    from shiftdp.ui.data_files import read

    def table() -> tuple[Any, Any]:
        found = read(options["data"], _rules(options))
        _require_bound(found.X, options)
        names.append(found.names)
        return found.X, found.y

    names: list[Any] = []
    account = _fit(ctx, estimator, table, options)
    if names[0] is not None:
        estimator.feature_names_in_ = np.array(names[0], dtype=object)
    _write(estimator, options["output"], account)
    planned: Planned = estimator.plan_
    return planned


def _fit(
    ctx: click.Context, model: Any, table: Callable[[], tuple[Any, Any]], options: dict[str, Any]
) -> _CompletedLater | None:
    """Fit a model to a table; what is wrong is said without a word about a record."""
    from shiftdp._errors import InvalidInput
    from shiftdp.privacy import Ledger
    from shiftdp.sklearn import PrivacyLeakWarning

    problem = None
    account = None
    if options["ledger"] is not None:
        account = _CompletedLater(Ledger(options["ledger"]))
        model.set_params(ledger=account)
    with waiting("training"), warnings.catch_warnings(record=True) as leaks:
        warnings.simplefilter("always", PrivacyLeakWarning)
        X, y = table()
        try:
            model.fit(X, y)
        except InvalidInput:
            raise
        except ValueError as error:  # `training.inputs` sees to it that it quotes no entry
            problem = str(error).splitlines()[0]
    if problem is not None:
        raise InvalidInput("data", options["data"], f"cannot be used: {problem}", "mend the table")
    for leak in leaks:
        if issubclass(leak.category, PrivacyLeakWarning):
            print_warning(ctx, str(leak.message))
    model.set_params(ledger=options["ledger"])
    return account


def _require_bound(X: Any, options: dict[str, Any]) -> None:
    """Refuse a bound that most rows are longer than: nothing but their direction would be left."""
    from shiftdp._errors import InvalidInput
    from shiftdp.training.descent.records import bounded_rows

    if options["oversized"] != "scale" or 0 in X.shape:
        return
    scales = bounded_rows(X, options["feature_bound"]).scales
    if scales is not None and (scales < _CUT).mean() > 0.5:
        raise InvalidInput(
            "feature_bound",
            options["feature_bound"],
            "is less than the length of most rows: cut to it, they would lose what tells them "
            "apart",
            "declare the ranges of the columns with --schema (shiftdp schema writes a template)",
        )


def _with_schema(ctx: click.Context, options: dict[str, Any]) -> None:
    """The same for a raw table: encoder and model in one pipeline."""
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
    estimator = _estimator(options)
    from shiftdp.training.preparation.schema import read_schema

    schema = read_schema(options["schema"])
    options = {**options, "target": options["target"] or schema.target}
    if options["classes"] is None and schema.classes is not None and options["model"] != "huber":
        options["classes"] = tuple(map(str, schema.classes))
        estimator.set_params(classes=_classes(options["classes"]))
    pipeline, rules = pipeline_of(estimator, schema, options), _rules(options)
    learnt = options["model"] != "huber" and options["classes"] is None
    if options["dry_run"]:
        whole = dry(pipeline, options["data"], schema, rules)
        ending, leaks = "Nothing was trained: of the data only its shape was read.", []
    else:
        account = _fit(ctx, pipeline, lambda: read_table(options["data"], schema, rules), options)
        _write(pipeline, options["output"], account)
        whole = PlannedPipeline(pipeline.plan_, pipeline.certificate_)
        ending = f"The model is in {options['output']}."
        leaks = [CLASSES_LEARNT] if learnt else []
    if options["save"] is not None:
        write_file(options["save"], whole.certificate.to_json() + "\n")
    print_pipeline(whole, options, leaks, ending)


class _CompletedLater:
    """A ledger that is charged at once, and completes its entries when the model is written."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.entries: list[Entry] = []

    def reserve(self, certificate: Certificate | PipelineCertificate, *, label: str = "") -> Entry:
        return self.ledger.reserve(certificate, label=label)

    def complete(self, entry: Entry) -> None:
        self.entries.append(entry)

    def complete_all(self) -> None:
        for entry in self.entries:
            self.ledger.complete(entry)


def _write(estimator: Any, path: str, account: _CompletedLater | None) -> None:
    """The model in its file, and only then the end of the run in the ledger."""
    from shiftdp._files import FileNotWritten
    from shiftdp.sklearn import save_model

    try:
        save_model(estimator, path)
    except FileNotWritten as error:
        lost = f"{error}; the model is lost"
        if account is not None:
            lost += f"; {account.ledger.path.name} keeps the charge of a run that is not completed"
        raise click.ClickException(lost) from error
    if account is not None:
        account.complete_all()


def _report(planned: Planned, options: dict[str, Any]) -> None:
    certificate, delta = planned.plan.certificate, options["delta"]
    document = document_of(certificate, delta)
    private = planned.plan.entropy.private
    learnt = options["model"] != "huber" and options["classes"] is None
    not_covered = [CLASSES_LEARNT] if learnt and not options["dry_run"] else []
    if options["json"]:
        print_json(
            {
                **document,
                "private": private,
                "not_covered": not_covered,
                "plan": planned.choices(),
                "reasons": planned.reasons,
                "foretold": vars(planned.prediction),
                "output": options["output"],
            }
        )
        return
    print_text(str(planned))
    print_text()
    print_document(document, json=False)
    for leak in not_covered:
        print_text(f"not covered: {leak}")
    if not private:
        print_text("NOT PRIVATE: --random-state made this run reproducible.")
    if options["dry_run"]:
        print_text("Nothing was trained: of the data only its shape was read.")
    else:
        print_text(f"The model is in {options['output']}.")
