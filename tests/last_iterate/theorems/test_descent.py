"""Each theorem by itself: its formula, and the hypothesis it names when it does not apply."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings

from shiftdp import GaussianTradeoff, Mixture, UnmetHypothesis
from shiftdp.last_iterate import ExponentialMechanism, Geometry, LangevinMC, NoisyCGD, NoisyGD
from shiftdp.last_iterate.certification import ROUNDING, certify, evaluate
from shiftdp.last_iterate.theorems.composed_visits import composition_mu
from shiftdp.last_iterate.theorems.descent import ONE_OUTCOME, proofs_of
from shiftdp.last_iterate.theorems.theorem import DELTA, Prospect
from tests.last_iterate.random_runs import cyclic_runs
from tests.last_iterate.theorems import usual
from tests.last_iterate.theorems.by_name import CGD, CLASS, GD, bounds

EXAMPLES: usual.Examples = {
    "Thm gd (composition)": (usual.GD, usual.RIDGE),
    "Thm mgd (composition)": (usual.CGD, usual.RIDGE),
    "Theorem B1": (usual.CGD, usual.RIDGE),
    "Theorem B4": (usual.SHUFFLED, usual.RIDGE),
}


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


def test_a_random_order_gives_a_mixture_with_no_component_above_composition() -> None:
    """Steps that expand by 1.5: a dominating visit would cost more than publishing everything."""
    geometry = Geometry(strong_convexity=-0.5, smoothness=1.0, sensitivity=1.0, diameter=1e9)
    run = NoisyCGD(n=8, batch_size=2, epochs=3, learning_rate=1.0, noise=1.0, order="reshuffled")
    bound = next(b for b in evaluate(run, geometry).found if b.name == "Theorem B4")
    assert isinstance(bound.f, Mixture)
    most = composition_mu(run, geometry)
    assert max(proof.shifts.mu for proof in proofs_of(run, geometry)) > most
    assert max(part.mu for part in bound.f.components if isinstance(part, GaussianTradeoff)) <= most


def unbeaten(run: Any, geometry: Geometry) -> bool:
    return ONE_OUTCOME.prospect(run, geometry, DELTA, math.inf) == Prospect.UNBEATEN


@settings(max_examples=100)
@given(cyclic_runs("fixed"))
def test_where_b1_is_unbeaten_no_other_theorem_gives_more(
    setting: tuple[NoisyCGD, Geometry],
) -> None:
    """Others are then not tried: to rounding, this is the mu that they would be compared with."""
    run, geometry = setting
    if not unbeaten(run, geometry):
        return
    found = {bound.name: bound for bound in evaluate(run, geometry).found}
    best = found.pop("Theorem B1").mu or 0.0
    assert found
    assert all(best <= (bound.mu or 0.0) * (1 + ROUNDING) for bound in found.values())
    assert certify(run, geometry).mu == best


def test_b1_is_not_called_unbeaten_where_dominating_visits_may_overshoot() -> None:
    geometry = Geometry(**CLASS)
    assert unbeaten(CGD, geometry)
    assert not unbeaten(NoisyCGD(**{**vars(CGD), "noise": [0.4] * 60}), geometry)
    assert not unbeaten(CGD, Geometry(**{**CLASS, "strong_convexity": -1.0}))
    assert not unbeaten(LangevinMC(steps=9, learning_rate=0.2), geometry)
