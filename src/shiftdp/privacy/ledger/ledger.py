"""The ledger: every release of one data set, charged before it runs, in one file.

Its hypotheses, beside those of each certificate:

1. All releases are about the *same* data set, and each draws fresh noise of its own. Keep one
   ledger for each data set.
2. Which mechanism runs next may depend on what was released before; its *privacy parameters* may
   not [DRS22, Thm 4], except in a ledger made with `adaptive=True`. That one refuses what is not
   Gaussian, and what it guarantees is its budget [Smith & Thakurta 2022], not the total of the
   moment: where that stands depends on the results.
3. What is declared is as true as the user's word.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from shiftdp._checks import choice, count, delta_in, finite
from shiftdp._errors import InvalidInput, VerificationFailed
from shiftdp._strict_json import parse
from shiftdp.fdp import GaussianTradeoff, TradeoffFunction
from shiftdp.fdp.pairs.gaussian_profile import RELATIVE_ERROR
from shiftdp.fdp.tradeoff import tradeoff
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.privacy.ledger.charging import (
    charge,
    entry_of,
    fits,
    refusal,
    repeated,
    require_admitted,
)
from shiftdp.privacy.ledger.entry import (
    FORMAT,
    Entry,
    Terms,
    first_body,
    next_body,
    print_of,
    read_total,
)
from shiftdp.privacy.ledger.release import (
    Release,
    certified,
    declared,
    digest_of,
    read_release,
    text_in,
)
from shiftdp.privacy.ledger.running_total import RunningTotal, is_gaussian
from shiftdp.privacy.ledger.store import Record, Store, Transaction, undamaged
from shiftdp.privacy.ledger.verification import verify_log
from shiftdp.privacy.selection.kinds import AnyCertificate

_TIMEOUT = 60.0  # seconds to wait for another process that writes


@dataclass(frozen=True, init=False)
class Ledger:
    """An append-only account of the privacy spent on one data set, shared by any process.

    The object is a path and nothing else: it can be pickled, copied and carried across `fork`,
    and all copies are the same account.

    Args:
        path: a file that `Ledger.create` made.
        timeout: seconds to wait for other writers.

    >>> import tempfile, os
    >>> from shiftdp import Geometry, NoisyGD, certify
    >>> geometry = Geometry(strong_convexity=1, smoothness=10, sensitivity=2)
    >>> cert = certify(NoisyGD(n=100, steps=50, learning_rate=0.1, noise=0.2), geometry)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger.create(os.path.join(folder, "study"), epsilon=3.0, delta=1e-5)
    ...     entry = ledger.reserve(cert, label="first fit")  # before the run
    ...     ledger.complete(entry)  # after it
    ...     round(cert.epsilon(1e-5), 3), round(ledger.epsilon(), 3), ledger.entries()[0].label
    (1.701, 1.701, 'first fit')
    """

    path: Path
    timeout: float

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = _TIMEOUT) -> None:
        self._set(path, timeout)
        self.terms  # noqa: B018 - refuses what is not a ledger

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        epsilon: float,
        delta: float,
        adjacency: Adjacency = "replace_one",
        adaptive: bool = False,
        timeout: float = _TIMEOUT,
    ) -> Ledger:
        """A new ledger with a budget, which never changes.

        Args:
            path: where the file is made; there must be none.
            epsilon: what all releases together may cost at `delta`.
            delta: the other half of the budget, above 0.
            adjacency: of all releases. See `reserve` for those that have another.
            adaptive: whether the privacy parameters of a release may depend on earlier results.
                If so, only Gaussian releases are accepted, and the budget is what is guaranteed.
            timeout: seconds to wait for other writers.
        """
        choice("adjacency", adjacency, get_args(Adjacency))
        terms = Terms(
            epsilon=finite("epsilon", epsilon, 0.0, open_low=True),
            delta=delta_in(delta),
            adjacency=adjacency,
            adaptive=_truth("adaptive", adaptive),
        )
        ledger = cls.__new__(cls)
        ledger._set(path, timeout)
        with ledger._store.creating() as log:
            if not log.is_empty():
                log.require_ledger()
                raise InvalidInput(
                    "path", str(ledger.path), "is a ledger already", "open it with Ledger(path)"
                )
            log.make_tables()
            log.add(first_body(terms))
        return ledger

    # --- charging ---

    def reserve(
        self,
        certificate: AnyCertificate,
        *,
        label: str = "",
        times: int = 1,
        key: str | None = None,
        convert: bool = False,
    ) -> Entry:
        """Charge a run before it starts; `BudgetExceeded`, and nothing written, if it does not fit.

        The certificate is verified first. What is reserved stays charged even if the run fails or
        is killed: whether anybody saw its result cannot be known.

        Args:
            certificate: of the run, or of a pipeline, a search or a score, which is one release.
            label: for people.
            times: how many such runs.
            key: names this call, so that repeating it after a doubtful end charges nothing twice.
                It is for a repeated *call*: a run that is repeated draws new noise and is another
                release. A key whose run was completed is refused.
            convert: charge a zero-out certificate to a replace-one ledger, as G(2 mu).
        """
        return self._append(certified(certificate), label, times, key, _truth("convert", convert))

    def declare(
        self,
        f: TradeoffFunction,
        *,
        description: str,
        adjacency: Adjacency,
        label: str = "",
        times: int = 1,
        key: str | None = None,
        convert: bool = False,
    ) -> Entry:
        """Charge a release by other means, on the user's word, with a tradeoff function.

        Args:
            f: a lower bound on the tradeoff function of any two neighbours, in both directions.
            description: what was released, and why it satisfies f.
            adjacency: for which neighbours.
            label, times, key, convert: as for `reserve`.
        """
        release = declared(f, description, adjacency)
        return self._append(release, label, times, key, _truth("convert", convert))

    def complete(self, entry: Entry, note: str = "") -> None:
        """Note that the run of an entry came to its end. It changes nothing about the charge."""
        if not isinstance(entry, Entry):
            raise InvalidInput("entry", entry, "is no Entry", "give what reserve returned")
        text_in("note", note)
        with self._store.writing() as log:
            known = log.numbered(entry.number)
            if known is None or known.digest != entry.digest:
                raise InvalidInput(
                    "entry", entry.number, "is of another ledger", "give an entry of this one"
                )
            if log.completion(entry.number) is None:
                log.add(next_body(log.head(), "completed", of=entry.number, note=note))

    def check(self, release: AnyCertificate | TradeoffFunction, times: int = 1) -> float:
        """The total epsilon that `times` such releases would make; `BudgetExceeded` if too much.

        Nothing is written, so nothing is promised either: others may spend in between.
        """
        times = count("times", times, 1)
        terms, total = self._state()
        f = (
            certified(release).charged(terms.adjacency)
            if isinstance(release, AnyCertificate)
            else tradeoff("release", release)
        )
        require_admitted(f, terms)
        if not fits(total, f, times, terms):
            raise refusal(total, f, times, terms)
        return total.plus(f, times).epsilon(terms.delta)

    def _append(
        self, release: Release, label: str, times: int, key: str | None, convert: bool
    ) -> Entry:
        fields: dict[str, Any] = {
            "label": text_in("label", label),
            "key": None if key is None else text_in("key", key),
            "times": count("times", times, 1),
            "release": digest_of(release.document),
        }
        if not is_gaussian(release.f):
            # what takes long is computed before the file is held, and is known then
            terms, total = self._state()
            fits(total, release.charged(terms.adjacency, convert), fields["times"], terms)
        with self._store.writing() as log:
            terms, total = _read_state(log)
            f = release.charged(terms.adjacency, convert)
            require_admitted(f, terms)
            fields["converted"] = release.adjacency != terms.adjacency
            known = None if key is None else log.keyed(key)
            if known is not None:
                return repeated(log, known, fields, release, f)
            within = fits(total, f, fields["times"], terms)
            if within:
                record = charge(log, release, f, total, fields)
        if not within:
            raise refusal(total, f, fields["times"], terms)
        return entry_of(record, release, f, completed=False)

    # --- questions ---

    @property
    def terms(self) -> Terms:
        """The budget, the adjacency, and whether parameters may be adaptive."""
        with self._store.reading() as log, undamaged(self.path):
            return Terms.of(log.first().body)

    @property
    def head(self) -> str:
        """The SHA-256 of the last entry. Noted elsewhere, it lets `verify` see a lost end."""
        with self._store.reading() as log:
            return log.head().digest

    def total(self) -> TradeoffFunction:
        """The composed tradeoff function of everything that is charged."""
        return self._state()[1].tradeoff()

    def guarantee(self) -> TradeoffFunction:
        """What is proved of all releases so far: the total, or where adaptive, the whole budget."""
        terms, total = self._state()
        if not terms.adaptive:
            return total.tradeoff()
        mu = GaussianTradeoff.from_budget(terms.epsilon, terms.delta).mu
        # that is rounded down, and here the bound has to cover every total that fits
        return GaussianTradeoff(mu * (1.0 + 4.0 * RELATIVE_ERROR))

    def epsilon(self, *, delta: float | None = None) -> float:
        """What is spent: epsilon at the delta of the budget, or at another."""
        terms, total = self._state()
        return total.epsilon(_delta(delta, terms))

    def remaining_mu(self) -> float:
        """The largest mu of one more Gaussian release that fits, rounded down."""
        terms, total = self._state()
        return total.largest_gaussian(terms.epsilon, terms.delta)

    def remaining(self, *, delta: float | None = None) -> float:
        """epsilon, by itself, of the largest Gaussian release that still fits.

        Epsilons do not add up: it is not the budget less what is spent.
        """
        return GaussianTradeoff(self.remaining_mu()).epsilon(_delta(delta, self.terms))

    def entries(self) -> tuple[Entry, ...]:
        """All releases, in order. Their certificates were verified when they were charged."""
        with self._store.reading() as log:
            records, documents = log.records(), log.documents()
        with undamaged(self.path):
            bodies = [record.body for record in records]
            done = {body["of"] for body in bodies if body["event"] == "completed"}
            terms, found = Terms.of(bodies[0]), []
            for record, body in zip(records, bodies, strict=True):
                if body["event"] == "reserved":
                    release = read_release(documents[body["release"]])
                    f = release.charged(terms.adjacency, body["converted"])
                    found.append(entry_of(record, release, f, body["number"] in done))
        return tuple(found)

    def verify(self, head: str | None = None) -> None:
        """Check every entry, hash, sum and certificate; raises `VerificationFailed`.

        It finds what was changed by accident or by hand. Somebody who may write the file can also
        write a new one: against that, keep the `head` elsewhere and give it here.
        """
        with self._store.reading() as log:
            records, documents, integrity = log.records(), log.documents(), log.integrity()
        if integrity != "ok":
            raise VerificationFailed(f"{self.path} is damaged: {integrity}")
        verify_log(records, documents, head)

    def to_json(self, indent: int | None = None) -> str:
        """The whole log with its certificates, and what they come to, as one JSON object.

        An entry is given as the text whose SHA-256 is its `digest`.
        """
        with self._store.reading() as log:
            records, documents, (terms, total) = log.records(), log.documents(), _read_state(log)
        with undamaged(self.path):
            f = total.tradeoff()
            document = {
                "format": FORMAT,
                "budget": vars(terms),
                "spent": {
                    "epsilon": total.epsilon(terms.delta),
                    "delta": terms.delta,
                    "mu": f.gdp_mu,
                },
                "head": records[-1].digest,
                "entries": [{"digest": record.digest, "text": record.text} for record in records],
                "documents": documents,
            }
            return json.dumps(document, indent=indent, allow_nan=False)

    @staticmethod
    def verify_json(text: str) -> None:
        """Check what `to_json` wrote as `verify` checks the file; raises `VerificationFailed`."""
        try:
            data = parse(text)
            records = [Record(entry["text"], entry["digest"]) for entry in data["entries"]]
            documents, head = dict(data["documents"]), str(data["head"])
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise InvalidInput(
                "ledger", "<JSON text>", f"lacks or misplaces {error}", "give what to_json wrote"
            ) from error
        verify_log(records, documents, head)

    def __str__(self) -> str:
        terms, total = self._state()
        return print_of(self.path.name, terms, total.epsilon(terms.delta), self.entries())

    # --- the file ---

    @property
    def _store(self) -> Store:
        return Store(self.path, self.timeout)

    def _set(self, path: str | os.PathLike[str], timeout: float) -> None:
        if not isinstance(path, (str, os.PathLike)):
            raise InvalidInput("path", path, "is no path", "give the name of a file")
        # absolute: a worker process may stand in another folder
        object.__setattr__(self, "path", Path(path).absolute())
        object.__setattr__(self, "timeout", finite("timeout", timeout, 0.0))

    def _state(self) -> tuple[Terms, RunningTotal]:
        with self._store.reading() as log:
            return _read_state(log)


def _read_state(log: Transaction) -> tuple[Terms, RunningTotal]:
    with undamaged(log.path):
        total = read_total(log.head().body["square"], log.factors())
        return Terms.of(log.first().body), total


def _delta(delta: float | None, terms: Terms) -> float:
    if delta is None:
        return terms.delta
    return delta_in(delta)


def _truth(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(name, value, "is not a truth value", "give True or False")
    return value
