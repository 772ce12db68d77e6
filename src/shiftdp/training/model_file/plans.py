"""Plans as JSON: each class by its name in a closed list, with exactly the fields that it has.

A class that gets another field makes another format: raise the number in `FORMAT` then, and say
here what files without the field mean; or list it in `_LATER` with what it is in them.

Whether a certificate is that of a plan is asked here too.
"""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass, replace
from typing import Any

from shiftdp._checks import LEAST_DELTA
from shiftdp._errors import InvalidInput, ShiftdpError
from shiftdp.last_iterate import Certificate, NoisyCGD, NoisyGD, NoisySGD, NoisyStream
from shiftdp.last_iterate.assumptions import seeded_noise
from shiftdp.training.descent.entropy import Aes, Seeded, System
from shiftdp.training.descent.projection import Ball, Box, Simplex
from shiftdp.training.descent.proximal import L1, ElasticNet
from shiftdp.training.losses.scalar import ClippedSquared, Huber, Logistic, SmoothedHinge
from shiftdp.training.losses.softmax import Softmax
from shiftdp.training.losses.weighted import Weighted
from shiftdp.training.model_file.archive import Damaged
from shiftdp.training.plan import Plan
from shiftdp.training.planning.planner import Planned
from shiftdp.training.planning.problem import Overrides, Problem
from shiftdp.training.planning.utility import Prediction

_CLASSES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        Planned, Problem, Plan, Prediction,
        NoisyGD, NoisyCGD, NoisySGD, NoisyStream, Overrides,
        Logistic, SmoothedHinge, Huber, ClippedSquared, Softmax, Weighted,
        Ball, Box, Simplex, L1, ElasticNet,
        System, Aes, Seeded,
    )
}  # fmt: skip
_LATER: dict[str, dict[str, Any]] = {"Plan": {"centred": False}, "Overrides": {"centre": False}}
"""Fields that are written only where they have another value: files from before lack them."""
_DEEPEST = 10  # levels of a plan within a plan: more than there are, and few enough to recurse
_MOST_STEPS, _MOST_BATCHES = 10**10, 10**7  # beyond, no such run ends, and its proof is too long


def write_plan(planned: Planned) -> Any:
    """A plan with what was expected of it, as JSON."""
    _require_size(planned)
    return _written(planned)


def write_part(value: Any) -> Any:
    """A part of a stream: one of the known classes, as JSON."""
    return _written(value)


def read_part(document: Any) -> Any:
    """What `write_part` wrote; anything else is `Damaged`."""
    try:
        part = _read(document)
        # constructors turn 10.0 into 10: what was written is what they made
        same = repr(_written(part)) == repr(document)
    except InvalidInput as error:
        raise Damaged(f"has a plan that cannot be ({error})") from error
    except (TypeError, ValueError, ArithmeticError) as error:
        raise Damaged("has a plan that cannot be") from error
    if not same:
        raise Damaged("has a plan that contradicts itself")
    return part


def read_plan(document: Any, *, window: bool = False) -> Planned:
    """The plan that `write_plan` wrote; anything else is `Damaged`.

    That of a window of a stream may have another number of records than the stream began with.
    """
    planned = read_part(document)
    if not isinstance(planned, Planned):
        raise Damaged("has no plan")
    kinds = {
        "problem": Problem,
        "plan": Plan,
        "prediction": Prediction,
        "reasons": dict,
        "others": dict,
    }
    if any(not isinstance(getattr(planned, name), kind) for name, kind in kinds.items()):
        raise Damaged("has a plan that cannot be")
    try:
        _require_size(planned)
    except InvalidInput as error:
        raise Damaged(f"has a plan that cannot be ({error})") from error
    if not _agree(planned, window):
        raise Damaged("has a plan that contradicts itself")
    return planned


