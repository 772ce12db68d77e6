"""A ledger of a small budget."""

from pathlib import Path

import pytest

from shiftdp.privacy import Ledger
from tests.privacy.ledger.examples import DELTA


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "ledger.db", epsilon=3.0, delta=DELTA)
