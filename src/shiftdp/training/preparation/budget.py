"""How the budget of a pipeline is split between what prepares the table and the model.

The rule: an encoder that has something to learn gets G(mu_e) with mu_e^2 = share mu^2, G(mu) being
the Gaussian guarantee that the whole budget stands for, and a tenth of delta for names of
categories if any are learnt. If all that it learns is means and deviations, it gets a tenth of
mu^2 at most, and no more than makes their noise a hundredth of the number of records. The model
gets what is left: the largest epsilon at which the *product* of the two tradeoff functions,
computed exactly, is (epsilon, delta)-DP. Nothing to learn, nothing to pay: the model then gets all
of it.

A range that is declared without a scale may hold entries that are all in a small part of it, near
to a constant. In a pipeline such columns are standardised, unless the noise of their moments would
be above 6% of the number of records: then they are scaled by their ranges, for nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from shiftdp._errors import InvalidInput
from shiftdp._rounding import AMPLE
from shiftdp.fdp import GaussianTradeoff, TradeoffFunction
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.privacy.noisy_sums import noise_for
from shiftdp.training.preparation.layout import Layout, Share

_TRIES = 8  # each comes closer by the part that the one before was off
PRECISE = 0.01
"""Noise of moments, as a part of the number of records, below which less of it gains nothing."""
MOMENTS_PART = 0.1
"""The part of mu^2 that an encoder gets at most, if it learns nothing but moments."""
LARGEST_OF_MOMENTS = 0.06
"""The same, above which ranges that are declared are not standardised: docs/tables.md."""
_ROOM = 1.0 - 1e-6  # a little below what is aimed at, so that few tries are needed


def encoder_share(
    encoder: Any, layout: Layout, pipeline: Any, n: int, adjacency: Adjacency
) -> Share:
    """What an encoder in a pipeline may cost: its own epsilon if it has one, else a share."""
    names = layout.learns_names
    whole = Share.of_budget(pipeline.epsilon, pipeline.delta, names=names)
    if encoder.epsilon is None:
        part = pipeline.share
        if all(kind == "moments" for _, kind in layout.parts):
            part = min(part, MOMENTS_PART, _precise_part(layout, whole, n, adjacency))
        return Share.of_budget(pipeline.epsilon, pipeline.delta, names=names, part=part)
    own = Share.of_budget(encoder.epsilon, min(encoder.delta, pipeline.delta), names=names)
    if own.mu >= whole.mu:
        raise InvalidInput(
            "epsilon", encoder.epsilon,
            f"of the encoder leaves nothing of the pipeline's {pipeline.epsilon:g} to the model",
            "give the encoder less, or None for a share",
        )  # fmt: skip
    return own


def _precise_part(layout: Layout, whole: Share, n: int, adjacency: Adjacency) -> float:
    """The part of mu^2 with which moments have a noise of `PRECISE`."""
    # noise goes with the root of the number of sums, and with 1 over the root of the part
    alone = noise_for("moments", n, adjacency, whole.mu)
    return len(layout.parts) * (alone / (PRECISE * n)) ** 2


def layout_in_pipeline(
    layout: Layout, encoder: Any, pipeline: Any, n: int, adjacency: Adjacency
) -> Layout:
    """The layout in which declared ranges are standardised, if the budget is enough for that.

    An encoder with an epsilon of its own spends it on what its schema says, and on nothing else.

    Args:
        layout: by the schema.
        encoder: of the pipeline.
        pipeline: whose budget it is.
        n: how many records there are.
        adjacency: which data sets are neighbours.
    """
    standardised = layout.standardised
    if encoder.epsilon is not None or standardised == layout:
        return layout
    share = encoder_share(encoder, standardised, pipeline, n, adjacency)
    sums = standardised.sums(share, n, adjacency)
    noise = next(one.noise for one in sums if one.kind == "moments")
    return standardised if noise <= LARGEST_OF_MOMENTS * n else layout


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
