"""Check a log from its first entry to its last, and every certificate that it rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from shiftdp._errors import InvalidInput, VerificationFailed
from shiftdp.last_iterate.serialisation import tradeoff_to_json
from shiftdp.privacy.ledger.entry import FORMAT, Terms
from shiftdp.privacy.ledger.release import Release, digest_of, read_release
from shiftdp.privacy.ledger.running_total import RunningTotal, is_gaussian
from shiftdp.privacy.ledger.store import Record, columns_of, undamaged


def verify_log(
    records: Sequence[Record], documents: Mapping[str, str], head: str | None = None
) -> None:
    """Raise `VerificationFailed`, naming the entry, unless every hash, sum and proof holds."""
    _require(bool(records), 0, "the log is empty")
    with undamaged("the log"):
        for digest, text in documents.items():
            _require(digest_of(text) == digest, 0, f"document {digest[:12]} was changed")
    try:
        releases = {digest: read_release(text) for digest, text in _releases(records, documents)}
        for release in releases.values():
            if release.certificate is not None:
                release.certificate.verify()
        _replay(records, releases)
    except InvalidInput as error:
        raise VerificationFailed(f"a release cannot be read: {error}") from error
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise VerificationFailed(f"an entry lacks or misplaces {error}") from error
    if head is not None and head not in {record.digest for record in records}:
        raise VerificationFailed(f"entry {head[:12]} is not in the log: its end was cut off")


def _releases(records: Sequence[Record], documents: Mapping[str, str]) -> set[tuple[str, str]]:
    bodies = (record.body for record in records)
    used = {body["release"] for body in bodies if body["event"] == "reserved"}
    return {(digest, documents[digest]) for digest in used}


def _replay(records: Sequence[Record], releases: Mapping[str, Release]) -> None:
    terms, total = Terms.of(records[0].body), RunningTotal()
    _require(records[0].body["format"] == FORMAT, 0, "the format is another")
    charged: set[int] = set()
    counts: dict[str, int] = {}
    previous = ""
    for number, record in enumerate(records):
        body = record.body
        _require(body["number"] == number, number, "the number is not the next")
        _require(body["previous"] == previous, number, "it does not follow the one before it")
        copies = not record.columns or record.columns == columns_of(body)
        _require(copies, number, "its columns are not what it says")
        if body["event"] == "reserved":
            total = _charge(number, body, releases[body["release"]], terms, total, counts)
            charged.add(number)
        elif body["event"] == "completed":
            _require(body["of"] in charged, number, "what it completes was not reserved")
        else:
            _require(body["event"] == "opened" and number == 0, number, "the event is not known")
        _require(Fraction(body["square"]) == total.square, number, "the sum of mu^2 is wrong")
        previous = record.digest
    _require(total.fits(terms.epsilon, terms.delta), len(records) - 1, "the budget is exceeded")


def _charge(
    number: int,
    body: Mapping[str, Any],
    release: Release,
    terms: Terms,
    total: RunningTotal,
    counts: dict[str, int],
) -> RunningTotal:
    f = release.charged(terms.adjacency, body["converted"])
    times = body["times"]
    _require(type(times) is int and times >= 1, number, "it is not charged")
    _require(is_gaussian(f) or not terms.adaptive, number, "it is not Gaussian")
    factor = None if is_gaussian(f) else digest_of(tradeoff_to_json(f))
    _require(body["factor"] == factor, number, "another tradeoff function is charged")
    if factor is not None:
        counts[factor] = counts.get(factor, 0) + times
        _require(body["nth"] == counts[factor], number, "the count is wrong")
    return total.plus(f, times)


def _require(condition: bool, number: int, problem: str) -> None:
    if not condition:
        raise VerificationFailed(f"entry {number}: {problem}")
