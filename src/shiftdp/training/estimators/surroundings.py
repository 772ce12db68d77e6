"""What stands around a fit that is under way, and learns from the same records without paying.

A private estimator is handed a matrix and cannot see that a scaler made it, or that it is one of
twenty fits of a search. But scikit-learn is on the call stack then, and its objects can be asked.
This is how a warning comes about and nothing else: no guarantee rests on it, and what is not found
(a scaler that was applied by hand before) is as uncovered as ever.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from types import FrameType
from typing import Any

PAYS = "_pays_for_its_steps"
"""An attribute of pipelines that answer for everything around their steps themselves."""

_CROSS_VALIDATION = frozenset({"_fit_and_score", "_fit_and_predict", "_permutation_test_score"})
"""What cross-validation calls for each fit, all of it in `sklearn.model_selection._validation`."""
_INSIDE = ("sklearn.", "shiftdp.", "joblib.")
_TOLD = "_told_of_leaks"  # an attribute of what makes many fits: the call that was warned of
_SHAPE = ("n_features_in_", "feature_names_in_", "_sklearn_output_config")


class PrivacyLeakWarning(UserWarning):
    """Something that is released was read off the data, and is not covered by the certificate."""


def uncovered(charged: bool, *, beyond: object = None) -> tuple[str, ...]:
    """What around the fit that calls this is not covered by its certificate.

    Args:
        charged: whether fits are charged to a ledger: then several of them are no leak.
        beyond: a pipeline that asks for itself: what stands around it is looked for.
    """
    found: dict[str, None] = {}
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith(("sklearn.", "shiftdp.")):
            owner = frame.f_locals.get("self")
            if owner is not beyond and getattr(type(owner), PAYS, False):
                break
            if owner is not None and owner is beyond:
                frame = frame.f_back
                continue
            found.update(dict.fromkeys(_around(frame, owner, charged)))
        frame = frame.f_back
    return tuple(found)


def _around(frame: FrameType, owner: Any, charged: bool) -> Iterator[str]:
    module, function = frame.f_globals.get("__name__", ""), frame.f_code.co_name
    validating = module == "sklearn.model_selection._validation" and function in _CROSS_VALIDATION
    if validating and not charged:
        yield (
            "each fit of a cross-validation is a release, and so is each score: give a ledger=... "
            "that is charged for the fits"
        )
    if not str(module).startswith("sklearn.") or owner is None:
        return
    from sklearn.base import BaseEstimator
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.pipeline import Pipeline

    name = type(owner).__name__
    if isinstance(owner, Pipeline):
        for step in learnt_before(owner):
            yield f"the step {step} was fitted to the records, and what it learnt has no noise"
    elif isinstance(owner, CalibratedClassifierCV):
        yield f"{name} fits its calibration to the records, without noise"
    elif isinstance(owner, BaseEstimator) and hasattr(owner, "fit") and not charged:
        if hasattr(owner, "best_index_") or hasattr(owner, "cv"):
            yield f"{name} fits several models, each a release, and chooses by scores without noise"
        else:
            yield f"{name} fits a model that others are chosen or combined by"


def learnt_before(pipeline: Any) -> list[str]:
    """The steps of a pipeline that were fitted to data without noise, by their names.

    Steps inside of pipelines, unions and column transformers are asked too. Of a class that is not
    known, a step has learnt from data if `fit` has set anything but shape and names.
    """
    from shiftdp.training.model_file.transformers import learnt_steps, listed, steps_inside

    found = learnt_steps(pipeline)
    for name, step in pipeline.steps[:-1]:
        for inner, part in ((name, step), *steps_inside(step)):
            own = type(part).__module__.startswith("shiftdp.")
            if part is None or isinstance(part, str) or own or listed(part) is not None:
                continue
            parameters = part.get_params(deep=False) if hasattr(part, "get_params") else {}
            if set(getattr(part, "__dict__", ())) - {*parameters, *_SHAPE}:
                found.append(f"{inner} ({type(part).__name__})")
    return list(dict.fromkeys(found))


def warn_of(leaks: tuple[str, ...]) -> None:
    """One warning for all of it, at the line outside of scikit-learn where it comes from; and once
    for a search or a cross-validation, however many fits it makes."""
    if not leaks:
        return
    level, frame = 2, sys._getframe(1)
    call, asker = 0, None  # the outermost call that makes several fits, and what it is a call of
    while frame.f_back is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if not module.startswith(_INSIDE):
            break
        owner = frame.f_locals.get("self")
        if module == "sklearn.utils.parallel" or (
            module.startswith("sklearn.") and hasattr(owner, "cv")
        ):
            call, asker = id(frame), owner
        level, frame = level + 1, frame.f_back
    known = getattr(asker, "__dict__", {})
    if known.get(_TOLD) == call:
        return
    known[_TOLD] = call
    warnings.warn(
        f"the certificate does not cover everything that was learnt: {'; '.join(leaks)}. "
        "Within a budget, PrivateTableEncoder in a PrivatePipeline prepares tables, "
        "PrivateSearchCV chooses parameters, and private_score measures",
        PrivacyLeakWarning,
        stacklevel=level,
    )
