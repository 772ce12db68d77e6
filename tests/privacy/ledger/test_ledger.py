"""The ledger in one process: what it charges, refuses, finds and prints."""

from __future__ import annotations

import json
import math
import pickle
import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp import (
    ApproxDPTradeoff,
    Certificate,
    GaussianTradeoff,
    Geometry,
    Identity,
    InvalidInput,
    LaplaceTradeoff,
    Minimum,
    Mixture,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    PiecewiseLinear,
    TradeoffFunction,
    UnmetHypothesis,
    VerificationFailed,
    certify,
)
from shiftdp._printed import down, trimmed, up
from shiftdp.fdp import PoissonZeroOut, WithFailure
from shiftdp.privacy import AdjacencyMismatch, BudgetExceeded, Entry, Ledger, LedgerUnavailable
from shiftdp.privacy.ledger.release import declared, digest_of
from shiftdp.privacy.ledger.running_total import RunningTotal, least_root
from shiftdp.privacy.ledger.store import columns_of
from tests.last_iterate.every_kind import CERTIFICATES
from tests.privacy.ledger_workers import GEOMETRY, certificate

DELTA = 1e-5
SHUFFLED = certify(
    NoisyCGD(n=120, batch_size=30, epochs=5, learning_rate=0.1, noise=1.0, order="reshuffled"),
    GEOMETRY,
)
SGD = certify(
    NoisySGD(
        n=200,
        batch_size=20,
        steps=30,
        learning_rate=0.1,
        noise=0.5,
        sampling="without_replacement",
    ),
    GEOMETRY,
)
ZEROED = certify(
    NoisyGD(n=100, steps=20, learning_rate=0.1, noise=1.0),
    replace(GEOMETRY, adjacency="zero_out"),
)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "ledger.db", epsilon=3.0, delta=DELTA)


def mu_of(cert: Certificate) -> float:
    assert cert.mu is not None
    return cert.mu


# --- composition ---


def test_gaussian_certificates_compose_exactly(ledger: Ledger) -> None:
    certs = [certificate(noise) for noise in (0.5, 1.0, 0.7, 1.0)]
    for cert in certs:
        ledger.reserve(cert)
    square = sum(Fraction(mu_of(cert)) ** 2 for cert in certs)
    total = ledger.total()
    assert isinstance(total, GaussianTradeoff)
    assert Fraction(total.mu) ** 2 >= square > Fraction(math.nextafter(total.mu, 0)) ** 2
    assert ledger.epsilon() == total.epsilon(DELTA)
    assert ledger.epsilon(delta=1e-8) == total.epsilon(1e-8)


def test_other_certificates_compose_numerically(ledger: Ledger) -> None:
    ledger.reserve(certificate(0.5))
    for _ in range(3):
        ledger.reserve(SHUFFLED)
    ledger.reserve(SGD)
    ledger.reserve(certificate(0.5))
    gaussian = GaussianTradeoff(mu_of(certificate(0.5))).power(2)
    expected = SHUFFLED.f.power(3).compose(SGD.f, gaussian)
    high = expected.epsilon(DELTA)
    # both are upper bounds, to the accuracy of a composition
    assert ledger.epsilon() == pytest.approx(high, abs=1e-3)
    assert ledger.epsilon() > max(SGD.epsilon(DELTA), SHUFFLED.epsilon(DELTA))
    ledger.verify()


