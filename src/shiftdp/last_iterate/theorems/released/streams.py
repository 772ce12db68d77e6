"""Theorem V2: a stream, in which each record is used once and iterates are released for ever.

A record that is used in a window is in no other. Before it both runs are the same; after the
release at the end of the window nothing differs any more. So what all releases reveal of it is what
the last iterate of its window does, by Theorem B1, or by Theorem B4 where records are dealt into
the batches of a window at random.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from shiftdp.fdp import TradeoffFunction
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisyStream, Run
from shiftdp.last_iterate.schedules.visits import BatchRun
from shiftdp.last_iterate.theorems.descent import (
    ONE_OUTCOME,
    RANDOM_ORDER,
    OnDescent,
    descent_of,
)
from shiftdp.last_iterate.theorems.proofs import Proofs
from shiftdp.last_iterate.theorems.theorem import Bound, Claim, Prospect


class _TheoremV2(OnDescent):
    """What the window of a record reveals of it."""

    name = citation = "Theorem V2"
    anchor = "theorem-v2-streams"
    family = "ours"
    place = 45
    released = True
    runs = (NoisyStream,)

    def prospect(self, run: Run, geometry: Geometry, delta: float, rival: float) -> Prospect:
        return Prospect.UNBEATEN

    def _bound(self, run: BatchRun, geometry: Geometry) -> Bound:
        window: Any = run
        return replace(_of_window(run).bound(window, geometry, 1.0), theorem=self)

    def rebuild(
        self, run: Run, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        window = descent_of(run, geometry)
        return _of_window(window).rebuild(window, geometry, proofs, accuracy)

    def check(self, claim: Claim) -> None:
        window = cast(NoisyStream, claim.run).window
        _of_window(window).check(replace(claim, run=window))


def _of_window(window: BatchRun) -> OnDescent:
    """The theorem on the last iterate of a window."""
    return RANDOM_ORDER if window.order != "fixed" and window.batches > 1 else ONE_OUTCOME


THEOREMS = (_TheoremV2(),)
