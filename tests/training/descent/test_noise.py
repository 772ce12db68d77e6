"""The noise of a stack: each model's stream in order, no more drawn than is used, nothing left."""

import numpy as np
import pytest

from shiftdp.training import Seeded
from shiftdp.training.descent.gradient import Parameters
from shiftdp.training.descent.noise import Noise


@pytest.mark.parametrize(("features", "steps"), [(2, 1), (3, 50), (50_000, 7), (200_000, 3)])
def test_it_is_the_stream_in_order(features: int, steps: int) -> None:
    like = Parameters(1, 1, features, True)
    plain = np.empty((steps, like.flat.size))
    Seeded(5).open("noise").fill(plain)
    with Noise([Seeded(5).open("noise")], like, steps) as noise:
        drawn = np.stack([noise.step().copy() for _ in range(steps)])
        with pytest.raises(StopIteration):
            noise.step()
    assert (drawn == plain).all()
    assert not noise._made.any()


@pytest.mark.parametrize("intercept", [True, False])
def test_that_of_a_stack_is_that_of_its_models(intercept: bool) -> None:
    at, alone = (Parameters(runs, 3, 4, intercept) for runs in (2, 1))
    with (
        Noise([Seeded(k).open("noise") for k in (1, 2)], at, 5) as noise,
        Noise([Seeded(1).open("noise")], alone, 5) as first,
        Noise([Seeded(2).open("noise")], alone, 5) as second,
    ):
        for _ in range(5):
            at.flat[:] = noise.step()
            for model, own in zip(at.models(), (first, second), strict=True):
                alone.flat[:] = own.step()
                assert (model == alone.models()[0]).all()