def test_directions_are_composed_one_by_one(tmp_path: Path) -> None:
    """Poisson sampling, zero-out: the worse of two products, not the product of the worse."""
    run = NoisySGD(
        n=1000, batch_size=50, steps=40, learning_rate=0.1, noise=0.02, sampling="poisson"
    )
    cert = certify(run, replace(GEOMETRY, adjacency="zero_out"), bounds="composition")
    assert isinstance(cert.f, Minimum)
    ledger = Ledger.create(tmp_path / "l", epsilon=20.0, delta=DELTA, adjacency="zero_out")
    ledger.reserve(cert, times=3)
    ledger.declare(GaussianTradeoff(0.3), description="a mean", adjacency="zero_out")
    ways = [f.power(3).compose(GaussianTradeoff(0.3)).epsilon(DELTA) for f in cert.f.components]
    assert ledger.epsilon() == pytest.approx(max(ways), abs=2e-3)
    longer = NoisySGD(**{**vars(run), "steps": 120})
    alone = certify(longer, cert.geometry, bounds="composition")
    assert RunningTotal().plus(cert.f, 3).epsilon(DELTA) == pytest.approx(
        alone.epsilon(DELTA), abs=4e-3
    )
    ledger.verify()
    with pytest.raises(InvalidInput, match="PoissonZeroOut"):
        declared(cert.f, "x", "replace_one")


def test_nothing_costs_nothing(ledger: Ledger) -> None:
    assert ledger.total() == Identity()
    assert ledger.epsilon() == 0.0
    ledger.declare(Identity(), description="a count of columns", adjacency="replace_one")
    assert ledger.epsilon() == 0.0
    ledger.verify()


@given(
    st.lists(st.tuples(st.floats(1e-160, 10.0), st.integers(1, 10**6)), min_size=1, max_size=8),
)
def test_sums_of_squares_are_exact_and_rounded_up(parts: list[tuple[float, int]]) -> None:
    spent = RunningTotal()
    for mu, times in parts:
        spent = spent.plus(GaussianTradeoff(mu), times)
    square = sum(k * Fraction(mu) ** 2 for mu, k in parts)
    assert spent.square == square
    root = least_root(spent.square)
    assert Fraction(root) ** 2 >= square > Fraction(math.nextafter(root, 0.0)) ** 2


@settings(max_examples=10)
@given(st.floats(0.05, 1.0), st.integers(2, 100), st.floats(0.0, 2.0))
def test_a_quick_answer_is_never_a_wrong_one(mu: float, k: int, more: float) -> None:
    """What `fits` says from a rounded total agrees with the total itself."""
    f = Mixture([GaussianTradeoff(mu), GaussianTradeoff(mu / 2)], [0.5, 0.5])
    spent = RunningTotal().plus(f, k).plus(GaussianTradeoff(more))
    epsilon = spent.epsilon(DELTA)
    low, high = spent.tradeoff().epsilon_interval(DELTA)  # type: ignore[attr-defined]
    assert low <= epsilon <= high
    assert spent.fits(epsilon, DELTA)
    assert not spent.fits(low * (1 - 1e-9), DELTA)


def test_an_append_does_not_go_through_the_log(ledger: Ledger) -> None:
    """Every question that it asks is answered from an index."""
    filled(ledger)
    queries: list[str] = []
    with ledger._store.reading() as log:
        log.connection.set_trace_callback(queries.append)
        log.first()
        log.head()
        log.keyed("k")
        log.completion(1)
        log.factors()
        log.connection.set_trace_callback(None)
        plans = [
            str(row[3])
            for query in queries
            for row in log.connection.execute(f"EXPLAIN QUERY PLAN {query}")
        ]
    through = [plan for plan in plans if plan.startswith("SCAN entries")]
    assert through == ["SCAN entries"]  # for the head: from the end, and one row of it
    assert "LIMIT 1" in queries[1]
    assert [plan for plan in plans if "entries_factor" in plan]


@pytest.mark.parametrize("name", sorted(CERTIFICATES))
def test_every_kind_of_certificate_can_be_entered(tmp_path: Path, name: str) -> None:
    cert = CERTIFICATES[name]
    adjacency = cert.geometry.adjacency
    ledger = Ledger.create(tmp_path / "ledger", epsilon=200.0, delta=DELTA, adjacency=adjacency)
    entry = ledger.reserve(cert)
    assert entry.certificate is not None
    assert entry.certificate.to_json() == cert.to_json()
    assert ledger.epsilon() == pytest.approx(cert.epsilon(DELTA), rel=1e-9)
    ledger.verify()


