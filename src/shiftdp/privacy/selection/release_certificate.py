"""What certificates of releases that are no single run have in common."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar

from shiftdp._checks import LEAST_DELTA, number_in
from shiftdp._errors import InvalidInput, ShiftdpError
from shiftdp._printed import percent, trimmed, up
from shiftdp._strict_json import parse
from shiftdp.fdp import TradeoffFunction
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.privacy.noisy_sums import NoisySum

STATED_FPR = 0.01  # the false positive rate of the attacker in a statement, as for certificates
STATED_DELTA = 1e-5  # of a statement unless another is given, as for certificates
_SUM_FIELDS = ("kind", "column", "noise", "threshold")

Made = TypeVar("Made")


class ReleaseCertificate(ABC):
    """The proved guarantee of a release that a ledger charges as a whole."""

    n: int
    adjacency: Adjacency

    @cached_property
    @abstractmethod
    def f(self) -> TradeoffFunction:
        """The tradeoff function of everything that is released."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What was released, in a few words."""

    @abstractmethod
    def verify(self) -> None:
        """Check every part without trusting any of it; raises `VerificationFailed`."""

    @abstractmethod
    def to_document(self) -> dict[str, Any]:
        """What `to_json` writes."""

    @abstractmethod
    def lines(self, *, delta: float) -> list[str]:
        """What a statement says beside the guarantee itself."""

    @property
    def mu(self) -> float | None:
        """The GDP parameter, or None where the bound is not Gaussian."""
        return self.f.gdp_mu

    def epsilon(self, delta: float) -> float:
        """The least epsilon that is proved at this delta."""
        return self.f.epsilon(number_in("delta", delta, LEAST_DELTA, 1.0, open_high=True))

    def to_json(self, indent: int | None = None) -> str:
        """Everything that somebody else needs to check the guarantee."""
        return json.dumps(self.to_document(), indent=indent, allow_nan=False)

    def statement(self, *, delta: float) -> str:
        """The guarantee in words."""
        first = [
            f"{self.title}: ({trimmed(up(self.epsilon(delta)))}, {delta:g})-differential privacy "
            "of everything that is released [certified bound]",
            f"  neighbours   {self.adjacency}, {self.n} records",
            f"  attacker     at most {percent(self.f.tpr(STATED_FPR))} true positives at 1% false "
            f"positives; advantage at most {percent(self.f.advantage())}",
        ]
        return "\n".join([*first, *self.lines(delta=delta)])

    def __str__(self) -> str:
        return self.statement(delta=STATED_DELTA)


def sum_document(one: NoisySum) -> dict[str, Any]:
    """A noisy sum as JSON."""
    return {name: getattr(one, name) for name in _SUM_FIELDS}


def read_sum(document: Any) -> NoisySum:
    """The noisy sum in JSON."""
    require_fields(document, _SUM_FIELDS)
    return NoisySum(**document)


def require_fields(document: Any, names: tuple[str, ...]) -> None:
    """Refuse an object that has other fields."""
    if not isinstance(document, Mapping) or set(document) != set(names):
        raise ValueError(f"fields: there are {', '.join(names)}")


def require_format(document: Any, form: str) -> None:
    """Refuse a document of another kind, or of another version."""
    if document["format"] != form:
        raise ValueError("another format")


def read_document(text: str, form: str, read: Callable[[Any], Made]) -> Made:
    """What `read` makes of a JSON text, which it may refuse; `form` is what it should have been."""
    try:
        return read(parse(text))
    except ShiftdpError:
        raise
    except (LookupError, TypeError, AttributeError, ArithmeticError, ValueError) as error:
        raise InvalidInput(
            "certificate", "<JSON text>", f"lacks or misplaces {error}",
            f"give what to_json wrote, format {form}",
        ) from error  # fmt: skip
