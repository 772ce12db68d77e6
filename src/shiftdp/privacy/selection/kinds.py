"""Every kind of certificate that a ledger charges, by the name it has there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftdp._kinds import CONDITIONAL
from shiftdp._strict_json import parse
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.theorems.registry import family_of
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
    form = _document(text).get("format")
    if isinstance(form, str) and form in FORMATS:
        return FORMATS[form].from_json(text)
    return Certificate.from_json(text)


def only_in_python(text: str) -> str | None:
    """What to say of a certificate by a theorem of its author's, which no command knows; or None.

    It is asked of the text: the proofs of such a theorem may have a form that is its own, too.
    """
    document = _document(text)
    name = document.get("bound")
    if (
        document.get("kind") != CONDITIONAL
        or not isinstance(name, str)
        or family_of(name) != "user"
    ):
        return None
    return (
        f"it rests on a theorem of its author's, {name[:_LONGEST]!r}, which can be checked in "
        "Python only; ask its author for it, then "
        "Certificate.from_json(text, theorems=[...]).verify(theorems=[...])"
    )


_LONGEST = 200  # characters, as many as the name of a theorem may have


def _document(text: str) -> Mapping[str, Any]:
    """The object in a text; empty where there is none: the readers say what is wrong with it."""
    try:
        document = parse(text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
