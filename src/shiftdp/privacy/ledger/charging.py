"""Charging a release: whether it fits into the budget, and how it is written down."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from shiftdp._errors import InvalidInput, UnmetHypothesis
from shiftdp.fdp import GaussianTradeoff, TradeoffFunction
from shiftdp.last_iterate.serialisation import tradeoff_to_json
from shiftdp.privacy.ledger.entry import Entry, Terms, next_body
from shiftdp.privacy.ledger.errors import BudgetExceeded
from shiftdp.privacy.ledger.release import Release
from shiftdp.privacy.ledger.running_total import RunningTotal, is_gaussian
from shiftdp.privacy.ledger.store import Record, Transaction


def fits(total: RunningTotal, f: TradeoffFunction, times: int, terms: Terms) -> bool:
    """Whether f, so many times, is within what is left of the budget."""
    # infinite where f gives everything away, which has no place in a sum
    alone = _alone(f, terms.delta)
    return alone <= terms.epsilon and total.plus(f, times).fits(terms.epsilon, terms.delta)


@lru_cache(maxsize=256)
def _alone(f: TradeoffFunction, delta: float) -> float:
    return f.epsilon(delta)


def refusal(total: RunningTotal, f: TradeoffFunction, times: int, terms: Terms) -> BudgetExceeded:
    """The error that says what was asked for, and what is left."""
    delta = terms.delta
    asked = both = _alone(f, delta)
    if math.isfinite(asked):
        asked = RunningTotal().plus(f, times).epsilon_or_infinity(delta)
        both = total.plus(f, times).epsilon_or_infinity(delta)
    room = total.largest_gaussian(terms.epsilon, delta)
    return BudgetExceeded(
        asked=asked,
        spent=total.epsilon(delta),
        total=both,
        budget=terms.epsilon,
        remaining=GaussianTradeoff(room).epsilon(delta),
        remaining_mu=room,
        delta=delta,
    )


def require_admitted(f: TradeoffFunction, terms: Terms) -> None:
    """Refuse what is not Gaussian in a ledger whose parameters may depend on results."""
    if terms.adaptive and not is_gaussian(f):
        raise UnmetHypothesis(
            "release",
            f,
            "is not Gaussian, and parameters may depend on earlier results here",
            "fix the list of releases beforehand, and create the ledger with adaptive=False",
        )


def charge(
    log: Transaction,
    release: Release,
    f: TradeoffFunction,
    total: RunningTotal,
    fields: dict[str, Any],
) -> Record:
    """Write a release that fits: its document, and the entry with the total after it."""
    log.add_document(release.document)
    factor = nth = None
    if not is_gaussian(f):
        factor = log.add_document(tradeoff_to_json(f))
        nth = fields["times"] + sum(k for digest, _, k in log.factors() if digest == factor)
    square = str(total.plus(f, fields["times"]).square)
    body = next_body(log.head(), "reserved", **fields, factor=factor, nth=nth)
    return log.add({**body, "square": square})


def repeated(
    log: Transaction,
    known: Record,
    fields: dict[str, Any],
    release: Release,
    f: TradeoffFunction,
) -> Entry:
    """The entry that an earlier call with this key made, if it was the same call."""
    body, key = known.body, fields["key"]
    if any(body[name] != value for name, value in fields.items()):
        raise InvalidInput("key", key, "was used for another release", "give each its own key")
    if log.completion(body["number"]) is not None:
        raise InvalidInput(
            "key", key, "is of a run that was completed", "another run is another release: new key"
        )
    return entry_of(known, release, f, completed=False)


def entry_of(record: Record, release: Release, f: TradeoffFunction, completed: bool) -> Entry:
    """A written entry, as users see it."""
    fields = {name: record.body[name] for name in ("number", "time", "label", "key", "times")}
    return Entry(**fields, release=release, f=f, completed=completed, digest=record.digest)
