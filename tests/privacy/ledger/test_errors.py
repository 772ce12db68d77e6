"""What a refusal says."""

from __future__ import annotations

import pickle

import pytest

from shiftdp import (
    GaussianTradeoff,
)
from shiftdp._printed import down, trimmed, up
from shiftdp.privacy import BudgetExceeded, Ledger
from tests.privacy.ledger.examples import DELTA, mu_of
from tests.privacy.ledger.workers import certificate


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
