"""Each theorem by itself: its formula, and the hypothesis it names when it does not apply."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from shiftdp import GaussianTradeoff, Mixture, UnmetHypothesis
from shiftdp.last_iterate import ExponentialMechanism, Geometry, LangevinMC, NoisyCGD, NoisyGD
from shiftdp.last_iterate.certification import evaluate
from shiftdp.last_iterate.theorems import descent
from shiftdp.last_iterate.theorems.descent import composition_mu, proofs_of
from tests.last_iterate.brute_force import divisors_of, positions, reshuffles
from tests.last_iterate.random_runs import cyclic_runs
from tests.last_iterate.theorems.by_name import CGD, CLASS, GD, bounds


def refused(run: Any, theorem: str, **changes: Any) -> UnmetHypothesis:
    return dict(evaluate(run, Geometry(**{**CLASS, **changes})).refused)[theorem]


@pytest.mark.parametrize(
    ("run", "theorem", "changes", "name"),
    [
        (GD, "Thm gd-sc", {"strong_convexity": 0.0}, "strong_convexity"),
        (GD, "Thm gd-sc", {"strong_convexity": -1.0}, "strong_convexity"),
        (GD, "Thm gd-sc", {"smoothness": math.inf}, "smoothness"),
        (GD, "Thm gd-sc", {"smoothness": 11.0}, "learning_rate"),
        (GD, "Thm gd-proj", {}, "diameter"),
        (GD, "Theorem B1", {"strong_convexity": -math.inf}, "strong_convexity"),
        (GD, "Theorem B1", {"smoothness": 11.0}, "learning_rate"),
        (NoisyCGD(**{**vars(CGD), "steps": 59}), "Thm mgd-sc", {}, "steps"),
        (NoisyCGD(**{**vars(CGD), "n": 29}), "Thm mgd-sc", {}, "batch_size"),
        (NoisyCGD(**{**vars(CGD), "order": "reshuffled"}), "Thm mgd-sc", {}, "order"),
        (NoisyCGD(**{**vars(CGD), "noise": [0.4] * 60}), "Thm mgd-sc", {}, "noise"),
        (NoisyGD(**{**vars(GD), "learning_rate": [0.2] * 20}), "Thm gd-proj", {}, "learning_rate"),
        (LangevinMC(steps=math.inf, learning_rate=0.2), "Thm gd (composition)", {}, "steps"),
        (LangevinMC(steps=9, learning_rate=0.2), "Cor expmechconvex", {}, "diameter"),
        (
            LangevinMC(steps=9, learning_rate=0.2),
            "Prop lmc",
            {"strong_convexity": -1.0},
            "strong_convexity",
        ),
        (
            LangevinMC(steps=9, learning_rate=0.2),
            "Cor expmechconvex",
            {"smoothness": math.inf, "diameter": 1.0},
            "smoothness",
        ),
        (ExponentialMechanism(), "pure DP", {}, "diameter"),
        (ExponentialMechanism(), "Cor expmechconvex and pure DP", {}, "diameter"),
        (
            ExponentialMechanism(),
            "Cor expmechsc and pure DP",
            {"strong_convexity": -1.0, "diameter": 1.0},
            "strong_convexity",
        ),
        (
            ExponentialMechanism(),
            "Cor expmechsc",
            {"strong_convexity": 0.0},
            "strong_convexity",
        ),
    ],
)
def test_what_is_missing_is_named(run: Any, theorem: str, changes: Any, name: str) -> None:
    unmet = refused(run, theorem, **changes)
    assert unmet.name == name
    assert unmet.problem
    assert unmet.remedy


def test_only_the_sensitivity_matters_to_composition() -> None:
    for changes in (
        {"smoothness": math.inf},
        {"strong_convexity": -math.inf},
        {"smoothness": 100.0},
        {"diameter": 0.001},
    ):
        assert bounds(CGD, **changes)["Thm mgd (composition)"].mu == pytest.approx(
            0.3 / 0.4 * math.sqrt(20)
        )


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


def test_a_random_order_gives_a_mixture_with_no_component_above_composition() -> None:
    """Steps that expand by 1.5: a dominating visit would cost more than publishing everything."""
    geometry = Geometry(strong_convexity=-0.5, smoothness=1.0, sensitivity=1.0, diameter=1e9)
    run = NoisyCGD(n=8, batch_size=2, epochs=3, learning_rate=1.0, noise=1.0, order="reshuffled")
    bound = next(b for b in evaluate(run, geometry).found if b.name == "Theorem B4")
    assert isinstance(bound.f, Mixture)
    most = composition_mu(run, geometry)
    assert max(proof.shifts.mu for proof in proofs_of(run, geometry)) > most
    assert max(part.mu for part in bound.f.components if isinstance(part, GaussianTradeoff)) <= most


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
    exact = descent.composition_mu(run, losses)
    monkeypatch.setattr(descent, "_MOST_DIFFERENT", 3)
    assert exact < descent.composition_mu(run, losses) <= exact * (1 + 1e-14)
