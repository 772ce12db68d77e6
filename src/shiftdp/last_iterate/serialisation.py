"""Certificates as JSON: self-contained, readable, and not trusted until verified."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from shiftdp._errors import InvalidInput
from shiftdp._kinds import CONDITIONAL
from shiftdp._strict_json import Malformed, mismatch, parse
from shiftdp.fdp import TradeoffFunction
from shiftdp.last_iterate.assumptions import Assumption
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.certificate_schema import FORMAT, SCHEMA, schema
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import (
    ExponentialMechanism,
    LangevinMC,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    NoisyStream,
    Run,
    Unlearning,
    stated,
)
from shiftdp.last_iterate.theorems.own import own_theorems, require_written
from shiftdp.last_iterate.theorems.registry import proof_from_dict
from shiftdp.last_iterate.theorems.theorem import Theorem
from shiftdp.last_iterate.training_record import TrainingRecord

__all__ = ["FORMAT", "document_of", "dumps", "loads", "tradeoff_from_json", "tradeoff_to_json"]

_RUNS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        NoisyGD,
        NoisyCGD,
        NoisySGD,
        NoisyStream,
        LangevinMC,
        ExponentialMechanism,
        Unlearning,
    )
}


def dumps(certificate: Certificate, indent: int | None = None) -> str:
    """The certificate as one JSON object; infinities are written as the string "inf"."""
    document = document_of(certificate)
    if certificate.kind == CONDITIONAL:
        require_written(certificate.bound, certificate.proofs, document["proofs"], SCHEMA)
    return json.dumps(document, indent=indent, allow_nan=False)


def document_of(certificate: Certificate) -> dict[str, Any]:
    """The certificate in lists, dictionaries, numbers and strings, as the schema wants it."""
    training = certificate.training
    document = {
        "format": FORMAT,
        "kind": certificate.kind,
        "bound": certificate.bound,
        "mu": certificate.mu,
        "run": _run_out(certificate.run),
        "geometry": certificate.geometry.stated(),
        "tradeoff": certificate.f.to_dict(),
        "assumptions": [vars(item) for item in certificate.assumptions],
        "proofs": [proof.to_dict() for proof in certificate.proofs],
        "training": None if training is None else _training_out(training),
    }
    plain: dict[str, Any] = _finite_out(document)
    return plain


def loads(text: str, theorems: Iterable[Theorem] = ()) -> Certificate:
    """The certificate in a JSON text; one clear error where it is not one.

    The text is held to `certificate_schema` before anything is made of it. `theorems` are a user's
    own, whose proofs may have forms of their own.
    """
    own = own_theorems(theorems)
    known = schema(own) if own else SCHEMA
    try:
        document = parse(text)
        _require_format(document)
        problem = mismatch(document, known, known)
        if problem is not None:
            theirs = "" if own or document.get("kind") != CONDITIONAL else (
                " (if a theorem of your own proves it, give from_json(theorems=[...]) that theorem)"
            )  # fmt: skip
            raise Malformed(f"does not meet the schema: {problem}{theirs}")
        certificate = Certificate(
            run=_run_in(_finite_in(document["run"])),
            geometry=Geometry(**_finite_in(document["geometry"])),
            bound=document["bound"],
            f=TradeoffFunction.from_dict(_finite_in(document["tradeoff"])),
            assumptions=tuple(Assumption(**item) for item in document["assumptions"]),
            proofs=tuple(proof_from_dict(_finite_in(item), own) for item in document["proofs"]),
            training=None if document["training"] is None else _training_in(document["training"]),
        )
        if _finite_in(document["mu"]) != certificate.mu:
            raise Malformed("contradicts itself: `mu` is not that of the tradeoff")
        if document["kind"] != certificate.kind:
            raise Malformed("contradicts itself: `kind` is not that of the assumptions")
        return certificate
    except InvalidInput:
        raise
    except Malformed as error:
        raise _damaged(str(error)) from error
    except (LookupError, TypeError, AttributeError, ArithmeticError, ValueError) as error:
        raise _damaged(f"lacks or misplaces {error}") from error


def _require_format(document: Any) -> None:
    """Refuse any other format. Older ones lack what is now checked, so they cannot be trusted."""
    found = document.get("format") if isinstance(document, dict) else None
    if found == FORMAT:
        return
    if isinstance(found, str) and found.startswith("shiftdp-certificate/"):
        raise InvalidInput(
            "certificate",
            "<JSON text>",
            f"has format {found[:40]!r}, and this version reads {FORMAT!r} only",
            "certify the run anew with this version",
        )
    raise Malformed("is no certificate: it has no format that is known")


def tradeoff_to_json(f: TradeoffFunction) -> str:
    """A tradeoff function alone; equal functions give equal texts.

    >>> from shiftdp.fdp import GaussianTradeoff
    >>> tradeoff_to_json(GaussianTradeoff(0.5))
    '{"mu": 0.5, "type": "gaussian"}'
    """
    return json.dumps(_finite_out(f.to_dict()), sort_keys=True, allow_nan=False)


def tradeoff_from_json(text: str) -> TradeoffFunction:
    """The function that `tradeoff_to_json` wrote; one clear error where it is not one."""
    try:
        document = parse(text)
        problem = mismatch(document, SCHEMA["$defs"]["tradeoff"], SCHEMA)
        if problem is not None:
            raise Malformed(f"does not meet the schema: {problem}")
        return TradeoffFunction.from_dict(_finite_in(document))
    except InvalidInput:
        raise
    except (LookupError, TypeError, AttributeError, ArithmeticError, ValueError) as error:
        problem = str(error) if isinstance(error, Malformed) else f"lacks or misplaces {error}"
        raise InvalidInput("tradeoff", "<JSON text>", problem, "give what was written") from error


def _training_out(record: TrainingRecord) -> dict[str, Any]:
    fields = dict(vars(record))
    if record.prox is None:
        del fields["prox"], fields["prox_parameters"]
    if not record.centred:
        del fields["centred"]
    for name in _NAMED:
        if name in fields:
            fields[name] = dict(fields[name])
    return fields


def _training_in(data: Mapping[str, Any]) -> TrainingRecord:
    fields = {**data, "slope": _finite_in(data["slope"])}
    for name in _NAMED:
        if name in data:
            fields[name] = tuple((key, _finite_in(value)) for key, value in data[name].items())
    for name in ("outputs", "features"):
        fields[name] = None if data[name] is None else int(data[name])
    return TrainingRecord(**fields)


_NAMED = ("loss_parameters", "projection_parameters", "prox_parameters")


def _run_out(run: Run) -> dict[str, Any]:
    return {"type": type(run).__name__, **stated(run)}


def _run_in(data: Mapping[str, Any]) -> Run:
    fields = dict(data)
    kind = _RUNS[fields.pop("type")]
    if kind is Unlearning:
        fields["training"] = _run_in(fields["training"])
    run: Run = kind(**fields)
    return run


def _finite_out(value: Any) -> Any:
    """JSON has no infinity."""
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if isinstance(value, Mapping):
        return {key: _finite_out(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite_out(item) for item in value]
    return value


def _finite_in(value: Any) -> Any:
    if isinstance(value, str) and value in ("inf", "-inf"):
        return float(value)
    if isinstance(value, Mapping):
        return {key: _finite_in(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite_in(item) for item in value]
    return value


def _damaged(problem: str) -> InvalidInput:
    return InvalidInput(
        "certificate", "<JSON text>", problem, f"give what to_json wrote, format {FORMAT}"
    )
