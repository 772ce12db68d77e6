"""Whether rows are centred: by public numbers, and for a part of the budget that is stated."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp import GaussianTradeoff, InvalidInput, UnmetHypothesis
from shiftdp.training import Huber, Logistic, Softmax
from shiftdp.training.planning import plan_for
from shiftdp.training.planning.centring import LARGEST_PART, LOST, PRECISE, noise_of_mean
from shiftdp.training.planning.problem import Overrides, Problem

PROBLEM = Problem(
    n=800, features=61, loss=Logistic(), feature_bound=4.0, epsilon=1.0, delta=1e-5,
    adjacency="zero_out",
)  # fmt: skip
OPEN = Overrides(centre=None)


def part_of_sums(plan: Any) -> float:
    squares = np.asarray(plan.run.noise) ** -2.0
    return float(squares[:2].sum() / squares.sum())


def test_nobody_who_does_not_ask_has_centred_rows() -> None:
    assert not plan_for(PROBLEM).plan.centred
    assert not plan_for(PROBLEM, Overrides(centre=False)).plan.centred


@pytest.mark.parametrize("loss", [Logistic(), Softmax(classes=4), Huber()])
def test_a_planner_that_may_choose_centres_rows_for_a_tenth_at_most(loss: Any) -> None:
    plan = plan_for(replace(PROBLEM, loss=loss), OPEN).plan
    assert plan.centred
    assert part_of_sums(plan) == pytest.approx(LARGEST_PART, rel=1e-3)
    assert 0.999 < plan.certificate.epsilon(1e-5) <= 1.0


def test_where_less_is_precise_enough_less_is_paid() -> None:
    rich = replace(PROBLEM, n=50_000, epsilon=3.0)
    plan = plan_for(rich, Overrides(algorithm="gd", centre=None)).plan
    mu = GaussianTradeoff.from_budget(3.0, 1e-5).mu
    squares = np.asarray(plan.run.noise) ** -2.0
    of_mean = mu * float(np.sqrt(squares[0] / squares.sum()))
    assert noise_of_mean(rich, of_mean) == pytest.approx(PRECISE, rel=0.01)
    assert part_of_sums(plan) < 0.01 * LARGEST_PART


def test_a_centre_that_would_be_lost_in_noise_is_not_looked_for() -> None:
    """On the two sides of the largest noise, by the number of records."""

    def noise(n: int) -> float:
        mu = GaussianTradeoff.from_budget(1.0, 1e-5).mu
        return noise_of_mean(replace(PROBLEM, n=n), mu * (0.8 * LARGEST_PART) ** 0.5)

    few, enough = (int(800 * noise(800) / (LOST * side)) for side in (1.1, 0.9))
    assert noise(few) > LOST > noise(enough)
    assert not plan_for(replace(PROBLEM, n=few), OPEN).plan.centred
    assert plan_for(replace(PROBLEM, n=enough), OPEN).plan.centred
    assert plan_for(replace(PROBLEM, n=few), Overrides(centre=True)).plan.centred


@pytest.mark.parametrize(
    "chosen",
    [
        {"learning_rate": 0.1}, {"noise": 50.0}, {"batch_size": 100}, {"algorithm": "cgd"},
        {"l2": 0.01}, {"checkpoints": 3, "algorithm": "gd"}, {"average": 2, "algorithm": "gd"},
        {"order": "fixed"}, {"sampling": "poisson"}, {"batch_size": 9},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_chosen_of_the_run_is_left_alone(chosen: dict[str, Any]) -> None:
    assert not plan_for(PROBLEM, Overrides(**chosen, centre=None)).plan.centred


@pytest.mark.parametrize("chosen", [{"epochs": 20}, {"clip": 1.0}, {"algorithm": "gd"}], ids=str)
def test_passes_clip_and_full_batches_may_be_chosen(chosen: dict[str, Any]) -> None:
    planned = plan_for(PROBLEM, Overrides(**chosen, centre=None))
    assert planned.plan.centred
    assert planned.choices()["steps"] == planned.choices()["epochs"] + 2


def test_more_records_than_a_sum_can_count_stay_where_they_are() -> None:
    many = replace(PROBLEM, n=2**33)
    assert not plan_for(many, Overrides(algorithm="gd", epochs=3, centre=None)).plan.centred


def test_without_an_intercept_rows_stay_where_they_are() -> None:
    assert not plan_for(replace(PROBLEM, intercept=False), OPEN).plan.centred
    with pytest.raises(UnmetHypothesis, match="intercept"):
        plan_for(replace(PROBLEM, intercept=False), Overrides(centre=True))


def test_who_asks_for_centred_rows_gets_full_batches_and_composition() -> None:
    plan = plan_for(PROBLEM, Overrides(centre=True, l2=0.01)).plan
    assert (plan.centred, plan.bounds, plan.l2) == (True, "composition", 0.01)
    others: list[dict[str, Any]] = [
        {"algorithm": "sgd"}, {"order": "fixed"}, {"bounds": "best"}, {"sampling": "poisson"},
    ]  # fmt: skip
    for other in others:
        with pytest.raises(InvalidInput, match="does not go with centre=True"):
            Overrides(centre=True, **other)
    with pytest.raises(InvalidInput, match=r"noise=0\.5 does not go with centre=True"):
        Overrides(centre=True, noise=0.5)
    with pytest.raises(InvalidInput, match=r"centre='yes' is no truth value"):
        Overrides(centre="yes")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"centre=<?'?<ndarray>") as caught:
        Overrides(centre=np.array([0.123, 0.456]))  # type: ignore[arg-type]
    assert "0.123" not in str(caught.value)  # it may be a mean of the data


def test_a_plan_says_what_was_paid_for_it() -> None:
    text = str(plan_for(PROBLEM, OPEN))
    assert "centred       for 10.00% of the budget" in text
    assert "the first 2 of which measure where the rows lie" in text


@given(
    n=st.integers(2, 10**7),
    features=st.integers(1, 500),
    epsilon=st.floats(0.05, 10.0),
    bound=st.floats(0.1, 100.0),
    adjacency=st.sampled_from(["replace_one", "zero_out"]),
)
def test_no_budget_is_exceeded(
    n: int, features: int, epsilon: float, bound: float, adjacency: Any
) -> None:
    problem = Problem(
        n=n, features=features, loss=Logistic(), feature_bound=bound, epsilon=epsilon, delta=1e-6,
        adjacency=adjacency,
    )  # fmt: skip
    plan = plan_for(problem, OPEN).plan
    assert plan.certificate.epsilon(1e-6) <= epsilon
    plan.certificate.verify()