# --- the budget ---


def test_a_refusal_names_everything_and_writes_nothing(ledger: Ledger) -> None:
    ledger.reserve(certificate(0.5))
    before = ledger.path.read_bytes()
    large = certificate(0.12)
    with pytest.raises(BudgetExceeded) as caught:
        ledger.reserve(large, times=3)
    error = caught.value
    one, many = GaussianTradeoff(mu_of(certificate(0.5))), GaussianTradeoff(mu_of(large)).power(3)
    assert error.asked == many.epsilon(DELTA)
    assert error.spent == one.epsilon(DELTA) == ledger.epsilon()
    # `many` is rounded up once more on the way than the sum of squares
    assert error.total == pytest.approx(one.compose(many).epsilon(DELTA), rel=1e-14)
    assert error.total > error.budget == 3.0
    assert error.remaining_mu == ledger.remaining_mu()
    assert error.remaining == ledger.remaining()
    # what was spent is rounded up, what is left is rounded down
    for shown in (error.asked, error.spent, error.total):
        assert trimmed(up(shown)) in str(error)
    assert trimmed(down(error.remaining)) in str(error)
    assert ledger.path.read_bytes() == before
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.args) == (str(error), error.args)


def test_what_remains_fits_and_more_does_not(ledger: Ledger) -> None:
    ledger.reserve(certificate(0.4))
    left = ledger.remaining_mu()
    assert ledger.remaining() == GaussianTradeoff(left).epsilon(DELTA)
    with pytest.raises(BudgetExceeded):
        ledger.check(GaussianTradeoff(left * (1 + 1e-9)))
    entry = ledger.declare(GaussianTradeoff(left), description="the rest", adjacency="replace_one")
    assert entry.mu == left
    assert 3.0 * (1 - 1e-9) < ledger.epsilon() <= 3.0
    # a rest of rounding may be left, but nothing that is of use
    assert ledger.remaining_mu() < 1e-4
    with pytest.raises(BudgetExceeded):
        ledger.reserve(certificate())


def test_what_remains_beside_other_releases(ledger: Ledger) -> None:
    ledger.reserve(SHUFFLED, times=3)
    left = ledger.remaining_mu()
    assert 0.0 < left < GaussianTradeoff.from_budget(3.0, DELTA).mu
    ledger.check(GaussianTradeoff(left))
    with pytest.raises(BudgetExceeded):
        ledger.check(GaussianTradeoff(left + 0.01))


@pytest.mark.parametrize(
    "f",
    [
        GaussianTradeoff(math.inf),
        GaussianTradeoff(1e200),
        WithFailure(GaussianTradeoff(0.1), 1e-3),
        ApproxDPTradeoff(0.1, 1e-4),
        LaplaceTradeoff(50.0),
    ],
)
def test_what_can_never_fit(ledger: Ledger, f: TradeoffFunction) -> None:
    ledger.reserve(certificate())
    with pytest.raises(BudgetExceeded) as caught:
        ledger.declare(f, description="too much", adjacency="replace_one")
    assert caught.value.total > 3.0
    assert len(ledger.entries()) == 1


def test_too_many_beside_other_releases(ledger: Ledger) -> None:
    ledger.reserve(SHUFFLED)
    f = GaussianTradeoff(0.001)
    with pytest.raises(BudgetExceeded) as caught:
        ledger.declare(f, description="x", adjacency="replace_one", times=10**12)
    assert caught.value.total > 3.0
    assert len(ledger.entries()) == 1


