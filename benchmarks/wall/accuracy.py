"""Accuracy at equal privacy: what each way reaches, with error bars, and what may be compared.

A difference is printed only between two ways that give the same guarantee: epsilon, delta and
adjacency. diffprivlib gives another (pure epsilon, a record replaced), so its accuracy stands there
without a difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np


class Guarantee(NamedTuple):
    """What an accuracy was paid with."""

    epsilon: float
    delta: float
    adjacency: str


@dataclass(frozen=True)
class Score:
    """Per cent right on test records, one value for each split.

    Args:
        way: who trained it.
        what: which run of that way it is.
    """

    data: str
    way: str
    what: str
    guarantee: Guarantee | None
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    @property
    def short(self) -> str:
        return f"{self.mean:.1f} ± {error(self.values):.1f}"

    @property
    def splits(self) -> int:
        return len(self.values)

    def to_dict(self) -> dict[str, Any]:
        found = asdict(self)
        found["guarantee"] = None if self.guarantee is None else self.guarantee._asdict()
        found["values"] = [round(value, 3) for value in self.values]
        return found

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Score:
        of = found["guarantee"]
        return cls(
            found["data"], found["way"], found["what"],
            None if of is None else Guarantee(**of), tuple(found["values"]),
        )  # fmt: skip


def error(values: Any) -> float:
    """The standard error of a mean."""
    return float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else float("nan")


def difference(one: Score, other: Score) -> str:
    """Points that one is above the other, split by split; or why they are not compared."""
    if one.guarantee != other.guarantee or one.guarantee is None:
        return "none: not the same guarantee"
    if one.data != other.data or len(one.values) != len(other.values):
        return "none: not the same splits"
    apart = np.subtract(one.values, other.values)
    return f"{apart.mean():+.1f} ± {error(apart):.1f}"


def as_table(scores: Sequence[Score], setting: dict[str, Any]) -> str:
    """One line for each data set, budget and way, beside our default."""
    lines = ["| data | epsilon | way | per cent right | splits | our default is above by | run |",
             "| --- | --- | --- | --- | --- | --- | --- |"]  # fmt: skip
    for score in scores:
        default = next(
            (one for one in scores
             if one.way == setting["default"] and one.data == score.data
             and (score.guarantee is None or (one.guarantee is not None
                  and one.guarantee.epsilon == score.guarantee.epsilon))),
            score,
        )  # fmt: skip
        of = score.guarantee
        cells = [
            score.data,
            "-" if of is None else f"{of.epsilon:g}",
            score.way,
            score.short,
            str(score.splits),
            "-" if score is default or of is None else difference(default, score),
            score.what or "-",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
