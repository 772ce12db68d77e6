"""What `shiftdp train` says: plan, certificate, what it does not cover, where the model is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shiftdp.ui.output import print_json, print_text
from shiftdp.ui.progress import waiting
from shiftdp.ui.report import CLASSES_LEARNT, document_of, print_document
from shiftdp.ui.training.models import learns_classes

if TYPE_CHECKING:
    from shiftdp.training.planning.planner import Planned
    from shiftdp.ui.training.scoring import HeldOut


def not_covered_by(options: dict[str, Any]) -> list[str]:
    """What a run with these options leaks beside what its certificate says."""
    return [CLASSES_LEARNT] if learns_classes(options) and not options["dry_run"] else []


def ending_of(options: dict[str, Any]) -> str:
    """The last lines: what has become of the model, and where the certificate is."""
    ending = "Nothing was trained: of the data only its shape was read."
    if not options["dry_run"]:
        ending = f"The model is in {options['output']}."
    saved = options["save"]
    return ending if saved is None else f"{ending}\nThe certificate is in {saved}."


def print_model(planned: Planned, options: dict[str, Any], score: HeldOut | None = None) -> None:
    """The answer of `shiftdp train` without a schema."""
    certificate, delta = planned.plan.certificate, options["delta"]
    with waiting("accounting"):
        document = document_of(certificate, delta)
    private = planned.plan.entropy.private
    not_covered = not_covered_by(options)
    if options["json"]:
        print_json(
            {
                **document,
                "private": private,
                "not_covered": not_covered,
                "plan": planned.choices(),
                "reasons": planned.reasons,
                "foretold": vars(planned.prediction),
                "output": options["output"],
                **({} if score is None else score.document()),
            }
        )
        return
    print_text(str(planned))
    print_text()
    print_document(document, json=False)
    for leak in not_covered:
        print_text(f"not covered: {leak}")
    if not private:
        print_text("NOT PRIVATE: --random-state made this run reproducible.")
    if score is not None:
        print_text(score.text())
    print_text(ending_of(options))
