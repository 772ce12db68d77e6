"""What every run answers of itself, so that whoever uses it asks the run and not its class."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

from shiftdp.last_iterate.schedules.releases import Releases, number_of_releases, release_steps

_MOST_NAMED = 12  # released steps that are named one by one


class Mechanism:
    """The answers that most runs give; a run overrides those that it gives otherwise.

    The constants are literals, so that a type checker knows which runs are left after a question:

    - `sampled`: its batches are drawn at random, as the `sampler` of `NoisySGD` says;
    - `in_turn`: it uses all records, or batches in turn, so that all visits of a record are known
      from its place;
    - `cyclic`: it uses batches in turn, in any order;
    - `full_batches`: every step uses every record of a data set;
    - `trainable`: it is noisy gradient descent on a data set, which a trainer can do;
    - `streams`: records arrive for ever, each is used once, and iterates are released all along;
    - `one_draw`: it has no steps, and is one draw from a law;
    - `deletes`: it ends with steps without some of the records, which are those protected.
    """

    sampled: ClassVar[Literal[False]] = False
    in_turn: ClassVar[Literal[False]] = False
    cyclic: ClassVar[Literal[False]] = False
    full_batches: ClassVar[Literal[False]] = False
    trainable: ClassVar[Literal[False]] = False
    streams: ClassVar[Literal[False]] = False
    one_draw: ClassVar[Literal[False]] = False
    deletes: ClassVar[Literal[False]] = False

    @property
    def in_epochs(self) -> bool:
        """Whether it is made in epochs, in each of which a record is used at most once."""
        return False

    @property
    def endless(self) -> bool:
        """Whether it has no last step, so that a long run stands in for it."""
        return False

    @property
    def secret_batches(self) -> bool:
        """Whether it must not become known which records were in which batch."""
        return False

    @property
    def window(self) -> Any:
        """What is computed with: one window of a stream, and any other run itself."""
        return self

    @property
    def with_records(self) -> Any:
        """The part that uses the records which are protected: of a deletion its training."""
        return self

    @property
    def in_words(self) -> str:
        """What was run, in one or two sentences."""
        raise NotImplementedError

    @property
    def batches_in_words(self) -> str:
        """How records came into batches, as it was run."""
        return "no sampling: every step uses all records"

    @property
    def release_in_words(self) -> str:
        """What may be published of it."""
        if not has_releases(self):
            return "The last iterate alone: the parameters when the run ended. No earlier one."
        number = number_of_releases(self)
        steps = release_steps(self)
        which = "after all steps"
        if len(steps) < self.steps:  # type: ignore[attr-defined]
            shown = [f"{step:,}" for step in (steps if number <= _MOST_NAMED else steps[:3])]
            more = "" if number <= _MOST_NAMED else f", ... to {steps[-1]:,}"
            which = f"after the steps {', '.join(shown)}{more}"
        return f"{number:,} iterates, {which}: the guarantee covers all of them together."


def has_releases(run: Any) -> bool:
    """Whether other iterates than the last one are released.

    >>> from shiftdp.last_iterate.runs import NoisyGD
    >>> run = NoisyGD(n=100, steps=10, learning_rate=0.1, noise=1.0, releases=[5])
    >>> has_releases(run), run.releases
    (True, (5, 10))
    """
    releases: Releases = getattr(run, "releases", None)
    if releases == "epochs":
        return bool(run.steps > run.batches)
    return releases is not None and bool(run.steps > 1)


def people(run: Any) -> int:
    """How many records one person may have."""
    return int(getattr(run, "records_per_person", 1))


def steps_in_words(steps: float) -> str:
    """How many steps are made.

    >>> steps_in_words(1), steps_in_words(2000)
    ('one step', '2,000 steps')
    """
    if math.isinf(steps):
        return "any number of steps, however large"
    return "one step" if steps == 1 else f"{int(steps):,} steps"
