"""What a theorem is, and what it gives.

`certify`, `compare`, `verify` and the files that certificates are kept in know theorems by the
methods below and by nothing else. `registry` finds those of the library: objects that a module of
this package lists as its `THEOREMS`. One of your own is a subclass as well, with a name, a
citation, its runs, `bound` and `hypotheses` (see docs/theorems.md).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from shiftdp.fdp import TradeoffFunction
from shiftdp.last_iterate.assumptions import Assumptions
from shiftdp.last_iterate.endless import never_forgotten
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import Run, has_releases, people
from shiftdp.last_iterate.theorems.checks import at_least, require
from shiftdp.last_iterate.theorems.proofs import AnyProof, Proofs

Family = Literal["composition", "paper", "ours", "user"]

DELTA = 1e-5
"""Where bounds with free parameters are made to be tightest, unless another delta is given."""


class Prospect(IntEnum):
    """What a theorem may still give where only the best bound counts: its turn, or none.

    Theorems are tried in the order below, those alike in the order of the registry. A prospect that
    is too good costs time, one that is too bad costs tightness; neither can make a bound wrong.
    """

    UNBEATEN = 0  # where it applies, none gives less but those that say the same of themselves
    OPEN = 1
    COSTLY = 2  # its search takes long, and may be hopeless against what others have found
    CONTAINED = 3  # one of ours applies wherever it does, and is nowhere worse: tried if none did
    HOPELESS = 4  # a quick look shows that its epsilon is above what was found: not tried


class Theorem(ABC):
    """A statement about the last iterate of some runs.

    Args:
        name: as it stands in certificates, letter for letter.
        citation: where it is proved.
        runs: the classes of runs that it is about.
        anchor: the heading of docs/theory.md under which it is stated; None if it is not ours.
        family: `composition`, the `paper`, `ours`, or that of a `user`.
        released: whether it lets other iterates than the last one be released (see
            `docs/releases.md`); where it does not, it is not about runs that release some.
        contracts: whether it asks that a step is Lipschitz, so that losses must be convex as
            they are clipped; composition does not.
        contained: whether one of ours applies wherever it does and is nowhere worse (`Prospect`).
        proof_type: the class of its proofs, which says how they are written and read; None if it is
            a formula, which needs none.
        place: its place in the registry, among those with the same place that of its module. What
            is quick comes first, and on a tie the first one is named.
        protects_people: whether it covers runs in which a person has several records; others are
            about one record each.
        needs_releases: whether it is about runs with several releases and no others.
        needs_people: whether it is about runs with several records a person and no others.
        why_above: why its number may be above what is attained, where that is known of the theorem
            itself, whatever the run.
    """

    name: str
    citation: str
    runs: tuple[type[Run], ...]
    anchor: str | None = None
    family: Family = "user"
    released: bool = False
    contracts: bool = True
    contained: bool = False
    proof_type: type[AnyProof] | None = None
    place: int = 50
    protects_people: bool = False
    needs_releases: bool = False
    needs_people: bool = False
    why_above: str = ""

    def applies_to(self, run: Run) -> bool:
        """Whether it is about such a run, whatever the losses."""
        if not isinstance(run, self.runs):
            return False
        # people with several records and several releases are not proved together
        several, shown = people(run) > 1, has_releases(getattr(run, "training", run))
        if several and (shown or not self.protects_people):
            return False
        if shown and (not self.released or self.protects_people):
            return False
        if (self.needs_people and not several) or (self.needs_releases and not shown):
            return False
        return self.speaks_of(run)

    def speaks_of(self, run: Run) -> bool:
        """Which of its `runs` it is about; all, unless a subclass knows better."""
        return True

    @abstractmethod
    def bound(self, run: Run, geometry: Geometry, delta: float) -> Bound:
        """What it gives, with free parameters that are best at delta.

        Raises `UnmetHypothesis`, which names what is missing, its value and the remedy.
        """

    @abstractmethod
    def hypotheses(self, run: Run, geometry: Geometry, proofs: Proofs) -> Assumptions:
        """What a certificate by this theorem rests on, in words."""

    def proved(self, bound: Bound, run: Run, geometry: Geometry, *, endless: bool) -> Bound:
        """The bound with what proves it, where `bound` left that out because it takes time."""
        return bound

    def rebuild(
        self, run: Run, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        """The tradeoff function from what proves it; a formula is evaluated again."""
        return self.bound(run, geometry, DELTA).f

    def check(self, claim: Claim) -> None:
        """Raise `VerificationFailed` unless the claim is proved. No search is made."""
        require(not claim.proofs, f"{self.name} needs no proof")
        expected = self.rebuild(claim.run, claim.geometry, (), accuracy=1.0)
        require(at_least(claim.f, expected), f"the bound is not what {self.name} gives")

    def prospect(self, run: Run, geometry: Geometry, delta: float, rival: float) -> Prospect:
        """Whether it is worth trying against `rival`, the least epsilon at delta that is known.

        It is asked twice: for its turn, with an infinite rival, and when that has come. Then it may
        raise `UnmetHypothesis` as `bound` does.
        """
        return Prospect.CONTAINED if self.contained else Prospect.OPEN

    # --- runs without end ---

    def forgets(self, run: Run, geometry: Geometry, proofs: Proofs) -> bool:
        """Whether a bound on the stand-in of an endless run holds for every longer one too."""
        return False

    def require_forgotten(self, run: Run, geometry: Geometry, proofs: Proofs) -> None:
        """Refuse a bound on the stand-in (`run`) that would not hold for longer runs."""
        if geometry.sensitivity > 0.0 and not self.forgets(run, geometry, proofs):
            raise never_forgotten(run, geometry)

    def for_every_length(self, run: Run, geometry: Geometry, delta: float) -> Bound:
        """What it gives for the stand-in and every longer run, or `UnmetHypothesis`."""
        from shiftdp.last_iterate.theorems.own import own_bound

        bound = own_bound(self, self.bound(run, geometry, delta))
        self.require_forgotten(run, geometry, bound.proofs)
        return bound


@dataclass(frozen=True)
class Claim:
    """What a certificate states: the run is f-DP, as the proofs show.

    `endless`: the run stands in for every longer one, of which it is claimed as well.
    """

    run: Run
    geometry: Geometry
    f: TradeoffFunction
    proofs: Proofs
    endless: bool = False


@dataclass(frozen=True)
class Bound:
    """A lower bound on the tradeoff function of a run, by a theorem.

    Args:
        theorem: the one that gives it.
        f: the tradeoff function.
        proofs: what proves it, where a formula alone does not.
        guess: an estimate of epsilon at the delta that the bound was made for, where it is costly
            to evaluate; it is good for choosing between bounds and for nothing else.
    """

    theorem: Theorem
    f: TradeoffFunction
    proofs: Proofs = ()
    guess: float | None = None

    @property
    def name(self) -> str:
        return self.theorem.name

    @property
    def family(self) -> Family:
        return self.theorem.family

    @property
    def mu(self) -> float | None:
        """The GDP parameter, where the bound is Gaussian."""
        return self.f.gdp_mu
