"""A bisection on an epsilon that jumps comes to an end, on the private side."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opacus.accountants.registry import register_accountant
from opacus.accountants.utils import get_noise_multiplier

import shiftdp as sdp
from shiftdp.privacy.opacus.accountant import LastIterateAccountant, Plan
from shiftdp.privacy.opacus.probes import Probes
from shiftdp.privacy.opacus.run import LoaderReading, StepReading, described
from tests.privacy.opacus.loop import LOGISTIC


@given(st.floats(0.1, 10.0), st.floats(0.0, 0.5), st.floats(0.02, 0.5))
def test_bisection_ends(place: float, below: float, above: float) -> None:
    """epsilon falls from 1 + above to 1 - below at `place`, and slowly everywhere else."""

    def epsilon(noise: float) -> float:
        return (1.0 + above if noise < place else 1.0 - below) + 1e-3 * (place - noise)

    probes, low, high, cost = Probes(), 0.0, 20.0, epsilon(20.0)
    for _ in range(80):
        if 1.0 - cost <= 0.01:
            break
        middle = 0.5 * (low + high)
        found = probes.bridged(middle, epsilon(middle))
        assert found >= epsilon(middle)
        if found < 1.0:
            high, cost = middle, found
        else:
            low = middle
    assert 0.99 <= cost < 1.0 or high == 20.0
    assert epsilon(high) < 1.0
    assert high <= place * (1 + 1e-5) or epsilon(high) >= 0.99


def test_where_nothing_jumps_nothing_changes() -> None:
    probes = Probes()
    for noise in (10.0, 5.0, 2.5, 3.75, 3.125):
        assert probes.bridged(noise, 4.0 / noise) == 4.0 / noise


@pytest.mark.slow
@pytest.mark.parametrize("target", [0.7, 0.9, 1.0])
def test_opacus_finds_noise_where_epsilon_jumps(target: float) -> None:
    loader = LoaderReading("poisson", 60_000, 256, 235, 256, 1 / 235)
    step = StepReading(0.5, 0.01, 1.0, 1.0, 255.0)
    make = partial(LastIterateAccountant, LOGISTIC, name="jumps", plan=Plan(loader, step, True))
    register_accountant("jumps", make, force=True)
    noise = get_noise_multiplier(
        target_epsilon=target,
        target_delta=1e-5,
        sample_rate=1 / 235,
        epochs=20,
        accountant="jumps",
    )
    taken = StepReading(0.5, 0.01, noise, 1.0, 255.0)
    run, geometry = described(LOGISTIC, loader, [(taken, 4700)], True)
    assert sdp.certify(run, geometry).epsilon(1e-5) <= target
