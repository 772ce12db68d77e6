"""Steps with Poisson batches, by the name of their pair."""

from __future__ import annotations

from shiftdp.fdp import PoissonReplaceOne, PoissonZeroOut, TradeoffFunction
from shiftdp.fdp.search.sampled_estimates import Pair

STEPS: dict[Pair, TradeoffFunction] = {
    "one_sided": PoissonZeroOut(0.05, 0.1, 0.8, swapped=True),
    "two_sided": PoissonReplaceOne(0.05, 0.1, 0.8),
}
