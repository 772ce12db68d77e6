"""The certificate of a search in the file of the model that it chose."""

from __future__ import annotations

import json
from typing import Any

from shiftdp._errors import ShiftdpError
from shiftdp.last_iterate import Certificate
from shiftdp.privacy.pipeline_certificate import PipelineCertificate
from shiftdp.privacy.selection.selection_certificate import SelectionCertificate
from shiftdp.training.estimators.scored import adopt, fit_certificate
from shiftdp.training.model_file.archive import Damaged

CHOSEN = "selection"
"""The key of that certificate in the description of a model, beside the model."""


def selection_of(last: Any) -> dict[str, Any]:
    """What a description says of the search; nothing of a model that was not chosen by one.

    Args:
        last: our own estimator, in whatever pipeline it is.
    """
    chosen = getattr(last, "selected_", None)
    return {} if chosen is None else {CHOSEN: chosen.to_document()}


def read_selection(document: dict[str, Any], model: Any) -> SelectionCertificate | None:
    """The certificate of the search, which has to be about this model; the model then has it too.

    Its parts are not verified here: `whole` of a model file is, by whoever relies on it.
    """
    if CHOSEN not in document:
        return None
    try:
        chosen = SelectionCertificate.from_json(json.dumps(document[CHOSEN]))
    except ShiftdpError as error:
        raise Damaged("has a certificate of its search that cannot be read") from error
    if chosen.to_document() != document[CHOSEN]:
        raise Damaged("has a certificate of its search that is not as it was written")
    if not any(_same(one, fit_certificate(model)) for one in chosen.candidates):
        raise Damaged("has a certificate of a search that did not try this model")
    adopt(model, chosen)
    return chosen


def _same(candidate: Any, made: Any) -> bool:
    """Whether a fit with one certificate has the guarantee of the other."""
    if isinstance(candidate, PipelineCertificate) and isinstance(made, PipelineCertificate):
        parts = candidate.model, made.model
        sums = (candidate.sums, candidate.n) == (made.sums, made.n)
        return sums and None not in parts and _same(*parts)
    if not (isinstance(candidate, Certificate) and isinstance(made, Certificate)):
        return False
    seeds = tuple(
        one.training is not None and not one.training.private for one in (candidate, made)
    )
    if seeds[0] != seeds[1]:  # a seeded search, which says so itself
        return candidate.f == made.f
    return candidate.same_guarantee(made)
