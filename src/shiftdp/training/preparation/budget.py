"""How the budget of a pipeline is split between what prepares the table and the model.

The rule: an encoder that has something to learn gets G(mu_e) with mu_e^2 = share mu^2, G(mu) being
the Gaussian guarantee that the whole budget stands for, and a tenth of delta for names of
categories if any are learnt. The model gets what is left: the largest epsilon at which the
*product* of the two tradeoff functions, computed exactly, is (epsilon, delta)-DP. Nothing to learn,
nothing to pay: the model then gets all of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from shiftdp._errors import InvalidInput
from shiftdp._rounding import AMPLE
from shiftdp.fdp import GaussianTradeoff, TradeoffFunction
from shiftdp.training.preparation.layout import Layout, Share

_TRIES = 8  # each comes closer by the part that the one before was off
_ROOM = 1.0 - 1e-6  # a little below what is aimed at, so that few tries are needed


def encoder_share(encoder: Any, layout: Layout, pipeline: Any) -> Share:
    """What an encoder in a pipeline may cost: its own epsilon if it has one, else a share."""
    names = layout.learns_names
    if encoder.epsilon is None:
        return Share.of_budget(pipeline.epsilon, pipeline.delta, names=names, part=pipeline.share)
    own = Share.of_budget(encoder.epsilon, min(encoder.delta, pipeline.delta), names=names)
    whole = Share.of_budget(pipeline.epsilon, pipeline.delta, names=names)
    if own.mu >= whole.mu:
        raise InvalidInput(
            "epsilon", encoder.epsilon,
            f"of the encoder leaves nothing of the pipeline's {pipeline.epsilon:g} to the model",
            "give the encoder less, or None for a share",
        )  # fmt: skip
    return own


def aims(
    preparation: TradeoffFunction, epsilon: float, delta: float
) -> Iterator[Callable[[float], float]]:
    """Epsilons to try for the model, each a function of what the one before made together.

    The first is exact where the model is Gaussian: mu^2 of the budget, with the failures taken off
    its delta, less mu^2 of the preparation. The next ones take the model for the Gaussian that,
    with the preparation, costs what was seen, and make it smaller by the part it was off.
    """
    base, failure = preparation.split_failure()
    used = base.gdp_mu or 0.0
    if failure >= delta:
        raise InvalidInput(
            "delta", delta, f"is not above {failure:.3g}, with which names of categories fail",
            "declare the categories, or give a larger delta",
        )  # fmt: skip
    left = (delta - failure) / (1.0 - failure)

    def gaussian_left(spent: float) -> float:
        """mu of a Gaussian that makes this epsilon, together with the preparation."""
        whole = GaussianTradeoff.from_budget(spent, left).mu
        return math.sqrt(max(whole * whole - used * used, 0.0)) * (1.0 - AMPLE)

    wanted = mu = gaussian_left(epsilon)
    first = epsilon if used == 0.0 and failure == 0.0 else _epsilon(mu, delta)
    aim = first

    def next_aim(spent: float) -> float:
        nonlocal aim, mu
        mu *= _ROOM * wanted / gaussian_left(spent)
        aim = min(_epsilon(mu, delta), aim * _ROOM)
        return aim

    yield lambda _: first
    for _ in range(_TRIES - 1):
        yield next_aim


def _epsilon(mu: float, delta: float) -> float:
    found = GaussianTradeoff(mu).epsilon(delta) * (1.0 - AMPLE)
    if found > 0.0:
        return found
    raise InvalidInput(
        "share", "<share>", f"leaves the model less than any epsilon has at delta={delta:g}",
        "give less to the encoder, or a smaller delta",
    )  # fmt: skip
