"""The same run under every accountant: what others would charge, and how much room is left."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from shiftdp._checks import delta_in
from shiftdp._errors import UnmetHypothesis
from shiftdp._kinds import CERTIFIED, CONDITIONAL, Kind
from shiftdp._printed import aligned, column
from shiftdp.fdp import GaussianTradeoff, TradeoffFunction, zcdp_epsilon
from shiftdp.interpolation.closed_forms.renyi_baseline import renyi_cyclic, renyi_full_batch
from shiftdp.last_iterate.attained import (
    ATTAINED_DOWN,
    attained_epsilon,
    attained_mu,
    lower_bound_of,
)
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.certification import bound_by, certify, evaluate, tightest
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.last_batch import warn_of_last_batch
from shiftdp.last_iterate.runs import (
    NoisyCGD,
    NoisyGD,
    Run,
    Unlearning,
    has_releases,
    one_record,
    people,
)
from shiftdp.last_iterate.schedules.releases import number_of_releases
from shiftdp.last_iterate.theorems.derived.people import scaled_losses
from shiftdp.last_iterate.theorems.own import own_theorems
from shiftdp.last_iterate.theorems.registry import THEOREMS
from shiftdp.last_iterate.theorems.theorem import Bound, Theorem
from shiftdp.privacy.prior_deletion import deletion_rho

__all__ = [
    "ATTAINED_DOWN",
    "CURVES",
    "Compared",
    "Point",
    "Row",
    "Table",
    "best_certificate",
    "compare",
    "kind_of",
    "prior_rho",
]


@dataclass(frozen=True)
class Row:
    """One bound on the run; `epsilon` and `mu` are None where it does not apply, see `note`."""

    name: str
    bound: str
    epsilon: float | None
    mu: float | None
    kind: Kind | str
    note: str = ""


@dataclass(frozen=True)
class Table:
    """Rows from the loosest idea to the best bound, then what is known to be unavoidable."""

    delta: float
    rows: tuple[Row, ...]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, name: str) -> Row:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(name)

    def __str__(self) -> str:
        rows = [("", f"epsilon (delta={self.delta:g})", "mu", "theorem")]
        for row in self.rows:
            side = "down" if row.name == "lower bound" else "up"
            epsilon, mu = (column([value], side)[0] for value in (row.epsilon, row.mu))
            rows.append((row.name, epsilon, mu, row.bound or row.note))
        return "\n".join(aligned(rows, right=(1, 2)))


class Point(NamedTuple):
    """What one accountant proves of a run: a tradeoff function, or rho-zCDP, or nothing.

    Of what random batches attain, epsilon is known at the delta of the comparison alone.
    """

    theorem: str = ""
    f: TradeoffFunction | None = None
    mu: float | None = None
    rho: float | None = None
    note: str = ""  # why it proves nothing
    attained: float | None = None

    def epsilon(self, delta: float) -> float | None:
        if self.attained is not None:
            return self.attained
        if self.rho is not None:
            return zcdp_epsilon(self.rho, delta=delta).epsilon
        return None if self.f is None else self.f.epsilon(delta)


@dataclass(frozen=True)
class Compared:
    """A run and its losses under every accountant, each of which is asked once."""

    run: Run
    geometry: Geometry
    delta: float

    def point(self, name: str) -> Point:
        """What the accountant of this name proves."""
        try:
            return _ACCOUNTANTS[name](self)
        except UnmetHypothesis as unmet:
            return Point(note=str(unmet))

    def by(self, theorem: Theorem) -> Point:
        """What one theorem proves."""
        try:
            bound = bound_by(theorem, self.run, self.geometry, self.delta)
        except UnmetHypothesis as unmet:
            return Point(note=str(unmet))
        return Point(bound.name, bound.f, bound.mu)

    @cached_property
    def best(self) -> Certificate:
        """The tightest certificate there is; composition where no other theorem admits the run."""
        return best_certificate(self.run, self.geometry, self.delta)

    @cached_property
    def _known(self) -> tuple[Bound, ...]:
        return evaluate(self.run, self.geometry, "paper", delta=self.delta).found

    def _tightest(self, family: str) -> Point:
        found = [bound for bound in self._known if bound.family == family]
        if not found:
            return Point(note="no theorem applies")
        if self.run.sampled:
            best = tightest(found, self.run, self.geometry, self.delta)
        elif all(bound.mu is not None for bound in found):
            best = min(found, key=lambda bound: bound.mu or 0.0)
        else:
            best = min(found, key=lambda bound: bound.f.epsilon(self.delta))
        return Point(best.name, best.f, best.mu)

    def _prior(self) -> Point:
        """[YS22], or [CWCL24] of a deletion, converted by all four formulas."""
        if self.run.deletes:
            return self._prior_of_deletion(self.run)
        theorem = "[YS22, Thm D.6]" if self.run.full_batches else "[YS22, Thm 3.3]"
        return Point(theorem, rho=prior_rho(self.run, self.geometry))

    def _prior_of_deletion(self, run: Unlearning) -> Point:
        """[CWCL24], or [YS22] of training where that is less: further steps are post-processing."""
        trained = Compared(run.training, self.geometry, self.delta)
        first = Point("[CWCL24]", rho=deletion_rho(run, self.geometry))
        second = trained.point("prior Renyi")
        if second.rho is None or (first.rho or 0.0) <= second.rho:
            return first
        return second

    def _best(self) -> Point:
        return Point(self.best.bound, self.best.f, self.best.mu)

    def _lower(self) -> Point:
        unknown, name = Point(note="not known for this class"), lower_bound_of(self.run).name
        if self.run.sampled:
            least = attained_epsilon(self.run, self.geometry, self.delta)
            return unknown if least is None else Point(name, attained=least)
        lower = attained_mu(self.run, self.geometry)
        return unknown if lower is None else Point(name, GaussianTradeoff(lower), lower)


_ACCOUNTANTS: dict[str, Callable[[Compared], Point]] = {
    "composition": lambda compared: compared._tightest("composition"),
    "prior Renyi": Compared._prior,
    "paper": lambda compared: compared._tightest("paper"),
    "best": Compared._best,
    "lower bound": Compared._lower,
}
CURVES = tuple(_ACCOUNTANTS)
"""The names of the accountants, from the loosest idea to the best bound, and of the lower bound."""


def kind_of(name: str) -> str:
    """`attained` for the lower bound, `certified` for all others."""
    return "attained" if name == "lower bound" else CERTIFIED


def compare(
    run: Run, geometry: Geometry, *, delta: float, theorems: Iterable[Theorem] = ()
) -> Table:
    """Rows `composition`, `prior Renyi`, `paper`, `best` and `lower bound` for one run.

    The prior bound is [YS22]; of a deletion [CWCL24], or [YS22] on training where that is less.

    For random batches each theorem of the library that goes beyond the paper has a row of its own
    above `best`. `theorems` are your own (see docs/theorems.md): a row each there, too;
    `best` is the best of the library.

    Warns (`SmallLastBatch`) where a smaller last batch makes it cost noticeably more.

    >>> from shiftdp.last_iterate import NoisyCGD
    >>> geometry = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
    >>> run = NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)
    >>> table = compare(run, geometry, delta=1e-5)
    >>> [round(row.epsilon, 2) for row in table]
    [30.51, 5.82, 4.34, 4.34, 4.34]
    """
    delta = delta_in(delta)
    own = own_theorems(theorems)
    compared = Compared(run, geometry, delta)
    warn_of_last_batch(compared.best, delta)
    rows = []
    for name in CURVES:
        if name == "best":
            rows += [_row_of(theorem, compared, CERTIFIED) for theorem in _rivals(run)]
            rows += [_row_of(theorem, compared, CONDITIONAL) for theorem in own]
        point = compared.point(name)
        epsilon = point.epsilon(delta)
        if name == "lower bound" and epsilon is not None:
            epsilon *= ATTAINED_DOWN
        rows.append(Row(name, point.theorem, epsilon, point.mu, kind_of(name), point.note))
    return Table(delta, tuple(rows))


def _rivals(run: Run) -> list[Theorem]:
    """The theorems of the library beyond the paper, of which random batches have several."""
    if not run.sampled:
        return []
    return [item for item in THEOREMS if item.family == "ours" and item.applies_to(run)]


def _row_of(theorem: Theorem, compared: Compared, kind: Kind | str) -> Row:
    point = compared.by(theorem)
    epsilon = point.epsilon(compared.delta)
    cited = theorem.citation if point.theorem else ""
    return Row(theorem.name, cited, epsilon, point.mu, kind, point.note)


def best_certificate(run: Run, geometry: Geometry, delta: float) -> Certificate:
    """`certify`, or `certify(..., bounds="composition")` where nothing else admits the run.

    That is a learning rate above 2/smoothness, which `certify` refuses unless it is asked for
    composition.
    """
    try:
        return certify(run, geometry, delta=delta)
    except UnmetHypothesis as unmet:
        refused = unmet
    try:
        return certify(run, geometry, bounds="composition", delta=delta)
    except UnmetHypothesis:
        raise refused from None


def prior_rho(run: Run, geometry: Geometry) -> float:
    """rho of [YS22], with (alpha, rho alpha)-RDP for every alpha > 1."""
    if not isinstance(run, (NoisyGD, NoisyCGD)):
        raise UnmetHypothesis("run", type(run).__name__, "is not covered by [YS22]", "use the rest")
    if has_releases(run):
        raise UnmetHypothesis(
            "releases",
            f"<{number_of_releases(run)} steps>",
            "are several, and [YS22] is about the last iterate",
            "use Theorem V1",
        )
    if geometry.prox_convexity:
        raise UnmetHypothesis(
            "prox_convexity", geometry.prox_convexity, "is not covered by [YS22]", "use Theorem B1"
        )
    if people(run) > 1:
        if getattr(run, "arrangement", "anywhere") != "anywhere":
            raise UnmetHypothesis(
                "arrangement", "one_per_batch", "is not covered by [YS22]", "use Theorem V4"
            )
        return prior_rho(one_record(run), scaled_losses(geometry, people(run)))
    if not (isinstance(run.learning_rate, float) and isinstance(run.noise, float)):
        name = "noise" if isinstance(run.learning_rate, float) else "learning_rate"
        raise UnmetHypothesis(name, "<one a step>", "is not constant", "use Theorem B1")
    eta, sd = run.learning_rate, run.learning_rate * run.noise
    c = geometry.contraction(eta)
    if run.full_batches:
        return renyi_full_batch(
            c,
            eta * geometry.sensitivity / run.n,
            sd,
            run.steps,
            learning_rate=eta,
            strong_convexity=geometry.strong_convexity,
        )
    unfinished = math.isfinite(run.steps) and run.steps % run.batches
    unequal = run.divisor_of(run.batches) != run.batch_size
    if run.order == "reshuffled" or unfinished or unequal:
        name, value = ("order", run.order) if run.order == "reshuffled" else (
            ("steps", run.steps) if unfinished else ("batch_size", run.batch_size)
        )  # fmt: skip
        problem = "does not make whole epochs of equal batches in one order, as [YS22] asks"
        raise UnmetHypothesis(name, value, problem, "use Theorem B1 or B4")
    s = eta * geometry.sensitivity / run.batch_size
    return renyi_cyclic(c, s, sd, run.batches, run.epochs)
