"""What all bounds on a deletion have in common: what was run, and what is assumed. [Theorem V3]"""

from __future__ import annotations

from shiftdp.last_iterate.assumptions import Assumption, Assumptions
from shiftdp.last_iterate.runs import Training, Unlearning, people

ANCHOR = "theorem-v3-deletion"


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
