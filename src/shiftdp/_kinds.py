"""The kind of a number: a certified bound, or something weaker that says so in type and in print.

A plain `float` that the library returns as epsilon, delta or mu is a *certified* bound. Whatever
is not comes wrapped in `Uncertified`, which is no number: it must be unwrapped on purpose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

Kind = Literal["certified", "conditional", "estimate", "approximation"]
CERTIFIED: Kind = "certified"
CONDITIONAL: Kind = "conditional"
"""A bound that is certified if a theorem of the user's own is true, which nobody has checked."""

Value = TypeVar("Value", covariant=True)


@dataclass(frozen=True)
class Uncertified(Generic[Value]):
    """A value that is not a proved bound.

    >>> Uncertified(1.03, "approximation", "CLT, Lemma clt")
    approximation 1.03 (CLT, Lemma clt; not a bound)
    """

    value: Value
    kind: Literal["estimate", "approximation"]
    source: str

    def __repr__(self) -> str:
        return f"{self.kind} {self.value!r} ({self.source}; not a bound)"
