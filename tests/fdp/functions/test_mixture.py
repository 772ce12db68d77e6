"""Mechanisms drawn at random, and revealed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp.fdp import GaussianTradeoff, LaplaceTradeoff, Mixture
from shiftdp.fdp.functions import subsampling as sampling


def test_the_ends_of_f_need_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a search")

    monkeypatch.setattr(sampling, "most", refuse)
    monkeypatch.setattr(Mixture, "_beta", refuse)
    mixed = Mixture([GaussianTradeoff(0.0), GaussianTradeoff(0.29)], [0.0, 1.0])
    for f in (mixed, mixed.subsample(7.5e-197)):
        assert f(1.0) == 0.0
        assert f(0.0) == 1.0


@given(st.lists(st.integers(1, 9), min_size=3, max_size=3), st.floats(-3.0, 6.0))
def test_the_profile_is_the_average_of_the_profiles(counts: list[int], epsilon: float) -> None:
    parts = (GaussianTradeoff(0.5), LaplaceTradeoff(1.0), GaussianTradeoff(2.0))
    weights = np.array(counts) / sum(counts)
    average = float(weights @ [f.delta(epsilon) for f in parts])
    assert Mixture(parts, weights).delta(epsilon) == pytest.approx(average, rel=1e-12)


def test_one_component_is_itself_to_a_test() -> None:
    f, alpha = GaussianTradeoff(1.3), np.linspace(0.0, 1.0, 41)
    np.testing.assert_allclose(Mixture([f])(alpha), f(alpha), rtol=0, atol=1e-12)