def _agree(planned: Planned, window: bool) -> bool:
    """Whether the problem is that of the plan, and everything beside them of its kind."""
    problem, plan = planned.problem, planned.plan
    common = ("loss", "feature_bound", "adjacency", "intercept", "features")
    return (
        all(getattr(problem, name) == getattr(plan, name) for name in common)
        and (window or problem.n == plan.run.n)
        and problem.delta >= LEAST_DELTA  # at which the statement of the model is made
        and all(isinstance(text, str) for pair in planned.reasons.items() for text in pair)
        and all(isinstance(part, Prediction) for part in planned.others.values())
        and all(
            isinstance(number, float)
            for part in (planned.prediction, *planned.others.values())
            for number in vars(part).values()
        )
    )


def _require_size(planned: Planned) -> None:
    run = planned.plan.run
    batches = run.batches if run.in_turn else 1
    if run.steps > _MOST_STEPS or batches > _MOST_BATCHES:
        raise InvalidInput(
            "plan", type(run).__name__, "has more steps than can be run", "give fewer batches"
        )


def _written(value: Any) -> Any:
    if is_dataclass(value) and _CLASSES.get(type(value).__name__) is type(value):
        name = type(value).__name__
        found = {field.name: getattr(value, field.name) for field in fields(value)}
        for later, usual in _LATER.get(name, {}).items():
            if found[later] == usual:
                del found[later]
        return {"class": name, **{key: _written(item) for key, item in found.items()}}
    if isinstance(value, tuple):
        return [_written(item) for item in value]
    if isinstance(value, dict):
        return {"pairs": [[key, _written(item)] for key, item in value.items()]}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise InvalidInput(
        "plan_", f"<{type(value).__name__}>", "is not known to model files", "fit the model again"
    )


def _read(value: Any, depth: int = 0) -> Any:
    if depth > _DEEPEST:
        raise Damaged("is nested too deeply")
    if isinstance(value, list):
        return tuple(_read(item, depth + 1) for item in value)
    if not isinstance(value, dict):
        return value
    if list(value) == ["float"] and value["float"] in ("inf", "-inf"):
        return float(value["float"])
    if list(value) == ["pairs"] and isinstance(value["pairs"], list):
        found = {}
        for pair in value["pairs"]:
            if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
                raise Damaged("has a plan that cannot be")
            found[pair[0]] = _read(pair[1], depth + 1)
        return found
    kind = _CLASSES.get(str(value.get("class")))
    later = _LATER.get(str(value.get("class")), {})
    names = [] if kind is None else [field.name for field in fields(kind)]
    expected = [name for name in names if name not in later or name in value]
    if kind is None or list(value) != ["class", *expected]:
        raise Damaged("has a plan with fields that are missing, or not expected")
    parts = {name: _read(item, depth + 1) for name, item in value.items() if name != "class"}
    return kind(**parts)


def require_match(plan: Plan, certificate: Certificate, stream: NoisyStream | None = None) -> None:
    """Refuse a certificate that is not of the plan's run, or that does not prove what it states.

    Nothing is derived anew, as the work of that is not bounded: a plan can be made whose bound
    takes gigabytes to find. What the certificate says of run, losses and training is compared with
    the plan, and then its proof is checked, which takes time in proportion to its length. A
    certificate of a looser bound than the best is accepted: what it states is proved.

    Args:
        plan: of the model.
        certificate: beside it in the file.
        stream: of which the plan is a window, and which is what was certified then.
    """
    if (
        certificate.run != (plan.run if stream is None else stream)
        or certificate.geometry != plan.geometry
    ):
        raise Damaged("has the certificate of another run than its model's")
    stamped = seeded_noise() in certificate.assumptions
    if stamped is plan.entropy.private:
        raise Damaged("has a certificate that does not say whether the run is private")
    training = certificate.training
    if training is None or training.unsigned() != plan.training_record().unsigned():
        raise Damaged("has a certificate of another training than its model's")
    if plan.clipping == "uncertified" and plan.plainly_clipped:
        raise Damaged("has a plan that no certificate covers")
    # what the same run would prove with the entropy of the operating system
    others = tuple(item for item in certificate.assumptions if item != seeded_noise())
    if stamped:
        training = replace(training, noise_source=System.__name__, private=True)
    unstamped = replace(certificate, assumptions=others, training=training)
    try:
        unstamped.verify()
    except ShiftdpError as error:
        raise Damaged("has a certificate that does not hold for its plan") from error
