"""Options of an estimator that no theorem covers together, which are refused before any work.

People with several records (Theorem V4), deletion (Theorem V3) and a prox (Theorem V5) are proved
for the last iterate; checkpoints and averages (Theorem V1) and streams (Theorem V2) for one record
a person and steps without a prox.
"""

from __future__ import annotations

from typing import Any

from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.runs import has_releases, people


def refuse_unproved(model: Any, *, groups: Any = None) -> None:
    """Refuse people with several records, or a prox, together with checkpoints or an average."""
    given = next((name for name in ("checkpoints", "average") if _asks(model, name)), None)
    if given is not None:
        remedy = f"leave out {given}, or give one record of each person"
        _refuse_people(model, groups, f"with {given}={_shown(getattr(model, given))}", remedy)
        _refuse_prox(model, f"with {given}={_shown(getattr(model, given))}", given)


def refuse_stream(model: Any, groups: Any = None) -> None:
    """Refuse what streams are not proved for, in `partial_fit`."""
    remedy = (
        "use fit with groups and records_per_person, or leave both out and bring one record of "
        "each person in the whole stream"
    )
    _refuse_people(model, groups, "in partial_fit", remedy)
    _refuse_prox(model, "in partial_fit", "partial_fit")
    if model.centre is True:
        raise InvalidInput(
            "centre",
            model.centre,
            "is not covered in partial_fit: rows are centred before a run of full batches",
            "leave centre out, or use fit",
        )
    _refuse_chosen(model, "partial_fit")
    if "deletions_" in vars(model):
        raise InvalidInput(
            "partial_fit", "after forget", "is not covered by one certificate", "fit anew"
        )
    fitted = getattr(model, "plan_", None)
    if fitted is not None and people(fitted.plan.run) > 1:
        raise InvalidInput(
            "records_per_person",
            people(fitted.plan.run),
            "is that of the model to go on from, and a stream is about one record a person",
            "begin with a new model",
        )


def refuse_forgetting(model: Any) -> None:
    """Refuse to forget what more than the last iterate was released of."""
    _refuse_chosen(model, "forget")
    asked = _asks(model, "checkpoints") or _asks(model, "average")
    before = None
    if "stream_" in vars(model):
        before = "partial_fit"
    elif asked or "releases_" in vars(model) or has_releases(model.plan_.plan.run):
        before = "checkpoints or an average"
    if before is not None:
        raise InvalidInput(
            "forget",
            f"after {before}",
            "is not covered: deletion is proved where the last model alone was released",
            "train anew without the records",
        )
    if model.plan_.plan.centred:
        raise InvalidInput(
            "forget",
            "after a fit with centred rows",
            "is not covered: the centre that was learnt first has the records in it as well",
            "train anew, with a ridge such as l2=0.01, which leaves rows where they are",
        )
    if vars(model).get("_prepared", False):
        raise InvalidInput(
            "forget",
            "in a pipeline",
            "is not covered: what was learnt before the model has the records in it as well",
            "train the pipeline anew without the records",
        )


def _refuse_chosen(model: Any, verb: str) -> None:
    if "selected_" in vars(model):
        raise InvalidInput(
            verb,
            "after a search",
            "is not covered: the records count in all trials of the search, not in this one alone",
            "search anew, or fit a model with the parameters that were chosen",
        )


def _asks(model: Any, name: str) -> bool:
    return getattr(model, name, None) is not None


def _refuse_people(model: Any, groups: Any, where: str, remedy: str) -> None:
    k = model.records_per_person
    name, value = ("records_per_person", k) if k != 1 else ("groups", "<given>")
    if k != 1 or groups is not None:
        raise InvalidInput(
            name,
            value,
            f"is not covered {where}: several releases are proved for one record a person",
            remedy,
        )


def _refuse_prox(model: Any, where: str, other: str) -> None:
    if model.penalty != "l2":
        raise InvalidInput(
            "penalty",
            model.penalty,
            f"is not covered {where}: several releases are proved for steps without a prox",
            f'leave out {other}, or give penalty="l2"',
        )


def _shown(value: Any) -> Any:
    return repr(value) if isinstance(value, (str, int)) else "<several>"