def test_exactly_as_many_as_fit(tmp_path: Path) -> None:
    for cert in (certificate(0.5), SHUFFLED):
        budget = cert.f.power(4).epsilon(DELTA)
        path = tmp_path / cert.bound
        ledger = Ledger.create(path, epsilon=budget, delta=DELTA)
        for _ in range(4):
            ledger.reserve(cert)
        with pytest.raises(BudgetExceeded):
            ledger.reserve(cert)
        assert ledger.epsilon() <= budget
        ledger.verify()


def test_check_promises_and_writes_nothing(ledger: Ledger) -> None:
    cert = certificate(0.5)
    assert ledger.check(cert, times=5) == cert.f.power(5).epsilon(DELTA)
    assert ledger.entries() == ()
    ledger.reserve(cert, times=5, label="five folds")
    assert ledger.epsilon() == cert.f.power(5).epsilon(DELTA)


# --- what may be entered ---


def test_forged_certificates_are_refused(ledger: Ledger) -> None:
    cert = certificate(0.5)
    for forged in (
        replace(cert, f=GaussianTradeoff(mu_of(cert) / 2)),
        replace(cert, run=NoisyGD(n=100, steps=20, learning_rate=0.1, noise=0.4)),
        replace(SHUFFLED, proofs=SHUFFLED.proofs[:1]),
    ):
        with pytest.raises(VerificationFailed):
            ledger.reserve(forged)
    assert ledger.entries() == ()


def test_adjacencies_do_not_mix(tmp_path: Path, ledger: Ledger) -> None:
    with pytest.raises(AdjacencyMismatch, match=r"adjacency='zero_out'.*convert=True") as caught:
        ledger.reserve(ZEROED)
    assert isinstance(caught.value, UnmetHypothesis)
    other = Ledger.create(tmp_path / "other", epsilon=3.0, delta=DELTA, adjacency="zero_out")
    other.reserve(ZEROED)
    for convert in (False, True):
        with pytest.raises(AdjacencyMismatch, match="certify the run for zero_out"):
            other.reserve(certificate(), convert=convert)
    poisson = Minimum([PoissonZeroOut(0.1, 0.0, 1.0), PoissonZeroOut(0.1, 0.0, 1.0, swapped=True)])
    with pytest.raises(AdjacencyMismatch, match="keep a ledger for each"):
        ledger.declare(poisson, description="x", adjacency="zero_out", convert=True)


def test_zero_out_is_charged_twice_its_mu(ledger: Ledger) -> None:
    entry = ledger.reserve(ZEROED, convert=True)
    assert entry.mu == 2.0 * mu_of(ZEROED)
    assert ledger.total() == GaussianTradeoff(2.0 * mu_of(ZEROED))
    assert ledger.entries() == (entry,)
    ledger.verify()


