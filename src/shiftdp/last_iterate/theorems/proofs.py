"""What a certificate carries so that anybody can check it, and the proofs that theorems share.

A theorem names the class of its proofs as its `proof_type`. One that is its own stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from shiftdp._checks import count
from shiftdp.interpolation.shifts import Shifts
from shiftdp.last_iterate.schedules.visits import Visits
from shiftdp.last_iterate.theorems import forms

LEAST_SPLIT, MOST_SPLIT = 1.0 + 2.0**-10, 2.0**10
"""The range of beta. Its best value lies far inside, and here nothing overflows or cancels."""


class AnyProof:
    """Base of all proofs: frozen dataclasses that are written to certificates and read from them.

    A subclass gives its `form` in JSON (see `forms`), with fields that no other proof has. Where
    these are numbers, and lists of numbers, no more is needed: they are read by the form.

    Attributes:
        form: what the published schema says of it.
        inside: whether it may be part of another proof.
    """

    form: ClassVar[forms.Schema]
    inside: ClassVar[bool] = True

    @classmethod
    def among(cls, proofs: Proofs) -> tuple[Self, ...]:
        """The proofs of this class."""
        return tuple(proof for proof in proofs if isinstance(proof, cls))

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The proof that `to_dict` wrote; the data have been held to the form."""
        return cls(**forms.typed(data, cls.form))


Proofs = tuple[AnyProof, ...]

SHIFTS = forms.fields_of(
    {
        "tau": forms.INDEX,
        "start": forms.NOT_NEGATIVE,
        "first": forms.listed(forms.COUNT, 1),
        "last": forms.listed(forms.COUNT, 1),
        "peak": forms.listed(forms.COUNT, 1),
        "amount": forms.listed(forms.NOT_NEGATIVE, 1),
        "mu": forms.MU,
    }
)


def outcome_form(**fields: forms.Schema) -> forms.Schema:
    """The form of what is proved of one outcome: its visits, its weight, and these fields."""
    known = {
        "pattern": {"enum": ["every", "final"]},
        "position": forms.INDEX,
        "first": forms.COUNT,
        "weight": forms.SHARE,
    }
    return forms.fields_of({**known, **fields}, optional=("first",))


def outcome_to_dict(visits: Visits, weight: float) -> dict[str, Any]:
    said = {name: value for name, value in vars(visits).items() if name != "first" or value}
    return {**said, "weight": weight}


def outcome_from_dict(data: Mapping[str, Any]) -> tuple[Visits, float]:
    first = count("first", data.get("first", 0))
    visits = Visits(data["pattern"], count("position", data["position"]), first)
    return visits, float(data["weight"])


@dataclass(frozen=True)
class Proof(AnyProof):
    """Shifts that prove a bound for one outcome, to be checked by anyone in O(t)."""

    visits: Visits
    weight: float
    shifts: Shifts
    form = outcome_form(shifts=SHIFTS)

    def to_dict(self) -> dict[str, Any]:
        return {**outcome_to_dict(self.visits, self.weight), "shifts": self.shifts.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        return cls(*outcome_from_dict(data), Shifts.from_dict(data["shifts"]))


@dataclass(frozen=True)
class StochasticProof(AnyProof):
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
    form = forms.fields_of(
        {
            "tau": forms.INDEX,
            "groups": forms.listed(forms.pair(forms.NOT_NEGATIVE, forms.COUNT)),
            "split": forms.either(forms.POSITIVE, forms.NULL),
            "cap": forms.either(forms.COUNT, forms.NULL),
        }
    )
