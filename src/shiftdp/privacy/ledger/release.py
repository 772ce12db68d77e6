"""What is entered into a ledger: a verified certificate, or a tradeoff function on someone's word.

A release is written as one JSON document and known by its SHA-256. What is charged is always what
that document says, read back.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, get_args

from shiftdp._checks import choice
from shiftdp._errors import InvalidInput
from shiftdp._strict_json import parse
from shiftdp.fdp import GaussianTradeoff, TradeoffFunction
from shiftdp.fdp.tradeoff import tradeoff
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.last_iterate.runs import has_releases
from shiftdp.last_iterate.schedules.releases import number_of_releases
from shiftdp.last_iterate.serialisation import tradeoff_from_json, tradeoff_to_json
from shiftdp.privacy.ledger.errors import AdjacencyMismatch
from shiftdp.privacy.pipeline_certificate import PipelineCertificate
from shiftdp.privacy.selection.kinds import WHOLE, AnyCertificate, WholeCertificate

Source = Literal["certified", "pipeline", "selection", "score", "declared"]


@dataclass(frozen=True)
class Release:
    """One release of private data, as a ledger knows it."""

    source: Source
    description: str
    f: TradeoffFunction
    adjacency: Adjacency
    document: str
    # its arrays do not compare, and the document says the same
    certificate: AnyCertificate | None = field(default=None, compare=False)

    def charged(self, adjacency: Adjacency, convert: bool = False) -> TradeoffFunction:
        """What it costs in a ledger with this adjacency.

        Two data sets that differ in one record are both neighbours of the one in which that record
        is zeroed out. So zero-out G(mu) is replace-one G(2 mu) [DRS22, Thm 2], which is charged if
        `convert` asks for it. The converse is no theorem: nothing at all may be further from a
        record than any other record is.
        """
        if self.adjacency == adjacency:
            return self.f
        to_replace_one = adjacency == "replace_one" and self.f.gdp_mu is not None
        if to_replace_one and convert and self.f.gdp_mu is not None:
            return GaussianTradeoff(2.0 * self.f.gdp_mu)
        raise AdjacencyMismatch(
            "adjacency",
            self.adjacency,
            f"is not that of the ledger, {adjacency}: such releases do not compose",
            f'certify or train with adjacency="{adjacency}", or keep a ledger for each adjacency'
            + (
                ", or charge twice the mu (Ledger.reserve with convert=True, or `shiftdp ledger "
                "charge --convert`)"
                if to_replace_one
                else ""
            ),
        )


def certified(certificate: AnyCertificate) -> Release:
    """The release of a certificate, which is verified in the form in which it will be stored."""
    if not isinstance(certificate, AnyCertificate):
        raise InvalidInput(
            "certificate",
            certificate,
            "is not a Certificate",
            "give what certify returns; a release by other software is entered with declare",
        )
    sources = (name for name, kind in WHOLE.items() if isinstance(certificate, kind))
    source = next(sources, "certified")
    document = f'{{"source": "{source}", "certificate": {certificate.to_json()}}}'
    _verify(document)
    return read_release(document)


def declared(f: TradeoffFunction, description: str, adjacency: str) -> Release:
    """A release that the user vouches for."""
    if not text_in("description", description).strip():
        raise InvalidInput("description", description, "is empty", "say what was released")
    if not tradeoff("f", f).symmetric:
        raise InvalidInput(
            "f",
            f,
            "bounds one direction only",
            "give f.worse_direction(), which holds whichever is meant",
        )
    known = choice("adjacency", adjacency, get_args(Adjacency))
    without, there = f.directions
    if known != "zero_out" and without != there:
        raise InvalidInput(
            "adjacency", adjacency, "is not that of PoissonZeroOut", "give zero_out, or another f"
        )
    fields = {"source": "declared", "description": description, "adjacency": known}
    head = json.dumps(fields)
    return read_release(f'{head[:-1]}, "tradeoff": {tradeoff_to_json(f)}}}')


@lru_cache(maxsize=64)
def read_release(document: str) -> Release:
    """The release in a document. Its certificate is not verified here."""
    try:
        data = parse(document)
        source = choice("source", data["source"], get_args(Source))
        if source == "certified":
            proof = Certificate.from_json(json.dumps(data["certificate"]))
            _require_release(proof)
            title = f"{type(proof.run).__name__}{_released(proof)}, {proof.bound}"
            return Release("certified", title, proof.f, proof.geometry.adjacency, document, proof)
        if source in WHOLE:
            whole = WHOLE[source].from_json(json.dumps(data["certificate"]))
            return Release(data["source"], _title(whole), whole.f, whole.adjacency, document, whole)
        return Release(
            "declared",
            str(data["description"]),
            tradeoff_from_json(json.dumps(data["tradeoff"])),
            data["adjacency"],
            document,
        )
    except InvalidInput:
        raise
    except (ValueError, LookupError, TypeError) as error:
        raise InvalidInput(
            "release", "<JSON text>", f"lacks or misplaces {error}", "restore the ledger"
        ) from error


def _require_release(certificate: Certificate) -> None:
    """What is left of records after their deletion is not what a release costs."""
    if certificate.run.deletes:
        raise InvalidInput(
            "certificate",
            "<that of Unlearning>",
            "says what is left of those who were deleted, and not what the release costs anybody",
            "charge the certificate of the training, and that of the further steps",
        )


def _title(whole: WholeCertificate) -> str:
    if not isinstance(whole, PipelineCertificate):
        return whole.title
    model = whole.model
    after = "" if model is None else f" and {type(model.run).__name__}, {model.bound}"
    return f"preparation by {len(whole.sums)} noisy sums{after}"


def _released(certificate: Certificate) -> str:
    """What an entry is for, where it is more than the last iterate."""
    if certificate.run.streams:
        return " (for ever)"
    if has_releases(certificate.run):
        return f" ({number_of_releases(certificate.run)} releases)"
    return ""


@lru_cache(maxsize=64)
def _verify(document: str) -> None:
    """Verify the certificate in a document, once for each text: many releases may share one."""
    certificate = read_release(document).certificate
    if certificate is not None:
        certificate.verify()


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def text_in(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInput(name, value, "is not text", "give a string")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise InvalidInput(
            name, value, "has halves of characters in it", "give text that UTF-8 can write"
        )
    return value
