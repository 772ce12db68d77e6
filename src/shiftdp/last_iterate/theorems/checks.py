"""Check proofs without the code that made them: nothing here searches.

Shifts are handed to `interpolation.verification`, outcome by outcome. A stated number may exceed
what is proved by a little, and is never below it. `sampled.checks` is for bounds on NoisySGD.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from shiftdp._errors import VerificationFailed
from shiftdp.fdp import TradeoffFunction
from shiftdp.interpolation.shifts import Shifts
from shiftdp.interpolation.verification import verify
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.outcomes import Outcome, are_outcomes
from shiftdp.last_iterate.schedules.visits import (
    BatchRun,
    StepSchedule,
    Visits,
    schedules_of,
)
from shiftdp.last_iterate.theorems.proofs import (
    Proof,
    Proofs,
)

SHIFTS_SLACK = 1e-6
"""By which part a stated number may exceed what shifts prove. A certificate of a noisier run is no
lie about privacy, but it is not the certificate of this run."""
FORMULA_SLACK = 1e-9
"""By which part a stated number may exceed what a formula gives when it is evaluated again."""
_MORE_IS_WORSE = ("mu", "epsilon")  # of the numbers of a tradeoff function
_NOTHING = 1e-100  # by which a number may exceed 0


def require(condition: bool, problem: str) -> None:
    """Raise `VerificationFailed` with the problem unless the condition holds."""
    if not condition:
        raise VerificationFailed(problem)


def mu_of(f: TradeoffFunction) -> float:
    """mu of a tradeoff function that has to be Gaussian."""
    mu = f.gdp_mu
    if mu is None:
        raise VerificationFailed(f"{f} is not Gaussian, as the bound says")
    return mu


def barely_above(stated: float, derived: float, slack: float = FORMULA_SLACK) -> bool:
    """Whether a number is what was derived, or a little above; never below."""
    return derived <= stated <= derived * (1 + slack) + _NOTHING


def at_least(
    stated: TradeoffFunction, derived: TradeoffFunction, slack: float = FORMULA_SLACK
) -> bool:
    """Whether a function is what was derived, each of its mu and epsilon perhaps a little above."""
    return _at_least(stated.to_dict(), derived.to_dict(), slack)


def _at_least(stated: Any, derived: Any, slack: float, name: str = "") -> bool:
    if isinstance(derived, dict) and isinstance(stated, dict):
        return stated.keys() == derived.keys() and all(
            _at_least(stated[key], derived[key], slack, key) for key in derived
        )
    if isinstance(derived, list) and isinstance(stated, list):
        pairs = zip(stated, derived, strict=False)
        return len(stated) == len(derived) and all(_at_least(*pair, slack) for pair in pairs)
    if name in _MORE_IS_WORSE and isinstance(stated, float):
        return barely_above(stated, derived, slack)
    return bool(stated == derived)


def verify_shifts(
    run: BatchRun, geometry: Geometry, proofs: Proofs, *, endless: bool
) -> tuple[Proof, ...]:
    """Raise unless there are shifts for each outcome of the run, which prove the mu they state.

    The outcomes must be those of the run. `endless`: the run stands in for every longer one.
    """
    by_shifts = Proof.among(proofs)
    require(bool(proofs), "it carries no shifts")
    require(len(by_shifts) == len(proofs), "a proof is of another kind")
    stated = [(proof.visits, proof.weight) for proof in by_shifts]
    require(are_outcomes(run, geometry, stated), "the outcomes are not those of the run")
    schedules = schedules_of(run, geometry, [visits for visits, _ in stated])
    for schedule, proof in zip(schedules, by_shifts, strict=True):
        verify_stated_mu(schedule, proof.shifts, endless=endless)
    return by_shifts


def verify_cases(
    proofs: Proofs,
    cases: Sequence[Outcome],
    schedule: Callable[[Visits], StepSchedule],
    *,
    endless: bool,
) -> tuple[Proof, ...]:
    """Raise unless there are shifts for each of these cases, which prove the mu they state.

    Args:
        proofs: what a certificate carries.
        cases: the outcomes of the run, with their weights.
        schedule: the steps as the record, or person, of an outcome sees them.
        endless: whether the run stands in for every longer one.
    """
    by_shifts = Proof.among(proofs)
    require(len(by_shifts) == len(proofs), "a proof is of another kind")
    stated = [(proof.visits, proof.weight) for proof in by_shifts]
    same = stated == [(case.visits, case.weight) for case in cases]
    require(same, "the outcomes are not those of the run")
    for proof in by_shifts:
        verify_stated_mu(schedule(proof.visits), proof.shifts, endless=endless)
    return by_shifts


def verify_stated_mu(schedule: StepSchedule, shifts: Shifts, *, endless: bool = False) -> None:
    """Raise unless shifts prove the mu that they state. `endless`: for every longer run too."""
    proved = verify(schedule, shifts)
    # what a longer run adds is far below the last digit, but it is not nothing
    least = math.nextafter(proved, math.inf) if endless and proved else proved
    mu = shifts.mu
    require(
        least <= mu and (mu == math.inf or barely_above(mu, proved, SHIFTS_SLACK)),
        f"mu={mu!r} is stated where the shifts prove {proved!r}: they belong to another run",
    )
