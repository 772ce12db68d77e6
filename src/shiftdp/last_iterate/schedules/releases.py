"""Which iterates of a run leave the process, and the segments of steps between them. Theorem V1.

A run may release several iterates, the last one always among them. Given a released iterate, both
runs go on from the same point: a *segment*, the steps between two releases, is a run by itself that
starts from what is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from shiftdp._checks import count
from shiftdp._errors import InvalidInput, UnmetHypothesis

Releases = Literal["all", "epochs"] | tuple[int, ...] | None
"""Every iterate; that at the end of each epoch; those after these steps; None: the last alone."""

_NAMED = ("all", "epochs")
MOST_LISTED = 1 << 20  # releases that are looked at one by one


def releases_in(
    value: str | Sequence[int] | None, steps: float, epoch: int | None = None
) -> Releases:
    """What a user gives as releases, in the one form that it has; the last step is always one.

    Args:
        value: `all`, `epochs`, steps counted from 1, or None.
        steps: of the run.
        epoch: how many steps an epoch has, if there are epochs.

    >>> releases_in([20, 10], 40), releases_in([40], 40), releases_in([4, 8, 10], 10, 4)
    ((10, 20, 40), None, 'epochs')
    """
    if value is None:
        return None
    if steps == math.inf:
        raise InvalidInput(
            "releases",
            value if isinstance(value, str) else f"<{type(value).__name__}>",
            "of a run without end have no end either",
            "give a number of steps, or shiftdp.NoisyStream for records that are used once",
        )
    t = int(steps)
    if isinstance(value, str):
        if value not in _NAMED:
            raise InvalidInput("releases", value, "is not known", _remedy(t))
        if value == "epochs" and epoch is None:
            raise InvalidInput(
                "releases",
                value,
                "needs epochs, and these batches have none",
                'give the steps, or sampling="random_allocation"',
            )
        return "all" if value == "epochs" and epoch == 1 else cast(Releases, value)
    found = sorted({*_steps_of(value, t), t})
    if found == [t]:
        return None
    if len(found) == t:
        return "all"
    ends = range(epoch, t, epoch) if epoch is not None else ()
    if epoch is not None and len(found) == len(ends) + 1 and found[:-1] == [*ends]:
        return "epochs"
    return tuple(found)


def _steps_of(value: Any, last: int) -> list[int]:
    """The steps of a list, of any kind that can be gone through, each from 1 to the last."""
    if not isinstance(value, Iterable) or (isinstance(value, np.ndarray) and value.ndim == 0):
        raise InvalidInput("releases", value, "is no list of steps", _remedy(last))
    found = []
    for step in value:
        try:
            found.append(count("releases", step, 1))
        except InvalidInput as error:
            shown = step if np.ndim(step) == 0 else f"<{type(step).__name__}>"
            raise InvalidInput("releases", shown, error.problem, _remedy(last)) from None
    if max(found, default=0) > last:
        problem = f"lies beyond the last step, {last}"
        raise InvalidInput("releases", max(found), problem, _remedy(last))
    return found


def _remedy(last: int) -> str:
    return f'give "all", "epochs", or a list of steps from 1 to {last}'


def shown_releases(releases: Releases) -> str:
    """Releases in a message, where a list of them may be long.

    >>> shown_releases("all"), shown_releases((3, 9))
    ("'all'", '<2 steps>')
    """
    return f"<{len(releases)} steps>" if isinstance(releases, tuple) else repr(releases)


def release_steps(run: Any) -> range | tuple[int, ...]:
    """The steps after which an iterate is released, rising; the last step is the last of them.

    >>> from shiftdp.last_iterate import NoisyGD
    >>> release_steps(NoisyGD(n=1, steps=9, learning_rate=0.1, noise=1.0, releases=[3]))
    (3, 9)
    """
    t, releases = getattr(run, "steps", 1), getattr(run, "releases", None)
    if releases is None:
        return (t,)
    if releases == "all":
        return range(1, t + 1)
    if releases == "epochs":
        ends = range(run.batches, t + 1, run.batches)
        if t % run.batches == 0:
            return ends
        if len(ends) >= MOST_LISTED:
            raise too_many(len(ends))
        return (*ends, t)
    return tuple(releases)


def number_of_releases(run: Any) -> int:
    """How many iterates are released."""
    if getattr(run, "releases", None) == "epochs":
        return int(-(-run.steps // run.batches))
    return len(release_steps(run))


def within_epochs(run: Any) -> bool:
    """Whether something is released before the end of an epoch, other than the last iterate."""
    if isinstance(run.releases, tuple):
        return any(step % run.batches for step in run.releases[:-1])
    return bool(run.releases == "all" and run.batches > 1 and run.steps > 1)


def first_releases(run: Any, number: int) -> Any:
    """The run up to its `number`-th release, with the releases before that."""
    steps = release_steps(run)
    if not 1 <= number <= len(steps):
        raise InvalidInput(
            "i",
            number,
            f"is not the number of a release: the run has {len(steps)}",
            f"give 1 to {len(steps)}",
        )
    if number == len(steps):
        return run
    end, releases = steps[number - 1], run.releases
    if isinstance(releases, tuple):
        releases = releases[:number]
    given = {**vars(run), "steps": end, "releases": releases}
    for name in ("learning_rate", "noise"):
        if isinstance(given[name], tuple):
            given[name] = given[name][:end]
    return type(run)(**given)


@dataclass(frozen=True)
class Segment:
    """The steps `begin + 1` to `begin + steps`, and how many segments are like them, `count`."""

    begin: int
    steps: int
    count: int = 1

    @property
    def end(self) -> int:
        return self.begin + self.steps


def segments_of(run: Any) -> tuple[Segment, ...]:
    """The segments between releases, in order; of equal steps, alike ones once.

    Segments are alike if they have as many steps, all steps are equal, and they begin at the same
    place of an epoch.

    >>> from shiftdp.last_iterate import NoisyCGD
    >>> shape = dict(n=40, batch_size=10, learning_rate=0.1, noise=1.0)
    >>> segments_of(NoisyCGD(**shape, epochs=9, releases="epochs"))
    (Segment(begin=0, steps=4, count=9),)
    """
    t, releases = run.steps, getattr(run, "releases", None)
    if releases is None:
        return (Segment(0, t),)
    batches = run.batches if run.in_epochs else 1  # after so many steps it repeats itself
    equal = isinstance(run.learning_rate, float) and isinstance(run.noise, float)
    if equal and releases == "epochs":
        whole, rest = divmod(t, run.batches)
        last = (Segment(whole * run.batches, rest),) if rest else ()
        return (Segment(0, run.batches, whole), *last)
    if equal and releases == "all":
        places = range(min(batches, t))
        if len(places) > MOST_LISTED:
            raise too_many(len(places))
        return tuple(Segment(place, 1, -(-(t - place) // batches)) for place in places)
    steps = release_steps(run)
    if len(steps) > MOST_LISTED:
        raise too_many(len(steps))
    ends = np.array([0, *steps], dtype=np.int64)
    if not equal:
        return tuple(Segment(a, b - a) for a, b in zip(ends[:-1].tolist(), steps, strict=True))
    kinds = np.stack([np.diff(ends), ends[:-1] % batches], axis=1)
    _, first, numbers = np.unique(kinds, axis=0, return_index=True, return_counts=True)
    found = [
        Segment(int(ends[i]), int(kinds[i, 0]), int(k)) for i, k in zip(first, numbers, strict=True)
    ]
    return tuple(sorted(found, key=lambda segment: segment.begin))


def too_many(number: int) -> UnmetHypothesis:
    return UnmetHypothesis(
        "releases",
        f"<{number} segments>",
        "are too many to be treated one by one",
        "give fewer, or such as come at the same places of each epoch, or rely on composition",
    )
