"""Composition of the visits of a record, against all orders of small runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from shiftdp.last_iterate import Geometry, NoisyCGD
from shiftdp.last_iterate.theorems import composed_visits
from shiftdp.last_iterate.theorems.composed_visits import composition_mu
from tests.last_iterate.brute_force import divisors_of, positions, reshuffles
from tests.last_iterate.random_runs import cyclic_runs


@settings(max_examples=150)
@given(cyclic_runs("fixed"))
def test_composition_by_enumeration(setting: tuple[NoisyCGD, Geometry]) -> None:
    run, geometry = setting
    sizes, noise = divisors_of(run), np.broadcast_to(np.asarray(run.noise), run.steps)

    def composed(visits: list[int]) -> float:
        terms = [(geometry.sensitivity / sizes[k % len(sizes)] / noise[k]) ** 2 for k in visits]
        return math.sqrt(math.fsum(terms))

    worst = max(composed(visits) for _, visits in positions(run))
    assert composition_mu(run, geometry) == pytest.approx(worst, rel=1e-11)
    once = NoisyCGD(**{**vars(run), "order": "shuffled_once"})
    assert composition_mu(once, geometry) == composition_mu(run, geometry)
    anew = NoisyCGD(**{**vars(run), "order": "reshuffled"})
    worst = max(composed(visits) for _, visits in reshuffles(run))
    assert composition_mu(anew, geometry) == pytest.approx(worst, rel=1e-11)


@pytest.mark.parametrize("order", ["fixed", "reshuffled"])
@pytest.mark.parametrize("k", [1, 2])
def test_very_many_noises_are_composed_just_above_the_exact_sum(
    order: Any, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = np.random.default_rng(2).uniform(0.5, 2.0, 17).tolist()
    run = NoisyCGD(
        n=11 if k == 1 else 12, batch_size=3, steps=17, learning_rate=0.1, noise=noise, order=order,
        records_per_person=k, arrangement="one_per_batch",
    )  # fmt: skip
    losses = Geometry(strong_convexity=0, smoothness=1, sensitivity=1)
    exact = composition_mu(run, losses)
    monkeypatch.setattr(composed_visits, "_MOST_DIFFERENT", 3)
    assert exact < composition_mu(run, losses) <= exact * (1 + 1e-14)
