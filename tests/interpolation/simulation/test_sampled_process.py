"""The sampled processes keep the bounds of the proofs on every path, and meet at the end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp import InvalidInput
from shiftdp.interpolation.simulation.sampled_process import (
    simulate_sampled_pair,
    simulate_sampled_proj,
)
from tests.interpolation.simulation.test_process import CONTRACTION, ETA, ROUNDING, L, step


@given(
    seed=st.integers(0, 2**32 - 1),
    p=st.floats(0.05, 1.0),
    share=st.lists(st.floats(0, 1), min_size=1),
)
def test_the_pair_of_sgd_sc(seed: int, p: float, share: list[float]) -> None:
    s = ETA * L
    pair_ = simulate_sampled_pair(
        step,
        lambda k, x: step(k, x) + s,
        lambda k, x: step(k, x) - s,
        [0.2],
        s * np.array(share),
        contraction=CONTRACTION,
        sensitivity=s,
        noise=0.3,
        p=p,
        steps=len(share) + 1,
        rng=np.random.default_rng(seed),
    )
    for one in (pair_.original, pair_.adjacent):
        assert (one.distances <= one.z + ROUNDING).all()
        # both ways start from the same point with the same noise
        assert len(one.untaken) == len(one.original) - 1
        assert len(one.interpolated) == len(one.original) - 1
    moved = pair_.original.original[1:] - pair_.original.untaken
    assert np.abs(moved) == pytest.approx(np.full(moved.shape, s))


@given(seed=st.integers(0, 2**32 - 1), tau=st.integers(0, 14))
def test_the_process_of_sgd_proj(seed: int, tau: int) -> None:
    found = simulate_sampled_proj(
        lambda k, x: x,
        lambda k, x: x + 0.3,
        lambda k, x: x - 0.3,
        [0.0],
        diameter=2.0,
        noise=0.1,
        p=0.5,
        steps=15,
        tau=tau,
        project=lambda x: np.clip(x, -1.0, 1.0),
        rng=np.random.default_rng(seed),
    )
    one = found.original
    assert (one.interpolated[0] == found.adjacent.original[tau]).all()
    assert (one.interpolated[-1] == one.original[-1]).all()
    assert (one.distances <= one.z + ROUNDING).all()


def test_shifts_beyond_the_sensitivity_are_refused() -> None:
    for a, problem in (([0.2, 0.7], "a"), ([0.1], "a")):
        with pytest.raises(InvalidInput, match=problem):
            simulate_sampled_pair(
                step,
                step,
                step,
                [0.0],
                a,
                contraction=1.0,
                sensitivity=0.6,
                noise=1.0,
                p=0.5,
                steps=3,
                rng=np.random.default_rng(0),
            )
