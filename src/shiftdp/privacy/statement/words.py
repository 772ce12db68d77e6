"""A run in plain words: what was done, what is released, who is protected, how it was drawn."""

from __future__ import annotations

import math
from typing import Any

from shiftdp._printed import schedule
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.last_iterate.runs import (
    ExponentialMechanism,
    LangevinMC,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    NoisyStream,
    Run,
    Unlearning,
    has_releases,
    people,
    stated,
)
from shiftdp.last_iterate.schedules.releases import number_of_releases, release_steps

_MOST_NAMED = 12  # released steps that are named one by one

_ORDERS = {
    "fixed": "in an order that does not depend on the data",
    "shuffled_once": "after one random shuffle of the records, which stays secret",
    "reshuffled": "after a fresh random shuffle of the records in each epoch, which stays secret",
}
_SAMPLES = {
    "without_replacement": "each a random set of {b} of the {n} records, drawn afresh",
    "poisson": "in which each of the {n} records takes part independently with probability {b}/{n}",
    "random_allocation": "of {b} records on average: in each epoch each of the {n} records goes "
    "into one of them, chosen at random",
}


def what_was_run(run: Run) -> str:
    """The mechanism in one or two sentences."""
    if isinstance(run, Unlearning):
        return (
            f"{what_was_run(run.training)} Then {_deleted(run)} deleted, and further steps follow "
            f"without: {run.further_steps:,} of them."
        )
    if isinstance(run, ExponentialMechanism):
        return "One draw from the density proportional to exp(-F), F being the loss of the data."
    if isinstance(run, LangevinMC):
        return f"Langevin Monte Carlo: {_steps(run.steps)} on the loss of the data."
    if isinstance(run, NoisyStream):
        window = f"{run.batches_per_release:,} batches of {run.batch_size:,} new records"
        shuffled = " in random order" if run.order == "shuffled" else ""
        return (
            f"Noisy gradient descent on a stream: windows of {window}{shuffled}, each record being "
            "used once, for as long as records arrive."
        )
    if isinstance(run, NoisyGD):
        return f"Noisy gradient descent: {_steps(run.steps)}, each on all {run.n:,} records."
    if isinstance(run, NoisyCGD):
        return (
            f"Noisy gradient descent: {_steps(run.steps)} on batches of {run.batch_size:,} of the "
            f"{run.n:,} records, used in turn {_ORDERS[run.order]}."
        )
    drawn = _SAMPLES[run.sampling].format(b=f"{run.batch_size:,}", n=f"{run.n:,}")
    return f"Noisy gradient descent: {_steps(run.steps)} on random batches, {drawn}."


def what_is_released(run: Run) -> str:
    """What may be published of it."""
    if isinstance(run, Unlearning):
        return "The model after the further steps. What was released before it stays released."
    if isinstance(run, NoisyStream):
        return "The model after each window, for ever. No other iterate leaves the process."
    if isinstance(run, ExponentialMechanism):
        return "That one draw."
    if not has_releases(run):
        return "The last iterate alone: the parameters when the run ended. No earlier one."
    number = number_of_releases(run)
    steps = release_steps(run)
    which = "after all steps"
    if len(steps) < run.steps:
        shown = [f"{step:,}" for step in (steps if number <= _MOST_NAMED else steps[:3])]
        more = "" if number <= _MOST_NAMED else f", ... to {steps[-1]:,}"
        which = f"after the steps {', '.join(shown)}{more}"
    return f"{number:,} iterates, {which}: the guarantee covers all of them together."


def parameters(run: Run) -> list[tuple[str, str]]:
    """The numbers of the run, as the certificate holds them."""
    found: list[tuple[str, str]] = []
    inner = run.training if isinstance(run, Unlearning) else run
    for name, value in {**stated(inner), **_further(run)}.items():
        if value is None or name in ("releases", "training"):
            continue
        shown = schedule(value) if isinstance(value, tuple) else str(value)
        found.append((name.replace("_", " "), shown))
    return found


def _further(run: Run) -> dict[str, Any]:
    if not isinstance(run, Unlearning):
        return {}
    return {
        "further_steps": run.further_steps,
        "further_learning_rate": run.learning_rate,
        "further_noise": run.noise,
    }


def unit(run: Run | None) -> tuple[str, str]:
    """Who is protected: in a few words, and in a sentence with the cap per person."""
    if isinstance(run, Unlearning):
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
    if isinstance(run, NoisyStream):
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
        if isinstance(run, NoisyStream)
        else "The number of records is public."
    )
    if isinstance(run, Unlearning):
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


def sampling(run: Run) -> str:
    """How records came into batches, as it was run."""
    if isinstance(run, Unlearning):
        return sampling(run.training)
    if isinstance(run, NoisySGD):
        words = {
            "without_replacement": "random batches of a fixed size, without replacement",
            "poisson": "Poisson sampling",
            "random_allocation": "random allocation (balls and bins)",
        }[run.sampling]
        return f"{words}; the certificate rests on exactly this scheme"
    if isinstance(run, NoisyCGD):
        return f"no sampling: batches in turn, {_ORDERS[run.order]}"
    if isinstance(run, NoisyStream):
        drawn = "at random" if run.order == "shuffled" else "in an order that is not chosen by them"
        return f"no sampling: each record once, the records of a window {drawn}"
    return "no sampling: every step uses all records"


def secret_order(run: Run) -> bool:
    """Whether it must not become known which records were in which batch."""
    inner = run.training if isinstance(run, Unlearning) else run
    order = getattr(inner, "order", "fixed")
    return isinstance(inner, NoisySGD) or order != "fixed"


def _steps(steps: float) -> str:
    if math.isinf(steps):
        return "any number of steps, however large"
    return "one step" if steps == 1 else f"{int(steps):,} steps"


def _deleted(run: Unlearning) -> str:
    if people(run.training) > 1:
        return "the records of one person are"
    return "one record is" if run.records == 1 else f"{run.records:,} records are"
