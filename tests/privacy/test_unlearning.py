"""The least number of further steps: inversion, and its edges."""

from __future__ import annotations

from typing import Any

import pytest

from shiftdp import (
    Geometry,
    ImpossibleBudget,
    InvalidInput,
    NoisyCGD,
    Unlearning,
    calibrate_noise,
    calibrate_unlearning,
    certify,
)

MNIST = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
RUN = NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)


@pytest.mark.parametrize(
    "budget", [{"epsilon": 2.0, "delta": 1e-5}, {"mu": 0.3}, {"advantage": 0.2}]
)
def test_one_step_fewer_misses_the_budget(budget: Any) -> None:
    steps = calibrate_unlearning(RUN, MNIST, **budget)
    (measure,) = (name for name in budget if name != "delta")

    def spent(k: int) -> float:
        certificate = certify(Unlearning(training=RUN, further_steps=k), MNIST)
        if measure == "epsilon":
            return certificate.epsilon(1e-5)
        return certificate.mu or 0.0 if measure == "mu" else certificate.advantage()

    assert spent(steps) <= budget[measure] < spent(steps - 1)


def test_a_budget_that_training_meets_needs_no_step() -> None:
    assert calibrate_unlearning(RUN, MNIST, epsilon=4.5, delta=1e-5) == 0


def test_more_records_and_a_rounded_restart_need_more() -> None:
    one = calibrate_unlearning(RUN, MNIST, mu=0.3)
    assert calibrate_unlearning(RUN, MNIST, records=2, mu=0.3) > one
    assert calibrate_unlearning(RUN, MNIST, grid=1e-6, dimension=7850, mu=0.3) > one


def test_what_cannot_be_forgotten_is_said() -> None:
    with pytest.raises(ImpossibleBudget, match="further_steps"):
        calibrate_unlearning(RUN, MNIST, epsilon=0.0, delta=1e-300)
    deletion: Any = Unlearning(training=RUN, further_steps=3)
    with pytest.raises(InvalidInput, match="is a deletion"):
        calibrate_unlearning(deletion, MNIST, mu=0.3)
    with pytest.raises(InvalidInput, match="calibrate_unlearning"):
        calibrate_noise(Unlearning(training=RUN, further_steps=3), MNIST, mu=0.3)
