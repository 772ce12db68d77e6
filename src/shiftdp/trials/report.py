"""What an audit found: a lower bound with its confidence, the certified number, and a verdict."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from shiftdp._printed import aligned, down, up

Verdict = Literal["consistent", "violated"]
Method = Literal["many runs", "one run", "shared noise"]


@dataclass(frozen=True)
class Finding:
    """What one canary showed.

    Args:
        canary: which.
        epsilon: a lower bound at the audit's delta.
        mu: a lower bound on mu.
        contradicts: whether the certificate is ruled out by this canary alone.
        seen: the counts that it rests on, in words.
    """

    canary: str
    epsilon: float
    mu: float
    contradicts: bool
    seen: str


@dataclass(frozen=True)
class AuditReport:
    """A verdict on a certificate.

    Args:
        method: `many runs` on two neighbouring data sets, `one run` with many canaries, or `shared
            noise`, which is no statistics.
        verdict: `violated` if the certificate is ruled out with the stated confidence; else
            `consistent`, which proves nothing but that this attack found no more.
        epsilon: no smaller epsilon holds at `delta`, with the confidence; 0 if nothing was found.
        mu: no smaller mu holds; it is a statement about Gaussian guarantees.
        delta: where epsilon is read.
        confidence: one-sided, of all findings together.
        certified_epsilon, certified_mu: what is claimed; mu is None where it is not Gaussian.
        runs: how many trainings were looked at.
        findings: canary by canary.
    """

    method: Method
    verdict: Verdict
    epsilon: float
    mu: float
    delta: float
    confidence: float
    certified_epsilon: float
    certified_mu: float | None
    runs: int
    findings: tuple[Finding, ...]

    @property
    def violated(self) -> bool:
        return self.verdict == "violated"

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and words."""
        return {**vars(self), "findings": [vars(each) for each in self.findings]}

    def to_json(self, indent: int | None = None) -> str:
        return json.dumps(_finite(self.to_dict()), indent=indent, allow_nan=False)

    def statement(self) -> str:
        """The verdict in words, and what it rests on."""
        if self.method == "shared noise":
            return self._of_distances()
        trust = f"{100 * self.confidence:g}% confidence"
        head = {
            "violated": f"VIOLATED, with {trust}: the trainer leaks more than is certified",
            "consistent": "consistent: this attack finds no more than is certified",
        }[self.verdict]
        lines = [
            head,
            f"  method     {self.method}, {self._trainings}",
            f"  found      epsilon >= {down(self.epsilon, 4)} at delta = {self.delta:g}, mu >= "
            f"{down(self.mu, 4)} (each with {trust}, one-sided)",
            f"  certified  {self._certified}",
        ]
        rows = [("canary", "epsilon", "mu", "seen")]
        rows += [
            (each.canary, down(each.epsilon, 4), down(each.mu, 4), each.seen)
            for each in self.findings
        ]
        return "\n".join([*lines, *(f"  {line}" for line in aligned(rows, right=(1, 2)))])

    def _of_distances(self) -> str:
        head = {
            "violated": "VIOLATED: two runs with the same noise end further apart than the "
            "certificate assumes",
            "consistent": "consistent: runs with the same noise stay as close as the certificate "
            "assumes",
        }[self.verdict]
        rows = [("canary", "seen"), *((each.canary, each.seen) for each in self.findings)]
        lines = [
            head,
            f"  method     {self.method}, {self._trainings}",
            f"  certified  {self._certified}",
        ]
        return "\n".join([*lines, *(f"  {line}" for line in aligned(rows))])

    @property
    def _trainings(self) -> str:
        return "1 training" if self.runs == 1 else f"{self.runs} trainings"

    @property
    def _certified(self) -> str:
        certified = f"epsilon {up(self.certified_epsilon)} at delta = {self.delta:g}"
        return (
            certified if self.certified_mu is None else f"{certified}, mu {up(self.certified_mu)}"
        )

    def __str__(self) -> str:
        return self.statement()


def _finite(value: Any) -> Any:
    """JSON has no infinity: it is the text "inf"."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return "inf" if isinstance(value, float) and value == float("inf") else value
