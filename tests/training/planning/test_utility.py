"""The predicted error is that of the process it describes."""

from dataclasses import replace

import numpy as np
import pytest

from shiftdp._checks import Array
from shiftdp.training.planning.utility import Reference, Segments

REFERENCE = Reference(
    directions=20, norm_bound=2.0, slope=0.5, curvature=0.25, reach=12.0, clipping=0.1
)


def segments(rates: Array, steps: int, noise: Array, l2: Array, drawn: Array) -> Segments:
    return Segments(rates, steps, noise, np.zeros_like(rates), l2, drawn)


def test_equal_steps_in_closed_form_are_those_of_the_recursion() -> None:
    rates = np.array([[0.01], [1.0], [5.0], [30.0]])
    noise, l2 = 0.1 * np.ones((4, 1)), np.array([0.0, 0.01, 0.1, 0.0])
    drawn = np.array([0.0, 0.01, 0.02, 0.0])
    quick = REFERENCE.predict(segments(rates, 50, noise, l2, drawn))
    slow = REFERENCE.predict(segments(np.tile(rates, 50), 1, noise, l2, drawn))
    for one, two in zip(quick, slow, strict=True):
        assert vars(one) == pytest.approx(vars(two), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("placed", [0.0, 3.0])
def test_the_prediction_is_the_error_of_a_simulated_descent(placed: float) -> None:
    """The squared errors of many simulated runs on the reference problem itself."""
    eta, sigma, m, steps = np.array([4.0, 1.0]), np.array([0.4, 0.9]), 0.02, 10
    (predicted,) = REFERENCE.predict(
        Segments(
            eta[None], steps, sigma[None], np.array([[placed, 0.0]]), np.array([m]), np.zeros(1)
        )
    )
    rng = np.random.default_rng(0)
    pulls = REFERENCE._pulls[:, None]  # one row a speed
    best = np.sqrt(REFERENCE.energy) / REFERENCE.norm_bound
    w = np.zeros((len(pulls), 4_000))
    for part in range(2):
        for _ in range(steps):
            gradient = np.minimum(pulls, 2.0 / eta[part] - m) * (w - best) + m * w
            w -= eta[part] * (gradient + sigma[part] * rng.standard_normal(w.shape))
        w += np.sqrt(placed * (part == 0)) * rng.standard_normal(w.shape)
    # as shares of the error of w = 0; sampling error is below 1 % of it
    found = float(np.mean((w - best) ** 2)) / best**2
    assert predicted.total - predicted.clipping == pytest.approx(found, rel=0.02)


def test_what_is_left_of_the_noise_of_a_step_is_what_the_prediction_says() -> None:
    rates, l2 = np.array([[3.0, 2.0, 0.5]]), np.array([0.01])
    weights = REFERENCE.weights_of_noise(rates, l2)[0]
    for k in range(3):
        noise = np.eye(3)[k : k + 1]
        (alone,) = REFERENCE.predict(segments(rates, 1, noise, l2, np.zeros(1)))
        share = REFERENCE.norm_bound**2 / REFERENCE.energy
        assert alone.noise == pytest.approx(weights[k] * share, rel=1e-12)


def test_each_doubling_of_the_reach_is_worth_the_same() -> None:
    rates = np.geomspace(0.1, 1000.0, 9)[:, None] / 1000
    none = np.zeros_like(rates)
    found = REFERENCE.predict(segments(rates, 1000, none, none[:, 0], none[:, 0]))
    gains = -np.diff([one.optimisation for one in found])
    # 40 speeds stand for all, so that gains go up and down by some per cent
    assert gains[2:] == pytest.approx(np.full(6, gains[2:].mean()), rel=0.1)


def test_batches_in_turn_make_up_for_one_another_where_nothing_is_forgotten() -> None:
    rates, one = np.array([[1e-4]]), np.ones(1)
    random = segments(rates, 100, 0.0 * rates, 0.0 * one, one)
    (drawn,) = REFERENCE.predict(random)
    (in_turn,) = REFERENCE.predict(replace(random, in_turn=100))
    assert 0.0 < in_turn.sampling < 1e-3 * drawn.sampling
    (swift,) = REFERENCE.predict(replace(random, rates=1e4 * rates, in_turn=1e9))
    (other,) = REFERENCE.predict(replace(random, rates=1e4 * rates))
    assert swift.sampling == pytest.approx(other.sampling)
