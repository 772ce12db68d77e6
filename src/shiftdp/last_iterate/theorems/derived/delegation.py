"""A theorem that rests on another one: what it hands on, and what it adds."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from typing import Any

from shiftdp.fdp import TradeoffFunction
from shiftdp.last_iterate.assumptions import Assumptions
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import Run
from shiftdp.last_iterate.theorems.proofs import Proofs
from shiftdp.last_iterate.theorems.theorem import Bound, Claim, Prospect, Theorem


class Delegated(Theorem):
    """What another theorem, the `base`, says of another run, read for this one.

    A subclass says which run and losses the base is asked about (`_base_problem`), what becomes of
    the tradeoff function (`_read`, and `_written` back), and what a certificate has to assume.
    """

    def __init__(self, base: Theorem, name: str, anchor: str, citation: str) -> None:
        self.base = base
        self.name, self.citation = name, citation
        self.anchor = anchor
        self.family = base.family
        self.contracts = base.contracts
        self.contained = base.contained
        self.proof_type = base.proof_type
        self.sampling: str | None = getattr(base, "sampling", None)

    @abstractmethod
    def _base_problem(self, run: Any, geometry: Geometry) -> tuple[Run, Geometry]:
        """What the base is asked about; `UnmetHypothesis` if there is no such run."""

    @abstractmethod
    def _assumed(self, run: Any, hypotheses: Assumptions) -> Assumptions:
        """What is assumed, given the hypotheses of the base."""

    def _read(self, f: TradeoffFunction, run: Any) -> TradeoffFunction:
        """What the function that the base gives says of the run."""
        return f

    def _written(self, f: TradeoffFunction, run: Any) -> TradeoffFunction:
        """The function of the base that is read as f; `VerificationFailed` if there is none."""
        return f

    def _own(self, bound: Bound, run: Any) -> Bound:
        return replace(bound, theorem=self, f=self._read(bound.f, run))

    def bound(self, run: Run, geometry: Geometry, delta: float) -> Bound:
        return self._own(self.base.bound(*self._base_problem(run, geometry), delta), run)

    def for_every_length(self, run: Run, geometry: Geometry, delta: float) -> Bound:
        return self._own(self.base.for_every_length(*self._base_problem(run, geometry), delta), run)

    def hypotheses(self, run: Run, geometry: Geometry, proofs: Proofs) -> Assumptions:
        asked, _ = self._base_problem(run, geometry)
        return self._assumed(run, self.base.hypotheses(asked, geometry, proofs))

    def proved(self, bound: Bound, run: Run, geometry: Geometry, *, endless: bool) -> Bound:
        asked = self._base_problem(run, geometry)
        plain = replace(bound, theorem=self.base, f=self._written(bound.f, run))
        return self._own(self.base.proved(plain, *asked, endless=endless), run)

    def rebuild(
        self, run: Run, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        f = self.base.rebuild(*self._base_problem(run, geometry), proofs, accuracy)
        return self._read(f, run)

    def check(self, claim: Claim) -> None:
        asked, losses = self._base_problem(claim.run, claim.geometry)
        f = self._written(claim.f, claim.run)
        self.base.check(Claim(asked, losses, f, claim.proofs, claim.endless))

    def prospect(self, run: Run, geometry: Geometry, delta: float, rival: float) -> Prospect:
        """Hopeless where the base is."""
        usual = super().prospect(run, geometry, delta, rival)
        if math.isinf(rival):
            return usual
        found = self.base.prospect(*self._base_problem(run, geometry), delta, rival)
        return found if found == Prospect.HOPELESS else usual

    def forgets(self, run: Run, geometry: Geometry, proofs: Proofs) -> bool:
        return self.base.forgets(*self._base_problem(run, geometry), proofs)
