"""What a bound is, and what proves it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from shiftdp.fdp import GaussianTradeoff, TradeoffFunction
from shiftdp.interpolation.shifts import Shifts
from shiftdp.last_iterate.assumptions import Assumption
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.outcomes import Visits
from shiftdp.last_iterate.theorems.sampled_shifts import StochasticProof

__all__ = ["Bound", "Family", "Proof", "Rule"]

Family = Literal["composition", "paper", "ours"]


@dataclass(frozen=True)
class Proof:
    """Shifts that prove the bound for one outcome, to be checked by anyone in O(t)."""

    visits: Visits
    weight: float
    shifts: Shifts


@dataclass(frozen=True)
class Bound:
    """A proved lower bound on the tradeoff function of a run.

    `guess` is an estimate of epsilon at the delta that the bound was made for, where it is costly
    to evaluate; it is good for choosing between bounds and for nothing else.
    """

    name: str
    family: Family
    f: TradeoffFunction
    assumptions: tuple[Assumption, ...]
    proofs: tuple[Proof | StochasticProof, ...] = ()
    guess: float | None = None

    @property
    def mu(self) -> float | None:
        """The GDP parameter, where the bound is Gaussian."""
        return self.f.mu if isinstance(self.f, GaussianTradeoff) else None


@dataclass(frozen=True)
class Rule:
    """A theorem, and how to apply it.

    `aim`, where there is one, applies it with free parameters that are best at a given delta.
    """

    name: str
    family: Family
    apply: Callable[[Any, Geometry], Bound]
    aim: Callable[[Any, Geometry, float], Bound] | None = None

    def bound(self, run: object, geometry: Geometry, delta: float) -> Bound:
        return self.apply(run, geometry) if self.aim is None else self.aim(run, geometry, delta)
