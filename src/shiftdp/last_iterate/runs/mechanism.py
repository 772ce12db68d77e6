"""What every run answers of itself, so that whoever uses it asks the run and not its class."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal


class Mechanism:
    """The answers that most runs give; a run overrides those that it gives otherwise.

    The first ones are literals, so that a type checker knows which runs are left after a question:

    - `sampled`: its batches are drawn at random, as the `sampler` of `NoisySGD` says;
    - `in_turn`: it uses all records, or batches in turn, so that all visits of a record are known
      from its place;
    - `cyclic`: it uses batches in turn, in any order;
    - `full_batches`: every step uses every record of a data set;
    - `trainable`: it is noisy gradient descent on a data set, which a trainer can do;
    - `streams`: records arrive for ever, each is used once, and iterates are released all along;
    - `one_draw`: it has no steps, and is one draw from a law;
    - `deletes`: it ends with steps without some of the records, which are those protected.

    The others depend on the parameters of some runs:

    - `in_epochs`: it is made in epochs, in each of which a record is used at most once;
    - `endless`: it has no last step, so that a long run stands in for it;
    - `secret_batches`: it must not become known which records were in which batch.
    """

    sampled: ClassVar[Literal[False]] = False
    in_turn: ClassVar[Literal[False]] = False
    cyclic: ClassVar[Literal[False]] = False
    full_batches: ClassVar[Literal[False]] = False
    trainable: ClassVar[Literal[False]] = False
    streams: ClassVar[Literal[False]] = False
    one_draw: ClassVar[Literal[False]] = False
    deletes: ClassVar[Literal[False]] = False

    in_epochs: ClassVar[bool] = False
    endless: ClassVar[bool] = False
    secret_batches: ClassVar[bool] = False

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
        return "The last iterate alone: the parameters when the run ended. No earlier one."


def steps_in_words(steps: float) -> str:
    """How many steps are made.

    >>> steps_in_words(1), steps_in_words(2000)
    ('one step', '2,000 steps')
    """
    if math.isinf(steps):
        return "any number of steps, however large"
    return "one step" if steps == 1 else f"{int(steps):,} steps"
