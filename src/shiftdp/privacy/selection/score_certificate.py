"""The certificate of a private score: noisy sums over records that a model is measured on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

from shiftdp._checks import choice, count
from shiftdp._errors import InvalidInput, VerificationFailed
from shiftdp.fdp import TradeoffFunction
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.privacy.noisy_sums import LARGEST_SCORED, NoisySum, sums_tradeoff
from shiftdp.privacy.selection.release_certificate import (
    ReleaseCertificate,
    read_document,
    read_sum,
    require_fields,
    require_format,
    sum_document,
)

FORMAT = "shiftdp-score/1"
_FIELDS = ("format", "n", "adjacency", "private", "sums")


@dataclass(frozen=True, kw_only=True)
class ScoreCertificate(ReleaseCertificate):
    """The proved guarantee of a private score. Theorems S1 and S4.

    It is about the records that were scored. Those that the model was trained on are another data
    set; a record in both pays for both.

    Args:
        n: how many records were scored.
        adjacency: which data sets are neighbours.
        sums: what was measured, each with its noise.
        private: whether the noise came from a private source.

    >>> one = NoisySum(kind="gains", column="accuracy", noise=10.0)
    >>> made = ScoreCertificate(n=1000, adjacency="replace_one", sums=(one,))
    >>> made.mu
    0.1
    >>> ScoreCertificate.from_json(made.to_json()) == made
    True
    """

    n: int
    adjacency: Adjacency
    sums: tuple[NoisySum, ...]
    private: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", count("n", self.n, 1))
        choice("adjacency", self.adjacency, get_args(Adjacency))
        if not isinstance(self.private, bool):
            raise InvalidInput("private", self.private, "is no truth value", "give True or False")
        if self.n > LARGEST_SCORED:
            raise InvalidInput("n", self.n, "is too large for exact sums", "score fewer records")
        if not self.sums:
            raise InvalidInput("sums", self.sums, "is empty", "give what was measured")

    @cached_property
    def f(self) -> TradeoffFunction:
        return sums_tradeoff(self.sums, n=self.n, adjacency=self.adjacency)

    @property
    def title(self) -> str:
        return f"Private score by {len(self.sums)} noisy sum{'s' if len(self.sums) > 1 else ''}"

    def verify(self) -> None:
        if not self.private:
            raise VerificationFailed("NOT PRIVATE: the noise of the score can be drawn again")

    def lines(self, *, delta: float) -> list[str]:
        found = [
            f"    - {one.kind} of {one.column!r}: Gaussian noise of {one.noise:.4g} (Theorem S4)"
            for one in self.sums
        ]
        if not self.private:
            found.append("NOT PRIVATE: random_state made the noise of the score reproducible")
        return [
            *found,
            "  It is about the scored records alone: a record that the model was trained on too "
            "pays for both.",
        ]

    def to_document(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "n": self.n,
            "adjacency": self.adjacency,
            "private": self.private,
            "sums": [sum_document(one) for one in self.sums],
        }

    @staticmethod
    def from_json(text: str) -> ScoreCertificate:
        """The certificate that `to_json` wrote. It is not trusted: `verify` it."""
        return read_document(text, FORMAT, _read)


def _read(document: Any) -> ScoreCertificate:
    require_format(document, FORMAT)
    require_fields(document, _FIELDS)
    return ScoreCertificate(
        n=document["n"],
        adjacency=document["adjacency"],
        private=document["private"],
        sums=tuple(read_sum(one) for one in document["sums"]),
    )
