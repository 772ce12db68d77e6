"""Profiles of many Gaussians at once are those of each, which are held to exact arithmetic."""

from __future__ import annotations

import numpy as np

from shiftdp.fdp.pairs.gaussian_arrays import gaussian_delta_array, gaussian_epsilon_array
from shiftdp.fdp.pairs.gaussian_profile import gaussian_delta, gaussian_epsilon
from tests.fdp.pairs.test_gaussian_profile import DELTAS, MUS


def test_arrays_broadcast_and_match_scalars() -> None:
    mu = np.array(MUS)[:, None]
    delta = np.array([0.0, *DELTAS, 0.9, 1.0])
    table = gaussian_epsilon_array(mu, delta)
    assert table.shape == (11, 11)
    single = [[gaussian_epsilon(m, float(d)) for d in delta] for m in MUS]
    np.testing.assert_allclose(table, single, rtol=4e-13)
    epsilon = np.array([-30.0, -1.0, 0.0, 1e-3, 1.0, 30.0, 1e4])
    deltas_ = gaussian_delta_array(mu, epsilon)
    assert deltas_.shape == (11, 7)
    singles = [[gaussian_delta(m, float(e)) for e in epsilon] for m in MUS]
    np.testing.assert_allclose(deltas_, singles, rtol=2e-11, atol=1e-300)
    assert gaussian_epsilon_array(np.array(1.0), np.array(1e-5)).shape == ()


def test_many_at_once_are_those_of_scalars_also_near_the_ends_of_the_formula() -> None:
    rng = np.random.default_rng(3)
    mu = 10.0 ** rng.uniform(-12.0, 8.0, 3000)
    for delta in (
        10.0 ** rng.uniform(-320.0, 0.0, mu.size),
        np.minimum(mu, 1.0) * rng.uniform(0.0, 0.5, mu.size),
        rng.uniform(0.0, 1.0, mu.size),
    ):
        single = [gaussian_epsilon(m, d) for m, d in zip(mu.tolist(), delta.tolist(), strict=True)]
        np.testing.assert_allclose(gaussian_epsilon_array(mu, delta), single, rtol=1e-13)
