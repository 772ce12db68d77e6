"""The ledger in one process: what it charges, refuses, finds and prints."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from shiftdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    Identity,
    InvalidInput,
    LaplaceTradeoff,
    Minimum,
    NoisySGD,
    TradeoffFunction,
    UnmetHypothesis,
    VerificationFailed,
    certify,
)
from shiftdp.fdp import PoissonZeroOut, WithFailure
from shiftdp.privacy import BudgetExceeded, Ledger
from shiftdp.privacy.ledger.release import declared
from shiftdp.privacy.ledger.running_total import RunningTotal
from tests.last_iterate.every_kind import CERTIFICATES
from tests.privacy.ledger.examples import DELTA, SHUFFLED, filled, mu_of
from tests.privacy.ledger.workers import GEOMETRY, certificate

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


# --- terms and export ---


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
