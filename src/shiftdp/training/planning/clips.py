"""How gradients may be clipped: the norms that the planner compares, and what each costs.

A record that pulls with less than the largest gradient at the start needs less noise if gradients
are clipped below; but then records that are told wrongly count too little for good, and scores
become too sure of themselves. What noise saves is seen by the reference problem; what is lost for
good is a share of what is learnt (docs/planner.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from shiftdp._checks import DATA_GREATEST, DATA_LEAST, magnitude
from shiftdp.training.losses.base import Loss
from shiftdp.training.losses.softmax import Softmax
from shiftdp.training.plan import Clipping
from shiftdp.training.planning.problem import Overrides, Problem
from shiftdp.training.planning.utility import Reference

__all__ = ["Clip", "clipping_under", "clips"]

_OF_ONE_SCORE = {0.25: 0.07, 0.35: 0.04, 0.5: 0.03, 1.0: 0.005, math.inf: 0.0}
"""Clips, in what a record pulls with at the start, and what they cost for good, as a share of what
is learnt. Set so that the smallest is taken where little is learnt, none where nearly all is."""

_OF_CLASSES = {0.25: 0.07, 0.5: 0.03, 1.0: 0.005, math.inf: 0.0}
"""The same for several classes: the largest score counts, by however little it is larger."""


@dataclass(frozen=True)
class Clip:
    """One way of clipping, and what is expected of it.

    Args:
        clipping: `none`, or `envelope`.
        norm: that gradients are clipped to.
        sensitivity: what one record can change a sum of gradients by.
        reference: the problem that runs with this clip are tried on.
    """

    clipping: Clipping
    norm: float | None
    sensitivity: float
    reference: Reference


def clips(problem: Problem, chosen: Overrides) -> list[Clip]:
    """Those that are compared: the user's; else none, and those that could save noise.

    >>> from shiftdp.training import Logistic
    >>> problem = Problem(
    ...     n=10,
    ...     features=3,
    ...     loss=Logistic(),
    ...     feature_bound=1.0,
    ...     intercept=False,
    ...     epsilon=1,
    ...     delta=0.1,
    ... )
    >>> found = clips(problem, Overrides())
    >>> [clip.norm for clip in found]
    [0.125, 0.175, 0.25, 0.5, None]
    >>> [round(clip.reference.slope, 3) for clip in found]
    [0.109, 0.144, 0.188, 0.25, 0.25]
    """
    loss, R = problem.loss, problem.norm_bound
    if chosen.clip is not None:
        if chosen.clip == math.inf:
            return [_clip(problem, None, 0.0)]
        return [_clip(problem, magnitude("clip", chosen.clip, DATA_LEAST, DATA_GREATEST), 0.0)]
    if loss.initial_residual >= loss.slope:
        return [_clip(problem, None, 0.0)]
    found = []
    costs = _OF_CLASSES if loss.outputs > 1 else _OF_ONE_SCORE
    for share, cost in costs.items():
        norm = share * loss.initial_residual * R
        found.append(_clip(problem, norm if norm < loss.slope * R else None, cost))
    return found


def _clip(problem: Problem, norm: float | None, cost: float) -> Clip:
    loss, R = problem.loss, problem.norm_bound
    bound = loss.slope * R if norm is None else min(norm, loss.slope * R)
    return Clip(
        clipping="none" if norm is None else "envelope",
        norm=norm,
        sensitivity=bound * (1.0 if problem.adjacency == "zero_out" else 2.0),
        reference=Reference(
            directions=problem.features + problem.intercept,
            norm_bound=R,
            slope=_average(bound / R, loss.initial_residual),
            curvature=loss.curvature,
            reach=loss.good_score,
            outputs=loss.outputs,
            clipping=cost,
        ),
    )


def _average(limit: float, start: float) -> float:
    """A residual that falls evenly from `start` to 0, on average, if it counts as `limit` at most.

    >>> _average(0.25, 0.5), _average(1.0, 0.5)
    (0.1875, 0.25)
    """
    limit = min(limit, start)
    return limit - limit * limit / (2.0 * start)


def clipping_under(clip: Clip, loss: Loss, composed: bool) -> Clipping:
    """Plain clipping of several classes is quicker, and composition asks for no convexity."""
    several = isinstance(loss, Softmax) and loss.classes > 2
    return "plain" if clip.clipping == "envelope" and several and composed else clip.clipping
