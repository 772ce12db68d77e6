"""What an error says, and that it says so wherever it is carried."""

from __future__ import annotations

import pickle

import pytest

from shiftdp import InvalidInput
from shiftdp.fdp import GaussianTradeoff


def test_long_values_are_cut_short() -> None:
    with pytest.raises(InvalidInput) as refusal:
        GaussianTradeoff("m" * 1000)  # type: ignore[arg-type]
    assert len(str(refusal.value)) < 200


def test_errors_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(InvalidInput("mu", -1.0, "is negative", "give more")))
    assert (error.name, error.value, error.remedy) == ("mu", -1.0, "give more")
    assert str(error) == "mu=-1.0 is negative; give more"
