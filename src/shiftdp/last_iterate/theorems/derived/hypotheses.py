"""The hypotheses of a theorem on one record, read for people with several records and for deletion.

[Theorems V3 and V4]
"""

from __future__ import annotations

from typing import Any

from shiftdp.last_iterate.assumptions import Assumption, Assumptions
from shiftdp.last_iterate.runs import Training, Unlearning, people

ANCHOR = "theorem-v3-deletion"

_WHOLE_BATCHES: dict[str, str] = {
    "shuffled_once": "batches, put together without a look at what the records are, are used in "
    "one uniformly drawn order, independent of the data, chosen by nobody and not published before "
    "the run",
    "reshuffled": "batches, put together without a look at what the records are, are used in an "
    "order drawn uniformly afresh each epoch, independent of the data, chosen by nobody and not "
    "published before the run",
}


def for_people(run: Any, hypotheses: Assumptions) -> Assumptions:
    """Hypotheses on one record read for people with several of them. [Theorem V4]

    Neighbours differ in all records of a person; it is said where these may be, and, where no batch
    has two of them, that a random order is one of whole batches.
    """
    k, where = people(run), "anywhere in the data"
    whole_batches = run.cyclic and run.arrangement == "one_per_batch"
    if whole_batches:
        where = "no two of them in one batch"
    found = []
    for item in hypotheses:
        statement = item.statement.replace("in one record", "in the records of one person")
        if item.name == "adjacency":
            statement = statement.replace("of one record", "of all records of one person")
        if item.name == "batches" and whole_batches and "permutation" in statement:
            statement = _WHOLE_BATCHES[run.order]
        found.append(Assumption(item.name, statement))
    return (
        *found,
        Assumption("people", f"a person has at most {k} of the {run.n} records, {where}"),
    )


def training_of(run: Unlearning) -> Training:
    """What was run, as a run that protects as many records as are deleted."""
    training = run.training
    if people(training) > 1 or run.records == 1:
        return training
    return type(training)(**{**vars(training), "records_per_person": run.records})


def deletion_assumed(run: Unlearning, hypotheses: Assumptions) -> Assumptions:
    """Hypotheses on training, and what a deletion is."""
    several = people(run.training) > 1
    who = "the records of one person are" if several else _counted(run.records)
    more = "".join(f"; after {k} of them, {_counted(r)} deleted" for k, r in run.later_requests)
    rounded = ""
    if run.grid:
        rounded = (
            f"; what training ended with is rounded to a grid of {run.grid:g} in {run.dimension} "
            "dimensions before it goes on, in both runs"
        )
    text = (
        f"{who} deleted after {run.training.steps} steps, and {run.further_steps} further steps "
        f"use nothing of what was deleted{more}; the other run never had it, and is the same "
        f"otherwise; requests do not depend on iterates that were not released{rounded}"
    )
    return (*hypotheses, Assumption("deletion", text))


def _counted(records: int) -> str:
    return "one record is" if records == 1 else f"{records} records are"
