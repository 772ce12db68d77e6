"""The theorems that a certificate may name, and what each asks for.

A certificate names its theorem by one of these strings, letter for letter. Nothing is read off the
form of a name: what is not in the table is no theorem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shiftdp._errors import InvalidInput

__all__ = ["THEOREMS", "Theorem", "theorem_of"]

Proven = Literal["formula", "shifts", "groups", "split"]


@dataclass(frozen=True)
class Theorem:
    """One theorem by name.

    Args:
        name: as it stands in certificates.
        by: what a certificate carries to prove it: nothing (its `formula` is evaluated again),
            `shifts` for each outcome, `groups` of equal shifts, or a `split` of the noise.
        contracts: whether it asks that a step is Lipschitz; composition does not.
        projects: whether it makes use of a bounded set, where there is one.
    """

    name: str
    by: Proven
    contracts: bool = True
    projects: bool = True


_ALL = (
    Theorem("Thm gd (composition)", "formula", contracts=False, projects=False),
    Theorem("Thm mgd (composition)", "formula", contracts=False, projects=False),
    Theorem("Thm gd-sc", "shifts", projects=False),
    Theorem("Thm mgd-sc", "shifts", projects=False),
    Theorem("Thm gd-proj", "shifts"),
    Theorem("Thm mgd-proj", "shifts"),
    Theorem("Theorem B1", "shifts"),
    Theorem("Theorem B4", "shifts"),
    Theorem("Thm sgd (composition)", "formula", contracts=False, projects=False),
    Theorem("Poisson (composition)", "formula", contracts=False, projects=False),
    Theorem("Thm sgd-sc", "split", projects=False),
    Theorem("Thm sgd-proj", "split"),
    Theorem("Theorem B3", "groups"),
    Theorem("Theorem B3 (Poisson)", "groups"),
    Theorem("Prop lmc", "formula"),
    Theorem("Cor expmechsc", "formula"),
    Theorem("Cor expmechconvex", "formula"),
    Theorem("pure DP", "formula"),
    Theorem("Cor expmechsc and pure DP", "formula"),
    Theorem("Cor expmechconvex and pure DP", "formula"),
)

THEOREMS: dict[str, Theorem] = {theorem.name: theorem for theorem in _ALL}


def theorem_of(name: str) -> Theorem:
    """The theorem of exactly this name.

    >>> theorem_of("Theorem B1").by
    'shifts'
    """
    if name not in THEOREMS:
        raise InvalidInput(
            "bound", name, "is no theorem that is known here", "give the name as certify wrote it"
        )
    return THEOREMS[name]
