"""Small batches with placed noise: what is foretold is what placed_noise leaves."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from shiftdp import Geometry, NoisyCGD, certify, placed_noise
from shiftdp.training.planning.kinds import placed_batches
from shiftdp.training.planning.problem import Overrides, Problem
from shiftdp.training.planning.setting import Listed, Setting, clips
from tests.training.planning.test_planner import CANCER

SMOOTHNESS = 0.25 * CANCER.norm_bound**2


def listed(chosen: Overrides, problem: Problem = CANCER) -> list[Listed]:
    return list(placed_batches(Setting(problem, chosen, SMOOTHNESS), clips(problem, chosen)[0]))


@pytest.mark.parametrize("shape", [0, 1], ids=["falling at once", "held for half of the run"])
@pytest.mark.parametrize(("passes", "size"), [(1, 5), (1, 1), (3, 20), (20, 50)])
def test_the_noise_is_what_placed_noise_leaves(passes: int, size: int, shape: int) -> None:
    chosen = Overrides(epochs=passes, batch_size=size, clip=1.0)
    found = listed(chosen)[shape]
    run = found.run(4)
    assert isinstance(run, NoisyCGD)
    assert (run.epochs, run.batch_size, run.order) == (passes, size, "reshuffled")
    geometry = Geometry(
        strong_convexity=0.0, smoothness=SMOOTHNESS, sensitivity=1.0, adjacency="zero_out"
    )
    placed = placed_noise(replace(run, order="fixed"), geometry, epsilon=1.0, delta=1e-5)
    left = np.sum((np.array(placed.noise) * np.array(placed.learning_rate)) ** 2)
    assert found.segments.placed[4].sum() == pytest.approx(left, rel=1e-6)


def test_rates_fall_in_stages_from_what_the_theorem_allows() -> None:
    both = listed(Overrides(epochs=1, batch_size=5, clip=1.0))
    for found, stages in zip(both, (16, 8), strict=True):
        rates = found.run(0).learning_rate
        assert isinstance(rates, tuple)
        assert rates[0] == pytest.approx(2.0 / SMOOTHNESS)
        assert rates[-1] == pytest.approx(2.0 / SMOOTHNESS / stages)
        assert len(set(rates)) == stages
        assert list(rates) == sorted(rates, reverse=True)
    # half of the run has the first rate, and the first of the stages that fall
    assert both[1].run(0).learning_rate[:51] == (rates[0],) * 51  # type: ignore[index]


def test_one_stage_a_pass_is_enough_for_many_passes() -> None:
    found, _ = listed(Overrides(epochs=20, batch_size=50, clip=1.0))
    rates = np.reshape(found.run(0).learning_rate, (20, 10))
    assert (rates == rates[:, :1]).all()
    assert (np.diff(rates[:, 0]) < 0).all()


def test_batches_are_as_small_as_the_steps_allow() -> None:
    million = replace(CANCER, n=1_000_000)
    one = [found.run(0) for found in listed(Overrides(epochs=1), million)]
    sizes = [run.batch_size for run in one if isinstance(run, NoisyCGD)]
    assert sizes == [100, 100, 200, 200, 400, 400]
    assert {found.passes for found in listed(Overrides())} == {1, 2, 5, 10, 20, 50}
    assert {found.passes for found in listed(Overrides(), replace(CANCER, compute=1e5))} == {1, 2}


@pytest.mark.parametrize(
    "given",
    [{"l2": 0.1}, {"noise": 1.0}, {"learning_rate": 0.1}, {"bounds": "composition"},
     {"order": "fixed"}, {"batch_size": 455}, {"epochs": 1e6}],
    ids=str,
)  # fmt: skip
def test_nothing_is_placed_where_the_choices_leave_no_room(given: dict[str, Any]) -> None:
    assert not listed(Overrides(**given))


def test_positions_of_a_stage_are_certified_together() -> None:
    """As many proofs as stages, whatever the number of batches."""
    found, _ = listed(Overrides(epochs=1, batch_size=1, clip=1.0))
    geometry = Geometry(
        strong_convexity=0.0, smoothness=SMOOTHNESS, sensitivity=1.0, adjacency="zero_out"
    )
    placed = placed_noise(found.run(0), geometry, epsilon=1.0, delta=1e-5)  # type: ignore[type-var]
    certificate = certify(placed, geometry)
    assert len(certificate.proofs) == 16
    certificate.verify()
