"""The Lipschitz envelope of softmax: it solves its equation, to the accuracy that is certified."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from shiftdp import InvalidInput, NoisyGD
from shiftdp.last_iterate.sum_rounding import ENVELOPE_ACCURACY
from shiftdp.training import Logistic, Plan, Softmax
from shiftdp.training.losses.envelope import _bracketed, envelope_residuals
from tests.training.losses.examples import check_pairs, residuals


def own_limits(size: int, seed: int) -> NDArray[Any]:
    """A clip for each pair, from one that cuts nearly all gradients to one that cuts none."""
    return np.asarray(10.0 ** np.random.default_rng(seed).uniform(-2, 0.16, size))


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_the_envelope_on_pairs_with_clips_of_their_own(classes: int) -> None:
    check_pairs(Softmax(classes=classes), 10_000, 200, own_limits(10_000, 201))


@pytest.mark.slow
@pytest.mark.parametrize(("classes", "parts"), [(2, 10), (3, 10), (10, 5)])
def test_the_envelope_on_millions_of_pairs(classes: int, parts: int) -> None:
    for part in range(parts):
        check_pairs(Softmax(classes=classes), 200_000, 300 + part, own_limits(200_000, 400 + part))


@given(
    st.lists(st.floats(-40, 40), min_size=2, max_size=6),
    st.integers(0, 5),
    st.floats(1e-3, 1.4),
)
def test_the_envelope_solves_its_equation(scores: list[float], label: int, kappa: float) -> None:
    y = label % len(scores)
    z = np.array(scores)[:, None]
    loss = Softmax(classes=len(scores))
    q = residuals(loss, z, np.array([y]), np.array([kappa]))[:, 0]
    free = residuals(loss, z, np.array([y]), None)[:, 0]
    if np.linalg.norm(free) <= kappa:
        assert (q == free).all()
        return
    assert kappa * (1 - 1e-10) <= np.linalg.norm(q) <= kappa
    # it maximises <p - e_y, z> - sum p log p on the ball: z - log p = A + nu (p - e_y), nu >= 0
    p = q + np.eye(len(scores))[y]
    weight = np.sqrt(np.maximum(p, 0.0))
    right = np.where(p > 0.0, z[:, 0] - np.log(np.where(p > 0.0, p, 1.0)), 0.0)
    left = np.stack([np.ones_like(q), q], axis=1)
    (A, nu), *_ = np.linalg.lstsq(weight[:, None] * left, weight * right, rcond=None)
    assert nu >= -1e-9
    # log p is known to (error of p)/p, which the weight p takes back
    assert np.abs(p * (right - A - nu * q)).max() <= 1e-9 * (1.0 + np.abs(z).max())


@pytest.mark.parametrize("spread", [1.0, 10.0, 300.0, 1e4])
@pytest.mark.parametrize("kappa", [1e-4, 0.3, 1.41])
def test_both_ways_to_the_envelope_agree(spread: float, kappa: float) -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(size=(10, 60)) * spread
    y = rng.integers(0, 10, 60)
    q = residuals(Softmax(classes=10), z, y, None)
    far = np.flatnonzero(np.linalg.norm(q, axis=0) > kappa)
    if not far.size:
        return
    limits = np.full(far.size, kappa)
    solved = envelope_residuals(z[:, far], y[far], limits)
    closed = _bracketed(z[:, far] - z[:, far].max(axis=0), y[far], limits)
    assert np.abs(solved - closed).max() <= 1e-10
    assert np.linalg.norm(solved, axis=0).max() <= kappa


@given(
    z=arrays(np.float64, (4, 5), elements=st.floats(-60.0, 60.0)),
    limits=arrays(np.float64, 5, elements=st.floats(-4.0, 0.1).map(lambda x: 10.0**x)),
)
@settings(max_examples=60, deadline=None)
def test_an_envelope_does_not_depend_on_the_records_beside_it(
    z: NDArray[np.float64], limits: NDArray[np.float64]
) -> None:
    """To the accuracy that is certified: limits from the least that plans admit."""
    y = np.arange(5) % 4
    loss = Softmax(classes=4)
    together = residuals(loss, z, y, limits)
    for k in range(5):
        alone = residuals(loss, z[:, [k]], y[[k]], limits[[k]])[:, 0]
        assert np.linalg.norm(alone - together[:, k]) <= ENVELOPE_ACCURACY * limits[k]


def test_limits_that_cannot_be_solved_for_are_refused() -> None:
    run = NoisyGD(n=10, steps=2, learning_rate=1e-9, noise=1.0)
    with pytest.raises(InvalidInput, match=r"clip=0\.09 is too small"):
        Plan(run=run, loss=Softmax(classes=3), feature_bound=1e3, clipping="envelope", clip=0.09)
    Plan(run=run, loss=Logistic(), feature_bound=1e3, clipping="envelope", clip=0.09)
