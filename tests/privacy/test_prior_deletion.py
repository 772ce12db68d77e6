"""`compare` of a deletion: the bound of [CWCL24], or [YS22] of training where that is less."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from shiftdp import Geometry, NoisyCGD, NoisyGD, NoisySGD, Unlearning, compare
from shiftdp.privacy.prior_deletion import deletion_rho

GEOMETRY = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
STEPS: dict[str, Any] = {"n": 60_000, "learning_rate": 0.05, "noise": 0.01}
CYCLIC = NoisyCGD(**STEPS, batch_size=1_500, epochs=50)
FULL = NoisyGD(**STEPS, steps=2_000)


@pytest.mark.parametrize(("epochs", "known"), [(50, 3.997), (200, 1.255)])
def test_cyclic_batches_have_the_figures_of_the_page(epochs: int, known: float) -> None:
    table = compare(Unlearning(training=CYCLIC, further_epochs=epochs), GEOMETRY, delta=1e-5)
    row = table["prior Renyi"]
    assert row.bound == "[CWCL24]"
    assert row.epsilon == pytest.approx(known, abs=6e-4)
    assert (table["best"].epsilon or 0.0) < known


def test_after_few_steps_training_alone_is_known_to_cost_less() -> None:
    row = compare(Unlearning(training=CYCLIC, further_epochs=1), GEOMETRY, delta=1e-5)[
        "prior Renyi"
    ]
    assert row.bound == "[YS22, Thm 3.3]"
    assert row.epsilon == compare(CYCLIC, GEOMETRY, delta=1e-5)["prior Renyi"].epsilon


@pytest.mark.parametrize("k", [1, 100, 5_000])
def test_full_batches_have_a_row_that_theorem_v3_is_never_above(k: int) -> None:
    table = compare(Unlearning(training=FULL, further_steps=k), GEOMETRY, delta=1e-5)
    prior = table["prior Renyi"].epsilon
    assert prior is not None
    assert (table["best"].epsilon or 0.0) <= prior


@pytest.mark.parametrize(
    ("run", "named"),
    [
        (Unlearning(training=CYCLIC, further_steps=9, records=2), "records"),
        (Unlearning(training=CYCLIC, further_steps=9, later_requests=[(3, 1)]), "later_requests"),
        (Unlearning(training=CYCLIC, further_steps=9, noise=0.02), "noise"),
        (Unlearning(training=CYCLIC, further_steps=9, grid=1e-3), "grid"),
        (Unlearning(training=replace(CYCLIC, order="reshuffled"), further_steps=9), "order"),
        (
            Unlearning(training=NoisySGD(**STEPS, batch_size=1_500, steps=9), further_steps=9),
            "training",
        ),
    ],
)
def test_what_it_does_not_cover_is_named(run: Unlearning, named: str) -> None:
    with pytest.raises(ValueError, match=rf"{named}=.*covered by \[CWCL24\]; use Theorem V3"):
        deletion_rho(run, GEOMETRY)
