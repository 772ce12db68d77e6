"""What a certificate looks like in JSON: the one schema, which is published and read by.

`docs/certificate.schema.json` is this document, written out by `written`; a test compares the two.
The reader checks every text against it before anything is made of it, so a field that is unknown,
missing or of another type is refused. What proofs look like is said by the theorems that have them.
What a schema cannot say (that there is one weight for each component, that a run has more records
than a batch) is checked by the types that are made.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from shiftdp._checks import LEAST_FINENESS
from shiftdp._kinds import CERTIFIED, CONDITIONAL
from shiftdp.last_iterate.runs.samplers import SAMPLERS
from shiftdp.last_iterate.theorems.forms import (
    ACCURACY,
    BOOLEAN,
    COUNT,
    INDEX,
    INFINITE,
    MU,
    NOT_NEGATIVE,
    NULL,
    NUMBER,
    POSITIVE,
    PROOF,
    SHARE,
    TEXT,
    WORD,
    Schema,
    either,
    fields_of,
    listed,
    pair,
)
from shiftdp.last_iterate.theorems.registry import proof_types
from shiftdp.last_iterate.theorems.theorem import Theorem

FORMAT = "shiftdp-certificate/2"

_TRADEOFF: Schema = {"$ref": "#/$defs/tradeoff"}

_PER_STEP = either(POSITIVE, listed(POSITIVE, 1))
_NOISE = either(POSITIVE, listed(NOT_NEGATIVE, 1))  # steps may be without
_LENGTH = either(COUNT, INFINITE)
_RELEASES = either({"enum": ["all", "epochs"]}, listed(COUNT, 2))
_BATCHES: Schema = {
    "n": COUNT,
    "batch_size": COUNT,
    "steps": _LENGTH,
}

# nothing is said where the last iterate alone is released, or where a person has one record
_UNSAID = ("releases", "records_per_person", "arrangement")
_TRAINING_RUNS = (
    fields_of(
        {
            "n": COUNT,
            "steps": _LENGTH,
            "learning_rate": _PER_STEP,
            "noise": _NOISE,
            "releases": _RELEASES,
            "records_per_person": COUNT,
        },
        "NoisyGD",
        optional=_UNSAID,
    ),
    fields_of(
        {
            **_BATCHES,
            "learning_rate": _PER_STEP,
            "noise": _NOISE,
            "order": {"enum": ["fixed", "shuffled_once", "reshuffled"]},
            "last_batch": {"enum": ["own_size", "divide_by_b", "drop"]},
            "releases": _RELEASES,
            "records_per_person": COUNT,
            "arrangement": {"enum": ["anywhere", "one_per_batch"]},
        },
        "NoisyCGD",
        optional=_UNSAID,
    ),
    fields_of(
        {
            **_BATCHES,
            "learning_rate": _PER_STEP,
            "noise": _PER_STEP,
            "sampling": {"enum": [*SAMPLERS]},
            "batch_cap": either(COUNT, NULL),
            "releases": _RELEASES,
            "records_per_person": COUNT,
        },
        "NoisySGD",
        optional=_UNSAID,
    ),
)
_RUNS = (
    *_TRAINING_RUNS,
    fields_of(
        {
            "batch_size": COUNT,
            "batches_per_release": COUNT,
            "learning_rate": _PER_STEP,
            "noise": _NOISE,
            "order": {"enum": ["fixed", "shuffled"]},
        },
        "NoisyStream",
    ),
    fields_of(
        {
            "training": either(*_TRAINING_RUNS),
            "further_steps": INDEX,
            "records": COUNT,
            "learning_rate": _PER_STEP,
            "noise": _NOISE,
            "later_requests": listed(pair(COUNT, COUNT)),
            "grid": NOT_NEGATIVE,
            "dimension": COUNT,
        },
        "Unlearning",
    ),
    fields_of({"steps": _LENGTH, "learning_rate": POSITIVE}, "LangevinMC"),
    fields_of({}, "ExponentialMechanism"),
)

_GEOMETRY = fields_of(
    {
        "strong_convexity": either(NUMBER, {"const": "-inf"}),
        "smoothness": either(NOT_NEGATIVE, INFINITE),
        "sensitivity": NOT_NEGATIVE,
        "diameter": either(POSITIVE, INFINITE),
        "adjacency": {"enum": ["replace_one", "zero_out"]},
        "gradient_bound": either(NOT_NEGATIVE, NULL),
        "prox_convexity": POSITIVE,
    },
    optional=("prox_convexity",),
)

_LAW: Schema = {"mu": listed(NOT_NEGATIVE, 1), "weight": listed(SHARE, 1)}
_STEP: Schema = {"p": SHARE, "a": NOT_NEGATIVE, "s": NOT_NEGATIVE}
_TRADEOFFS = (
    fields_of({"mu": MU}, "gaussian"),
    fields_of({}, "identity"),
    fields_of({"mu": MU}, "laplace"),
    fields_of({"alpha": listed(SHARE, 1), "beta": listed(SHARE, 1)}, "piecewise_linear"),
    fields_of({"epsilon": MU, "delta": SHARE}, "approx_dp"),
    fields_of({"components": listed(_TRADEOFF, 1), "weights": listed(SHARE, 1)}, "mixture"),
    fields_of({"components": listed(_TRADEOFF, 1)}, "maximum"),
    fields_of({"components": listed(_TRADEOFF, 1)}, "minimum"),
    fields_of({"base": _TRADEOFF, "failure": SHARE}, "with_failure"),
    fields_of(
        {
            "base": _TRADEOFF,
            "law": {"enum": ["negative_binomial", "poisson"]},
            "rate": POSITIVE,
            "shape": either(NUMBER, NULL),
        },
        "selected",
    ),
    fields_of({"factors": listed(pair(_TRADEOFF, COUNT), 1), "accuracy": ACCURACY}, "product"),
    fields_of({"base": _TRADEOFF, "p": SHARE}, "subsampled"),
    fields_of({"base": _TRADEOFF, "size": COUNT}, "group"),
    fields_of(_STEP, "shifted_subsampled"),
    fields_of({**_STEP, "swapped": BOOLEAN}, "poisson_zero_out"),
    fields_of(_STEP, "poisson_replace_one"),
    fields_of(
        {
            "s": NOT_NEGATIVE,
            "batches": COUNT,
            "fineness": {"type": "number", "minimum": LEAST_FINENESS, "maximum": 1},
            "swapped": BOOLEAN,
        },
        "allocated_zero_out",
    ),
    fields_of(_LAW, "hidden_exchange"),
    fields_of({**_LAW, "swapped": BOOLEAN}, "hidden_zero_out"),
    fields_of(_LAW, "hidden_replace_one"),
    fields_of(
        {
            "components": listed(_TRADEOFF, 1),
            "weights": listed(SHARE, 1),
            "shared": {"enum": ["first", "second", "neither", "told"]},
        },
        "hidden_mixture",
    ),
)

_NAMED_NUMBERS: Schema = {
    "type": "object",
    "additionalProperties": either(NUMBER, INFINITE),
}
_TRAINING = fields_of(
    {
        "loss": WORD,
        "loss_parameters": _NAMED_NUMBERS,
        "outputs": COUNT,
        "slope": either(NOT_NEGATIVE, INFINITE),
        "curvature": NOT_NEGATIVE,
        "feature_bound": POSITIVE,
        "intercept": BOOLEAN,
        "l2": NOT_NEGATIVE,
        "clipping": {"enum": ["none", "envelope", "plain", "uncertified"]},
        "clip": either(POSITIVE, NULL),
        "projection": either(WORD, NULL),
        "projection_parameters": _NAMED_NUMBERS,
        "prox": WORD,
        "prox_parameters": _NAMED_NUMBERS,
        "centred": BOOLEAN,
        "features": either(COUNT, NULL),
        "oversized": {"enum": ["scale", "refuse"]},
        "noise_source": WORD,
        "private": BOOLEAN,
        "arithmetic": TEXT,
        "estimator": either(WORD, NULL),
        "version": WORD,
        "date": WORD,
    },
    optional=("prox", "prox_parameters", "centred"),
)


def schema(own: Iterable[Theorem] = ()) -> Schema:
    """The schema of certificates by theorems of the library, and by these."""
    kinds = proof_types(own)
    composed = [kind.form for kind in kinds if not kind.inside]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:shiftdp:certificate:2",
        "title": "A privacy certificate of shiftdp",
        "description": "Infinities are the strings inf and -inf. Not to be trusted until verified.",
        **fields_of(
            {
                "format": {"const": FORMAT},
                "kind": {"enum": [CERTIFIED, CONDITIONAL]},
                "bound": WORD,
                "mu": either(NOT_NEGATIVE, INFINITE, NULL),
                "run": either(*_RUNS),
                "geometry": _GEOMETRY,
                "tradeoff": _TRADEOFF,
                "assumptions": listed(fields_of({"name": WORD, "statement": TEXT})),
                "proofs": listed(either(PROOF, *composed)),
                "training": either(_TRAINING, NULL),
            }
        ),
        "$defs": {
            "tradeoff": either(*_TRADEOFFS),
            "proof": either(*(kind.form for kind in kinds if kind.inside)),
        },
    }


SCHEMA = schema()


def written() -> str:
    """The schema as it is published."""
    return json.dumps(SCHEMA, indent=2) + "\n"