def test_adaptive_parameters_need_gaussian_releases(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger", epsilon=3.0, delta=DELTA, adaptive=True)
    ledger.reserve(certificate())
    for call in (ledger.reserve, ledger.check):
        with pytest.raises(UnmetHypothesis, match="is not Gaussian"):
            call(SHUFFLED)
    assert len(ledger.entries()) == 1
    assert "the budget is what is guaranteed" in str(ledger)
    assert "not chosen by earlier results" not in str(ledger)


def test_what_is_guaranteed(tmp_path: Path) -> None:
    """Of adaptive parameters only the budget is: it is used up to the last bit here."""
    fixed, adaptive = (
        Ledger.create(tmp_path / str(flag), epsilon=3.0, delta=DELTA, adaptive=flag)
        for flag in (False, True)
    )
    for ledger in (fixed, adaptive):
        ledger.reserve(certificate())
    assert fixed.guarantee() == fixed.total() == adaptive.total()
    promised = adaptive.guarantee()
    assert isinstance(promised, GaussianTradeoff)
    assert promised.epsilon(DELTA) == pytest.approx(3.0, rel=1e-10)
    adaptive.declare(
        GaussianTradeoff(adaptive.remaining_mu()), description="rest", adjacency="replace_one"
    )
    total = adaptive.total()
    assert isinstance(total, GaussianTradeoff)
    assert total.mu <= promised.mu <= total.mu * (1 + 1e-9)


@pytest.mark.parametrize(
    "f",
    [
        GaussianTradeoff(0.5),
        LaplaceTradeoff(0.3),
        ApproxDPTradeoff(0.4, 1e-7),
        PiecewiseLinear([0, 0.4, 1], [1, 0.4, 0]),
        GaussianTradeoff(1.0).subsample(0.05).power(10),
        WithFailure(GaussianTradeoff(0.2), 1e-9),
        Mixture([GaussianTradeoff(0.1), GaussianTradeoff(0.2)]),
    ],
    ids=repr,
)
def test_declared_releases(ledger: Ledger, f: TradeoffFunction) -> None:
    entry = ledger.declare(f, description="a table by other software", adjacency="replace_one")
    assert (entry.source, entry.certificate, entry.f) == ("declared", None, f)
    ledger.declare(f, description="a table by other software", adjacency="replace_one")
    assert ledger.epsilon() == pytest.approx(f.power(2).epsilon(DELTA), abs=1e-3)
    assert "(declared)" in str(ledger)
    assert "what is marked as declared is true" in str(ledger)
    ledger.verify()


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"description": " "}, "description"),
        ({"description": 3}, "description"),
        ({"adjacency": "add_remove"}, "adjacency"),
        ({"f": 0.5}, "f"),
        ({"f": PoissonZeroOut(0.1, 0.0, 1.0)}, "f"),
        ({"times": 0}, "times"),
        ({"times": 1.5}, "times"),
        ({"label": None}, "label"),
        ({"key": 7}, "key"),
        ({"convert": 1}, "convert"),
    ],
)
def test_bad_declarations(ledger: Ledger, arguments: dict[str, Any], name: str) -> None:
    good = {"f": GaussianTradeoff(0.1), "description": "x", "adjacency": "replace_one"}
    with pytest.raises(InvalidInput) as caught:
        ledger.declare(**{**good, **arguments})
    assert caught.value.name == name
    assert ledger.entries() == ()


def test_only_certificates_are_reserved(ledger: Ledger) -> None:
    with pytest.raises(InvalidInput, match="entered with declare"):
        ledger.reserve(GaussianTradeoff(0.1))  # type: ignore[arg-type]


# --- calls that are repeated, runs that end ---


def test_a_repeated_call_is_charged_once(ledger: Ledger) -> None:
    cert = certificate(0.5)
    first = ledger.reserve(cert, label="fit", key="night/1")
    assert ledger.reserve(cert, label="fit", key="night/1") == first
    assert ledger.epsilon() == cert.epsilon(DELTA)
    others: list[dict[str, Any]] = [{"times": 2}, {"label": "other"}]
    for other in others:
        with pytest.raises(InvalidInput, match="was used for another release"):
            ledger.reserve(cert, **{"label": "fit", "key": "night/1", **other})
    with pytest.raises(InvalidInput, match="was used for another release"):
        ledger.reserve(certificate(0.6), label="fit", key="night/1")
    ledger.reserve(cert, label="fit", key="night/2")
    assert len(ledger.entries()) == 2


def test_a_repeated_call_succeeds_where_the_budget_is_used_up(tmp_path: Path) -> None:
    cert = certificate(0.5)
    ledger = Ledger.create(tmp_path / "l", epsilon=cert.epsilon(DELTA), delta=DELTA)
    first = ledger.reserve(cert, key="only")
    assert ledger.reserve(cert, key="only") == first
    with pytest.raises(BudgetExceeded):
        ledger.reserve(cert, key="another")


