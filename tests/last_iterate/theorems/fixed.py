"""A theorem such as a user may bring, of the plainest kind."""

from __future__ import annotations

import shiftdp as sdp
from shiftdp.last_iterate import Assumption, Bound, Theorem
from shiftdp.last_iterate.runs import Run

__all__ = ["Fixed"]


class Fixed(Theorem):
    """mu, whatever the run: true of none, which is for the user to know."""

    citation = "a test"

    def __init__(
        self,
        mu: float,
        name: str = "Fixed",
        runs: tuple[type[Run], ...] = (sdp.NoisyGD, sdp.NoisySGD),
    ) -> None:
        self.mu, self.name, self.runs = mu, name, runs

    def bound(self, run: Run, geometry: sdp.Geometry, delta: float) -> Bound:
        if geometry.bounded:
            raise sdp.UnmetHypothesis("diameter", geometry.diameter, "is finite", "give none")
        return Bound(self, sdp.GaussianTradeoff(self.mu))

    def hypotheses(
        self, run: Run, geometry: sdp.Geometry, proofs: object
    ) -> tuple[Assumption, ...]:
        return (Assumption("steps", "they are as stated"),)
