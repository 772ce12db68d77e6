"""What a certificate carries so that anybody can check it: shifts, or a theorem's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shiftdp._checks import count
from shiftdp.interpolation.bucket.chain import BucketGrid
from shiftdp.interpolation.participation.law import Grid
from shiftdp.interpolation.participation.sticks import Sticks
from shiftdp.interpolation.shifts import Shifts
from shiftdp.last_iterate.schedules.visits import Visits

LEAST_SPLIT, MOST_SPLIT = 1.0 + 2.0**-10, 2.0**10
"""The range of beta. Its best value lies far inside, and here nothing overflows or cancels."""


@dataclass(frozen=True)
class Proof:
    """Shifts that prove a bound for one outcome, to be checked by anyone in O(t)."""

    visits: Visits
    weight: float
    shifts: Shifts

    def to_dict(self) -> dict[str, Any]:
        visits = _written(self.visits)
        return {**visits, "weight": self.weight, "shifts": self.shifts.to_dict()}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Proof:
        return Proof(_visits(data), float(data["weight"]), Shifts.from_dict(data["shifts"]))


@dataclass(frozen=True)
class ReleasesProof:
    """Shifts that prove a bound for one outcome of a run with several releases. Theorem V1.

    `segments` has shifts for each of `segments_of(run)`, in their order.
    """

    visits: Visits
    weight: float
    segments: tuple[Shifts, ...]

    def to_dict(self) -> dict[str, Any]:
        shifts = [part.to_dict() for part in self.segments]
        return {**_written(self.visits), "weight": self.weight, "segments": shifts}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> ReleasesProof:
        parts = tuple(Shifts.from_dict(part) for part in data["segments"])
        return ReleasesProof(_visits(data), float(data["weight"]), parts)


@dataclass(frozen=True)
class SegmentProof:
    """What proves a bound on a segment that is a run by itself: a theorem, by name, and its proofs.

    Theorem V1 for batches that are drawn afresh in each segment; one for each of
    `segments_of(run)`, in their order.
    """

    theorem: str
    proofs: tuple[Any, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"theorem": self.theorem, "proofs": [proof.to_dict() for proof in self.proofs]}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> SegmentProof:
        return SegmentProof(str(data["theorem"]), tuple(map(proof_from_dict, data["proofs"])))


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


@dataclass(frozen=True)
class HiddenProof:
    """What proves a bound by Theorem B7: a law that dominates mu(V), and how it was found.

    Args:
        mu: the values of the law, rising.
        weight: their probabilities.
        revealed: whether the bound is the one that holds even if the pattern is told.
        contracting: whether the contraction of the steps was used; else 1 stands in for it.
        followed: of how many last steps the participation was followed: all, or those since when
            the runs were apart by the diameter at most [Lemma C4], or by a line [Theorem C6].
        grid: on which it was computed, and can be again; None where mu(V) is as good as 0.
        tail: the delta for which it was: rarer things were not told apart.
        cap: B, the largest batch that is covered where batches have random sizes; else None.
    """

    mu: tuple[float, ...]
    weight: tuple[float, ...]
    revealed: bool
    contracting: bool
    followed: int
    grid: Grid | Sticks | None
    tail: float
    cap: int | None = None

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "grid": None if self.grid is None else vars(self.grid)}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> HiddenProof:
        return HiddenProof(
            mu=tuple(map(float, data["mu"])),
            weight=tuple(map(float, data["weight"])),
            revealed=bool(data["revealed"]),
            contracting=bool(data["contracting"]),
            followed=count("followed", data["followed"]),
            grid=None if data["grid"] is None else _grid(data["grid"]),
            tail=float(data["tail"]),
            cap=None if data["cap"] is None else count("cap", data["cap"]),
        )


@dataclass(frozen=True)
class PrefixProof:
    """What proves a bound by Theorem B6: a law that dominates the bucket, and what follows it.

    Distances are in units of the noise that the last step adds to the iterate.

    Args:
        tau: steps of the prefix.
        rate: what step k pays at most is rate * c_{k+1} ... c_tau * sd_k^2.
        values: of the law of the bucket after tau steps, rising.
        weights: their probabilities.
        grid: on which it was computed, and can be again.
        groups: shifts for a distance of 1 at tau, in units of the noise of each step, and number of
            steps, from step tau + 1 to t.
        accuracy: to which the steps after tau are composed.
        cap: B, the largest batch that is covered where batches have random sizes; else None.
    """

    tau: int
    rate: float
    values: tuple[float, ...]
    weights: tuple[float, ...]
    grid: BucketGrid
    groups: tuple[tuple[float, int], ...]
    accuracy: float
    cap: int | None = None

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "grid": vars(self.grid)}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> PrefixProof:
        grid = data["grid"]
        blocks = tuple(count("blocks", item) for item in grid["blocks"])
        return PrefixProof(
            tau=count("tau", data["tau"]),
            rate=float(data["rate"]),
            values=tuple(map(float, data["values"])),
            weights=tuple(map(float, data["weights"])),
            grid=BucketGrid(float(grid["mesh"]), count("cells", grid["cells"]), blocks),
            groups=tuple((float(a), count("steps", n)) for a, n in data["groups"]),
            accuracy=float(data["accuracy"]),
            cap=None if data["cap"] is None else count("cap", data["cap"]),
        )


def _written(visits: Visits) -> dict[str, Any]:
    return {name: value for name, value in vars(visits).items() if name != "first" or value}


def _visits(data: Mapping[str, Any]) -> Visits:
    first = count("first", data.get("first", 0))
    return Visits(data["pattern"], count("position", data["position"]), first)


def _grid(data: Mapping[str, Any]) -> Grid | Sticks:
    if "mesh" in data:
        cells = count("cells", data["cells"])
        return Sticks(float(data["mesh"]), cells, float(data["tilt"]), float(data["last"]))
    return Grid(
        starts=tuple(count("starts", item) for item in data["starts"]),
        unit=float(data["unit"]),
        tick=float(data["tick"]),
        values=count("values", data["values"]),
        cap=count("cap", data["cap"]),
        slopes=tuple(count("slopes", item) for item in data["slopes"]),
        cell=float(data["cell"]),
        cells=count("cells", data["cells"]),
    )


AnyProof = Proof | StochasticProof | HiddenProof | PrefixProof | ReleasesProof | SegmentProof
Proofs = tuple[AnyProof, ...]


def proof_from_dict(data: Mapping[str, Any]) -> AnyProof:
    """The proof that `to_dict` wrote. The schema has told the kinds apart by their fields."""
    if "revealed" in data:
        return HiddenProof.from_dict(data)
    if "rate" in data:
        return PrefixProof.from_dict(data)
    if "theorem" in data:
        return SegmentProof.from_dict(data)
    if "segments" in data:
        return ReleasesProof.from_dict(data)
    return StochasticProof.from_dict(data) if "groups" in data else Proof.from_dict(data)
