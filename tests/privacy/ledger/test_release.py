"""What may be entered, and what it is charged as."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shiftdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    Geometry,
    InvalidInput,
    LaplaceTradeoff,
    Minimum,
    Mixture,
    NoisyGD,
    NoisyStream,
    PiecewiseLinear,
    TradeoffFunction,
    Unlearning,
    UnmetHypothesis,
    VerificationFailed,
    certify,
)
from shiftdp.fdp import PoissonZeroOut, WithFailure
from shiftdp.fdp.composition.product import compose
from shiftdp.privacy import AdjacencyMismatch, Ledger
from shiftdp.privacy.ledger.release import declared
from tests.privacy.ledger.examples import DELTA, SHUFFLED, mu_of
from tests.privacy.ledger.workers import GEOMETRY, certificate

ZEROED = certify(
    NoisyGD(n=100, steps=20, learning_rate=0.1, noise=1.0),
    replace(GEOMETRY, adjacency="zero_out"),
)


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
        with pytest.raises(AdjacencyMismatch, match='certify or train with adjacency="zero_out"'):
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


def test_releases_are_known_by_what_they_say() -> None:
    f = GaussianTradeoff(0.5)
    one, two = (declared(f, text, "replace_one").document for text in ("a", "b"))
    assert one != two
    assert declared(f, "a", "replace_one").document == one
    assert Geometry(**vars(GEOMETRY)) == GEOMETRY


def test_a_stream_is_one_entry_and_releases_are_charged_when_they_are_planned(
    ledger: Ledger,
) -> None:
    shape: dict[str, Any] = {"learning_rate": 0.1, "noise": 3.0}
    stream = certify(NoisyStream(batch_size=10, batches_per_release=4, **shape), GEOMETRY)
    weekly = certify(NoisyGD(n=100, steps=20, releases=[5, 10], **shape), GEOMETRY)
    first, second = ledger.reserve(stream, label="daily"), ledger.reserve(weekly, label="weekly")
    text = str(ledger)
    assert "NoisyStream (for ever), Theorem V2" in text
    assert "NoisyGD (3 releases), Theorem V1" in text
    both = compose([stream.f, weekly.f]).epsilon(DELTA)
    assert ledger.epsilon(delta=DELTA) == pytest.approx(both, rel=1e-9)
    assert len(ledger.entries()) == 2
    ledger.complete(first)
    ledger.complete(second)
    ledger.verify()


def test_what_is_left_after_a_deletion_is_no_charge(ledger: Ledger) -> None:
    run = NoisyGD(n=100, steps=20, learning_rate=0.1, noise=3.0)
    deletion = certify(Unlearning(training=run, further_steps=50), GEOMETRY)
    with pytest.raises(InvalidInput, match="charge the certificate of the training"):
        ledger.reserve(deletion, label="forgotten")
    assert not ledger.entries()


@pytest.mark.parametrize("name", ["label", "key", "description"])
def test_halves_of_characters_are_refused(ledger: Ledger, name: str) -> None:
    """Found by fuzzing: a key that no file can hold ended in an error of SQLite's."""
    words: dict[str, Any] = {"description": "mean", name: "a\ud800"}
    with pytest.raises(InvalidInput, match=f"^{name}=.*halves of characters"):
        ledger.declare(GaussianTradeoff(0.1), adjacency="replace_one", **words)
    assert ledger.entries() == ()
