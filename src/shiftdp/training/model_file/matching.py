"""Whether a certificate is the certificate of a plan."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from shiftdp._errors import ShiftdpError
from shiftdp.last_iterate import Certificate
from shiftdp.training.model_file.damage import Damaged
from shiftdp.training.plan import NOT_PRIVATE, Plan

__all__ = ["require_match"]

_WRITING = ("date", "version")
"""Fields of a certificate that say when it was written and by what: they differ without harm."""


def require_match(plan: Plan, certificate: Certificate, *, same_version: bool) -> None:
    """Refuse a certificate that is not the plan's: that of another model, or an altered one.

    The run and the geometry are compared first. Then the certificate is derived from the plan and
    must be the one in the file, but for the date. Another version of shiftdp may prove another
    number for the same plan: a certificate that it wrote must have a proof that holds.

    Args:
        plan: of the model.
        certificate: beside it in the file.
        same_version: whether this version of shiftdp wrote them.
    """
    if certificate.run != plan.run or certificate.geometry != plan.geometry:
        raise Damaged("has the certificate of another run than its model's")
    stamped = NOT_PRIVATE in certificate.assumptions
    if stamped is plan.entropy.private:
        raise Damaged("has a certificate that does not say whether the run is private")
    if same_version:
        if _content(certificate) != _content(plan.certificate):
            raise Damaged("has a certificate that is not the one of its plan")
        return
    others = tuple(item for item in certificate.assumptions if item != NOT_PRIVATE)
    try:
        replace(certificate, assumptions=others).verify()
    except ShiftdpError as error:
        raise Damaged("has a certificate that does not hold for its plan") from error


def _content(certificate: Certificate) -> Any:
    return _undated(json.loads(certificate.to_json()))


def _undated(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _undated(item) for key, item in value.items() if key not in _WRITING}
    return [_undated(item) for item in value] if isinstance(value, list) else value
