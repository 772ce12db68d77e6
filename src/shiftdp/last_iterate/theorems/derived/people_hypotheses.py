"""The hypotheses of a theorem on one record, read for people with several records."""

from __future__ import annotations

from typing import Any

from shiftdp.last_iterate.assumptions import Assumption, Assumptions
from shiftdp.last_iterate.runs import people

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
