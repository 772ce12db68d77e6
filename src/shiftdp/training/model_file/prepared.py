"""Encoders and private pipelines as JSON: columns, what they became, and what that cost.

An encoder is held by its schema with all columns, declared or found by type; the codes that it
learnt; and the sums that paid for them. A file that was given as its schema is not kept.

How many columns categories without a name share is written down, as its default may change. A file
that does not say it is older than that choice, and has one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np

from shiftdp._errors import InvalidInput, ShiftdpError
from shiftdp.last_iterate import Certificate
from shiftdp.privacy.pipeline_certificate import PipelineCertificate
from shiftdp.training.model_file.archive import Damaged
from shiftdp.training.model_file.fitted import is_file_name, ledger_name, names_fit
from shiftdp.training.model_file.values import Reader, Writer, fields_of
from shiftdp.training.preparation.codes import CategoryCode, Code, NumberCode, TruthCode
from shiftdp.training.preparation.columns import (
    OTHERS,
    Boolean,
    Categorical,
    Column,
    Numeric,
    half_width,
)
from shiftdp.training.preparation.encoder import PrivateTableEncoder
from shiftdp.training.preparation.layout import Layout
from shiftdp.training.preparation.pipeline import PrivatePipeline
from shiftdp.training.preparation.schema import Schema

_ENCODER = ("parameters", "schema", "places", "codes", "certificate", "features", "names")
_ENCODER_PARAMETERS = ("epsilon", "delta", "adjacency", "ledger", "random_state")
_PIPELINE = ("parameters", "steps", "not_covered")
_PIPELINE_PARAMETERS = ("epsilon", "delta", "share", "ledger")
_CODES: dict[type[Column], tuple[type[Code], tuple[str, ...]]] = {
    Numeric: (NumberCode, ("low", "high", "mean", "deviation")),
    Categorical: (CategoryCode, ("categories",)),
    Boolean: (TruthCode, ()),
}


def write_prepared(writer: Writer, value: Any, where: str) -> Any:
    """An encoder or a private pipeline as JSON; None for anything else."""
    if type(value) is PrivateTableEncoder:
        return {"encoder": _encoder(writer, value, where)}
    if type(value) is PrivatePipeline:
        found = _parameters(writer, value, _PIPELINE_PARAMETERS, where)
        steps = writer.write([tuple(step) for step in value.steps], f"{where} (PrivatePipeline)")
        leaks = list(value.not_covered_)
        return {"pipeline": {"parameters": found, "steps": steps, "not_covered": leaks}}
    return None


def _encoder(writer: Writer, encoder: Any, where: str) -> dict[str, Any]:
    if not hasattr(encoder, "codes_"):
        raise InvalidInput(where, "<PrivateTableEncoder>", "is not fitted", "call fit first")
    layout = encoder.layout_
    columns = [
        replace(column, others=column.spread) if _is_learnt(column) else column
        for column in layout.columns
    ]
    schema = Schema(dict(zip(layout.names, columns, strict=True)), missing=layout.missing)
    names = getattr(encoder, "feature_names_in_", None)
    return {
        "parameters": _parameters(writer, encoder, _ENCODER_PARAMETERS, where),
        "schema": schema.to_dict(),
        "places": list(layout.places),
        "codes": [_code(code) for code in encoder.codes_],
        "certificate": json.loads(encoder.certificate_.to_json()),
        "features": encoder.n_features_in_,
        "names": None if names is None else list(map(str, names)),
    }


def _is_learnt(column: Column) -> TypeGuard[Categorical]:
    """Whether it has categories that were learnt."""
    return isinstance(column, Categorical) and column.categories is None


def _parameters(writer: Writer, value: Any, names: tuple[str, ...], where: str) -> dict[str, Any]:
    parameters = {name: getattr(value, name) for name in names}
    parameters["ledger"] = ledger_name(parameters["ledger"])
    return {name: writer.write(item, f"{where}.{name}") for name, item in parameters.items()}


def _code(code: Code) -> dict[str, Any]:
    plain = {key: list(v) if isinstance(v, tuple) else float(v) for key, v in vars(code).items()}
    return {"kind": code.kind, **plain}


# --- reading ---


def prepared_readers() -> dict[str, Any]:
    """How `Reader` reads what `write_prepared` wrote."""
    return {"encoder": _read_encoder, "pipeline": _read_pipeline}


def _as_given(stated: int | None) -> int | None:
    """What a file that states `others` was given: the default is None, and older files have 1."""
    return None if stated == OTHERS else stated or 1


def _read_encoder(reader: Reader, content: Any) -> PrivateTableEncoder:
    parameters, schema, places, codes, certificate, features, names = fields_of(content, _ENCODER)
    values = _read_parameters(reader, parameters, _ENCODER_PARAMETERS)
    try:
        known = Schema.from_dict(schema)
        paid = PipelineCertificate.from_json(json.dumps(certificate))
        same = known.to_dict() == schema and json.loads(paid.to_json()) == certificate
    except ShiftdpError as error:
        raise Damaged("has an encoder that cannot be") from error
    columns = {
        name: replace(column, others=_as_given(column.others)) if _is_learnt(column) else column
        for name, column in known.columns.items()
    }
    known = replace(known, columns=columns)
    layout = Layout(tuple(columns), tuple(_list(places)), tuple(columns.values()), known.missing)
    encoder = PrivateTableEncoder(known, **values)
    encoder.layout_ = layout
    pairs = zip(_list(codes, len(layout.columns)), layout.columns, strict=True)
    encoder.codes_ = tuple(_read_code(code, column) for code, column in pairs)
    encoder.certificate_ = paid
    encoder.n_features_in_ = features
    if names is not None:
        encoder.feature_names_in_ = np.array(_list(names), dtype=object)
    good = (
        same
        and paid.model is None
        and type(features) is int
        and all(type(place) is int and 0 <= place < features for place in layout.places)
        and len(set(layout.places)) == len(layout.names) == len(layout.places)
        and names_fit(getattr(encoder, "feature_names_in_", None), features)
        and [(one.column, one.kind) for one in paid.sums] == layout.parts
        and all(
            name == (f"x{place}" if names is None else names[place])
            for name, place in zip(layout.names, layout.places, strict=True)
        )
    )
    if not good:
        raise Damaged("has an encoder whose parts do not belong together")
    return encoder


def _read_code(document: Any, column: Column) -> Code:
    kind, names = _CODES[type(column)]
    found, *values = fields_of(document, ("kind", *names))
    if found != kind.kind:
        raise Damaged("has a code of another kind than its column")
    if kind is NumberCode:
        if not all(type(value) is float and math.isfinite(value) for value in values):
            raise Damaged("has a code without numbers")
        code = NumberCode(*values)
        wide = half_width(code.low, code.high) > 0.0
        if not (wide and code.deviation > 0.0 and abs(code.mean) <= 1.0):
            raise Damaged("has a code that is no range")
        return code
    if isinstance(column, Categorical):
        words = tuple(_list(values[0]))
        if not all(type(word) is str and word for word in words):
            raise Damaged("has categories that are no words")
        fits = len(set(words)) == len(words) <= column.places
        if not fits or (column.categories is not None and words != column.categories):
            raise Damaged("has other categories than its column can have")
        return CategoryCode(words)
    return TruthCode()


def _read_pipeline(reader: Reader, content: Any) -> PrivatePipeline:
    parameters, steps, leaks = fields_of(content, _PIPELINE)
    values = _read_parameters(reader, parameters, _PIPELINE_PARAMETERS)
    found = reader.read(steps)
    named = isinstance(found, list) and all(
        type(step) is tuple and len(step) == 2 and type(step[0]) is str for step in found
    )
    if not named or not found or not all(type(leak) is str for leak in _list(leaks)):
        raise Damaged("has a pipeline without steps")
    if not all(_transforms(step) for _, step in found[:-1]):
        raise Damaged("has a step that is no transformer")
    pipeline = PrivatePipeline(found, **values)
    pipeline.not_covered_ = tuple(leaks)
    return pipeline


def _transforms(step: Any) -> bool:
    """Whether a step can stand before the model."""
    if step is None or isinstance(step, str):
        return step in (None, "passthrough")
    return hasattr(type(step), "fit") and hasattr(step, "transform")


def _read_parameters(reader: Reader, document: Any, names: tuple[str, ...]) -> dict[str, Any]:
    found = [reader.read(item) for item in fields_of(document, names)]
    values = dict(zip(names, found, strict=True))
    if not is_file_name(values["ledger"]):
        raise Damaged("has a ledger that is no file name")
    return values


def certify_pipeline(pipeline: PrivatePipeline, certificate: Certificate) -> None:
    """Give a pipeline that was read its certificate: that of its encoder, and that of its model."""
    model = pipeline.steps[-1][1]
    encoders = [step for _, step in pipeline.steps if type(step) is PrivateTableEncoder]
    paid = encoders[0].certificate_ if encoders else None
    plan = model.plan_.plan
    if paid is not None:
        layout = encoders[0].layout_
        good = (
            len(encoders) == 1
            and pipeline.steps[-2][1] is encoders[0]
            and (paid.n, paid.adjacency) == (plan.run.n, plan.adjacency)
            and (layout.width, layout.bound) == (plan.features, plan.feature_bound)
        )
        if not good:
            raise Damaged("has an encoder that is not that of its model")
    vars(model)["_prepared"] = len(pipeline.steps) > 1
    pipeline.certificate_ = PipelineCertificate(
        n=plan.run.n,
        adjacency=plan.adjacency,
        sums=() if paid is None else paid.sums,
        model=certificate,
        private=True if paid is None else paid.private,
    )


def with_encoders(
    steps: Iterable[tuple[str, Any]], certificate: Certificate
) -> tuple[PipelineCertificate | None, list[str]]:
    """Of any other pipeline: what its encoders learnt and its model, in one certificate.

    Args:
        steps: by name, however nested.
        certificate: of the model.

    Returns:
        the certificate, None where no encoder learnt anything; and the encoders that it does not
        cover, as they are certified for other neighbours or another number of records.
    """
    # a step that is held twice was fitted once
    found = {id(step): (name, step) for name, step in steps if type(step) is PrivateTableEncoder}
    fitted = [(name, step.certificate_) for name, step in found.values() if step.certificate_.sums]
    n, adjacency = getattr(certificate.run, "n", 0), certificate.geometry.adjacency
    paid = [one for _, one in fitted if (one.n, one.adjacency) == (n, adjacency)]
    others = [f"{name} (PrivateTableEncoder)" for name, one in fitted if one not in paid]
    if not paid:
        return None, others
    whole = PipelineCertificate(
        n=n,
        adjacency=adjacency,
        sums=tuple(one for part in paid for one in part.sums),
        model=certificate,
        private=all(one.private for one in paid),
    )
    return whole, others


def _list(value: Any, length: int | None = None) -> list[Any]:
    if not isinstance(value, list) or (length is not None and len(value) != length):
        raise Damaged("has a list of another length")
    return value
