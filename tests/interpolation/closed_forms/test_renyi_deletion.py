"""The earlier Renyi bounds on deletion: as printed, and never below what the run attains."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp._errors import InvalidInput, UnmetHypothesis
from shiftdp.interpolation.closed_forms.renyi_deletion import (
    renyi_deletion_cyclic,
    renyi_deletion_full_batch,
)


def attained_rho(c: float, s: float, sd: float, batches: int, epochs: int, further: int) -> float:
    """Half of mu^2 of the linear recursion x -> c x + s [record's batch] + noise, exactly.

    The record's batch is the last of each epoch; the further steps go on without it.
    """
    steps = batches * epochs + further
    decay = c ** np.arange(steps - 1, -1, -1.0)
    visits = np.zeros(steps)
    visits[batches - 1 : batches * epochs : batches] = 1.0
    mean, deviation = s * float(visits @ decay), sd * math.sqrt(float(decay @ decay))
    return (mean / deviation) ** 2 / 2.0


@pytest.mark.parametrize("c", [0.5, 0.9, 0.9999, 1 - 1e-9])
@pytest.mark.parametrize(("batches", "epochs", "further"), [(1, 3, 1), (2, 1, 7), (40, 200, 2000)])
def test_the_cyclic_bound_as_printed(c: float, batches: int, epochs: int, further: int) -> None:
    with mpmath.workdps(60):
        q = mpmath.mpf(c)
        apart = mpmath.mpf(0.7) * (1 - q ** (batches * epochs)) / (1 - q**batches)
        exact = float(apart**2 * (1 - q**2) / (q ** (-2 * further) - 1))
    found = renyi_deletion_cyclic(
        c, 0.7, 1.0, batches=batches, epochs=epochs, further_steps=further
    )
    assert found == pytest.approx(exact, rel=1e-12, abs=1e-300)


@given(
    c=st.floats(0.3, 0.999),
    batches=st.integers(1, 8),
    epochs=st.integers(1, 20),
    further=st.integers(1, 100),
)
def test_neither_is_below_a_run_that_attains(
    c: float, batches: int, epochs: int, further: int
) -> None:
    least = attained_rho(c, 0.3, 1.0, batches, epochs, further)
    cyclic = renyi_deletion_cyclic(
        c, 0.3, 1.0, batches=batches, epochs=epochs, further_steps=further
    )
    assert cyclic >= least
    eta = 0.01
    full = renyi_deletion_full_batch(
        2.0, 0.3, 1.0, learning_rate=eta, strong_convexity=(1 - c) / eta, further_steps=further
    )
    assert full / 2.0 >= attained_rho(c, 0.3, 1.0, 1, epochs, further)


def test_the_full_batch_bound_as_printed() -> None:
    # 4 alpha M^2 / (m sigma^2 n^2) exp(-k m eta / alpha), with 2 M = L and sd^2 = 2 eta sigma^2
    alpha, m, eta, lipschitz, sigma, n, k = 3.0, 0.2, 0.05, 1.5, 0.4, 50, 30
    printed = 4 * alpha * lipschitz**2 / (m * sigma**2 * n**2) * math.exp(-k * m * eta / alpha)
    found = renyi_deletion_full_batch(
        alpha,
        eta * 2 * lipschitz / n,
        math.sqrt(2 * eta) * sigma,
        learning_rate=eta,
        strong_convexity=m,
        further_steps=k,
    )
    assert found == pytest.approx(printed, rel=1e-12)


def test_very_long_deletions_do_not_overflow() -> None:
    found = renyi_deletion_cyclic(0.5, 1.0, 1.0, batches=1, epochs=3, further_steps=10**6)
    assert 0.0 < found < 1e-300


def test_what_is_refused() -> None:
    with pytest.raises(UnmetHypothesis, match=r"contraction=1\.0 is not inside \(0, 1\)"):
        renyi_deletion_cyclic(1.0, 1.0, 1.0, batches=2, epochs=2, further_steps=1)
    with pytest.raises(InvalidInput, match="further_steps=0"):
        renyi_deletion_cyclic(0.9, 1.0, 1.0, batches=2, epochs=2, further_steps=0)
    with pytest.raises(InvalidInput, match=r"order=1\.0"):
        renyi_deletion_full_batch(
            1.0, 1.0, 1.0, learning_rate=0.1, strong_convexity=1.0, further_steps=1
        )
