"""The statement as an entry for a registry of deployments.

The fields are those of the public registry of deployments of differential privacy [Nanayakkara,
Ghazi & Vadhan 2025; Dwork, Kohli & Mulligan 2019], with the same names and nesting. What the
publisher has not said is an empty text there: an entry is complete when none is left.
"""

from __future__ import annotations

import math
from typing import Any

from shiftdp.last_iterate.certificate import Certificate, release_in_words
from shiftdp.last_iterate.runs import has_releases
from shiftdp.privacy.pipeline_certificate import PipelineCertificate
from shiftdp.privacy.selection.kinds import AnyCertificate
from shiftdp.privacy.selection.score_certificate import ScoreCertificate
from shiftdp.privacy.selection.selection_certificate import SelectionCertificate
from shiftdp.privacy.statement.blocks import Bound, clean
from shiftdp.privacy.statement.contents import title
from shiftdp.privacy.statement.releases import theorems_of, what_is_published, what_was_done
from shiftdp.privacy.statement.subject import ModelFacts, Statement
from shiftdp.privacy.statement.words import neighbours, unit


def registry_entry(statement: Statement) -> dict[str, Any]:
    """The deployment in the fields of the public registry."""
    core, whole, say = statement.core, statement.certificate, statement.said
    run = None if core is None else core.run
    short, long = unit(run)
    epsilon = float(Bound(whole.epsilon(statement.delta)).text)
    warned = "" if statement.private else _NOT_PRIVATE
    certified = core is None or core.kind == "certified"
    bound = "Certified upper bound" if certified else "Upper bound that shiftdp has not checked,"
    stream = run is not None and run.streams
    many = stream or has_releases(run)
    described, released = _done(whole, core)
    mu = whole.mu
    gdp = "" if mu is None else f"mu = {Bound(mu).text} (Gaussian differential privacy). "
    return {
        "url_slug": _slug(title(statement)),
        "deployment": {
            "basic": {
                "name": title(statement),
                "data_curators": [
                    {
                        "data_curator_name": say("curator"),
                        "data_curator_type": say("curator_type"),
                    }
                ],
                "description": say("description"),
                "intended_use": say("intended_use"),
                "data_product_type": "Statistics"
                if isinstance(whole, ScoreCertificate)
                else "Machine learning model",
                "data_product_region": say("region"),
                "data_product_sector": say("sector"),
                "publication_date": say("publication_date") or statement.day,
            },
            "dp_variant": {
                "variant_name": "Approximate DP",
                "data_domain": neighbours(statement.adjacency, run),
                "unprotected_quantities": "; ".join(
                    [
                        "how many records arrive, and when" if stream else "the number of records",
                        "all parameters of the run",
                        *(clean(leak) for leak in (statement.model or _NOTHING).not_covered),
                    ]
                ),
            },
            "privacy_loss": {
                "privacy_unit": short,
                "privacy_unit_details": long,
                "number_of_privacy_units": 1,
                "privacy_parameters": {
                    "epsilon": epsilon if math.isfinite(epsilon) else "inf",  # JSON has no number
                    "delta": statement.delta,
                },
                "privacy_parameters_details": f"{warned}{gdp}{bound} by {theorems_of(whole)}; the "
                f"whole curve is in the certificate, SHA-256 {statement.certificate_digest}.",
            },
            "deployment_model": {
                "model_name": "Central",
                "model_name_details": "One holder has the raw records and runs the method.",
                "trust_assumptions": "The holder, the machine and the software are trusted; "
                "whoever sees what is released is not.",
                "actors": say("curator"),
                "release_type": "Many releases" if many else "One release",
                "release_type_details": released,
                "data_source_type": "Dynamic" if stream else "Static",
                "data_source_type_details": _changes(run),
                "access_type": "Non-interactive",
                "access_type_details": "",
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": " ".join(
                    part for part in (say("preparation"), _prepared(whole)) if part
                ),
                "mechanisms": " ".join(part for part in (described, _sampled(run)) if part),
                "composition": _composed(statement),
                "post_processing": "",
                "justification": say("justification"),
                "utility": say("utility"),
                "additional_information": f"shiftdp {clean(statement.version)}",
            },
            "administrative": {
                "evidence_sources": {},
                "status": "Draft",
                "registry_authors": [],
                "tier": 3,
            },
        },
    }


_NOTHING = ModelFacts("")
_NOT_PRIVATE = "NOT PRIVATE: the noise came from a seed, and whoever knows it can undo it. "


def _done(whole: AnyCertificate, core: Certificate | None) -> tuple[str, str]:
    """What was run, and what is released of it."""
    if isinstance(whole, (SelectionCertificate, ScoreCertificate)):
        return what_was_done(whole), what_is_published(whole)
    return ("", "") if core is None else (core.run.in_words, release_in_words(core))


def _changes(run: Any) -> str:
    if run is None:
        return ""
    if run.streams:
        return "New records arrive for ever; each is used once."
    return "Records were deleted after training." if run.deletes else ""


def _sampled(run: Any) -> str:
    return "" if run is None else f"Sampling: {run.batches_in_words}."


def _prepared(whole: AnyCertificate) -> str:
    if isinstance(whole, SelectionCertificate):
        return (
            f"Chosen by a private search among {len(whole.candidates)} kinds of fits, all trials "
            "of which are part of the guarantee."
        )
    if not isinstance(whole, PipelineCertificate) or not whole.sums:
        return ""
    return f"{len(whole.sums)} noisy sums over columns are part of the guarantee."


def _composed(statement: Statement) -> str:
    if statement.ledger is None:
        return "This release alone; other releases on the same data are not stated."
    spent = Bound(statement.ledger.spent).text
    return (
        f"{statement.ledger.count} releases on the same data cost epsilon {spent} at delta = "
        f"{statement.ledger.delta:g} together."
    )


def _slug(text: str) -> str:
    words = "".join(char if char.isalnum() else " " for char in text.lower()).split()
    return "-".join(words)
