"""What a certificate looks like in JSON: the one schema, which is published and read by.

`docs/certificate.schema.json` is this document, written out by `written`; a test compares the two.
The reader checks every text against it before anything is made of it, so a field that is unknown,
missing or of another type is refused. What a schema cannot say (that there is one weight for each
component, that a run has more records than a batch) is checked by the types that are made.
"""

from __future__ import annotations

import json
from typing import Any

from shiftdp._checks import LEAST_ACCURACY, LEAST_FINENESS
from shiftdp._kinds import CERTIFIED, CONDITIONAL
from shiftdp._rounding import LARGEST_WHOLE
from shiftdp.last_iterate.runs.samplers import SAMPLERS

FORMAT = "shiftdp-certificate/2"

Schema = dict[str, Any]

# counts are at most 2^53, up to which every whole number is a float
_COUNT: Schema = {"type": "integer", "minimum": 1, "maximum": LARGEST_WHOLE}
_INDEX: Schema = {"type": "integer", "minimum": 0, "maximum": LARGEST_WHOLE}
_NUMBER: Schema = {"type": "number"}
_POSITIVE: Schema = {"type": "number", "exclusiveMinimum": 0}
_NOT_NEGATIVE: Schema = {"type": "number", "minimum": 0}
_SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
_ACCURACY: Schema = {"type": "number", "minimum": LEAST_ACCURACY, "maximum": 1}
_INFINITE: Schema = {"const": "inf"}
_NULL: Schema = {"type": "null"}
# far longer than what is written here, so that a file cannot be filled with text
_WORD: Schema = {"type": "string", "maxLength": 200}
_TEXT: Schema = {"type": "string", "maxLength": 2000}  # a few sentences
_TRADEOFF: Schema = {"$ref": "#/$defs/tradeoff"}
_PROOF: Schema = {"$ref": "#/$defs/proof"}


def _either(*choices: Schema) -> Schema:
    return {"oneOf": list(choices)}


def _list(items: Schema, least: int = 0) -> Schema:
    return {"type": "array", "items": items, "minItems": least}


def _pair(first: Schema, second: Schema) -> Schema:
    return {
        "type": "array",
        "prefixItems": [first, second],
        "items": False,
        "minItems": 2,
        "maxItems": 2,
    }


def _object(fields: Schema, kind: str | None = None, optional: tuple[str, ...] = ()) -> Schema:
    """An object with these fields and no others, all of them needed but the optional ones."""
    tagged = fields if kind is None else {"type": {"const": kind}, **fields}
    return {
        "type": "object",
        "properties": tagged,
        "required": [name for name in tagged if name not in optional],
        "additionalProperties": False,
    }


_PER_STEP = _either(_POSITIVE, _list(_POSITIVE, 1))
_NOISE = _either(_POSITIVE, _list(_NOT_NEGATIVE, 1))  # steps may be without
_LENGTH = _either(_COUNT, _INFINITE)
_RELEASES = _either({"enum": ["all", "epochs"]}, _list(_COUNT, 2))
_BATCHES: Schema = {
    "n": _COUNT,
    "batch_size": _COUNT,
    "steps": _LENGTH,
}

# nothing is said where the last iterate alone is released, or where a person has one record
_UNSAID = ("releases", "records_per_person", "arrangement")
_TRAINING_RUNS = (
    _object(
        {
            "n": _COUNT,
            "steps": _LENGTH,
            "learning_rate": _PER_STEP,
            "noise": _NOISE,
            "releases": _RELEASES,
            "records_per_person": _COUNT,
        },
        "NoisyGD",
        optional=_UNSAID,
    ),
    _object(
        {
            **_BATCHES,
            "learning_rate": _PER_STEP,
            "noise": _NOISE,
            "order": {"enum": ["fixed", "shuffled_once", "reshuffled"]},
            "last_batch": {"enum": ["own_size", "divide_by_b", "drop"]},
            "releases": _RELEASES,
            "records_per_person": _COUNT,
            "arrangement": {"enum": ["anywhere", "one_per_batch"]},
        },
        "NoisyCGD",
        optional=_UNSAID,
    ),
    _object(
        {
            **_BATCHES,
            "learning_rate": _PER_STEP,
            "noise": _PER_STEP,
            "sampling": {"enum": [*SAMPLERS]},
            "batch_cap": _either(_COUNT, _NULL),
            "releases": _RELEASES,
            "records_per_person": _COUNT,
        },
        "NoisySGD",
        optional=_UNSAID,
    ),
)
_RUNS = (
    *_TRAINING_RUNS,
    _object(
        {
            "batch_size": _COUNT,
            "batches_per_release": _COUNT,
            "learning_rate": _PER_STEP,
            "noise": _NOISE,
            "order": {"enum": ["fixed", "shuffled"]},
        },
        "NoisyStream",
    ),
    _object(
        {
            "training": _either(*_TRAINING_RUNS),
            "further_steps": _INDEX,
            "records": _COUNT,
            "learning_rate": _PER_STEP,
            "noise": _NOISE,
            "later_requests": _list(_pair(_COUNT, _COUNT)),
            "grid": _NOT_NEGATIVE,
            "dimension": _COUNT,
        },
        "Unlearning",
    ),
    _object({"steps": _LENGTH, "learning_rate": _POSITIVE}, "LangevinMC"),
    _object({}, "ExponentialMechanism"),
)

