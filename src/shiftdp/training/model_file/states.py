"""What a fitted model has beside its weights: checkpoints, a stream that goes on, a cap of records.

Checkpoints are models that were released, under the certificate of the run. A stream is resumed
under its own certificate, which does not depend on how long it was. The cap says how many records
of a person `fit` kept, which `forget` has to know.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from shiftdp._errors import InvalidInput, ShiftdpError
from shiftdp.last_iterate import Certificate, NoisyStream
from shiftdp.last_iterate.runs import has_releases
from shiftdp.last_iterate.schedules.releases import release_steps
from shiftdp.training.estimators.fitting import Checkpoint
from shiftdp.training.estimators.streams import StreamState, next_window
from shiftdp.training.model_file.archive import Damaged
from shiftdp.training.model_file.plans import read_part, write_part
from shiftdp.training.model_file.values import fields_of
from shiftdp.training.planning.planner import Planned
from shiftdp.training.planning.problem import Overrides

_STREAM = ("stream", "planned", "chosen", "windows", "charged", "before")


def write_stream(state: StreamState) -> dict[str, Any]:
    """A stream as JSON: what is run, how it was chosen, how many windows there were."""
    before = None if state.before is None else state.before.to_json()
    return {
        "stream": write_part(state.stream),
        "planned": write_part(state.planned),
        "chosen": write_part(state.chosen),
        "windows": state.windows,
        "charged": state.charged,
        "before": before,
    }


def read_stream(document: Any, planned: Planned) -> StreamState:
    """The stream whose last window had this plan; anything else is `Damaged`."""
    stream, first, chosen, windows, charged, before = fields_of(document, _STREAM)
    parts = [read_part(part) for part in (stream, first, chosen)]
    kinds = (NoisyStream, Planned, Overrides)
    good = all(isinstance(part, kind) for part, kind in zip(parts, kinds, strict=True))
    if not good or type(windows) is not int or windows < 1 or type(charged) is not bool:
        raise Damaged("has a stream that cannot be")
    try:
        certificate = None if before is None else Certificate.from_json(before)
        state = StreamState(parts[0], parts[1], parts[2], windows, charged, certificate)
        plan = planned.plan
        window = next_window(replace(state, windows=windows - 1), plan.run.n, plan.entropy)
    except (ShiftdpError, TypeError, ValueError) as error:
        raise Damaged("has a stream that cannot be") from error
    others = replace(state.planned, plan=plan)
    if others != planned or replace(window, entropy=plan.entropy) != plan:
        raise Damaged("has the stream of another model")
    return state


def written_releases(releases: tuple[Checkpoint, ...]) -> tuple[Any, ...]:
    """Checkpoints as plain tuples, which files hold."""
    return tuple(tuple(one) for one in releases)


def read_releases(found: Any, model: Any) -> tuple[Checkpoint, ...]:
    """Checkpoints in the shapes of the model, one for each release of its run."""
    run = model.plan_.plan.run
    if not isinstance(found, tuple) or not has_releases(run):
        raise Damaged("has checkpoints of which its plan knows nothing")
    good = all(isinstance(one, tuple) and len(one) == 3 for one in found)
    if not good or [one[0] for one in found] != list(release_steps(run)):
        raise Damaged("has other checkpoints than its plan releases")
    for _, coef, intercept in found:
        same = type(coef) is np.ndarray and coef.dtype.kind == "f"
        same = same and type(intercept) is type(model.intercept_)
        same = same and np.shape(coef) == model.coef_.shape
        same = same and np.shape(intercept) == np.shape(model.intercept_)
        if not same or not np.isfinite(coef).all() or not np.isfinite(intercept).all():
            raise Damaged("has checkpoints that are no models of its plan")
    return tuple(Checkpoint(*one) for one in found)


def require_cap(cap: Any) -> None:
    """Refuse a cap that is no number of records."""
    if cap is not None and (type(cap) is not int or cap < 1):
        raise Damaged("has a number of records a person that cannot be")


def refuse_forgotten(model: Any, where: str) -> None:
    """Refuse a model that `forget` has changed: it has two certificates, and a file holds one."""
    if getattr(model, "deletions_", ()):
        raise InvalidInput(
            where,
            f"<{type(model).__name__}>",
            "has forgotten records: those who stay have two certificates, and a model file holds "
            "one finished run",
            "publish coef_ and intercept_ with certificate_ and the certificates of deletions_, or "
            "fit anew",
        )
