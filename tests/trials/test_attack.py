"""The learned test: good where the law is known, honest where there is nothing to find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftdp import InvalidInput
from shiftdp.trials.attack import as_outputs, attack
from shiftdp.trials.confidence import lower_mu

RNG = np.random.default_rng


def mu_of(one: np.ndarray, other: np.ndarray) -> float:
    events = attack(one, other, delta=1e-5, confidence=0.99)
    return max(lower_mu(event.rates, confidence=0.99) for event in events)


def test_it_finds_most_of_a_shift_hidden_in_one_correlated_direction() -> None:
    """Along the difference of the means mu is 0.14; the best line has 2."""
    rng = RNG(1)
    noise = rng.standard_normal((2, 4000, 2)) @ np.array([[7.0, 7.0], [0.1, -0.1]])
    shift = np.array([0.2, -0.2])
    assert 1.5 < mu_of(noise[0] + shift, noise[1]) < 2.1


def test_it_finds_a_difference_in_spread_alone() -> None:
    rng = RNG(2)
    assert mu_of(rng.standard_normal((4000, 1)), 3.0 * rng.standard_normal((4000, 1))) > 0.5


def test_the_events_are_counted_on_runs_that_chose_nothing() -> None:
    """The first halves differ and the second do not: what was learned there is worth nothing."""
    rng = RNG(3)
    one, other = rng.standard_normal((2, 2000, 2))
    one[:1000] += 5.0
    assert mu_of(one, other) == 0.0


def test_of_equal_laws_no_more_is_found_than_the_risk_allows() -> None:
    rng = RNG(4)
    found = [mu_of(*rng.standard_normal((2, 80, 3))) > 0.0 for _ in range(40)]
    assert sum(found) <= 3  # twice the risk of 1% each; more than 3 of 40 has chance 1e-2


def test_a_score_of_ones_own_is_used() -> None:
    rng = RNG(5)
    one, other = rng.standard_normal((2, 400, 3))
    events = attack(
        one, other, delta=1e-5, confidence=0.9, score=lambda outputs: np.zeros(len(outputs))
    )
    assert {event.score for event in events} == {"given"}
    assert all(event.rates.hits in (0, event.rates.tried) for event in events)


def test_outputs_become_rows_of_finite_numbers() -> None:
    rows = as_outputs("train", [(np.ones((1, 2)), 3.0), (np.array([[np.inf, np.nan]]), 0)])
    assert rows.shape == (2, 3)
    assert np.isfinite(rows).all()


@pytest.mark.parametrize("outputs", [[np.ones(2), np.ones(3)], [np.array(["a"])] * 2])
def test_outputs_of_different_shapes_or_of_words_are_refused(outputs: list[np.ndarray]) -> None:
    with pytest.raises(InvalidInput, match="are not all the same number"):
        as_outputs("train", outputs)


def test_too_few_runs_are_refused() -> None:
    with pytest.raises(InvalidInput, match="too few"):
        attack(np.zeros((10, 1)), np.zeros((10, 1)), delta=1e-5, confidence=0.9)


@pytest.mark.parametrize(
    "outputs",
    [[np.zeros(0)] * 3, [()] * 3, [[[[1.0], [2.0, 3.0]]]] * 3, [None] * 3],
    ids=["nothing", "no parts", "ragged", "none"],
)
def test_outputs_without_numbers_are_refused(outputs: Any) -> None:
    with pytest.raises(InvalidInput, match="are not all the same number"):
        as_outputs("train", outputs)


@pytest.mark.parametrize(
    "score",
    [
        lambda x: np.repeat(x[:, 0], 50),
        lambda x: x[:, :1],
        lambda x: 1.0,
        lambda x: x[:, 0].astype(str),
    ],
    ids=["copies", "a column", "one number", "words"],
)
def test_a_score_is_one_number_an_output(score: Any) -> None:
    """Copies of one output, counted as many, would prove a leak where there is none."""
    rng = np.random.default_rng(0)
    one, other = rng.standard_normal((2, 80, 2))
    with pytest.raises(InvalidInput, match="one real number for each"):
        attack(one, other, delta=1e-5, confidence=0.9, score=score)


def test_a_score_may_be_a_list() -> None:
    one, other = np.random.default_rng(0).standard_normal((2, 80, 2))
    events = attack(one, other, delta=1e-5, confidence=0.9, score=lambda x: x[:, 0].tolist())
    assert events[0].rates.tried == 40