def test_a_completed_run_is_not_run_again_under_its_key(ledger: Ledger) -> None:
    entry = ledger.reserve(certificate(), key="k")
    assert not ledger.entries()[0].completed
    ledger.complete(entry, note="saved")
    ledger.complete(entry)
    assert ledger.entries()[0].completed
    assert ledger.epsilon() == certificate().epsilon(DELTA)
    with pytest.raises(InvalidInput, match="another run is another release"):
        ledger.reserve(certificate(), key="k")
    ledger.verify()


def test_entries_of_other_ledgers_are_not_completed(tmp_path: Path, ledger: Ledger) -> None:
    other = Ledger.create(tmp_path / "other", epsilon=3.0, delta=DELTA)
    entry = other.reserve(certificate())
    with pytest.raises(InvalidInput, match="of another ledger"):
        ledger.complete(entry)
    with pytest.raises(InvalidInput, match="is no Entry"):
        ledger.complete(1)  # type: ignore[arg-type]


# --- the file ---


def filled(ledger: Ledger) -> Entry:
    entry = ledger.reserve(certificate(0.5), label="first")
    ledger.complete(entry)
    ledger.reserve(SHUFFLED, label="second", times=2)
    ledger.reserve(certificate(0.5), label="third", key="k")
    return entry


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET body = '{}' WHERE number = 1",
        "UPDATE documents SET text = ''",
        "DELETE FROM entries WHERE number = 4",
        "DELETE FROM documents",
        "INSERT OR REPLACE INTO entries SELECT * FROM entries WHERE number = 1",
        "INSERT OR REPLACE INTO documents SELECT * FROM documents",
        "INSERT INTO entries (number, body, digest) VALUES (17, '{}', 'x')",
        "INSERT OR REPLACE INTO entries (number, key, body, digest) VALUES (5, 'k', '{}', 'x')",
        "INSERT OR REPLACE INTO entries (number, of, body, digest) VALUES (5, 1, '{}', 'x')",
    ],
)
def test_it_is_only_added_to(ledger: Ledger, statement: str) -> None:
    filled(ledger)
    before = ledger.to_json()
    connection = sqlite3.connect(ledger.path)
    with pytest.raises(sqlite3.IntegrityError, match="a ledger is only added to"):
        connection.execute(statement)
    connection.close()
    assert ledger.to_json() == before


def tamper(ledger: Ledger, *statements: str, rows: Iterable[tuple[object, ...]] = ()) -> None:
    """As somebody would who knows SQLite; `rows` are entries to be written over."""
    connection = sqlite3.connect(ledger.path)
    triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
    for (name,) in triggers.fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement)
    for row in rows:
        connection.execute("REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        ("UPDATE entries SET body = replace(body, 'first', 'worst') WHERE number = 1", "changed"),
        ("UPDATE entries SET body = replace(body, '\"times\": 2', '\"times\": 1')", "changed"),
        ("UPDATE documents SET text = replace(text, 'certified', 'declared')", "changed"),
        ("DELETE FROM entries WHERE number = 1", "number is not the next"),
        ("UPDATE entries SET nth = 1 WHERE number = 3", "columns"),
        ("UPDATE entries SET key = NULL WHERE number = 4", "columns"),
        ("DELETE FROM entries", "empty"),
    ],
)
def test_what_was_changed_is_found(ledger: Ledger, statement: str, complaint: str) -> None:
    filled(ledger)
    ledger.verify()
    tamper(ledger, statement)
    with pytest.raises(VerificationFailed, match=complaint):
        ledger.verify()


def rewrite(ledger: Ledger, number: int, **changes: object) -> None:
    """Change an entry, its columns, and every hash after it, as a forger would."""
    with ledger._store.reading() as log:
        bodies = [record.body for record in log.records()]
    bodies[number].update(changes)
    rows, previous = [], ""
    for body in bodies:
        body["previous"] = previous
        text = json.dumps(body)
        previous = digest_of(text)
        rows.append((*columns_of(body), text, previous))
    tamper(ledger, rows=rows)