_GEOMETRY = _object(
    {
        "strong_convexity": _either(_NUMBER, {"const": "-inf"}),
        "smoothness": _either(_NOT_NEGATIVE, _INFINITE),
        "sensitivity": _NOT_NEGATIVE,
        "diameter": _either(_POSITIVE, _INFINITE),
        "adjacency": {"enum": ["replace_one", "zero_out"]},
        "gradient_bound": _either(_NOT_NEGATIVE, _NULL),
        "prox_convexity": _POSITIVE,
    },
    optional=("prox_convexity",),
)

_MU = _either(_NOT_NEGATIVE, _INFINITE)
_LAW: Schema = {"mu": _list(_NOT_NEGATIVE, 1), "weight": _list(_SHARE, 1)}
_STEP: Schema = {"p": _SHARE, "a": _NOT_NEGATIVE, "s": _NOT_NEGATIVE}
_TRADEOFFS = (
    _object({"mu": _MU}, "gaussian"),
    _object({}, "identity"),
    _object({"mu": _MU}, "laplace"),
    _object({"alpha": _list(_SHARE, 1), "beta": _list(_SHARE, 1)}, "piecewise_linear"),
    _object({"epsilon": _MU, "delta": _SHARE}, "approx_dp"),
    _object({"components": _list(_TRADEOFF, 1), "weights": _list(_SHARE, 1)}, "mixture"),
    _object({"components": _list(_TRADEOFF, 1)}, "maximum"),
    _object({"components": _list(_TRADEOFF, 1)}, "minimum"),
    _object({"base": _TRADEOFF, "failure": _SHARE}, "with_failure"),
    _object(
        {
            "base": _TRADEOFF,
            "law": {"enum": ["negative_binomial", "poisson"]},
            "rate": _POSITIVE,
            "shape": _either(_NUMBER, _NULL),
        },
        "selected",
    ),
    _object({"factors": _list(_pair(_TRADEOFF, _COUNT), 1), "accuracy": _ACCURACY}, "product"),
    _object({"base": _TRADEOFF, "p": _SHARE}, "subsampled"),
    _object({"base": _TRADEOFF, "size": _COUNT}, "group"),
    _object(_STEP, "shifted_subsampled"),
    _object({**_STEP, "swapped": {"type": "boolean"}}, "poisson_zero_out"),
    _object(_STEP, "poisson_replace_one"),
    _object(
        {
            "s": _NOT_NEGATIVE,
            "batches": _COUNT,
            "fineness": {"type": "number", "minimum": LEAST_FINENESS, "maximum": 1},
            "swapped": {"type": "boolean"},
        },
        "allocated_zero_out",
    ),
    _object(_LAW, "hidden_exchange"),
    _object({**_LAW, "swapped": {"type": "boolean"}}, "hidden_zero_out"),
    _object(_LAW, "hidden_replace_one"),
    _object(
        {
            "components": _list(_TRADEOFF, 1),
            "weights": _list(_SHARE, 1),
            "shared": {"enum": ["first", "second", "neither", "told"]},
        },
        "hidden_mixture",
    ),
)

_SHIFTS = _object(
    {
        "tau": _INDEX,
        "start": _NOT_NEGATIVE,
        "first": _list(_COUNT, 1),
        "last": _list(_COUNT, 1),
        "peak": _list(_COUNT, 1),
        "amount": _list(_NOT_NEGATIVE, 1),
        "mu": _MU,
    }
)
_VISITS: Schema = {
    "pattern": {"enum": ["every", "final"]},
    "position": _INDEX,
    "first": _COUNT,
    "weight": _SHARE,
}

