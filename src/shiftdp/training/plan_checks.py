"""What a plan must be before anything runs: parts that go together, and a run that stays finite."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from shiftdp._errors import InvalidInput, UnmetHypothesis
from shiftdp.last_iterate.runs import PerStep, has_releases
from shiftdp.last_iterate.schedules.releases import release_steps
from shiftdp.training.centring import require_centrable
from shiftdp.training.losses.base import Loss

if TYPE_CHECKING:
    from shiftdp.training.plan import Plan

_MOST = 290.0  # powers of ten that parameters and scores may reach, of the 308 of a float
_NORMAL = 9.0  # no normal number of the loop is larger


def require_sound(plan: Plan) -> None:
    """Refuse a plan that no theorem covers, or whose iterates may leave the range of floats."""
    _check_prox(plan)
    if plan.centred:
        require_centrable(plan)
    _check_clipping(plan)
    _check_theorem(plan)
    _check_noise(plan)
    _check_diameter(plan)
    _check_range(plan)


def multiclass(loss: Loss) -> bool:
    """Whether it is softmax with three classes or more, where clipping has two meanings.

    >>> from shiftdp.training import Softmax
    >>> multiclass(Softmax(classes=2)), multiclass(Softmax(classes=3))
    (False, True)
    """
    return loss.outputs > 2


def require_kind(name: str, value: object, kinds: tuple[type, ...]) -> None:
    """Refuse a part that is no instance of any of these classes."""
    if not isinstance(value, kinds):
        known = ", ".join(kind.__name__ for kind in kinds)
        raise InvalidInput(name, value, "is of the wrong kind", f"give one of {known}")


def _check_prox(plan: Plan) -> None:
    """Several releases are proved for steps without a prox."""
    if plan.prox is not None and has_releases(plan.run):
        raise UnmetHypothesis(
            "prox",
            type(plan.prox).__name__,
            "is not covered with several releases: Theorem V1 is about steps without a prox",
            "give a run with releases=None, or prox=None",
        )


def _check_clipping(plan: Plan) -> None:
    if (plan.clip is None) != (plan.clipping == "none"):
        raise InvalidInput(
            "clip",
            plan.clip,
            f"does not go with clipping={plan.clipping!r}",
            'give a norm with clipping="envelope", and none without',
        )
    if plan.clipping == "uncertified" and not multiclass(plan.loss):
        raise InvalidInput(
            "clipping",
            plan.clipping,
            "is for softmax with three classes or more",
            'give "envelope", which does the same to this loss and is certified',
        )
    least = plan.loss.least_limit * plan.norm_bound
    if plan.residual_clip is not None and not plan.plainly_clipped and plan.residual_clip < least:
        raise InvalidInput(
            "clip",
            plan.clip,
            f"is too small for feature vectors of norm {plan.norm_bound:g}: the envelope "
            "cannot be computed to the accuracy that is certified",
            f"give {least:g} or more, or smaller features",
        )
    if plan.clipping == "none" and math.isinf(plan.loss.slope):
        raise UnmetHypothesis(
            "loss",
            type(plan.loss).__name__,
            "has unbounded gradients",
            'bound its residual, or give clipping="envelope" and a clip',
        )


def _check_theorem(plan: Plan) -> None:
    """Refuse bounds that need a convex loss where plain clipping leaves none."""
    if plan.clipping == "plain" and plan.plainly_clipped and plan.bounds != "composition":
        raise UnmetHypothesis(
            "clipping",
            plan.clipping,
            "of three classes or more is not the gradient of a convex function: no bound but "
            "composition covers it",
            'give bounds="composition", or clipping="envelope" for the bounds of the last iterate',
        )


def _check_noise(plan: Plan) -> None:
    """Steps may be without noise, but not one that is released: it uses records."""
    if not _last(plan.run.noise) > 0.0:
        raise UnmetHypothesis(
            "noise",
            0.0,
            "is the noise of the last step: what its records do would be released as it is",
            "give noise to the last step",
        )
    noise = plan.run.noise
    if isinstance(noise, float) or not has_releases(plan.run):
        return
    for step in release_steps(plan.run):
        if not noise[step - 1] > 0.0:
            raise UnmetHypothesis(
                "noise",
                0.0,
                f"is the noise of step {step}, after which an iterate is released: what its "
                "records do would be released as it is",
                f"give noise to step {step}",
            )


def _check_diameter(plan: Plan) -> None:
    if plan.projection is None:
        return
    if not math.isfinite(plan.projection.diameter(plan.dimension)):
        raise InvalidInput("projection", plan.projection, "is unbounded", "give a bounded set")


def _check_range(plan: Plan) -> None:
    """Parameters and scores are finite for any data: they cannot leave the range of floats.

    A step takes |w| to at most |1 - eta l2| |w| + eta (G n/b + 9 sigma), coordinate by
    coordinate, b being the least that a sum is divided by.
    """
    run = plan.run
    eta, sigma = np.asarray(run.learning_rate), np.asarray(run.noise)
    steps = 1.0 if math.isinf(run.steps) else float(run.steps)
    divisor = run.n if run.full_batches else run.batch_size if run.sampled else 1
    with np.errstate(over="ignore"):
        added = np.log10(np.max(eta)) + np.log10(
            plan.gradient_bound * (run.n / divisor) + _NORMAL * np.max(sigma)
        )
        growth = np.max(np.log10(np.maximum(1.0, np.abs(1.0 - eta * plan.l2))))
    largest = added + math.log10(steps) + steps * growth
    if not largest + max(0.0, math.log10(plan.norm_bound)) <= _MOST:
        raise InvalidInput(
            "learning_rate",
            float(np.max(eta)),
            f"may lead parameters beyond the range of floats in {run.steps} steps with "
            f"l2={plan.l2:g}",
            "give a learning rate below 2/l2, fewer steps, or less noise",
        )


def _last(value: PerStep) -> float:
    """Of numbers one a step, that of the last step."""
    return value if isinstance(value, float) else value[-1]
