"""`--noise-multiplier` means what it means to Opacus and dp_accounting, for composition."""

from __future__ import annotations

import warnings

import pytest

from tests.ui.shell import said

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from dp_accounting.pld import privacy_loss_distribution as pld

LOSSES = "--strong-convexity 0 --smoothness 1 --learning-rate 0.1 --bounds composition --json"


def reference(multiplier: float, p: float, steps: int) -> tuple[float, float]:
    low, high = (
        pld.from_gaussian_mechanism(
            multiplier,
            sampling_prob=p,
            value_discretization_interval=1e-4,
            pessimistic_estimate=pessimistic,
        )
        .self_compose(steps)
        .get_epsilon_for_delta(1e-5)
        for pessimistic in (False, True)
    )
    return low, high


@pytest.mark.parametrize("clip", [1.0, 0.3])
def test_poisson_batches(clip: float) -> None:
    run = "account sgd --n 1000 --batch-size 20 --steps 200 --sampling poisson"
    words = f"{run} --noise-multiplier 1.1 --sensitivity {clip} --adjacency zero_out {LOSSES}"
    found = said(words)
    low, high = reference(1.1, 0.02, 200)
    assert low <= found["epsilon"] <= high + 2e-3


def test_full_batches() -> None:
    words = f"account gd --n 500 --steps 30 --noise-multiplier 4 --sensitivity 2 {LOSSES}"
    found = said(f"{words} --adjacency zero_out")
    low, high = reference(4.0, 1.0, 30)
    assert low <= found["epsilon"] <= high + 2e-3
    # records that are exchanged move the sum by up to twice the clip: half the multiplier
    doubled = said(f"{words} --gradient-bound 1")
    low, high = reference(2.0, 1.0, 30)
    assert low <= doubled["epsilon"] <= high + 2e-3


def test_the_multiplier_that_is_found_is_the_one_to_give() -> None:
    run = "sgd --n 1000 --batch-size 20 --steps 200 --sampling poisson --sensitivity 0.5"
    found = said(f"calibrate noise {run} --adjacency zero_out --epsilon 1 {LOSSES}")
    multiplier = found["noise_multiplier"]
    words = f"account {run} --adjacency zero_out --noise-multiplier {multiplier!r} {LOSSES}"
    assert said(words)["epsilon"] <= 1.0
    assert multiplier == pytest.approx(found["value"] * 20 / 0.5)
