"""What was known of a deletion before Theorem V3: the Renyi bound of [CWCL24], for `compare`."""

from __future__ import annotations

import math
from typing import Any

from shiftdp._errors import UnmetHypothesis
from shiftdp.interpolation.closed_forms.renyi_deletion import renyi_deletion_cyclic
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisyCGD, Unlearning, people


def deletion_rho(run: Unlearning, geometry: Geometry) -> float:
    """rho of [CWCL24, cyclic], with (alpha, rho alpha)-RDP for every alpha > 1.

    Full batches are one batch an epoch. It is stated for one record, for equal steps in training
    and after it, and for whole epochs of equal batches in one order.

    >>> training = NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)
    >>> geometry = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
    >>> round(deletion_rho(Unlearning(training=training, further_epochs=50), geometry), 4)
    0.3726
    """
    training = run.training
    if not training.in_turn:
        raise _uncovered("training", type(training).__name__, "is not")
    _require_stated(run, geometry)
    eta, sigma = training.learning_rate, training.noise
    if not (isinstance(eta, float) and isinstance(sigma, float)) or (eta, sigma) != (
        run.learning_rate,
        run.noise,
    ):
        raise _uncovered("learning_rate, noise", "<several>", "are not equal in all steps, and not")
    if not training.full_batches:
        _require_epochs(training)
    return renyi_deletion_cyclic(
        geometry.contraction(eta),
        eta * geometry.sensitivity / training.largest_batch,
        eta * sigma,
        batches=training.batches,
        epochs=training.steps / training.batches,
        further_steps=run.further_steps,
    )


def _require_stated(run: Unlearning, geometry: Geometry) -> None:
    odd: dict[str, Any] = {
        "further_steps": run.further_steps if run.further_steps == 0 else None,
        "records": run.records if run.records > 1 else None,
        "records_per_person": people(run.training) if people(run.training) > 1 else None,
        "later_requests": f"<{len(run.later_requests)}>" if run.later_requests else None,
        "grid": run.grid or None,
        "prox_convexity": geometry.prox_convexity or None,
    }
    for name, value in odd.items():
        if value is not None:
            raise _uncovered(name, value, "is not")


def _require_epochs(training: NoisyCGD) -> None:
    if training.order == "reshuffled":
        raise _uncovered("order", training.order, "is not")
    if math.isfinite(training.steps) and training.steps % training.batches:
        raise _uncovered("steps", training.steps, "does not make whole epochs, and is not")
    if training.divisor_of(training.batches) != training.batch_size:
        raise _uncovered(
            "batch_size", training.batch_size, "leaves a smaller last batch, and is not"
        )


def _uncovered(name: str, value: Any, problem: str) -> UnmetHypothesis:
    return UnmetHypothesis(name, value, f"{problem} covered by [CWCL24]", "use Theorem V3")
