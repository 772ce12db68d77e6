"""The predicted error is that of the process it describes."""

import numpy as np
import pytest

from shiftdp.training.planning.utility import Reference


def test_equal_steps_in_closed_form_are_those_of_the_recursion() -> None:
    reference = Reference(directions=20, norm_bound=2.0, slope=0.5, reach=12.0, outputs=3)
    rates = np.array([0.01, 1.0, 5.0])
    noise, l2 = np.array([0.1, 0.2, 0.3]), np.array([0.0, 0.01, 0.1])
    sampling = np.array([0.0, 0.01, 0.02])
    quick = reference.predict(rates[:, None], 50, noise, l2, sampling)
    slow = reference.predict(np.tile(rates[:, None], 50), 50, noise, l2, sampling)
    for one, two in zip(quick, slow, strict=True):
        assert vars(one) == pytest.approx(vars(two), rel=1e-9, abs=1e-12)


def test_the_prediction_is_the_error_of_a_simulated_descent() -> None:
    """One direction: the squared score error of many simulated runs, in three parts."""
    reference = Reference(directions=1, norm_bound=1.0, slope=1.0, reach=2.0)
    eta, sigma, m, t = 0.3, 0.4, 0.1, 25
    (predicted,) = reference.predict(np.array([[eta]]), t, np.array([sigma]), np.array([m]))
    rng = np.random.default_rng(0)
    best, w = 2.0, np.zeros(200_000)
    for _ in range(t):
        w -= eta * (0.5 * (w - best) + m * w + sigma * rng.standard_normal(w.size))
    # the share of the error of w = 0; sampling error is below 1 % of it
    assert predicted.total == pytest.approx(np.mean((w - best) ** 2) / best**2, rel=0.02)
    assert predicted.regularisation == pytest.approx((0.1 / 0.6) ** 2)
