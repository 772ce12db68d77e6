"""One certificate for a preparation and the model that is trained after it.

What a pipeline releases is what its preparation learnt and the weights of its model. The noise of
every sum, and the plan of the model, are fixed by public numbers before any record is read, so the
two compose: the tradeoff function of the pipeline is the product of theirs [DRS22, Thm 4].
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, get_args

from shiftdp._checks import LEAST_DELTA, choice, count, number_in
from shiftdp._errors import InvalidInput, VerificationFailed
from shiftdp._printed import percent, trimmed, up
from shiftdp.fdp import TradeoffFunction
from shiftdp.fdp.composition.product import compose
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.last_iterate.runs import people
from shiftdp.privacy.noisy_sums import NoisySum, sums_tradeoff
from shiftdp.privacy.selection.release_certificate import (
    STATED_DELTA,
    STATED_FPR,
    read_document,
    read_sum,
    require_fields,
    require_format,
    sum_document,
)

FORMAT = "shiftdp-pipeline/1"
_FIELDS = ("format", "n", "adjacency", "private", "sums", "model")


@dataclass(frozen=True, kw_only=True)
class PipelineCertificate:
    """The proved guarantee of a whole pipeline.

    Args:
        n: how many records there are.
        adjacency: which data sets are neighbours.
        sums: what the preparation learns, each with its noise; none if all of it is declared.
        model: the certificate of the model; None for a preparation alone.
        private: whether the noise of the sums came from a private source.

    >>> sums = (NoisySum(kind="moments", column="age", noise=20.0),)
    >>> made = PipelineCertificate(n=1000, adjacency="replace_one", sums=sums)
    >>> round(made.mu, 6), round(made.epsilon(1e-5), 4)
    (0.1, 0.3407)
    >>> PipelineCertificate.from_json(made.to_json()) == made
    True
    """

    n: int
    adjacency: Adjacency
    sums: tuple[NoisySum, ...] = ()
    model: Certificate | None = field(default=None, repr=False)
    private: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", count("n", self.n, 1))
        choice("adjacency", self.adjacency, get_args(Adjacency))
        if not isinstance(self.private, bool):
            raise InvalidInput("private", self.private, "is no truth value", "give True or False")

    @cached_property
    def preparation(self) -> TradeoffFunction:
        """What the preparation costs by itself."""
        return sums_tradeoff(self.sums, n=self.n, adjacency=self.adjacency)

    @cached_property
    def f(self) -> TradeoffFunction:
        """The tradeoff function of everything that is released: the product of the steps."""
        if self.model is None:
            return self.preparation
        if not self.sums:
            return self.model.f
        return compose((self.preparation, self.model.f.directions[1])).worse_direction()

    @property
    def mu(self) -> float | None:
        """The GDP parameter, or None where the bound is not Gaussian."""
        return self.f.gdp_mu

    def epsilon(self, delta: float) -> float:
        """The least epsilon that is proved at this delta."""
        delta = number_in("delta", delta, LEAST_DELTA, 1.0, open_high=True)
        if self.model is not None and not self.sums:
            return self.model.epsilon(delta)
        return self.f.epsilon(delta)

    def verify(self) -> None:
        """Check every part without trusting any of it; raises `VerificationFailed`.

        The cost of each sum follows from its kind and its noise by Theorems S1 and S2 and is
        computed again whenever it is asked for; the model's certificate is verified.
        """
        if not self.private:
            raise VerificationFailed("NOT PRIVATE: the noise of the preparation can be drawn again")
        if self.model is None:
            return
        if self.model.geometry.adjacency != self.adjacency:
            raise VerificationFailed("the model is certified for other neighbours")
        if getattr(self.model.run, "n", None) != self.n:
            raise VerificationFailed("the model is certified for another number of records")
        if self.model.run.deletes or people(self.model.run) > 1:
            raise VerificationFailed("the model is not certified for one record a person")
        self.model.verify()

    def to_json(self, indent: int | None = None) -> str:
        """Everything that somebody else needs to check the guarantee."""
        document = {
            "format": FORMAT,
            "n": self.n,
            "adjacency": self.adjacency,
            "private": self.private,
            "sums": [sum_document(one) for one in self.sums],
            "model": None if self.model is None else json.loads(self.model.to_json()),
        }
        return json.dumps(document, indent=indent, allow_nan=False)

    @staticmethod
    def from_json(text: str) -> PipelineCertificate:
        """The certificate that `to_json` wrote. It is not trusted: `verify` it."""
        return read_document(text, FORMAT, _read)

    def statement(self, *, delta: float) -> str:
        """The guarantee in words: of the pipeline first, then of its steps."""
        lines = [
            f"Pipeline: ({trimmed(up(self.epsilon(delta)))}, {delta:g})-differential privacy of "
            "everything that it learnt [certified bound]",
            f"  neighbours   {self.adjacency}, {self.n} records",
            f"  attacker     at most {percent(self.f.tpr(STATED_FPR))} true positives at 1% false "
            f"positives; advantage at most {percent(self.f.advantage())}",
            f"  preparation  {self._prepared()}",
        ]
        lines += [f"    - {_sum_in_words(one)}" for one in self.sums]
        if not self.private:
            lines.append("NOT PRIVATE: random_state made the noise of the preparation reproducible")
        if self.model is not None:
            lines += [f"  {line}" for line in self.model.statement(delta=delta).splitlines()]
        return "\n".join(lines)

    def _prepared(self) -> str:
        if not self.sums:
            return "public: it learnt nothing from the records and costs nothing"
        base, failure = self.preparation.split_failure()
        fails = f", failing with probability {up(failure, 2)}" if failure else ""
        return f"mu = {up(base.gdp_mu)}{fails} (Theorems S1 and S2), by {_sums(len(self.sums))}"

    def __str__(self) -> str:
        return self.statement(delta=STATED_DELTA)


def _sums(count: int) -> str:
    return "one sum" if count == 1 else f"{count} sums"


def _sum_in_words(one: NoisySum) -> str:
    beyond = "" if one.threshold is None else f", released from {one.threshold:.4g} records on"
    return f"{one.kind} of {one.column!r}: Gaussian noise of {one.noise:.4g}{beyond}"


def _read(document: Any) -> PipelineCertificate:
    require_fields(document, _FIELDS)
    require_format(document, FORMAT)
    model = document["model"]
    return PipelineCertificate(
        n=document["n"],
        adjacency=document["adjacency"],
        private=document["private"],
        sums=tuple(read_sum(one) for one in document["sums"]),
        model=None if model is None else Certificate.from_json(json.dumps(model)),
    )