@pytest.mark.parametrize(
    ("number", "changes", "complaint"),
    [
        (1, {"square": "0"}, r"entry 1: the sum of mu\^2 is wrong"),
        (3, {"times": 1}, "entry 3: the count is wrong"),
        (3, {"times": 0, "nth": 0}, "entry 3: it is not charged"),
        (3, {"nth": 1}, "entry 3: the count is wrong"),
        (3, {"factor": None, "nth": None}, "entry 3: another tradeoff function"),
        (1, {"event": "remark"}, "entry 1: the event is not known"),
        (2, {"of": 3}, "entry 2: what it completes"),
        (0, {"epsilon": 0.1}, "the budget is exceeded"),
        (0, {"adjacency": "zero_out"}, "a release cannot be read"),
        (0, {"adaptive": True}, "entry 3: it is not Gaussian"),
        (0, {"format": "other"}, "entry 0: the format"),
        (1, {"release": "0" * 64}, "misplaces"),
    ],
)
def test_sums_and_budgets_are_replayed(
    ledger: Ledger, number: int, changes: dict[str, object], complaint: str
) -> None:
    filled(ledger)
    rewrite(ledger, number)
    ledger.verify()  # the same hashes again
    rewrite(ledger, number, **changes)
    with pytest.raises(VerificationFailed, match=complaint):
        ledger.verify()


def test_a_forged_certificate_in_the_file_is_found(ledger: Ledger) -> None:
    """The whole file rewritten around a certificate that states half its mu."""
    cert = certificate(0.5)
    forged = replace(cert, f=GaussianTradeoff(mu_of(cert) / 2))
    ledger.reserve(cert)
    document = f'{{"source": "certified", "certificate": {forged.to_json()}}}'
    tamper(
        ledger,
        f"INSERT INTO documents VALUES ('{digest_of(document)}', '{document}')",
    )
    square = str(Fraction(mu_of(forged)) ** 2)
    rewrite(ledger, 1, release=digest_of(document), square=square)
    assert ledger.epsilon() < cert.epsilon(DELTA)
    with pytest.raises(VerificationFailed, match="mu"):
        ledger.verify()


def test_a_lost_end_is_found_by_a_noted_head(ledger: Ledger) -> None:
    filled(ledger)
    noted = ledger.head
    ledger.verify(head=noted)
    ledger.reserve(certificate())
    ledger.verify(head=noted)
    tamper(ledger, "DELETE FROM entries WHERE number >= 4")
    ledger.verify()
    with pytest.raises(VerificationFailed, match="its end was cut off"):
        ledger.verify(head=noted)


def test_export(ledger: Ledger) -> None:
    filled(ledger)
    text = ledger.to_json(indent=1)
    Ledger.verify_json(text)
    data = json.loads(text)
    assert data["format"] == "shiftdp-ledger/1"
    assert data["budget"] == {
        "epsilon": 3.0,
        "delta": DELTA,
        "adjacency": "replace_one",
        "adaptive": False,
    }
    assert data["spent"] == {"epsilon": ledger.epsilon(), "delta": DELTA, "mu": None}
    assert data["head"] == ledger.head
    assert [json.loads(entry["text"])["event"] for entry in data["entries"]] == [
        "opened",
        "reserved",
        "completed",
        "reserved",
        "reserved",
    ]
    data["entries"].pop()
    with pytest.raises(VerificationFailed, match="cut off"):
        Ledger.verify_json(json.dumps(data))
    for damaged in ("", "[]", "{}", "null", '{"entries": [1]}'):
        with pytest.raises(InvalidInput, match="give what to_json wrote"):
            Ledger.verify_json(damaged)


