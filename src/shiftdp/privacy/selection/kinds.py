"""Every kind of certificate that a ledger charges, by the name it has there."""

from __future__ import annotations

from collections.abc import Mapping

from shiftdp._strict_json import parse
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.privacy.pipeline_certificate import FORMAT as PIPELINE
from shiftdp.privacy.pipeline_certificate import PipelineCertificate
from shiftdp.privacy.selection.score_certificate import FORMAT as SCORE
from shiftdp.privacy.selection.score_certificate import ScoreCertificate
from shiftdp.privacy.selection.selection_certificate import FORMAT as SELECTION
from shiftdp.privacy.selection.selection_certificate import SelectionCertificate

WholeCertificate = PipelineCertificate | SelectionCertificate | ScoreCertificate
"""What is certified as a whole: it has an adjacency and a number of records of its own."""
AnyCertificate = Certificate | WholeCertificate

WHOLE: dict[str, type[WholeCertificate]] = {
    "pipeline": PipelineCertificate,
    "selection": SelectionCertificate,
    "score": ScoreCertificate,
}
"""By the source that an entry of a ledger names."""

FORMATS: dict[str, type[WholeCertificate]] = {
    PIPELINE: PipelineCertificate,
    SELECTION: SelectionCertificate,
    SCORE: ScoreCertificate,
}
"""By the format that their JSON names."""


def certificate_in(text: str) -> AnyCertificate:
    """The certificate in a JSON text, of the kind that its format names."""
    try:
        document = parse(text)
    except ValueError:  # the reader of certificates says what is wrong with it
        document = None
    form = document.get("format") if isinstance(document, Mapping) else None
    if isinstance(form, str) and form in FORMATS:
        return FORMATS[form].from_json(text)
    return Certificate.from_json(text)
