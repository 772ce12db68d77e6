"""Which records of a person are used, and in which batch each is: by who is who, and nothing else.

*The cap.* Of a person's records the first k are used, in the order in which they are given. The
rule looks at that person's records only, so that nobody's data decide what is used of another's.
How many records are used in all is public, as n is everywhere.

*One a batch.* The records, person after person, are dealt out to the batches in turn; a batch that
is full is passed over. Records of a person that follow one another go to different batches as long
as there are at least k with room: all but the last one, which may be smaller, have as much. The
order depends on who is who, which is the same in neighbouring data sets, and not on what the
records are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.last_iterate import NoisyCGD

Places = NDArray[np.intp]


def people_of(groups: Any, n: int) -> Places:
    """A number for each person, in the order in which they appear; one entry a record.

    >>> people_of(["ann", "bob", "ann"], 3)
    array([0, 1, 0])
    """
    names = np.asarray(groups)
    if names.shape != (n,):
        raise InvalidInput(
            "groups",
            f"<{names.size} entries>",
            f"does not have one entry for each of {n} records",
            "give a person for each row of X",
        )
    _, first, person = np.unique(names, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.intp)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[person]


def within_cap(people: Places, k: int) -> Places:
    """The places of the first k records of each person, in order.

    >>> within_cap(np.array([0, 1, 0, 0, 1]), 2)
    array([0, 1, 2, 4])
    """
    order = np.argsort(people, kind="stable")
    sorted_people = people[order]
    begins = np.flatnonzero(np.append(True, sorted_people[1:] != sorted_people[:-1]))
    number = np.arange(people.size) - np.repeat(begins, np.diff(np.append(begins, people.size)))
    return np.sort(order[number < k])


def can_be_apart(n: int, batch_size: int, k: int) -> bool:
    """Whether k records of each person can be in different batches, whoever the others are."""
    full, rest = divmod(n, batch_size)
    return k <= full if rest or full > 1 else k <= 1


def arranged(people: Places, run: NoisyCGD) -> Places:
    """An order of the records in which no batch, in a row, has two of one person.

    >>> run = NoisyCGD(n=4, batch_size=2, epochs=1, learning_rate=0.1, noise=1.0)
    >>> arranged(np.array([0, 0, 1, 1]), run)
    array([0, 2, 1, 3])
    """
    b, l = run.batch_size, -(-run.n // run.batch_size)  # noqa: E741
    last = run.n - (l - 1) * b
    # round after round through the batches, the last of which has fewer places
    rounds = [np.arange(l if i < last else l - 1) for i in range(b)]
    batch = np.concatenate(rounds)
    dealt = np.argsort(people, kind="stable")
    return dealt[np.argsort(batch, kind="stable")]
