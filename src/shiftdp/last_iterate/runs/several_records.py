"""What a run asks where one person has several of its records. Theorem V4."""

from __future__ import annotations

from typing import Literal

from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.schedules.releases import Releases, shown_releases

Arrangement = Literal["anywhere", "one_per_batch"]
"""Where the records of one person may be: in any batches, or no two of them in one batch."""


def require_people(records_per_person: int, n: int, releases: Releases) -> None:
    """Refuse more records of a person than there are, or several releases beside the last iterate:
    Theorems V1 and V4 are not proved together.

    >>> require_people(3, 100, None)
    """
    if records_per_person > n:
        raise InvalidInput(
            "records_per_person", records_per_person, f"exceeds n={n}", f"give at most {n}"
        )
    if releases is not None:
        raise InvalidInput(
            "records_per_person",
            records_per_person,
            f"is not covered with releases={shown_releases(releases)}: several releases are proved "
            "for people with one record each",
            "give releases=None, or records_per_person=1 and ask the certificate for_group(...)",
        )


def require_arrangement(records_per_person: int, batches: int, n: int, uneven: int | None) -> None:
    """Refuse an arrangement with at most one record of a person in each batch that cannot be.

    Args:
        records_per_person: how many records a person may have.
        batches: how many batches an epoch has.
        n: how many records there are.
        uneven: the size of a batch where it does not divide n and the order is random; else None.

    >>> require_arrangement(3, 4, 100, None)
    """
    if records_per_person > batches:
        raise InvalidInput(
            "records_per_person",
            records_per_person,
            f"exceeds the {batches} batches, so one of them has two records of a person",
            f'give at most {batches}, smaller batches, or arrangement="anywhere"',
        )
    if uneven is not None:
        raise InvalidInput(
            "batch_size",
            uneven,
            f"does not divide n={n}, so that batches in a random order are not alike",
            'give a divisor of n, order="fixed", or arrangement="anywhere"',
        )
