"""How each hypothesis of a certificate is known: proved, watched, declared, or a matter of conduct.

A certificate says what it rests on. Whoever reads a statement wants to know who vouches for it.
"""

from __future__ import annotations

from typing import Literal

from shiftdp.last_iterate.assumptions import LOOP_ASSUMPTIONS, Assumption, is_trust, seeded_noise
from shiftdp.last_iterate.certificate import Certificate

Standing = Literal["definition", "checked", "by the loop", "watched", "declared", "conduct", "void"]

MEANINGS: dict[Standing, str] = {
    "definition": "says what is meant; nothing to check",
    "checked": "follows from the training record; `shiftdp verify` derives it again in exact "
    "arithmetic",
    "by the loop": "the training loop of shiftdp does it so; that this loop ran is the word of "
    "whoever trained",
    "watched": "read off the training loop and watched in each step by the plug-in",
    "declared": "declared by whoever certified the run; not checked",
    "conduct": "no file can show it: whoever signs vouches for it",
    "void": "not met: the numbers do not hold",
}
"""What the evidence for a hypothesis is worth, in words."""

_OF_LOSSES = ("losses", "sensitivity", "constraint")
_OF_LOOP = ("batches", "last batch", "sampling", "noise", "people", "deletion", "centred rows")


def standing(item: Assumption, certificate: Certificate) -> Standing:
    """How this hypothesis of the certificate is known."""
    if item == seeded_noise():
        return "void"
    if item.name in ("adjacency", "batch cap"):
        return "definition"
    if is_trust(item) or item in LOOP_ASSUMPTIONS.values():
        return "declared"
    if item.name == "hidden iterates":
        return "conduct"
    record = certificate.training
    if record is not None:
        known = " as declared, not checked" not in " ".join(text for _, text in record.lines())
        if item.name in _OF_LOSSES:
            return "checked" if known else "declared"
        return "by the loop" if item.name in _OF_LOOP else "declared"
    # only the plug-in for Opacus lists these
    if LOOP_ASSUMPTIONS["records"] in certificate.assumptions and item.name in (
        "batches", "last batch", "sampling", "noise", "sensitivity",
    ):  # fmt: skip
        return "watched"
    return "declared"
