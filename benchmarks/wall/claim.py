"""What a claim is, and how it is measured."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Literal, NamedTuple, Protocol

from .environments import PeerFailed

Kind = Literal["peer", "floor", "limit"]
"""Of the other side: a library that solves the same problem, work that ours cannot do without (a
part of the problem, of the same size), or a number."""

Agree = Callable[[Any, Any], str | None]
"""Whether two answers are to one problem, to one accuracy: None, or what is wrong."""


class Reading(NamedTuple):
    """What a side did in one round: its figure, and the answer that this is the figure of."""

    figure: float
    answer: Any


class Side(Protocol):
    """One side of a claim."""

    @property
    def name(self) -> str: ...

    def read(self) -> Reading: ...


@dataclass(frozen=True)
class Row:
    """A claim as it was measured. Without a ratio there is a refusal, which says why.

    Args:
        ours, others: the medians of the figures, in `unit`.
        ratio, least, most: the median of the rounds' ratios, and their range.
        goal: what the ratio has to be: at least for a peer, at most for a floor or a limit.
    """

    name: str
    what: str
    kind: Kind
    unit: str
    side: str
    other: str
    rounds: int
    ours: float | None
    others: float | None
    ratio: float | None
    least: float | None
    most: float | None
    goal: float | None
    accuracy: str
    refusal: str | None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None where there is no goal or no ratio."""
        if self.goal is None or self.ratio is None:
            return None
        return self.ratio >= self.goal if self.kind == "peer" else self.ratio <= self.goal

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Claim:
    """One line of the wall.

    Args:
        name: `file/what`, once on the wall.
        what: the problem that both sides solve, in words.
        ours: our side.
        other: the side that it is measured against.
        agree: whether the two answers are to the same problem; asked in every round, and no ratio
            is printed unless it is content.
        kind: what the other side is.
        accuracy: what `agree` looks at, in words, for the table.
        goal: see `Row`.
        rounds: how often both sides are read.
        unit: of the figures; the smaller one is the better.
        note: what a reader of the row has to know.
    """

    name: str
    what: str
    ours: Side
    other: Side
    agree: Agree
    kind: Kind = "peer"
    accuracy: str = ""
    goal: float | None = None
    rounds: int = 5
    unit: str = "s"
    note: str = ""

    def measure(self) -> Row:
        """Read both sides in turn, and refuse where they did not do the same."""
        pairs: list[tuple[Reading, Reading]] = []
        for _ in range(self.rounds):
            try:
                pair = self.ours.read(), self.other.read()
            except PeerFailed as failure:
                return self._row(pairs, f"the peer does not run here: {failure}")
            pairs.append(pair)
            mine, theirs = pair
            wrong = self.agree(mine.answer, theirs.answer)
            if wrong is not None:
                return self._row(pairs, wrong)
            if not all(0.0 < one.figure < math.inf for one in pair):
                return self._row(pairs, f"no ratio of {mine.figure:g} and {theirs.figure:g}")
        return self._row(pairs, None)

    def _row(self, pairs: list[tuple[Reading, Reading]], refusal: str | None) -> Row:
        ratios: list[float] = []
        if refusal is None:
            quotients = [theirs.figure / mine.figure for mine, theirs in pairs]
            ratios = quotients if self.kind == "peer" else [1.0 / one for one in quotients]
        return Row(
            name=self.name,
            what=self.what,
            kind=self.kind,
            unit=self.unit,
            side=self.ours.name,
            other=self.other.name,
            rounds=len(pairs),
            ours=median(mine.figure for mine, _ in pairs) if pairs else None,
            others=median(theirs.figure for _, theirs in pairs) if pairs else None,
            ratio=median(ratios) if ratios else None,
            least=min(ratios, default=None),
            most=max(ratios, default=None),
            goal=self.goal,
            accuracy=self.accuracy,
            refusal=refusal,
            note=self.note,
        )
