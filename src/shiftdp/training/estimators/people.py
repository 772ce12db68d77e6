"""People with several records, who are protected as a whole: what `groups` does. [Theorem V4]

`fit` uses the first so many records of each person; the plan has the noise that protects all of
them, and where it can it sees to it that no batch has two of one person.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp._printed import up
from shiftdp.privacy.calibration import calibrate_noise
from shiftdp.training.descent.batches import TrainingRun
from shiftdp.training.descent.people import arranged, can_be_apart, people_of, within_cap
from shiftdp.training.planning.planner import Planned

Places = NDArray[np.intp]


def used_records(groups: Any, n: int, k: int) -> tuple[Places, Places]:
    """The places of the records that are used, at most k of each person, and whose they are."""
    if groups is None:
        raise InvalidInput(
            "groups",
            None,
            f"is missing with records_per_person={k}",
            "give one person a record",
        )
    people = people_of(groups, n)
    used = within_cap(people, k)
    return used, people[used]


def for_people(planned: Planned, k: int, *, noise: float | None) -> Planned:
    """The plan for people with several records: apart if possible, with the noise they need.

    Args:
        planned: the plan for one record a person.
        k: how many records a person may have.
        noise: the noise that the user has chosen, which is left as it is.
    """
    plan, run, problem = planned.plan, planned.plan.run, planned.problem
    fields: dict[str, Any] = {**vars(run), "records_per_person": min(k, run.n)}
    if run.cyclic and can_be_apart(run.n, run.batch_size, k):
        alike = run.n % run.batch_size == 0
        fields["arrangement"] = "one_per_batch"
        fields["order"] = run.order if alike else "fixed"
    grouped = type(run)(**fields)
    if noise is None:
        budget = {"epsilon": problem.epsilon, "delta": problem.delta}
        grouped = calibrate_noise(grouped, plan.geometry, bounds=plan.bounds, **budget)
    grouped_plan = replace(plan, run=grouped)
    spent = grouped_plan.certificate.epsilon(problem.delta)
    if spent > problem.epsilon:
        raise InvalidInput(
            "records_per_person",
            k,
            f"makes epsilon={up(spent)} at delta={problem.delta:g}, which is above "
            f"{problem.epsilon:g}",
            "leave the noise to the planner, or give more",
        )
    return replace(planned, plan=grouped_plan)


def apart(run: TrainingRun, people: Places) -> Places | slice:
    """The order of the records that the run was certified for: as given, or one a batch."""
    if run.cyclic and run.arrangement == "one_per_batch":
        return arranged(people, run)
    return slice(None)
