"""The certificate of a model that was chosen by a private search."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, get_args

from shiftdp._checks import choice, count
from shiftdp._errors import InvalidInput, VerificationFailed
from shiftdp._printed import trimmed, up
from shiftdp.fdp import GaussianTradeoff, Minimum, TradeoffFunction
from shiftdp.fdp.composition.product import compose
from shiftdp.fdp.selection.selected import Selected
from shiftdp.fdp.selection.trials import Trials
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.last_iterate.runs import people
from shiftdp.privacy.noisy_sums import LARGEST_SCORED, NoisySum, sums_tradeoff
from shiftdp.privacy.pipeline_certificate import FORMAT as PIPELINE
from shiftdp.privacy.pipeline_certificate import PipelineCertificate
from shiftdp.privacy.selection.release_certificate import (
    ReleaseCertificate,
    read_document,
    read_sum,
    require_fields,
    require_format,
    sum_document,
)

FORMAT = "shiftdp-selection/1"
_FIELDS = ("format", "n", "held_out", "adjacency", "private", "trials", "score", "candidates")
_TRIAL_FIELDS = ("law", "rate", "shape")
_SCORES = ("gains", "histogram", "errors")


@dataclass(frozen=True, kw_only=True)
class SelectionCertificate(ReleaseCertificate):
    """The proved guarantee of a model that was chosen as the best of several. Theorems S3 and S5.

    One trial draws a candidate at random, trains it, and scores it with noise. If `held_out`
    records are scored that no trial trains on, a record takes part in one of the two, and the worse
    of them counts; else both are composed. The best trial is released with its score.

    Args:
        n: how many records there are.
        held_out: how many of them are scored and not trained on; 0 if all are both.
        adjacency: which data sets are neighbours.
        trials: the law of the number of trials.
        score: the noisy sum by which a trial is scored.
        candidates: the certificates of what a trial may train, each once.
        private: whether the randomness of the search came from a private source.
    """

    n: int
    held_out: int
    adjacency: Adjacency
    trials: Trials
    score: NoisySum
    candidates: tuple[Certificate | PipelineCertificate, ...] = field(repr=False)
    private: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", count("n", self.n, 1))
        object.__setattr__(self, "held_out", count("held_out", self.held_out))
        choice("adjacency", self.adjacency, get_args(Adjacency))
        choice("score", self.score.kind, _SCORES)
        if not isinstance(self.private, bool):
            raise InvalidInput("private", self.private, "is no truth value", "give True or False")
        if self.held_out >= self.n or self.n > LARGEST_SCORED:
            raise InvalidInput(
                "held_out", self.held_out, f"leaves nothing of {self.n} records", "give fewer"
            )
        if not self.candidates:
            raise InvalidInput("candidates", self.candidates, "is empty", "give at least one")

    @cached_property
    def scored(self) -> TradeoffFunction:
        """What one score costs the records that are scored."""
        return sums_tradeoff((self.score,), n=self.n, adjacency=self.adjacency)

    @cached_property
    def trial(self) -> TradeoffFunction:
        """What one trial costs: the worst candidate, with its score."""
        models = [candidate.f for candidate in self.candidates]
        if self.held_out:
            return worst([self.scored, *models])
        return worst([compose((self.scored, f.directions[1])).worse_direction() for f in models])

    @cached_property
    def f(self) -> TradeoffFunction:
        law = self.trials
        return Selected(self.trial, law.law, law.rate, law.shape)

    @property
    def title(self) -> str:
        return f"Private search among {len(self.candidates)} kinds of fits"

    def verify(self) -> None:
        """Check every part without trusting any of it; raises `VerificationFailed`.

        The certificate of each candidate is verified, and that it is for the records that are
        trained on; what the score and the choice cost is computed again whenever it is asked for.
        """
        if not self.private:
            raise VerificationFailed("NOT PRIVATE: the randomness of the search can be drawn again")
        for candidate in self.candidates:
            self._verify(candidate)

    def _verify(self, candidate: Certificate | PipelineCertificate) -> None:
        n: int | None
        if isinstance(candidate, PipelineCertificate):
            adjacency, n = candidate.adjacency, candidate.n
            model = candidate.model
        else:
            adjacency, n = candidate.geometry.adjacency, getattr(candidate.run, "n", None)
            model = candidate
        if adjacency != self.adjacency:
            raise VerificationFailed("a candidate is certified for other neighbours")
        if n != self.n - self.held_out:
            raise VerificationFailed("a candidate is certified for another number of records")
        if model is None or model.run.deletes or people(model.run) > 1:
            raise VerificationFailed("a candidate is not certified for one record a person")
        candidate.verify()

    def lines(self, *, delta: float) -> list[str]:
        one = self.score
        where = (
            f"{self.held_out} records that no trial is trained on"
            if self.held_out
            else "the records that it is trained on"
        )
        found = [
            f"  search       {self.trials}; the best is released (Theorem S3)",
            f"  score        {one.kind} of {one.column!r} with Gaussian noise of {one.noise:.4g}, "
            f"on {where} (Theorem S5)",
            f"  one trial    epsilon {trimmed(up(self.trial.epsilon(delta)))} at most, at "
            f"delta = {delta:g}",
        ]
        if not self.private:
            found.append("NOT PRIVATE: random_state made the search reproducible")
        return found

    def to_document(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "n": self.n,
            "held_out": self.held_out,
            "adjacency": self.adjacency,
            "private": self.private,
            "trials": {name: getattr(self.trials, name) for name in _TRIAL_FIELDS},
            "score": sum_document(self.score),
            "candidates": [json.loads(candidate.to_json()) for candidate in self.candidates],
        }

    @staticmethod
    def from_json(text: str) -> SelectionCertificate:
        """The certificate that `to_json` wrote. It is not trusted: `verify` it."""
        return read_document(text, FORMAT, _read)


def worst(parts: list[TradeoffFunction]) -> TradeoffFunction:
    """The largest symmetric function below all: of Gaussians the one with the largest mu."""
    mus = [f.gdp_mu for f in parts]
    known = [mu for mu in mus if mu is not None]
    others = [f.worse_direction() for f, mu in zip(parts, mus, strict=True) if mu is None]
    if known:
        others.append(GaussianTradeoff(max(known)))
    unique = list(dict.fromkeys(others))
    return unique[0] if len(unique) == 1 else Minimum(unique)


def _read(document: Any) -> SelectionCertificate:
    require_format(document, FORMAT)
    require_fields(document, _FIELDS)
    require_fields(document["trials"], _TRIAL_FIELDS)
    return SelectionCertificate(
        n=document["n"],
        held_out=document["held_out"],
        adjacency=document["adjacency"],
        private=document["private"],
        trials=Trials(**document["trials"]),
        score=read_sum(document["score"]),
        candidates=tuple(_candidate(one) for one in document["candidates"]),
    )


def _candidate(document: Any) -> Certificate | PipelineCertificate:
    text = json.dumps(document)
    if document["format"] == PIPELINE:
        return PipelineCertificate.from_json(text)
    return Certificate.from_json(text)
