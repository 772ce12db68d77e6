"""For every theorem: what it certifies, what some losses really leak, and why the two differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from shiftdp._checks import LEAST_DELTA, number_in
from shiftdp._errors import InvalidInput
from shiftdp._printed import aligned, column
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.runs import LangevinMC, Run, has_releases, people
from shiftdp.last_iterate.theorems.registry import THEOREMS
from shiftdp.last_iterate.theorems.theorem import Theorem
from shiftdp.trials.exact.linear import linear_epsilon
from shiftdp.trials.exact.settings import shown_by
from shiftdp.trials.exact.tilted import tilted_epsilon
from shiftdp.trials.exact.walled import walled_epsilon

_DRIFTING = {True: "projected walk (Theorem B8)", False: "drifting instance (Theorems B5, B8)"}
_EXACT = 1.0005  # ratios below are 1.000 in print
_ALIKE = 0.4  # short names of theorems, of two characters or so, that have one in common
DELTA = 1e-5
"""Where epsilon is read unless told."""

Told = Callable[[int, int], object]
"""Called with the number of theorems that are done, and of all."""


@dataclass(frozen=True)
class Row:
    """One theorem at one run.

    Args:
        theorem: its name.
        run: a word or two on what is run.
        upper: epsilon as the theorem certifies it.
        lower: the largest epsilon that an instance of the class is known to need.
        instance: which instance that is.
        gap: why the two differ, in words.
    """

    theorem: str
    run: str
    upper: float
    lower: float
    instance: str
    gap: str

    @property
    def ratio(self) -> float:
        """Upper over lower; 1 where nothing is left to gain."""
        if self.upper == self.lower:
            return 1.0
        return self.upper / self.lower if self.lower > 0.0 else math.inf

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "ratio": self.ratio}


@dataclass(frozen=True)
class ExactAudit:
    """The table of all theorems at one delta."""

    delta: float
    rows: tuple[Row, ...]

    @property
    def consistent(self) -> bool:
        """Whether no instance leaks more than a theorem certifies."""
        return all(row.lower <= row.upper for row in self.rows)

    def cells(self) -> list[list[str]]:
        """The rows in print: upper bounds rounded up, lower ones down."""
        upper = column([row.upper for row in self.rows])
        lower = column([row.lower for row in self.rows], "down")
        return [
            [row.theorem, row.run, a, b, f"{row.ratio:.3f}", row.gap]
            for row, a, b in zip(self.rows, upper, lower, strict=True)
        ]

    def __str__(self) -> str:
        return "\n".join(aligned([HEADINGS, *self.cells()], right=(2, 3, 4)))

    def to_dict(self) -> dict[str, Any]:
        rows = [row.to_dict() for row in self.rows]
        return {"delta": self.delta, "consistent": self.consistent, "rows": rows}


HEADINGS = ("theorem", "run", "certified", "attained", "ratio", "why they differ")


def exact_audit(
    *,
    delta: float = DELTA,
    theorems: Iterable[str] | None = None,
    progress: Told | None = None,
) -> ExactAudit:
    """Certified against attained, for every theorem of the registry or for those that are named.

    Args:
        delta: where epsilon is read.
        theorems: names, as certificates have them or without "Theorem"; all if not given.
        progress: called with the number of theorems done, and of all.

    >>> table = exact_audit(theorems=["Theorem B1", "Theorem B4"])
    >>> [(row.theorem, round(row.ratio, 3)) for row in table.rows][0]
    ('Theorem B1', 1.0)
    """
    delta = number_in("delta", delta, LEAST_DELTA, 1.0, open_high=True)
    chosen = _named(theorems)
    rows: list[Row] = []
    for k, theorem in enumerate(chosen, 1):
        rows += [row_of(theorem, certificate, delta) for certificate in shown_by(theorem)]
        if progress is not None:
            progress(k, len(chosen))
    return ExactAudit(delta, tuple(rows))


def _named(names: Iterable[str] | None) -> list[Theorem]:
    if names is None:
        return list(THEOREMS)
    known = {theorem.name: theorem for theorem in THEOREMS}
    wanted = list(names)
    if not wanted:
        raise InvalidInput("theorems", [], "is empty", "give names, or None for all")
    return [known[_full_name(name, known)] for name in wanted]


def _full_name(name: str, known: Iterable[str]) -> str:
    """
    >>> _full_name("v3", ["Theorem V3", "Thm gd-sc"])
    'Theorem V3'
    """
    short = {_short(full): full for full in known}
    if _short(name) in short:
        return short[_short(name)]
    from difflib import get_close_matches

    near = get_close_matches(_short(name), short, 1, _ALIKE)
    remedy = f"did you mean {short[near[0]]!r}?" if near else f"there are {', '.join(known)}"
    raise InvalidInput("theorems", name, "is no theorem of the registry", remedy)


def _short(name: str) -> str:
    return name.strip().lower().removeprefix("theorem ").removeprefix("thm ")


def row_of(theorem: Theorem, certificate: Certificate, delta: float) -> Row:
    """What the theorem itself says of its run, beside the best instance that is known."""
    run = certificate.run
    upper = float(certificate.f.epsilon(delta))
    lower, instance = attained(certificate, delta)
    found = Row(theorem.name, run_words(run, certificate), upper, lower, instance, "")
    return Row(**{**vars(found), "gap": gap_words(theorem, certificate, found.ratio)})


def attained(certificate: Certificate, delta: float) -> tuple[float, str]:
    """The largest epsilon that an instance needs, and which one it is; 0 if none is known."""
    run, geometry = certificate.run, certificate.geometry
    exponential = run.one_draw
    found: dict[str, float | None] = {
        _DRIFTING[geometry.bounded]: certificate.lower_epsilon(delta),
        "linear recursion": None if exponential else linear_epsilon(run, geometry, delta),
        "projected walk": None if exponential else walled_epsilon(run, geometry, delta),
        "two tilted densities": tilted_epsilon(geometry, delta) if exponential else None,
    }
    known = {name: value for name, value in found.items() if value is not None}
    if not known:
        return 0.0, "none"
    best = max(known, key=lambda name: known[name])
    return known[best], best


def run_words(run: Run, certificate: Certificate) -> str:
    """A word or two on what is run."""
    if run.deletes:
        return f"{run_words(run.training, certificate)}, {run.further_steps} further steps"
    words = [_KINDS.get(type(run).__name__, type(run).__name__)]
    if run.sampled:
        words = [run.sampling.replace("_", " ")]
    elif run.streams:
        words.append(run.order)
    elif isinstance(run, LangevinMC):
        words.append("without end" if math.isinf(run.steps) else f"{run.steps:g} steps")
    elif run.cyclic and run.order != "fixed":
        words.append(run.order.replace("_", " "))
    if people(run) > 1:
        words.append(f"{people(run)} records a person")
    if has_releases(run):
        words.append("several releases")
    if certificate.geometry.bounded:
        words.append("bounded set")
    return ", ".join(words)


_KINDS = {
    "NoisyGD": "full batches",
    "NoisyCGD": "batches in turn",
    "NoisyStream": "stream",
    "LangevinMC": "Langevin",
    "ExponentialMechanism": "exponential mechanism",
}


def gap_words(theorem: Theorem, certificate: Certificate, ratio: float) -> str:
    """Why the certified number is above the attained one."""
    run = certificate.run
    if ratio <= _EXACT:
        return "nothing is left: the bound is exact"
    if theorem.why_above:
        return theorem.why_above
    if theorem.family == "composition" and not run.one_draw:
        return "composition pays for every iterate, and only the last one is seen"
    if theorem.family == "paper" and run.sampled and not certificate.geometry.bounded:
        return "a closed form of the paper, above Theorem B6 for the same run"
    return _gap_of(run, certificate)


def _gap_of(run: Run, certificate: Certificate) -> str:
    inner: Any = run.with_records
    if run.one_draw:
        return "pure DP is exact at delta = 0, and GDP for a set without end; at this delta neither"
    if isinstance(run, LangevinMC):
        return "the bound is that of the limit of small steps"
    if certificate.geometry.bounded:
        return "the bound lets two runs be a diameter apart before its last steps; walks seldom are"
    if inner.sampled:
        return "the bound lets the attacker see part of who took part; the instance hides it"
    if inner.cyclic and inner.order != "fixed":
        return "the bound tells the attacker the position in the last epoch; the instance hides it"
    if inner.streams:
        return "the bound tells the attacker the position in the window; the instance hides it"
    return "the least slope that the losses may show is above what the optimum asks for"
