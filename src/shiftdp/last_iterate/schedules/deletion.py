"""Training and what follows a deletion, as the deleted records see the steps. [Theorem V3]

Steps in which nothing differs between the two runs are merged. From a step that moves them apart by
s, with contraction c and noise sd, and d - 1 idle ones after it, comes one step with

    c^d,   c^{d-1} s,   sd sqrt(1 + c^2 + ... + c^{2(d-1)}),

which leaves mu of Theorem B1 as it is: over idle steps its obstacle is flat, and the least convex
path passes below a flat part if it passes below its end. With a projection the best start may be
any step; where steps do not expand, the first idle one is the best of its row, so there a visit
stays a step of its own. Schedules are as short as there are visits, and further steps cost nothing,
however many they are.

Powers are computed with 60 digits and rounded to the safe side.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Context, Decimal, localcontext
from functools import lru_cache
from typing import cast

import numpy as np

from shiftdp._checks import Array
from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import EIGHT_ROUNDINGS, LEAST_FLOAT, ULP
from shiftdp.interpolation.reshuffled import ReshuffledSchedule
from shiftdp.interpolation.schedule import PeriodicSchedule, Schedule
from shiftdp.interpolation.verification_equal_steps import float_above
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.outcomes import (
    Outcome,
    has_one_outcome,
    has_random_visits,
    later_is_worse,
    outcomes,
)
from shiftdp.last_iterate.runs import NoisyCGD, Training, Unlearning, people
from shiftdp.last_iterate.schedules.people import person_outcomes, person_schedule, require_arranged
from shiftdp.last_iterate.schedules.visits import (
    BatchRun,
    StepSchedule,
    Visits,
    has_equal_steps,
    require_short,
    schedule_of,
    schedules_of,
    step_constants,
)

_DIGITS = Context(prec=60, Emin=-(10**17), Emax=10**17)  # powers of up to 2^53 steps
_UP = 1.0 + EIGHT_ROUNDINGS  # of products of a few factors
_LOSS = Decimal("1e-50")  # more than the roundings of a power or of a root with 60 digits
_MOST_CASES = 30_000_000  # steps times positions that are solved


Idle = tuple[float, float, float]
"""Of steps in a row: contraction up, what is left of a displacement in the first one (up), and the
noise that they leave (down)."""


@lru_cache(maxsize=512)
def _merged(c: float, sd: float, steps: int) -> Idle:
    """c^d, c^{d-1} and sd sqrt(1 + c^2 + ... + c^{2(d-1)}) for d equal steps."""
    with localcontext(_DIGITS):
        slope, square = Decimal(c), Decimal(c) ** 2
        left = slope ** (steps - 1) if steps > 1 else Decimal(1)
        series = Decimal(steps)
        if square != 1:
            power = square**steps
            series = (1 - power) / (1 - square)
        deviation = Decimal(sd) * series.sqrt() * (1 - _LOSS)
        noise = float(deviation)
        if Decimal(noise) > deviation:
            noise = math.nextafter(noise, 0.0)
        return _up(slope * left), _up(left), noise


def _up(value: Decimal) -> float:
    # a power that underflows is not 0
    return max(float_above(value * (1 + _LOSS)), LEAST_FLOAT) if value else 0.0


def further_idle(
    run: Unlearning, geometry: Geometry, skip: int = 0, number: int | None = None
) -> Idle:
    """The further steps after the first `skip` ones, all or so many, in which nothing differs."""
    K = run.further_steps - skip if number is None else number
    if isinstance(run.learning_rate, float) and isinstance(run.noise, float):
        c = geometry.contraction(run.learning_rate)
        return _merged(c, run.learning_rate * run.noise * (1.0 - EIGHT_ROUNDINGS), K)
    c_k, sd_k = (part[:K] for part in _further_steps(run, geometry, skip))
    after = np.append(np.cumprod(c_k[::-1])[::-1][1:], 1.0)
    slack = (K + 8) * 4 * ULP
    left = float(after[0]) * (1.0 + slack) + LEAST_FLOAT
    noise = math.sqrt(float(np.sum((after * sd_k) ** 2))) * (1.0 - slack)
    return float(c_k[0]) * left * _UP, left, noise


def _further_steps(run: Unlearning, geometry: Geometry, skip: int) -> tuple[Array, Array]:
    require_short(run.further_steps)
    eta = np.broadcast_to(np.asarray(run.learning_rate, dtype=np.float64), run.further_steps)[skip:]
    sigma = np.broadcast_to(np.asarray(run.noise, dtype=np.float64), run.further_steps)[skip:]
    rates, where = np.unique(eta, return_inverse=True)
    c = np.array([geometry.contraction(float(rate)) for rate in rates])[where]
    return c, eta * sigma * (1.0 - EIGHT_ROUNDINGS)


def restart_distance(run: Unlearning, geometry: Geometry) -> float:
    """g sqrt(d): how far rounding to a grid moves two points relative to each other, at most.

    It comes after the last prox of training, whose contraction Theorem V5 counts in the next step:
    there it is taken back.

    >>> from shiftdp.last_iterate import NoisyGD, Unlearning
    >>> training = NoisyGD(n=10, steps=5, learning_rate=0.1, noise=1.0)
    >>> run = Unlearning(training=training, further_steps=3, grid=0.25, dimension=16)
    >>> round(restart_distance(run, Geometry(strong_convexity=0, smoothness=1, sensitivity=1)), 12)
    1.0
    """
    undone = 1.0 + max(_rates(run)) * geometry.prox_convexity
    return run.grid * math.sqrt(run.dimension) * undone * _UP if run.grid else 0.0


def require_one_prox(run: Unlearning, geometry: Geometry) -> None:
    """Raise `UnmetHypothesis` where a prox contracts by different factors in different steps.

    Theorem V5 counts that of a step in the next one, which has to have the same learning rate.
    """
    trained = run.training.learning_rate
    rates = {trained} if isinstance(trained, float) else set(trained)
    if geometry.prox_convexity and len({*_rates(run), *rates}) > 1:
        raise UnmetHypothesis(
            "prox_convexity",
            geometry.prox_convexity,
            "is used where further steps have the learning rate of training",
            "give prox_convexity=0, which is valid for any prox, or one learning rate",
        )


def require_deletion(run: Unlearning, geometry: Geometry) -> None:
    """Raise `UnmetHypothesis` unless the schedules below are those of a deletion."""
    training = run.training
    trained = training.learning_rate
    largest = max(*_rates(run), trained if isinstance(trained, float) else max(trained))
    require_one_prox(run, geometry)
    if geometry.bounded and geometry.contraction(largest) > 1.0:
        raise UnmetHypothesis(
            "learning_rate",
            largest,
            "lets steps expand within a bounded set",
            "lower it, or rely on the certificate of training",
        )
    several = run.records > 1 or run.later_requests
    if several and has_random_visits(cast(BatchRun, training)):
        _require_alike(run, geometry)
    if (
        several
        and geometry.bounded
        and not run.later_requests
        and not has_one_outcome(cast(BatchRun, training), geometry)
    ):
        raise UnmetHypothesis(
            "diameter",
            geometry.diameter,
            "is finite, and it is not known which batch is the worst for several records",
            "rely on group privacy, or give whole epochs of equal steps in a fixed order",
        )
    if run.later_requests:
        _require_alike(run, geometry)
    if _is_arranged(training):
        require_arranged(cast(NoisyCGD, training), geometry)


def _is_arranged(training: Training) -> bool:
    """Whether it matters where a person's records are, or chance decides how many are used.

    The second may be with one batch an epoch too, beside which records are dropped.
    """
    if not training.in_turn or people(training) == 1:
        return False
    return training.batches > 1 or has_random_visits(training)


def _rates(run: Unlearning) -> tuple[float, ...]:
    rate = run.learning_rate
    return (rate, rate) if isinstance(rate, float) else rate


def _require_alike(run: Unlearning, geometry: Geometry) -> None:
    """Several requests: equal steps throughout, through batches with one divisor, of which later
    ones are worse. Batches in a random order must end with an epoch: then visits at the ends of
    epochs are the worst."""
    training = run.training
    alike = has_equal_steps(cast(BatchRun, training)) and (
        training.learning_rate,
        training.noise,
    ) == (
        run.learning_rate,
        run.noise,
    )
    same = training.full_batches or (
        training.in_turn
        and training.divisor_of(training.batches) == training.divisor_of(1)
        and later_is_worse(training, geometry)
        and (training.order == "fixed" or training.steps % training.batches == 0)
    )
    if not (alike and same) or people(training) > 1:
        raise UnmetHypothesis(
            "later_requests",
            f"<{len(run.later_requests)} requests>",
            "are covered where equal steps go on through equal batches, and one record a person",
            "certify each request by itself, and add up their mu",
        )


def deletion_outcomes(run: Unlearning, geometry: Geometry) -> list[Outcome]:
    """Where the deleted record may have been: candidates for the worst, or all cases."""
    training = run.training
    if one_by_one(run):
        return [Outcome(Visits("every", training.steps % training.batches or training.batches))]
    if _is_arranged(training):
        return person_outcomes(cast(NoisyCGD, training))
    found = list(outcomes(training, geometry))  # type: ignore[arg-type]
    if len(found) * min(training.steps, len(found) * 1000) > _MOST_CASES:
        raise UnmetHypothesis(
            "steps", training.steps, "are too many", "rely on the certificate of training"
        )
    return found


def deletion_schedule(
    run: Unlearning, geometry: Geometry, visits: Visits, *, attained: bool = False
) -> Schedule:
    """All steps as the records at these visits see them; `attained` ones are not merged.

    The last entry is that of the further steps. It is rounded like the others: up, or down for what
    instances attain.
    """
    if one_by_one(run):
        c, s, sd = _several_requests(run, geometry)
        times = 1.0
    else:
        c, s, sd = _trained(run, geometry, visits, attained)
        times = 1.0 if people(run.training) > 1 else float(run.records)
    s = s * times * (1.0 if attained else _UP)
    after = run.later_requests[-1][0] if run.later_requests else 0
    jump, skip = restart_distance(run, geometry), 0
    if jump and geometry.bounded and run.further_steps > after + 1:
        # what is moved by rounding is within the set again after one step
        slope, _, noise = further_idle(run, geometry, after, 1)
        c, s, sd = np.append(c, slope), np.append(s, jump * slope * _UP), np.append(sd, noise)
        jump, skip = 0.0, 1
    if run.further_steps > after + skip:
        slope, _, noise = further_idle(run, geometry, after + skip)
        if attained:
            slope, noise = _attained_idle(run, geometry)
        c, s, sd = np.append(c, slope), np.append(s, jump * slope * _UP), np.append(sd, noise)
    return Schedule(c, s, sd, geometry.diameter)


def _trained(
    run: Unlearning, geometry: Geometry, visits: Visits, attained: bool
) -> tuple[Array, Array, Array]:
    """The steps of training; those between two visits are merged, but for `attained` ones."""
    training = run.training
    if _is_arranged(training):
        person = person_schedule(cast(NoisyCGD, training), geometry, visits, attained=attained)
        return person.contraction, person.sensitivity, person.noise
    plain = cast(BatchRun, training)
    if attained:
        schedule = schedule_of(plain, geometry, visits, attained=True)
    else:
        (schedule,) = schedules_of(plain, geometry, [visits])
    if people(training) > 1:
        schedule = _strengthened(schedule, people(training))
    if isinstance(schedule, Schedule) or attained:
        listed = schedule if isinstance(schedule, Schedule) else schedule.expand()
        return listed.contraction, listed.sensitivity, listed.noise
    return _by_visits(schedule)


def _strengthened(schedule: StepSchedule, k: int) -> Schedule:
    listed = schedule if isinstance(schedule, Schedule) else schedule.expand()
    return Schedule(listed.contraction, listed.sensitivity * k * _UP, listed.noise, listed.diameter)


def _by_visits(schedule: PeriodicSchedule | ReshuffledSchedule) -> tuple[Array, Array, Array]:
    """Equal steps, one entry a visit: the visit and the idle steps up to the next one."""
    require_short(sum(part.number for part in schedule.progressions if part.sensitivity))
    steps, visits = schedule.steps, list(_times(schedule))
    if not visits:
        c_all, _, sd_all = _merged(schedule.contraction, schedule.noise, steps)
        return np.array([c_all]), np.zeros(1), np.array([sd_all])
    times = np.array([time for time, _ in visits], dtype=np.int64)
    gaps = np.diff(np.append(times, steps + 1))
    strength = np.array([s for _, s in visits])
    if math.isinf(schedule.diameter):
        slope, left, noise = _merged_rows(schedule, gaps)
        return slope, strength * left * _UP, noise
    # a visit, and the idle steps after it, if there are any
    both = np.stack([np.ones_like(gaps), gaps - 1], axis=1).ravel()
    jumps = np.stack([strength, np.zeros_like(strength)], axis=1).ravel()
    slope, _, noise = _merged_rows(schedule, both[both > 0])
    return slope, jumps[both > 0], noise


def _merged_rows(
    schedule: PeriodicSchedule | ReshuffledSchedule, gaps: Array
) -> tuple[Array, Array, Array]:
    lengths, where = np.unique(gaps, return_inverse=True)
    parts = [_merged(schedule.contraction, schedule.noise, int(gap)) for gap in lengths]
    slope, left, noise = (np.array(values)[where] for values in zip(*parts, strict=True))
    return slope, left, noise


def _times(schedule: PeriodicSchedule | ReshuffledSchedule) -> Iterator[tuple[int, float]]:
    for part in schedule.progressions:
        if part.number and part.sensitivity:
            yield from (
                (t, part.sensitivity) for t in range(part.first, part.last + 1, part.period)
            )


def one_by_one(run: Unlearning) -> bool:
    """Whether several records are followed step by step, at the worst place that each may have.

    Several at once, in batches of a fixed order, are one record of their common strength.
    """
    random = has_random_visits(cast(BatchRun, run.training))
    return bool(run.later_requests) or (random and run.records > 1)


def _several_requests(run: Unlearning, geometry: Geometry) -> tuple[Array, Array, Array]:
    """Training and further steps up to the last request, one by one.

    Further steps may go through batches that are cut anew from the records that are left, so that a
    record has a place of its own in them, whatever it was in training: the latest one of each
    epoch, from the end of training and from its own deletion, is the worst [Theorem B4].
    """
    training = run.training
    requests = ((0, run.records), *run.later_requests)
    after = requests[-1][0]
    T, t = training.steps, training.steps + after
    require_short(t)
    longer = type(training)(**{**vars(training), "steps": t})
    c, s, sd = step_constants(longer, geometry, t)  # type: ignore[arg-type]
    step, jumps = np.arange(1, t + 1), restart_distance(run, geometry)
    strength = np.zeros(t)
    gone = sum(records for _, records in requests)
    left = max(1, training.n - gone)
    size = training.largest_batch
    fewest = max(1, -(-left // size))  # batches of an epoch without these records
    # full batches of the records that are left: what one of them adds to the mean is more
    more = training.n / left * _UP if training.full_batches else 1.0
    for end, records in requests:
        trained = (step <= T) & ((T - step) % training.batches == 0)
        further = (step > T) & (step <= T + end) & ((T + end - step) % fewest == 0)
        strength += np.where(trained, records * s, 0.0) + np.where(further, records * s * more, 0.0)
    for end in {0, *(end for end, _ in run.later_requests if end < after)}:
        # the rounding of a restart moves what enters the next step
        if after:
            strength[T + end] += jumps * float(c[0])
    return c, strength, sd


def _attained_idle(run: Unlearning, geometry: Geometry) -> tuple[float, float]:
    """Slopes that the class shows, and noise from above: for lower bounds."""
    slope = geometry.steepest(_rates(run)[0])
    eta, sigma = float(_rates(run)[0]), float(np.max(run.noise))
    c, _, noise = _merged(slope, eta * sigma, run.further_steps)
    down = 1.0 - 8 * ULP
    return c * down, noise * (1.0 + 64 * ULP)