_PROOFS = (
    _object({**_VISITS, "shifts": _SHIFTS}, optional=("first",)),
    _object({**_VISITS, "segments": _list(_SHIFTS, 1)}, optional=("first",)),
    _object(
        {
            "tau": _INDEX,
            "groups": _list(_pair(_NOT_NEGATIVE, _COUNT)),
            "split": _either(_POSITIVE, _NULL),
            "cap": _either(_COUNT, _NULL),
        }
    ),
    _object(
        {
            "mu": _list(_NOT_NEGATIVE, 1),
            "weight": _list(_SHARE, 1),
            "revealed": {"type": "boolean"},
            "contracting": {"type": "boolean"},
            "followed": _COUNT,
            "grid": _either(
                _object(
                    {
                        "starts": _list(_INDEX, 1),
                        "unit": _POSITIVE,
                        "tick": _POSITIVE,
                        "values": _COUNT,
                        "cap": _COUNT,
                        "slopes": _list(_INDEX, 1),
                        "cell": _POSITIVE,
                        "cells": _COUNT,
                    }
                ),
                _object({"mesh": _POSITIVE, "cells": _COUNT, "tilt": _POSITIVE, "last": _POSITIVE}),
                _NULL,
            ),
            "tail": _POSITIVE,
            "cap": _either(_COUNT, _NULL),
        }
    ),
    _object(
        {
            "tau": _COUNT,
            "rate": _NOT_NEGATIVE,
            "values": _list(_NOT_NEGATIVE, 1),
            "weights": _list(_SHARE, 1),
            "grid": _object({"mesh": _POSITIVE, "cells": _COUNT, "blocks": _list(_COUNT, 1)}),
            "groups": _list(_pair(_NOT_NEGATIVE, _COUNT), 1),
            "accuracy": _ACCURACY,
            "cap": _either(_COUNT, _NULL),
        }
    ),
)

# a segment is proved as a run by itself, and not by segments of its own
_SEGMENT = _object({"theorem": _WORD, "proofs": _list(_PROOF)})

_NAMED_NUMBERS: Schema = {
    "type": "object",
    "additionalProperties": _either(_NUMBER, _INFINITE),
}
_TRAINING = _object(
    {
        "loss": _WORD,
        "loss_parameters": _NAMED_NUMBERS,
        "outputs": _COUNT,
        "slope": _either(_NOT_NEGATIVE, _INFINITE),
        "curvature": _NOT_NEGATIVE,
        "feature_bound": _POSITIVE,
        "intercept": {"type": "boolean"},
        "l2": _NOT_NEGATIVE,
        "clipping": {"enum": ["none", "envelope", "plain", "uncertified"]},
        "clip": _either(_POSITIVE, _NULL),
        "projection": _either(_WORD, _NULL),
        "projection_parameters": _NAMED_NUMBERS,
        "prox": _WORD,
        "prox_parameters": _NAMED_NUMBERS,
        "features": _either(_COUNT, _NULL),
        "oversized": {"enum": ["scale", "refuse"]},
        "noise_source": _WORD,
        "private": {"type": "boolean"},
        "arithmetic": _TEXT,
        "estimator": _either(_WORD, _NULL),
        "version": _WORD,
        "date": _WORD,
    },
    optional=("prox", "prox_parameters"),
)

SCHEMA: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "urn:shiftdp:certificate:2",
    "title": "A privacy certificate of shiftdp",
    "description": "Infinities are the strings inf and -inf. Not to be trusted until verified.",
    **_object(
        {
            "format": {"const": FORMAT},
            "kind": {"enum": [CERTIFIED, CONDITIONAL]},
            "bound": _WORD,
            "mu": _either(_NOT_NEGATIVE, _INFINITE, _NULL),
            "run": _either(*_RUNS),
            "geometry": _GEOMETRY,
            "tradeoff": _TRADEOFF,
            "assumptions": _list(_object({"name": _WORD, "statement": _TEXT})),
            "proofs": _list(_either(_PROOF, _SEGMENT)),
            "training": _either(_TRAINING, _NULL),
        }
    ),
    "$defs": {"tradeoff": _either(*_TRADEOFFS), "proof": _either(*_PROOFS)},
}


def written() -> str:
    """The schema as it is published."""
    return json.dumps(SCHEMA, indent=2) + "\n"
