"""The planner: it meets the budget, looks at public numbers only, and can be overridden."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shiftdp import InvalidInput, NoisyCGD, NoisyGD, NoisySGD, UnmetHypothesis
from shiftdp.training import Huber, Logistic, Plan, SmoothedHinge, Softmax
from shiftdp.training.planning import planner
from shiftdp.training.planning.planner import plan_for
from shiftdp.training.planning.problem import Overrides, Problem
from tests.effort import effort

DIGITS = Problem(
    n=1_437,
    features=64,
    loss=Softmax(classes=10),
    feature_bound=3.5,
    epsilon=1.0,
    delta=1e-5,
    adjacency="zero_out",
)
CANCER = replace(DIGITS, n=455, features=30, loss=Logistic())
MNIST = replace(DIGITS, n=60_000, features=784, feature_bound=8.0)
KINDS = {"gd": NoisyGD, "cgd": NoisyCGD, "sgd": NoisySGD}


def reach(problem: Problem, overrides: Overrides | None = None) -> float:
    """How far the steps of a plan can move the score of a record, all together."""
    plan = plan_for(problem, overrides).plan
    eta = plan.run.learning_rate
    total = sum(eta) if isinstance(eta, tuple) else eta * plan.run.steps
    return total * plan.gradient_bound * plan.norm_bound


@given(
    n=st.integers(1, 10**6),
    features=st.integers(1, 2_000),
    epsilon=st.floats(0.01, 20),
    delta=st.sampled_from([1e-3, 1e-5, 1e-9]),
    adjacency=st.sampled_from(["zero_out", "replace_one"]),
    loss=st.sampled_from([Logistic(), Softmax(classes=7), SmoothedHinge(), Huber(width=2.0)]),
    intercept=st.booleans(),
)
@example(65_537, 257, 1.0, 1e-9, "zero_out", Logistic(), False)  # Poisson, at a very small delta
def test_the_budget_is_met_and_used_up(
    n: int, features: int, epsilon: float, delta: float, adjacency: Any, loss: Any, intercept: bool
) -> None:
    problem = Problem(
        n=n,
        features=features,
        loss=loss,
        feature_bound=2.0,
        epsilon=epsilon,
        delta=delta,
        adjacency=adjacency,
        intercept=intercept,
    )
    plan = plan_for(problem).plan
    assert plan.certificate.epsilon(delta) <= epsilon
    # a whole search for the noise stops 1e-6 of it short at most
    assert plan.certificate.epsilon(delta) >= epsilon * (1 - 1e-4)
    assert plan.adjacency == adjacency
    assert plan.run.n == n


@pytest.mark.parametrize("algorithm", KINDS)
@pytest.mark.parametrize("problem", [DIGITS, CANCER], ids=["digits", "cancer"])
def test_each_algorithm_can_be_had(problem: Problem, algorithm: Any) -> None:
    planned = plan_for(problem, Overrides(algorithm=algorithm))
    assert isinstance(planned.run, KINDS[algorithm])
    assert planned.plan.certificate.epsilon(1e-5) <= 1.0
    planned.plan.certificate.verify()
    assert planned.reasons["algorithm"] == "given"
    assert planned.prediction.total < 1.0


@pytest.mark.parametrize(
    ("overrides", "wanted"),
    [
        (Overrides(algorithm="gd", epochs=7), {"epochs": 7}),
        (Overrides(algorithm="gd", learning_rate=0.5), {"learning_rate": 0.5}),
        (Overrides(algorithm="cgd", l2=0.01), {"l2": 0.01}),
        (Overrides(clip=1.0), {"clip": 1.0}),
        (Overrides(clip=math.inf), {"clip": None}),
        (Overrides(order="fixed", batch_size=100), {"order": "fixed", "batch_size": 100}),
        (Overrides(sampling="poisson", batch_size=64), {"sampling": "poisson", "batch_size": 64}),
        (Overrides(algorithm="gd", noise=1.0), {"noise": 1.0}),
        (Overrides(bounds="composition", order="fixed"), {"bounds": "composition"}),
        (Overrides(batch_size=1_437), {"algorithm": "gd"}),
    ],
    ids=str,
)
def test_every_choice_can_be_overridden(overrides: Overrides, wanted: dict[str, Any]) -> None:
    planned = plan_for(DIGITS, overrides)
    choices = planned.choices()
    assert {name: choices[name] for name in wanted} == wanted
    assert planned.plan.certificate.epsilon(1e-5) <= 1.0
    for name in wanted:
        if getattr(overrides, name) is not None:
            assert planned.reasons[name] == "given"


@pytest.mark.parametrize("algorithm", ["cgd", "sgd"])
def test_long_runs_are_as_long_as_they_were_asked_to_be(algorithm: Any) -> None:
    chosen = Overrides(algorithm=algorithm, batch_size=20, epochs=100)
    plan = plan_for(CANCER, chosen).plan
    # 455 = 22 batches of 20 and one of 15; as random batches 100 n/20 steps
    assert plan.run.steps == {"cgd": 2_300, "sgd": 2_275}[algorithm]
    longer = replace(chosen, epochs=300)
    assert plan_for(CANCER, longer).plan.run.steps == 3 * plan.run.steps


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_full_batches_without_a_ridge_are_composed_and_plainly_clipped(epsilon: float) -> None:
    """Where full steps do not contract no theorem is tighter, and plain clipping is quicker."""
    plan = plan_for(replace(DIGITS, epsilon=epsilon), Overrides(algorithm="gd")).plan
    assert (plan.bounds, plan.clipping, plan.l2) == ("composition", "plain", 0.0)
    rates = tuple((1e-3 * np.array(plan.run.learning_rate)).tolist())
    slow = replace(
        plan, clipping="envelope", bounds="best", run=replace(plan.run, learning_rate=rates)
    )
    # in proportion to the sensitivity, of which what rounding adds depends on the clipping
    mu, other = ((p.certificate.mu or 0.0) / p.geometry.sensitivity for p in (plan, slow))
    assert mu == pytest.approx(other, rel=1e-9)


@pytest.mark.parametrize(
    ("overrides", "name"),
    [
        ({"noise": 1e-6}, "noise"),
        ({"batch_size": 2_000, "algorithm": "cgd"}, "batch_size"),
        ({"batch_size": 10, "algorithm": "gd"}, "batch_size"),
        ({"clip": 0.0}, "clip"),
        ({"bounds": "best", "algorithm": "gd", "learning_rate": 100.0}, "learning_rate"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(overrides: dict[str, Any], name: str) -> None:
    with pytest.raises((InvalidInput, UnmetHypothesis)) as refusal:
        plan_for(DIGITS, Overrides(**overrides))
    assert refusal.value.name == name


@pytest.mark.parametrize("order", ["fixed", "reshuffled"])
def test_a_last_batch_of_one_record_needs_no_more_noise(order: Any) -> None:
    problem = replace(CANCER, n=1_000)
    given: dict[str, Any] = {"order": order, "epochs": 10, "learning_rate": 0.1, "clip": 1.0}
    near = plan_for(problem, Overrides(**given, batch_size=334)).plan.run
    ragged = plan_for(problem, Overrides(**given, batch_size=333))
    assert isinstance(ragged.plan.run, NoisyCGD)
    assert ragged.plan.run.last_batch == ragged.choices()["last_batch"] == "divide_by_b"
    assert isinstance(near.noise, float)
    assert isinstance(ragged.plan.run.noise, float)
    assert ragged.plan.run.noise <= 1.005 * near.noise
    own = plan_for(problem, Overrides(**given, batch_size=333, last_batch="own_size")).plan.run
    assert isinstance(own.noise, float)
    assert own.noise > 100 * near.noise


def test_more_budget_is_foretold_to_be_better() -> None:
    errors = [
        plan_for(replace(DIGITS, epsilon=epsilon)).prediction.total
        for epsilon in (0.1, 0.3, 1.0, 3.0)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 1.5 * errors[-1]


def test_more_budget_pays_for_longer_steps() -> None:
    reaches = [reach(replace(CANCER, epsilon=epsilon)) for epsilon in (0.1, 0.5, 1.0, 4.0)]
    assert reaches == sorted(reaches)
    # what was best in hindsight, by a factor of two (docs/planner.md)
    for found, best in zip(reaches, (75, 250, 500, 2_000), strict=True):
        assert best / 2 < found < best * 2


def test_compute_limits_the_passes_and_changes_the_algorithm() -> None:
    short = replace(MNIST, compute=1e10)
    assert short.epochs == 10
    planned = plan_for(short)
    assert planned.choices()["epochs"] <= 10.1
    # ten full steps are too few; ten epochs of small batches in turn are not
    assert isinstance(planned.run, NoisyCGD)
    assert planned.prediction.total < 0.95 * planned.others["gd"].total


@pytest.mark.parametrize(("epsilon", "wanted"), [(0.1, NoisySGD), (3.0, NoisyCGD)])
def test_one_pass_has_its_noise_placed_unless_the_budget_is_small(
    epsilon: float, wanted: type
) -> None:
    spam = replace(CANCER, n=3_681, features=57, feature_bound=3.0, epsilon=epsilon)
    planned = plan_for(spam, Overrides(epochs=1))
    assert isinstance(planned.run, wanted)
    assert planned.prediction.total < 0.95 * planned.others["gd"].total
    assert 0.999 * epsilon <= planned.plan.certificate.epsilon(1e-5) <= epsilon
    if wanted is NoisyCGD:
        assert isinstance(planned.run.noise, tuple)
        # the first rate is held for half of the run; then noise wherever rates fall, and at the end
        assert sum(sigma > 0.0 for sigma in planned.run.noise) == 8
        assert planned.choices()["noisy_steps"] == 8
        assert "The noise is placed: 8 of 3681 steps have some" in str(planned)
        planned.plan.certificate.verify()


def test_planning_is_quick() -> None:
    assert effort(lambda: plan_for(DIGITS)) < 200_000


def test_the_plan_says_what_and_why() -> None:
    text = str(plan_for(DIGITS))
    assert "is placed" not in text
    for word in ("algorithm", "noise", "learning_rate", "clip", "foretold", "optimisation"):
        assert word in text
    assert "epsilon=1 at delta=1e-05" in text


def test_a_plan_with_placed_noise_says_which_steps_have_it() -> None:
    problem = Problem(n=4, features=2, loss=Logistic(), feature_bound=1.0, epsilon=0.5, delta=1e-5)
    shape: dict[str, Any] = {"n": 4, "batch_size": 2, "epochs": 1, "learning_rate": (0.2, 0.1)}
    plans = [
        Plan(run=NoisyCGD(**shape, noise=noise), loss=Logistic(), feature_bound=1.0)
        for noise in ((0.0, 1.0), (1.0, 1.0))
    ]
    placed, everywhere = (planner._reasons(problem, Overrides(), plan) for plan in plans)
    assert placed["noise"].startswith("of the noisy steps, the others having none: the least")
    assert placed["learning_rate"].startswith("falls from stage to stage")
    assert everywhere["noise"].startswith("the least that meets epsilon=0.5")
    assert everywhere["learning_rate"].startswith("falls with the steps")
