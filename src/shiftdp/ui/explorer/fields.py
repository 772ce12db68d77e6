"""The controls of the page: which there are, where they stand, and which of them a run has.

They are named as the options of the command line, and as the fields of the runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from shiftdp.last_iterate.runs.samplers import SAMPLERS
from shiftdp.ui.options import BOUNDS, GEOMETRY, KINDS, needed

SECTIONS = (
    "What is run",
    "Data and batches",
    "Steps",
    "What is assumed of the losses",
    "What is released",
    "Who is protected",
    "Deletion",
    "The answer",
)


class Field(NamedTuple):
    """One control: text, or a choice of words; `start` is what it shows at first."""

    name: str
    label: str
    section: str
    start: str = ""
    words: Mapping[str, str] = {}
    hint: str = ""


_KINDS = {name: f"{kind.type}: {kind.summary}" for name, kind in KINDS.items()}
ORDERS: Mapping[str, Mapping[str, str]] = {
    "cgd": {
        "fixed": "fixed",
        "shuffled_once": "shuffled once",
        "reshuffled": "reshuffled each epoch",
    },
    "stream": {"fixed": "fixed", "shuffled": "shuffled in each window"},
}
"""The orders of batches that a kind of run has."""

_SAMPLINGS = {name: sampler.title for name, sampler in SAMPLERS.items()}
_LAST_BATCHES = {
    "own_size": "a mean over its own size",
    "divide_by_b": "its sum divided by the batch size",
    "drop": "not used",
}
_ADJACENCIES = {"replace_one": "replace one record", "zero_out": "leave one record out"}
_ARRANGEMENTS = {"anywhere": "anywhere", "one_per_batch": "no two in one batch"}
_BOUNDS = {"best": "all", "paper": "those of the paper", "composition": "composition only"}
_RUN, _DATA, _STEPS, _LOSSES, _RELEASED, _PEOPLE, _DELETION, _ANSWER = SECTIONS

_LISTED = (
    Field("kind", "Algorithm", _RUN, "cgd", _KINDS),
    Field("order", "Order of the batches", _RUN, "fixed", ORDERS["cgd"]),
    Field("sampling", "Sampling of the batches", _RUN, "without_replacement", _SAMPLINGS),
    Field("adjacency", "Neighbouring data sets", _RUN, "replace_one", _ADJACENCIES),
    Field("n", "Records (n)", _DATA, "60000"),
    Field("batch_size", "Batch size", _DATA, "1500"),
    Field("batches_per_release", "Batches for each release", _DATA, "40"),
    Field("last_batch", "A smaller last batch is", _DATA, "own_size", _LAST_BATCHES),
    Field("batch_cap", "Batch cap", _DATA, hint="largest batch that is covered; empty: chosen"),
    Field("epochs", "Epochs", _STEPS, "50", hint="inf: however long"),
    Field("steps", "Steps", _STEPS, "2000", hint="inf: however many"),
    Field("learning_rate", "Learning rate", _STEPS, "0.05", hint="one number, or one a step"),
    Field("noise", "Noise", _STEPS, "0.01", hint="standard deviation, on the mean gradient"),
    Field("strong_convexity", "Strong convexity (m)", _LOSSES, "0.002", hint="0: convex"),
    Field("smoothness", "Smoothness (M)", _LOSSES, "32.502", hint="inf: unknown"),
    Field(
        "sensitivity", "Sensitivity (L)", _LOSSES, "10", hint="distance of the gradients compared"
    ),
    Field("diameter", "Diameter (D)", _LOSSES, "inf", hint="of the set projected onto"),
    Field(
        "gradient_bound", "Gradient bound (G)", _LOSSES, hint="norm of one gradient; empty: unknown"
    ),
    Field("prox_convexity", "Convexity of a prox", _LOSSES, hint="empty: no prox that counts"),
    Field(
        "releases",
        "Iterates released beside the last",
        _RELEASED,
        hint="empty: none; epochs; all; or steps, as 400,800",
    ),
    Field("records_per_person", "Records of a person, at most", _PEOPLE, "1"),
    Field("arrangement", "Where these may be", _PEOPLE, "anywhere", _ARRANGEMENTS),
    Field(
        "further_steps",
        "Further steps after a deletion",
        _DELETION,
        hint="without the deleted records; empty: no deletion",
    ),
    Field("records", "Records that are deleted", _DELETION, "1"),
    Field("delta", "Delta", _ANSWER, "1e-5", hint="where epsilon is read"),
    Field(
        "bounds",
        "Theorems that may be used",
        _ANSWER,
        "best",
        {name: _BOUNDS[name] for name in BOUNDS},
    ),
)

FIELDS: Mapping[str, Field] = {field.name: field for field in _LISTED}

UNSAID: Mapping[str, str] = {
    "order": "fixed",
    "sampling": "without_replacement",
    "adjacency": "replace_one",
    "last_batch": "own_size",
    "diameter": "inf",
    "records_per_person": "1",
    "arrangement": "anywhere",
    "records": "1",
    "bounds": "best",
}
"""What runs, losses and `certify` have by default, which need not be said."""

_EXAMPLES: Mapping[str, Mapping[str, str]] = {
    "langevin": {
        "steps": "100",
        "learning_rate": "0.02",
        "sensitivity": "1",
        "strong_convexity": "1",
        "smoothness": "10",
    },
    "exponential": {"sensitivity": "1", "strong_convexity": "1"},
}
"""What is shown at first of kinds for which the numbers of the others mean nothing."""


def start_of(name: str, kind: str) -> str:
    """What a control shows at first, for a kind of run."""
    return _EXAMPLES.get(kind, {}).get(name, FIELDS[name].start)


def moved_to(kind: str, texts: Mapping[str, str | None]) -> dict[str, str]:
    """What changes with the kind of run: controls that nobody has touched show its examples.

    >>> moved_to("langevin", {"steps": "2000", "learning_rate": "0.3"})
    {'steps': '100'}
    """
    changed = {}
    for name, text in texts.items():
        others = {start_of(name, one) for one in KINDS}
        new = start_of(name, kind)
        if name != "kind" and text != new and len(others) > 1 and text in others:
            changed[name] = new
    return changed


_DELETABLE = ("gd", "cgd", "sgd")


def fields_of(kind: str, sampling: str = "without_replacement") -> tuple[str, ...]:
    """The controls that a run of this kind has, in the order of the page.

    >>> fields_of("exponential")
    ('kind', 'adjacency', 'strong_convexity', 'sensitivity', 'diameter', 'delta', 'bounds')
    """
    own = {"kind", "delta", "bounds", *KINDS[kind].fields, *GEOMETRY.fields}
    if kind in _DELETABLE:
        own |= {"further_steps", "records"}
    if kind == "cgd":
        own -= {"steps"}
    if kind == "sgd":
        sampler = SAMPLERS[sampling]
        own -= {"steps" if sampler.in_epochs else "epochs"}
        own -= {"batch_cap"} if sampler.replaces else set()
    else:
        own -= {"gradient_bound"}
    if kind == "exponential":
        own -= {"smoothness", "prox_convexity"}
    if kind in ("langevin", "stream"):
        own -= {"prox_convexity"}
    return tuple(name for name in FIELDS if name in own)


def needed_of(kind: str, sampling: str) -> tuple[str, ...]:
    """What such a run cannot do without."""
    shown = fields_of(kind, sampling)
    both = (*needed(kind, shown), *(("epochs",) if "epochs" in shown else ()), "delta")
    return tuple(name for name in shown if name in both)
