"""Settings that the tests of the explorer share: one of each kind, and what makes them special."""

from __future__ import annotations

from shiftdp.ui.explorer.fields import FIELDS, moved_to
from shiftdp.ui.explorer.settings import Settings

STARTS = {name: field.start for name, field in FIELDS.items()}


def settings(**texts: str) -> Settings:
    """Those of a fresh page, with some changed."""
    kind = texts.get("kind", "cgd")
    return Settings.of({**STARTS, **moved_to(kind, STARTS), **texts})


SMALL = {"n": "1000", "batch_size": "250", "epochs": "5", "noise": "0.1"}
SAMPLED = {
    "kind": "sgd",
    "sampling": "poisson",
    "adjacency": "zero_out",
    "n": "1000",
    "batch_size": "50",
    "steps": "100",
    "noise": "0.3",
}
"""Random batches that are certified in a moment."""

RUNS = {
    "fixed": settings(**SMALL),
    "shuffled once": settings(**SMALL, order="shuffled_once"),
    "reshuffled": settings(**SMALL, order="reshuffled"),
    "a smaller last batch": settings(**{**SMALL, "batch_size": "300"}),
    "projected": settings(**SMALL, diameter="0.001"),
    "endless": settings(**{**SMALL, "epochs": "inf", "strong_convexity": "1"}),
    "a schedule": settings(
        kind="gd", n="100", steps="3", learning_rate="0.05,0.04,0.03", noise="0.1"
    ),
    "releases": settings(**SMALL, releases="6,12"),
    "released epochs": settings(**SMALL, releases="epochs"),
    "all released": settings(**SMALL, releases="all"),
    "people": settings(**SMALL, records_per_person="2"),
    "people apart": settings(**SMALL, records_per_person="2", arrangement="one_per_batch"),
    "a deletion": settings(**SMALL, further_steps="8"),
    "two deletions": settings(**SMALL, further_steps="8", records="2"),
    "full batches": settings(kind="gd", n="1000", steps="20", noise="0.1"),
    "a stream": settings(kind="stream", batch_size="100", batches_per_release="5", noise="0.1"),
    "a shuffled stream": settings(
        kind="stream", order="shuffled", batch_size="100", batches_per_release="5", noise="0.1"
    ),
    "langevin": settings(kind="langevin"),
    "exponential": settings(kind="exponential"),
    "sampled": settings(**SAMPLED),
    "composition": settings(**SMALL, bounds="composition"),
    "the paper": settings(**SMALL, bounds="paper"),
}
