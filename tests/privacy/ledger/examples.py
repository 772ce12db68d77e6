"""What the tests of the ledger enter into it."""

from __future__ import annotations

from shiftdp import (
    Certificate,
    NoisyCGD,
    certify,
)
from shiftdp.privacy import Entry, Ledger
from tests.privacy.ledger.workers import GEOMETRY, certificate

DELTA = 1e-5
SHUFFLED = certify(
    NoisyCGD(n=120, batch_size=30, epochs=5, learning_rate=0.1, noise=1.0, order="reshuffled"),
    GEOMETRY,
)


def filled(ledger: Ledger) -> Entry:
    entry = ledger.reserve(certificate(0.5), label="first")
    ledger.complete(entry)
    ledger.reserve(SHUFFLED, label="second", times=2)
    ledger.reserve(certificate(0.5), label="third", key="k")
    return entry


def mu_of(cert: Certificate) -> float:
    assert cert.mu is not None
    return cert.mu
