"""Certificates as JSON: self-contained, readable, and not trusted until verified."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from shiftdp._errors import InvalidInput
from shiftdp.fdp import ApproxDPTradeoff, GaussianTradeoff, Maximum, Mixture, TradeoffFunction
from shiftdp.interpolation.shifts import Shifts
from shiftdp.last_iterate.assumptions import Assumption
from shiftdp.last_iterate.bounds import Proof
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.outcomes import Visits
from shiftdp.last_iterate.runs import ExponentialMechanism, LangevinMC, NoisyCGD, NoisyGD, Run

__all__ = ["FORMAT", "dumps", "loads"]

FORMAT = "shiftdp-certificate/1"
_RUNS: dict[str, type] = {
    kind.__name__: kind for kind in (NoisyGD, NoisyCGD, LangevinMC, ExponentialMechanism)
}


def dumps(certificate: Certificate, indent: int | None = None) -> str:
    """The certificate as one JSON object; infinities are written as the string "inf"."""
    document = {
        "format": FORMAT,
        "kind": certificate.kind,
        "bound": certificate.bound,
        "mu": certificate.mu,
        "run": {"type": type(certificate.run).__name__, **vars(certificate.run)},
        "geometry": vars(certificate.geometry),
        "tradeoff": _function_out(certificate.f),
        "assumptions": [vars(item) for item in certificate.assumptions],
        "proofs": [
            {**vars(proof.visits), "weight": proof.weight, "shifts": proof.shifts.to_dict()}
            for proof in certificate.proofs
        ],
    }
    return json.dumps(_finite_out(document), indent=indent, allow_nan=False)


def loads(text: str) -> Certificate:
    """The certificate in a JSON text; one clear error where it is not one."""
    try:
        document = _finite_in(json.loads(text))
        if document["format"] != FORMAT:
            raise _damaged(f"has format {document['format']!r}")
        return Certificate(
            run=_run_in(document["run"]),
            geometry=Geometry(**document["geometry"]),
            bound=str(document["bound"]),
            f=_function_in(document["tradeoff"]),
            assumptions=tuple(Assumption(**item) for item in document["assumptions"]),
            proofs=tuple(
                Proof(
                    Visits(item["pattern"], int(item["position"])),
                    float(item["weight"]),
                    Shifts.from_dict(item["shifts"]),
                )
                for item in document["proofs"]
            ),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise _damaged(f"lacks or misplaces {error}") from error
    except json.JSONDecodeError as error:
        raise _damaged(f"is not JSON ({error})") from error


def _run_in(data: Mapping[str, Any]) -> Run:
    fields = dict(data)
    kind = _RUNS[fields.pop("type")]
    run: Run = kind(**fields)
    return run


def _function_out(f: TradeoffFunction) -> dict[str, Any]:
    if isinstance(f, GaussianTradeoff):
        return {"type": "gaussian", "mu": f.mu}
    if isinstance(f, ApproxDPTradeoff):
        return {"type": "approx_dp", "epsilon": f.budget_epsilon, "delta": f.budget_delta}
    if isinstance(f, Mixture):
        parts = [_function_out(part) for part in f.components]
        return {"type": "mixture", "components": parts, "weights": list(f.weights)}
    if isinstance(f, Maximum):
        return {"type": "maximum", "components": [_function_out(part) for part in f.components]}
    raise InvalidInput("tradeoff", f, "has no JSON form", "certify the run anew")


def _function_in(data: Mapping[str, Any]) -> TradeoffFunction:
    return _READERS[data["type"]](data)


_READERS: dict[str, Callable[[Mapping[str, Any]], TradeoffFunction]] = {
    "gaussian": lambda data: GaussianTradeoff(data["mu"]),
    "approx_dp": lambda data: ApproxDPTradeoff(data["epsilon"], data["delta"]),
    "mixture": lambda data: Mixture(map(_function_in, data["components"]), data["weights"]),
    "maximum": lambda data: Maximum(map(_function_in, data["components"])),
}


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
    if value in ("inf", "-inf"):
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
