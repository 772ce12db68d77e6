"""What a certificate carries so that anybody can check it: shifts, or a theorem's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shiftdp._checks import count
from shiftdp.interpolation.shifts import Shifts
from shiftdp.last_iterate.schedules.visits import Visits

__all__ = [
    "LEAST_SPLIT",
    "MOST_SPLIT",
    "AnyProof",
    "Proof",
    "Proofs",
    "StochasticProof",
    "proof_from_dict",
]

LEAST_SPLIT, MOST_SPLIT = 1.0 + 2.0**-10, 2.0**10
"""The range of beta. Its best value lies far inside, and here nothing overflows or cancels."""


@dataclass(frozen=True)
class Proof:
    """Shifts that prove a bound for one outcome, to be checked by anyone in O(t)."""

    visits: Visits
    weight: float
    shifts: Shifts

    def to_dict(self) -> dict[str, Any]:
        visits = {name: value for name, value in vars(self.visits).items() if name != "first"}
        group = {"first": self.visits.first} if self.visits.first else {}
        return {**visits, **group, "weight": self.weight, "shifts": self.shifts.to_dict()}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Proof:
        first = count("first", data.get("first", 0))
        visits = Visits(data["pattern"], count("position", data["position"]), first)
        return Proof(visits, float(data["weight"]), Shifts.from_dict(data["shifts"]))


@dataclass(frozen=True)
class StochasticProof:
    """What proves a bound on NoisySGD: where the runs are led together, and how.

    Args:
        tau: steps that the coupled runs are left alone.
        groups: pairs (shift in units of the noise, number of steps), from step tau + 1 to t.
        split: beta of the paper's theorems, which split the noise instead; else None.
        cap: B, the largest batch that is covered under Poisson sampling; else None.
    """

    tau: int
    groups: tuple[tuple[float, int], ...] = ()
    split: float | None = None
    cap: int | None = None

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> StochasticProof:
        return StochasticProof(
            tau=count("tau", data["tau"]),
            groups=tuple((float(a), count("steps", n)) for a, n in data["groups"]),
            split=None if data["split"] is None else float(data["split"]),
            cap=None if data["cap"] is None else count("cap", data["cap"]),
        )


AnyProof = Proof | StochasticProof
Proofs = tuple[AnyProof, ...]


def proof_from_dict(data: Mapping[str, Any]) -> AnyProof:
    """The proof that `to_dict` wrote. The schema has told the two kinds apart by their fields."""
    return StochasticProof.from_dict(data) if "groups" in data else Proof.from_dict(data)
