"""Plans that no theorem covers, or that may leave the range of floats, are refused by name."""

import math

import pytest

import shiftdp as sdp
from shiftdp import InvalidInput, NoisyGD, NoisySGD, UnmetHypothesis
from shiftdp.training import (
    L1,
    ClippedSquared,
    Logistic,
    Plan,
    Softmax,
)

RUN = NoisyGD(n=100, steps=10, learning_rate=0.1, noise=0.5)


@pytest.mark.parametrize(
    "fields",
    [
        {"run": "cgd"},
        {"run": sdp.LangevinMC(steps=3, learning_rate=0.1)},
        {"loss": "logistic"},
        {"feature_bound": 0.0},
        {"feature_bound": math.inf},
        {"l2": -1.0},
        {"clipping": "plain"},
        {"clipping": "envelope"},
        {"clip": 1.0},
        {"clipping": "envelope", "clip": 0.0},
        {"clipping": "uncertified", "clip": 1.0},
        {"clipping": "uncertified", "clip": 1.0, "loss": Softmax(classes=2)},
        {"loss": ClippedSquared()},
        {"adjacency": "add_one"},
        {"oversized": "drop"},
        {"intercept": "yes"},
        {"projection": "ball"},
        {"entropy": 3},
        {"features": 0},
        {"run": sdp.NoisyGD(n=4, steps=2, learning_rate=0.1, noise=[1.0, 0.0])},
    ],
    ids=repr,
)
def test_what_makes_no_sense_is_refused(fields: dict[str, object]) -> None:
    sound: dict[str, object] = {"run": RUN, "loss": Logistic(), "feature_bound": 1.0}
    with pytest.raises(InvalidInput):
        Plan(**{**sound, **fields})  # type: ignore[arg-type]


def test_least_squares_without_a_bound_can_be_clipped() -> None:
    plan = Plan(run=RUN, loss=ClippedSquared(), feature_bound=1.0, clipping="envelope", clip=2.0)
    assert plan.gradient_bound == 2.0


def test_hypotheses_of_the_run_are_those_of_the_plan() -> None:
    steep = NoisyGD(n=100, steps=10, learning_rate=5.0, noise=0.5)
    with pytest.raises(UnmetHypothesis, match="learning_rate"):
        _ = Plan(run=steep, loss=Logistic(), feature_bound=2.0).certificate
    fresh = NoisySGD(n=100, batch_size=10, steps=10, learning_rate=0.1, noise=0.5)
    with pytest.raises(UnmetHypothesis, match="adjacency"):
        _ = Plan(run=fresh, loss=Logistic(), feature_bound=1.0, adjacency="zero_out").certificate


def test_a_prox_is_not_covered_where_more_than_the_last_iterate_is_released() -> None:
    released = NoisyGD(n=100, steps=10, learning_rate=0.1, noise=0.5, releases=(5, 10))
    with pytest.raises(UnmetHypothesis, match="prox"):
        Plan(run=released, loss=Logistic(), feature_bound=1.0, prox=L1(0.1))
    assert Plan(run=RUN, loss=Logistic(), feature_bound=1.0, prox=L1(0.1)).prox == L1(0.1)


def test_each_released_step_has_noise() -> None:
    noise = [1.0, 0.0, 1.0, 1.0]
    for releases, refused in (((1, 4), False), ((2, 4), True)):
        run = NoisyGD(n=9, steps=4, learning_rate=0.1, noise=noise, releases=releases)
        if refused:
            with pytest.raises(UnmetHypothesis, match="step 2"):
                Plan(run=run, loss=Logistic(), feature_bound=1.0)
        else:
            Plan(run=run, loss=Logistic(), feature_bound=1.0)


def test_iterates_that_may_leave_the_range_of_floats_are_refused() -> None:
    wild = NoisyGD(n=100, steps=1_000, learning_rate=5.0, noise=0.5)
    with pytest.raises(InvalidInput, match="beyond the range of floats"):
        Plan(run=wild, loss=Logistic(), feature_bound=1.0, l2=1.0, bounds="composition")
