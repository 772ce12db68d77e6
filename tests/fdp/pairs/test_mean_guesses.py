"""Guesses of thresholds: close enough to start from, at every delta."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from shiftdp.fdp.pairs import mean_profiles
from shiftdp.fdp.pairs.mean_guesses import Guess, guess_backward, guess_forward, guess_two_sided
from shiftdp.fdp.pairs.mean_law import MeanLaw

LAWS = {
    "small": MeanLaw.of((0.01, 0.02, 0.05), (0.5, 0.4, 0.1)),
    "a step": MeanLaw.of((0.0, 1.0), (0.99, 0.01)),
    "rare and far": MeanLaw.of((0.5, 1.0, 30.0), (0.5, 0.5 - 1e-9, 1e-9)),
}
DELTAS = np.array([1e-4, 1e-7, 1e-12])
every_law = pytest.mark.parametrize("name", LAWS)


def capped(law: MeanLaw, delta: np.ndarray) -> Guess:
    return guess_forward(law, delta, capped=True)


@every_law
@pytest.mark.parametrize(
    ("guess", "profile"),
    [
        (guess_forward, mean_profiles.forward_profile),
        (guess_two_sided, mean_profiles.two_sided_profile),
        (guess_backward, mean_profiles.backward_profile),
        (capped, mean_profiles.capped_profile),
    ],
)
def test_the_guess_is_a_point_of_the_profile(
    name: str, guess: Callable[..., Guess], profile: Callable[..., tuple[np.ndarray, np.ndarray]]
) -> None:
    law = LAWS[name]
    found = guess(law, DELTAS)
    delta, slope = profile(law, np.maximum(found.epsilon, 1e-12))
    inside = found.epsilon > 1e-6
    np.testing.assert_allclose(delta[inside], found.delta[inside], rtol=1e-4)
    np.testing.assert_allclose(slope[inside], found.slope[inside], rtol=1e-4)
    np.testing.assert_allclose(found.delta[inside], DELTAS[inside], rtol=1e-3)
