"""The law of the number of trials: what is drawn, and how far it is from the formulas."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp import InvalidInput
from shiftdp.fdp.selection.trials import Trials

SHAPES = st.sampled_from([-0.5, 0.0, 0.5, 1.0, 3.0, None])


def made(mean: float, shape: float | None) -> Trials:
    return Trials.with_mean("poisson" if shape is None else "negative_binomial", mean, shape)


def drawn_law(trials: Trials) -> list[Fraction]:
    """The law of `number` at a uniform number, by bisection for the places where it jumps."""
    whole = 1 << 62
    places: list[int] = []
    k = 1
    while True:
        # the first uniform number whose k is larger
        low, high = (places[-1] if places else 0), whole
        while low < high:
            middle = (low + high) // 2
            if 1 <= trials.number(middle) <= k and not (k > 1 and trials.number(middle) == 1):
                low = middle + 1
            else:
                high = middle
        places.append(low)
        if low >= whole or trials.number(low) == 1:
            break
        k += 1
    steps = [Fraction(b - a, whole) for a, b in zip([0, *places], places, strict=False)]
    steps[0] += Fraction(whole - places[-1], whole)
    return steps


@pytest.mark.parametrize("shape", [-0.5, 0.0, 1.0, 3.0, None])
def test_what_is_drawn_is_the_law_that_is_certified(shape: float | None) -> None:
    trials = made(2.5, shape)
    law = drawn_law(trials)
    assert sum(law) == 1
    assert float(sum(k * p for k, p in enumerate(law, 1))) == pytest.approx(trials.mean, rel=1e-9)
    for z in (0.0, 0.3, 0.9, 1.0):
        exact = sum(k * float(p) * z ** (k - 1) for k, p in enumerate(law, 1))
        assert float(trials.slope(np.array([z]))[0]) == pytest.approx(exact, rel=trials.law_error)
    assert trials.law_error < 1e-6


@settings(max_examples=20)
@given(mean=st.floats(1.05, 9.0), shape=SHAPES)
def test_every_uniform_number_has_its_place_and_no_number_of_trials_is_cut_off(
    mean: float, shape: float | None
) -> None:
    trials = made(mean, shape)
    assert trials.number((1 << 62) - 1) > 1  # the rarest, and not what was left over
    with pytest.raises(InvalidInput, match="62 bits"):
        trials.number(1 << 62)


@settings(max_examples=20)
@given(mean=st.floats(1.05, 9.0), shape=SHAPES)
def test_a_law_is_found_by_its_mean(mean: float, shape: float | None) -> None:
    trials = made(mean, shape)
    assert trials.mean == pytest.approx(mean, rel=1e-6)
    assert float(trials.slope(np.ones(1))[0]) == pytest.approx(trials.mean, rel=1e-12)
    assert trials.number(0) == 1


def test_the_geometric_law_is_what_it_is_called() -> None:
    trials = Trials("negative_binomial", 0.25, 1.0)
    assert trials.mean == pytest.approx(4.0)
    first = [float(p) for p in drawn_law(trials)[:4]]
    assert first == pytest.approx([0.25 * 0.75**k for k in range(4)], rel=1e-9)
    assert str(trials) == "a geometric number of trials, 4 on average"
    assert "logarithmic" in str(Trials("negative_binomial", 0.25, 0.0))
    assert "shape 3" in str(Trials("negative_binomial", 0.25, 3.0))
    assert "Poisson" in str(Trials("poisson", 2.0))


@pytest.mark.parametrize(
    ("law", "rate", "shape"),
    [
        ("geometric", 0.5, 1.0),
        ("poisson", 2.0, 1.0),
        ("negative_binomial", 0.5, None),
        ("negative_binomial", 1.0, 1.0),
        ("negative_binomial", 1e-4, 1.0),
        ("negative_binomial", 0.5, -1.0),
        ("negative_binomial", 0.5, 9.0),
        ("poisson", 30.0, None),  # hardly ever one trial
        ("poisson", 0.0, None),
    ],
)
def test_laws_that_are_none_are_refused(law: str, rate: float, shape: float | None) -> None:
    with pytest.raises(InvalidInput):
        Trials(law, rate, shape)  # type: ignore[arg-type]


@pytest.mark.parametrize("mean", [1.0, 0.5, 1e6, float("nan")])
def test_means_that_no_search_has_are_refused(mean: float) -> None:
    with pytest.raises(InvalidInput):
        Trials.with_mean("negative_binomial", mean, 1.0)
