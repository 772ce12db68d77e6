"""What proves a certificate, over time: shifts and distances, or a law of mu."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._errors import ShiftdpError
from shiftdp._rounding import GENEROUS
from shiftdp.interpolation.reshuffled import ReshuffledSchedule
from shiftdp.interpolation.schedule import Shifts
from shiftdp.interpolation.verification import proved_mu
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.endless import stand_in
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import one_record, people
from shiftdp.last_iterate.schedules.deletion import deletion_schedule
from shiftdp.last_iterate.schedules.people import person_schedule
from shiftdp.last_iterate.schedules.releases import segments_of
from shiftdp.last_iterate.schedules.segments import segment_schedules
from shiftdp.last_iterate.schedules.visits import StepSchedule, Visits, schedules_of
from shiftdp.last_iterate.theorems.derived.people import scaled_losses
from shiftdp.last_iterate.theorems.descent import descent_of
from shiftdp.last_iterate.theorems.hidden import HiddenProof
from shiftdp.last_iterate.theorems.prefix import PrefixProof
from shiftdp.last_iterate.theorems.proofs import Proof, StochasticProof
from shiftdp.last_iterate.theorems.registry import family_of
from shiftdp.last_iterate.theorems.released.joint import ReleasesProof
from shiftdp.last_iterate.theorems.released.segments import SegmentProof

MOST_DRAWN = 2_000
"""Of a longer run the last so many steps are shown."""

MOST_FOLLOWED = 2_000_000
"""The longest run whose steps are followed one by one."""

_SAME = 1e4 * GENEROUS  # part by which mu of shifts may differ from what they prove again


@dataclass(frozen=True, eq=False)
class ShiftsOverTime:
    """Shifts a_k and the distances z_k that are left, or None where only shifts are known.

    `unit` is what is counted: steps, or visits where the steps between two of them were merged.
    `measure` says what shifts and distances are in units of.
    """

    about: str
    unit: str
    at: NDArray[np.int64]
    shift: Array
    distance: Array | None
    measure: str


@dataclass(frozen=True, eq=False)
class LawOfMu:
    """A law that dominates mu(V) over the participation V of a record. [Theorem B7]"""

    about: str
    mu: Array
    weight: Array


@dataclass(frozen=True)
class NoPath:
    """Why there is nothing that happens over time."""

    about: str


Path = ShiftsOverTime | LawOfMu | NoPath


def path_of(certificate: Certificate) -> Path:
    """What the proofs of a certificate show over time, for the record that costs most."""
    proofs = certificate.proofs
    if not proofs:
        # the exponential mechanism has no steps that could be composed
        steps_composed = not certificate.run.one_draw
        composed = steps_composed and family_of(certificate.bound) == "composition"
        return NoPath(
            "Composition takes back each use of the record at once: every shift is as large as the "
            "use, and no distance is left."
            if composed
            else f"{certificate.bound} is a formula: it carries no shifts."
        )
    first = proofs[0]
    if isinstance(first, HiddenProof):
        return LawOfMu(
            f"{certificate.bound} has no one path: how often and when the record takes part is "
            "hidden. This is the law of mu over what may have happened.",
            np.array(first.mu),
            np.array(first.weight),
        )
    if isinstance(first, (StochasticProof, PrefixProof)):
        return _by_groups(certificate, first)
    if isinstance(first, SegmentProof):
        return NoPath(
            f"{certificate.bound} proves each of {len(proofs)} segments between releases by a "
            "theorem of its own."
        )
    run = cast(Any, certificate.run)
    steps = getattr(run.window, "steps", 0)
    if steps != np.inf and steps > MOST_FOLLOWED:
        return NoPath(f"{steps} steps are too many to be drawn one by one.")
    if isinstance(first, ReleasesProof):
        return _by_segments(certificate, ReleasesProof.among(proofs))
    if isinstance(first, Proof):
        return _by_shifts(certificate, Proof.among(proofs))
    return NoPath(f"{certificate.bound} has proofs of its own kind, of which nothing is drawn.")


def _by_shifts(certificate: Certificate, proofs: Sequence[Proof]) -> Path:
    proof = max(proofs, key=lambda one: one.shifts.mu)
    for schedule in _schedules(certificate, proof.visits):
        if schedule.steps != int(proof.shifts.last[-1]):
            continue
        again = proved_mu(schedule, proof.shifts)
        if abs(again - proof.shifts.mu) <= _SAME * proof.shifts.mu:
            steps = getattr(certificate.run, "steps", schedule.steps)
            unit = "step" if schedule.steps == steps or steps == np.inf else "visit"
            shift, distance = _expanded(schedule, proof.shifts)
            at = np.arange(schedule.steps - shift.size, schedule.steps) + 1
            about = _whom(proof.visits, len(proofs))
            return _drawn(ShiftsOverTime(about, unit, at, shift, distance, "of the iterate"))
    return NoPath(f"{certificate.bound} merges steps: its shifts are not those of one schedule.")


def _by_segments(certificate: Certificate, proofs: Sequence[ReleasesProof]) -> Path:
    """Each segment begins from a released iterate, where the distance is 0."""
    proof = max(proofs, key=lambda one: sum(part.mu**2 for part in one.segments))
    run: Any = certificate.run
    segments = segments_of(run)
    (schedules,) = segment_schedules(run, certificate.geometry, [proof.visits])
    if [schedule.steps for schedule in schedules] != [segment.steps for segment in segments]:
        return NoPath(f"{certificate.bound} merges steps between visits.")
    parts = [
        _expanded(schedule, part, whole=True)
        for schedule, part in zip(schedules, proof.segments, strict=True)
    ]
    shift, distance = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    about = f"{_whom(proof.visits, len(proofs))}; a release sets the distance to 0"
    if any(segment.count > 1 for segment in segments):
        about += "; of segments between releases that are alike, one is shown"
    at = np.arange(1, shift.size + 1)
    return _drawn(ShiftsOverTime(about, "step", at, shift, distance, "of the iterate"))


def _by_groups(certificate: Certificate, proof: StochasticProof | PrefixProof) -> Path:
    run: Any = certificate.run
    if not proof.groups or sum(n for _, n in proof.groups) > MOST_FOLLOWED:
        return NoPath(f"{certificate.bound} splits the noise instead of shifting.")
    shift = np.repeat([a for a, _ in proof.groups], [n for _, n in proof.groups])
    at = np.arange(proof.tau + 1, proof.tau + 1 + shift.size)
    about = (
        f"From step {proof.tau + 1} of {run.steps} on the two runs are led together, whether the "
        "record takes part or not"
    )
    return _drawn(ShiftsOverTime(about, "step", at, shift, None, "of the noise"))


def _schedules(certificate: Certificate, visits: Visits) -> Iterator[StepSchedule]:
    """The schedules that shifts may be about: a theorem may have scaled the losses first."""
    run: Any = certificate.run
    geometry = certificate.geometry
    if run.endless:
        run = stand_in(run, geometry)
    if run.deletes:
        yield from _tried(lambda: deletion_schedule(run, geometry, visits))
        run = run.training
    k = people(run)
    if k > 1:
        yield from _tried(lambda: person_schedule(run, geometry, visits))
        yield from _tried(lambda: _plain(one_record(run), scaled_losses(geometry, k), visits))
    yield from _tried(lambda: _plain(one_record(run), geometry, visits))


def _plain(run: Any, geometry: Geometry, visits: Visits) -> StepSchedule:
    descent = descent_of(run, geometry)
    if descent.steps == np.inf:
        descent = stand_in(descent, geometry)
    (schedule,) = schedules_of(descent, geometry, [visits])
    return schedule


def _tried(make: Any) -> Iterator[StepSchedule]:
    try:
        yield make()
    except ShiftdpError:
        return


def _expanded(
    schedule: StepSchedule, shifts: Shifts, *, whole: bool = False
) -> tuple[Array, Array]:
    steps = schedule.expand() if isinstance(schedule, ReshuffledSchedule) else schedule
    path = shifts.expand(steps)
    missing = schedule.steps - path.a.size if whole else 0
    return np.pad(path.a, (missing, 0)), np.pad(path.z, (missing, 0))


def _drawn(path: ShiftsOverTime) -> ShiftsOverTime:
    if path.at.size <= MOST_DRAWN:
        return path
    last = slice(-MOST_DRAWN, None)
    return ShiftsOverTime(
        f"{path.about}; the last {MOST_DRAWN} of {path.at.size} are shown",
        path.unit,
        path.at[last],
        path.shift[last],
        None if path.distance is None else path.distance[last],
        path.measure,
    )


def _whom(visits: Visits, cases: int) -> str:
    where = f"batch {visits.position}" if visits.position else "no batch of the last epoch"
    if visits.pattern == "final":
        return f"For a record that is in {where} of the last epoch"
    return f"For a record in {where}" + (", which costs most" if cases > 1 else "")
