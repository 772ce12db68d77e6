"""A certificate in print, in JSON, in a file and in a plot: what several commands share."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from shiftdp._files import write_file
from shiftdp._kinds import CERTIFIED
from shiftdp.ui.output import (
    column,
    down,
    plain,
    print_json,
    print_pairs,
    print_table,
    print_text,
    up,
)
from shiftdp.ui.progress import waiting
from shiftdp.ui.refusals import print_warning

if TYPE_CHECKING:
    from shiftdp.fdp import TradeoffFunction
    from shiftdp.last_iterate import Certificate
    from shiftdp.last_iterate.runs import Run
    from shiftdp.privacy import Table
    from shiftdp.privacy.pipeline_certificate import PipelineCertificate
    from shiftdp.privacy.selection.kinds import AnyCertificate
    from shiftdp.privacy.selection.release_certificate import ReleaseCertificate
    from shiftdp.training.model_file import ModelFile

CLASSES_LEARNT = (
    "the classes were read off the labels, and are released without noise: a class that one person "
    "alone has gives that person away"
)
"""What no certificate covers of a classifier whose classes were not given."""

_SHORT_NOTE = 40  # characters of a note that stands in a table; longer ones stand below it


def not_covered(found: ModelFile, *, names: bool = False) -> list[str]:
    """What no certificate covers of a model in a file: a sentence each, or of steps the `names`."""
    around = [
        leak
        for leak in getattr(found.model, "not_covered_", ())
        if not any(step in leak for step in found.learnt)
    ]
    learnt = [
        step if names else f"what the step {step} learnt from its data" for step in found.learnt
    ]
    return [*learnt, *([CLASSES_LEARNT] if found.classes_learnt else []), *around]


def document_of(certificate: Certificate, delta: float, *, explain: bool = False) -> dict[str, Any]:
    """The numbers of a certificate by name."""
    document: dict[str, Any] = {
        "epsilon": certificate.epsilon(delta),
        "delta": delta,
        "mu": certificate.mu,
        "bound": certificate.bound,
        "kind": certificate.kind,
        "advantage": certificate.advantage(),
        "run": described(certificate.run),
        "geometry": certificate.geometry.stated(),
    }
    if certificate.training is not None:
        document["training"] = dict(certificate.training.lines())
    if explain:
        document |= _explanation(certificate, delta)
    return document


def pipeline_document(certificate: PipelineCertificate, delta: float) -> dict[str, Any]:
    """The numbers of a pipeline by name: of the whole, and in them those of its parts."""
    model = certificate.model
    return {
        "epsilon": certificate.epsilon(delta),
        "delta": delta,
        "mu": certificate.mu,
        "kind": CERTIFIED if model is None else model.kind,
        "advantage": certificate.f.advantage(),
        "adjacency": certificate.adjacency,
        "n": certificate.n,
        "preparation": {
            "epsilon": certificate.preparation.epsilon(delta),
            "sums": [vars(one) for one in certificate.sums],
        },
        "model": None if model is None else document_of(model, delta),
    }


def release_document(certificate: ReleaseCertificate, delta: float) -> dict[str, Any]:
    """The numbers of a search or of a score by name."""
    return {
        "epsilon": certificate.epsilon(delta),
        "delta": delta,
        "mu": certificate.mu,
        "kind": CERTIFIED,
        "advantage": certificate.f.advantage(),
        "adjacency": certificate.adjacency,
        "n": certificate.n,
        "statement": certificate.statement(delta=delta),
    }


def print_release_document(
    document: Mapping[str, Any], *, json: bool, first: Sequence[tuple[str, str]] = ()
) -> None:
    """What `release_document` made."""
    if json:
        print_json(document)
        return
    for title, text in first:
        print_text(f"{title}: {text}")
    print_text(document["statement"])


def described(run: Run) -> dict[str, Any]:
    """A run by its parameters; of one in epochs their number too."""
    from shiftdp.last_iterate.runs import stated

    epochs = {"epochs": run.epochs} if run.in_epochs else {}  # type: ignore[union-attr]
    return {"type": type(run).__name__, **stated(run), **epochs}


def _explanation(certificate: Certificate, delta: float) -> dict[str, Any]:
    from shiftdp.last_iterate import SmallLastBatch
    from shiftdp.last_iterate.certification import evaluate
    from shiftdp.privacy.comparison import compare

    run, geometry = certificate.run, certificate.geometry
    refused = evaluate(run, geometry, delta=delta).refused
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallLastBatch)  # `warn_of_last_batch` says it
        others = comparison(compare(run, geometry, delta=delta))
    return {
        "epsilon_interval": certificate.epsilon_interval(delta),
        "assumptions": [vars(item) for item in certificate.assumptions],
        "others": others,
        "refused": [{"rule": name, "why": str(unmet)} for name, unmet in refused],
    }


def comparison(table: Table) -> list[dict[str, Any]]:
    """The rows of a comparison by name."""
    return [dict(vars(row)) for row in table]


def print_document(
    document: Mapping[str, Any], *, json: bool, first: Sequence[tuple[str, str]] = ()
) -> None:
    """What `document_of` made, in the form that was asked for; some lines may come first."""
    if json:
        print_json(document)
        return
    run, geometry = document["run"], document["geometry"]
    mu = "none: the bound is not Gaussian" if document["mu"] is None else up(document["mu"])
    pairs = [
        *first,
        ("epsilon", f"{up(document['epsilon'])}  at delta = {plain(document['delta'])}"),
        ("mu", mu),
        ("theorem", f"{document['bound']}  [{document['kind']} bound]"),
        ("attacker", f"true positives exceed false ones by at most {up(document['advantage'])}"),
        ("run", _described(run, without=("type",))),
        ("losses", _described(geometry)),
        *document.get("training", {}).items(),
    ]
    print_pairs(f"{run['type']}: what {_released(run)} reveals, at most", pairs)
    if "assumptions" in document:
        _print_explanation(document)


def print_pipeline_document(
    document: Mapping[str, Any], *, json: bool, first: Sequence[tuple[str, str]] = ()
) -> None:
    """What `pipeline_document` made: the cost of everything first, then that of its parts."""
    if json:
        print_json(document)
        return
    prepared, model = document["preparation"], document["model"]
    mu = "none: the bound is not Gaussian" if document["mu"] is None else up(document["mu"])
    learnt = ", ".join(f"{one['kind']} of {one['column']}" for one in prepared["sums"])
    pairs = [
        *first,
        ("epsilon", f"{up(document['epsilon'])}  at delta = {plain(document['delta'])}"),
        ("mu", mu),
        ("attacker", f"true positives exceed false ones by at most {up(document['advantage'])}"),
        ("neighbours", f"{document['adjacency']}, {document['n']} records"),
        (
            "preparation",
            f"epsilon {up(prepared['epsilon'])} by itself, for {learnt}"
            if learnt
            else "public: it learnt nothing from the records and costs nothing",
        ),
    ]
    if model is not None:
        pairs.append(("model", f"epsilon {up(model['epsilon'])} by itself, by {model['bound']}"))
    print_pairs("Pipeline: what everything that it learnt reveals, at most", pairs)
    if model is not None:
        print_text("\nOf it, the model by itself:\n")
        print_document(model, json=False)


def _released(run: Mapping[str, Any]) -> str:
    if run["type"] == "NoisyStream":
        return "all that it releases, however long it is,"
    return "all that it releases" if run.get("releases") else "its last iterate"


def _described(values: Mapping[str, Any], without: Sequence[str] = ()) -> str:
    shown = [
        f"{name}=({_described(value)})" if isinstance(value, Mapping) else f"{name}={plain(value)}"
        for name, value in values.items()
        if name not in without and value is not None
    ]
    return ", ".join(shown) or "one draw"


def _print_explanation(document: Mapping[str, Any]) -> None:
    low, high = document["epsilon_interval"]
    print_text(f"\n{document['bound']} proves it, provided that")
    for item in document["assumptions"]:
        print_text(f"  - {item['name']}: {item['statement']}")
    print_text(
        f"\nThe exact value of this bound lies between epsilon = {down(low, 8)} and {up(high, 8)}."
    )
    print_text("\nWhat the others would say:\n")
    print_comparison(document["others"], document["delta"])
    if document["refused"]:
        print_text("\nWhat does not apply:")
        for item in document["refused"]:
            print_text(f"  - {item['rule']}: {item['why']}")


def print_comparison(rows: Sequence[Mapping[str, Any]], delta: float) -> None:
    """A table of accountants."""
    numbers = []
    for name in ("epsilon", "mu"):
        values = [row[name] for row in rows]
        above, below = column(values), column(values, "down")
        attained = [row["kind"] == "attained" for row in rows]
        numbers.append([b if low else a for a, b, low in zip(above, below, attained, strict=True)])
    long = [row for row in rows if not row["bound"] and len(row["note"]) > _SHORT_NOTE]
    theorems = [
        "does not apply, see below" if row in long else row["bound"] or row["note"] for row in rows
    ]
    cells = list(zip((row["name"] for row in rows), *numbers, theorems, strict=True))
    best = [i for i, row in enumerate(rows) if row["name"] == "best"]
    columns = ("accountant", f"epsilon at delta = {plain(delta)}", "mu", "theorem")
    print_table(columns, cells, right=(1, 2), strong=best)
    for row in long:
        print_text(f"{row['name']}: {row['note']}")


def warn_of_last_batch(ctx: click.Context, certificate: Certificate, delta: float) -> None:
    """On stderr, where a smaller last batch makes the run cost noticeably more."""
    from shiftdp.last_iterate.last_batch import last_batch_cost

    cost = last_batch_cost(certificate, delta)
    if cost is not None:
        print_warning(ctx, str(cost))


def save(certificate: AnyCertificate, path: str | None) -> None:
    if path is not None:
        write_file(path, certificate.to_json() + "\n")


def print_files(options: Mapping[str, Any]) -> None:
    """Where certificate, figure, table and run are; nothing beside JSON."""
    written = {"save": "certificate", "plot": "figure", "csv": "table", "output": "run"}
    for name, what in written.items():
        if options.get(name) is not None and not options["json"]:
            print_text(f"The {what} is in {options[name]}.")


def require_plot(path: str | None) -> None:
    """Refuse before anything is computed, if a plot is wanted and cannot be drawn."""
    if path is None:
        return
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise click.ClickException(
            f"--plot {path}: needs matplotlib, which is not installed; pip install 'shiftdp[plot]'"
        )


def draw(certificate: Certificate | TradeoffFunction, delta: float, path: str | None) -> None:
    """The tradeoff function and the privacy profile, beside those of others."""
    if path is None:
        return
    from shiftdp.ui.plots import certificate_figure, write

    with waiting("drawing"):
        write(certificate_figure(certificate, delta=delta), path)
