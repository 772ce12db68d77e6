"""Whether rows are centred, and what part of the budget that gets, by public numbers alone.

The noise of the mean is a vector of length sqrt(d) s, in the bound on rows. Where the largest part
of the budget leaves it half as long again as rows can be, nothing is learnt of their place: the
mean is shrunk by what of it may be noise, so that a little more than their length can be borne. The
part is no larger than what makes that noise precise enough. docs/planner.md has what this reaches.
"""

from __future__ import annotations

import math

from shiftdp.fdp import GaussianTradeoff
from shiftdp.last_iterate import NoisyGD
from shiftdp.training.centring import MOST, refuse_to_centre, with_sums
from shiftdp.training.descent.batches import TrainingRun
from shiftdp.training.planning.problem import Overrides, Problem

LARGEST_PART = 0.1
"""Of mu^2, for the two sums together."""
OF_THE_MEAN = 0.8
"""Of that part; the distances get the rest."""
PRECISE = 0.03
"""Noise of the mean, in the bound on rows, below which less of it gains nothing."""
LOST = 1.5
"""The same, above which rows are left as they are."""

_FREE = ("centre", "epochs", "clip", "average", "checkpoints")
"""Choices that say nothing about whether to centre; the last two have their own rule."""


def centred_run(
    problem: Problem, chosen: Overrides, run: TrainingRun, sensitivity: float
) -> NoisyGD | None:
    """The run with the two sums, before it is calibrated; None where rows are left as they are.

    Args:
        problem: whose budget it is.
        chosen: by the user.
        run: that the planner would take.
        sensitivity: of its steps.
    """
    if not chosen.centre and (chosen.centre is not None or not _open(problem, chosen, run)):
        return None
    if not isinstance(run, NoisyGD):
        raise refuse_to_centre("batches that are not full")
    mu = GaussianTradeoff.from_budget(problem.epsilon, problem.delta).mu
    # with all of the mean's share of the budget; noise goes with 1 over its root
    noise = noise_of_mean(problem, mu * math.sqrt(LARGEST_PART * OF_THE_MEAN))
    if noise > LOST and not chosen.centre:
        return None
    part = LARGEST_PART * min(1.0, (noise / PRECISE) ** 2)
    spent = mu * math.sqrt(part / (1.0 - part))
    unit = sensitivity / (problem.n * spent)
    return with_sums(run, unit / math.sqrt(OF_THE_MEAN), unit / math.sqrt(1.0 - OF_THE_MEAN))


def noise_of_mean(problem: Problem, mu: float) -> float:
    """The length of the noise of a mean that is G(mu), in the bound on rows.

    >>> from shiftdp.training import Logistic
    >>> public = dict(n=1000, features=25, loss=Logistic(), feature_bound=2.0, delta=1e-5)
    >>> round(noise_of_mean(Problem(**public, epsilon=1.0, adjacency="zero_out"), mu=0.05), 3)
    0.1
    """
    apart = 1.0 if problem.adjacency == "zero_out" else 2.0
    return math.sqrt(problem.features) * apart / (problem.n * mu)


def _open(problem: Problem, chosen: Overrides, run: TrainingRun) -> bool:
    """Whether it is the planner's choice, and a run that can be centred."""
    given = (name for name in vars(chosen) if name not in _FREE)
    fixed = [name for name in given if getattr(chosen, name) is not None]
    ours = fixed in ([], ["algorithm"]) and not chosen.releases
    return ours and run.full_batches and problem.intercept and problem.n <= MOST
