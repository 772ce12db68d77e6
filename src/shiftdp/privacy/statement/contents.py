"""The statement from top to base, in the order of the evaluation pyramid of NIST SP 800-226.

Each level rests on the ones below it: an epsilon is worth what its hypotheses are worth, and these
what the handling of the data is worth.
"""

from __future__ import annotations

from shiftdp.privacy.pipeline_certificate import PipelineCertificate
from shiftdp.privacy.statement.blocks import (
    Block,
    Bound,
    Level,
    Line,
    Note,
    Section,
    clean,
    line,
    pairs,
)
from shiftdp.privacy.statement.foundations import foundations_level
from shiftdp.privacy.statement.guarantee import guarantee_level
from shiftdp.privacy.statement.subject import ABOUT, Statement
from shiftdp.privacy.statement.words import unit

_OF_DATA = (
    "description", "intended_use", "curator", "curator_type", "region", "sector",
    "publication_date", "collection", "consent", "access", "retention", "preparation",
    "justification", "utility", "contact",
)  # fmt: skip


def levels(statement: Statement) -> tuple[Level, ...]:
    """Top, middle and base, and how all of it is checked."""
    return (
        guarantee_level(statement),
        foundations_level(statement),
        _data_level(statement),
        _verification_level(statement),
    )


def title(statement: Statement) -> str:
    return statement.said("title") or "Privacy statement"


def headline(statement: Statement) -> Line:
    """The guarantee in one line."""
    core = statement.core
    run = None if core is None else core.run
    what = "everything that the pipeline learnt" if isinstance(
        statement.certificate, PipelineCertificate
    ) else "what is left of the deleted records" if run is not None and run.deletes else (
        "everything that is released"
    )  # fmt: skip
    return line(
        "(",
        Bound(statement.certificate.epsilon(statement.delta)),
        f", {statement.delta:g})-differential privacy of {what}, for {unit(run)[0]}",
    )


def _data_level(statement: Statement) -> Level:
    core = statement.core
    number = getattr(statement.certificate, "n", None) or getattr(core and core.run, "n", None)
    rows: list[tuple[str, str | Line]] = []
    if number is not None:
        rows.append(("Records", f"{number:,} (public)"))
    record = None if core is None else core.training
    held_out = getattr(statement.certificate, "held_out", 0)
    if held_out:
        rows.append(("Of these held out", f"{held_out:,}, which are scored and not trained on"))
    if record is not None:
        features = "not stated" if record.features is None else f"{record.features:,}"
        rows += [
            ("Features", f"{features}, rows within {record.feature_bound:g}"),
            ("Rows beyond that", "scaled to it" if record.oversized == "scale" else "refused"),
        ]
    rows += [(ABOUT[name], statement.said(name)) for name in _OF_DATA if statement.said(name)]
    said = any(statement.said(name) for name in _OF_DATA)
    text = (
        "What stands here beside numbers of the certificate is the publisher's word."
        if said
        else "The publisher has said nothing about the data, how they were collected, or who may "
        "read them."
    )
    blocks: list[Block] = [Note(line(text))]
    if rows:
        blocks.insert(0, pairs(rows))
    around = Note(
        line(
            "No certificate covers the raw data themselves: collecting no more than is needed, "
            "access control, encryption and deletion protect those, and are not replaced by it."
        )
    )
    return Level(
        "Data and collection",
        "What the guarantee stands on, and does not protect.",
        (Section("The data", (*blocks, around)),),
    )


def _verification_level(statement: Statement) -> Level:
    model = statement.model
    rows: list[tuple[str, str | Line]] = [
        ("Stated on", statement.day),
        ("By", f"shiftdp {clean(statement.version)}"),
        ("Certificate", f"SHA-256 {statement.certificate_digest}"),
    ]
    if model is not None:
        rows.append(("Model", clean(model.estimator)))
        if model.digest:
            rows.append(("Model file", f"SHA-256 {clean(model.digest)}"))
    how = (
        "The certificate with its proof is inside of this page, as plain data. `shiftdp verify` on "
        "this file checks the proof again, without the software that found it, computes every "
        "number anew, and refuses the page if a number or a word of it was changed. What is "
        "declared above is not checked by it."
    )
    return Level(
        "Verification and signature",
        "How to check this page, and who stands for it.",
        (Section("Versions and hashes", (pairs(rows), Note(line(how)))),),
    )
