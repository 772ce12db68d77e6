"""A run in plain words beside its own: its numbers, who is protected, and from what."""

from __future__ import annotations

from typing import Any

from shiftdp._printed import schedule
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.last_iterate.runs import Run, people, stated


def parameters(run: Run) -> list[tuple[str, str]]:
    """The numbers of the run, as the certificate holds them."""
    found: list[tuple[str, str]] = []
    inner = run.with_records
    for name, value in {**stated(inner), **_further(run)}.items():
        if value is None or name in ("releases", "training"):
            continue
        shown = schedule(value) if isinstance(value, tuple) else str(value)
        found.append((name.replace("_", " "), shown))
    return found


def _further(run: Run) -> dict[str, Any]:
    if not run.deletes:
        return {}
    return {
        "further_steps": run.further_steps,
        "further_learning_rate": run.learning_rate,
        "further_noise": run.noise,
    }


def unit(run: Run | None) -> tuple[str, str]:
    """Who is protected: in a few words, and in a sentence with the cap per person."""
    if run is not None and run.deletes:
        several = people(run.training) > 1
        number = (
            "the deleted record" if run.records == 1 else f"the {run.records:,} deleted records"
        )
        return "the deleted person" if several else number, (
            "Those whose records were deleted. Of everybody else the certificate of the training "
            "and that of the further steps speak."
        )
    k = 1 if run is None else people(run)
    if k > 1:
        return f"one person with at most {k} records", (
            f"Everything that is theirs in the data is protected together (the cap per person is "
            f"{k} records). Somebody with more is not covered."
        )
    if run is not None and run.streams:
        return "one record of the stream", (
            "It is used once. A person is protected who has a single record in the whole stream "
            "(the cap per person is 1)."
        )
    return "one record", (
        "A person is protected as far as he or she has a single record in the data (the cap per "
        "person is 1)."
    )


def neighbours(adjacency: Adjacency, run: Run | None) -> str:
    """Which two data sets are compared."""
    who = "all records of one person" if run is not None and people(run) > 1 else "one record"
    known = (
        "How many records arrive, and when, is public."
        if run is not None and run.streams
        else "The number of records is public."
    )
    if run is not None and run.deletes:
        place = "others stood in their place" if adjacency == "replace_one" else (
            "their places were empty"
        )  # fmt: skip
        return (
            f"{adjacency}: the data with the deleted records, against data in which {place} from "
            f"the beginning. {known}"
        )
    if adjacency == "replace_one":
        return f"replace_one: {who} exchanged for any other (bounded neighbours). {known}"
    return f"zero_out: {who} taken out, the place being left empty. {known}"
