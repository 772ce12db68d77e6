"""From a certificate to its statement."""

from __future__ import annotations

import os
from collections.abc import Mapping

from shiftdp.privacy.ledger.ledger import Ledger
from shiftdp.privacy.selection.kinds import AnyCertificate
from shiftdp.privacy.statement.subject import (
    ModelFacts,
    Statement,
    ledger_facts,
    own_version,
    today,
)

_DELTA = 1e-5  # of a statement unless another is given, as for certificates


def statement_of(
    certificate: AnyCertificate,
    *,
    delta: float = _DELTA,
    date: str | None = None,
    model: ModelFacts | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    about: Mapping[str, str] | None = None,
) -> Statement:
    """The statement of a certificate, of a run or of a pipeline, a search or a score.

    Args:
        certificate: what is stated.
        delta: where epsilon is read.
        date: of the statement, as YYYY-MM-DD; today (UTC) by default.
        model: what the model says of itself beside its certificate.
        ledger: that of the data, for the other releases.
        about: what you say of data and use, by the names in `ABOUT`.

    >>> from shiftdp import Geometry, NoisyGD, certify
    >>> geometry = Geometry(strong_convexity=0.1, smoothness=1.0, sensitivity=1.0)
    >>> cert = certify(NoisyGD(n=100, steps=50, learning_rate=0.5, noise=0.1), geometry)
    >>> made = statement_of(cert, date="2026-01-31", about={"curator": "City library"})
    >>> page = made.html()
    >>> len(page) < 300_000 and "City library" in page
    True
    """
    if ledger is not None and not isinstance(ledger, Ledger):
        ledger = Ledger(ledger)
    return Statement(
        certificate=certificate,
        delta=delta,
        day=today() if date is None else date,
        version=own_version(),
        model=model,
        ledger=None if ledger is None else ledger_facts(ledger, certificate),
        about=tuple((about or {}).items()),
    )