def test_it_prints_as_a_table(ledger: Ledger) -> None:
    filled(ledger)
    lines = str(ledger).splitlines()
    spent = float(lines[0].removeprefix("ledger.db: epsilon ").partition(" of 3 is spent")[0])
    assert ledger.epsilon() <= spent <= ledger.epsilon() + 1e-4
    assert lines[1].split() == ["#", "label", "release", "times", "mu", "epsilon", "state"]
    assert set(lines[2]) == {"-"}
    assert [line.split()[:2] for line in lines[3:6]] == [
        ["1", "first"],
        ["3", "second"],
        ["4", "third"],
    ]
    assert len({line.index("re", 40) for line in lines[4:6]}) == 1  # "reserved", in one column
    assert lines[3].endswith("completed")
    assert "not chosen by earlier results" in str(ledger)


def test_a_file_that_is_refused_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text").write_text("no database at all, but long enough to be looked at " * 20)
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def recorded(*arguments: Any, **options: Any) -> sqlite3.Connection:
        opened.append(connect(*arguments, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", recorded)
    with pytest.raises(InvalidInput, match="is not a ledger"):
        Ledger(tmp_path / "text")
    (connection,) = opened
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_opening_what_is_no_ledger(tmp_path: Path, ledger: Ledger) -> None:
    with pytest.raises(InvalidInput, match="is no file"):
        Ledger(tmp_path / "missing")
    assert not (tmp_path / "missing").exists()
    (tmp_path / "text").write_text("no database at all, but long enough to be looked at " * 20)
    other = sqlite3.connect(tmp_path / "database")
    other.execute("CREATE TABLE t (x)")
    other.commit()
    other.close()
    (tmp_path / "empty").touch()
    for name in ("text", "database", "empty"):
        with pytest.raises(InvalidInput, match="is not a ledger"):
            Ledger(tmp_path / name)
    for name in ("text", "database"):
        with pytest.raises(InvalidInput, match="is not a ledger"):
            Ledger.create(tmp_path / name, epsilon=1.0, delta=DELTA)
    with pytest.raises(InvalidInput, match="is a ledger already"):
        Ledger.create(ledger.path, epsilon=9.0, delta=DELTA)
    assert Ledger(str(ledger.path)) == ledger
    with pytest.raises(InvalidInput, match="has no folder"):
        Ledger.create(tmp_path / "no" / "folder", epsilon=1.0, delta=DELTA)
    with pytest.raises(InvalidInput, match="is no path"):
        Ledger(3)  # type: ignore[arg-type]


def test_a_lost_file_is_not_made_anew(ledger: Ledger) -> None:
    ledger.path.unlink()
    with pytest.raises(InvalidInput, match="is no file"):
        ledger.reserve(certificate())
    assert not ledger.path.exists()


def test_a_damaged_file_is_reported(ledger: Ledger) -> None:
    filled(ledger)
    data = bytearray(ledger.path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    ledger.path.write_bytes(data)
    with pytest.raises(LedgerUnavailable, match="cannot be used"):
        ledger.reserve(certificate())


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"epsilon": "3"}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"adjacency": "add_remove"}, "adjacency"),
        ({"adaptive": None}, "adaptive"),
        ({"timeout": -1.0}, "timeout"),
    ],
)
def test_bad_terms(tmp_path: Path, arguments: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Ledger.create(tmp_path / "l", **{"epsilon": 1.0, "delta": DELTA, **arguments})
    assert caught.value.name == name
    assert not (tmp_path / "l").exists()


def test_names_with_odd_characters(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a b?mode=ro#1%20é'", epsilon=1.0, delta=DELTA)
    ledger.reserve(certificate(), label='it\'s "quoted" é\n', key="k'")
    assert Ledger(ledger.path).entries()[0].label == 'it\'s "quoted" é\n'
    ledger.verify()


def test_releases_are_known_by_what_they_say() -> None:
    f = GaussianTradeoff(0.5)
    one, two = (declared(f, text, "replace_one").document for text in ("a", "b"))
    assert one != two
    assert declared(f, "a", "replace_one").document == one
    assert Geometry(**vars(GEOMETRY)) == GEOMETRY
