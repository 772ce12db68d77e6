"""Random batches: sizes, lengths and the noise that is nearly enough."""

from dataclasses import replace

import pytest

from shiftdp import InvalidInput, NoisySGD
from shiftdp.training.planning.kinds import random_batches
from shiftdp.training.planning.planner import plan_for
from shiftdp.training.planning.problem import Overrides
from shiftdp.training.planning.setting import Listed, Setting, clips
from tests.training.planning.test_planner import CANCER, DIGITS, MNIST

SMALL = replace(DIGITS, n=5_000, epsilon=0.3)


def test_the_noise_is_near_the_one_that_is_calibrated() -> None:
    chosen = Overrides(algorithm="sgd", batch_size=90, epochs=20, clip=1.0)
    listed, _ = random_batches(Setting(DIGITS, chosen, 6.625), clips(DIGITS, chosen)[0])
    assert listed is not None
    found, exact = listed.run(0), plan_for(DIGITS, chosen).plan.run
    assert isinstance(found, NoisySGD)
    assert isinstance(exact, NoisySGD)
    assert found.noise == pytest.approx(exact.noise, rel=0.05)
    assert found.steps == exact.steps == 319


def test_runs_are_as_long_as_the_passes_allow_but_not_without_end() -> None:
    clip = clips(MNIST, Overrides())[0]
    lengths = [
        one.run(0).steps
        for one in random_batches(Setting(MNIST, Overrides(), 32.5), clip)
        if one is not None
    ]
    assert lengths == [424, 1696, 4000]
    long = Setting(MNIST, Overrides(epochs=1e5), 32.5)
    assert [one is None for one in random_batches(long, clip)] == [False, True, True]


def test_random_allocation_is_planned_in_whole_epochs_and_for_a_record_and_nothing() -> None:
    zeroed = replace(CANCER, adjacency="zero_out")
    chosen = Overrides(sampling="random_allocation")
    found = [
        one.run(0)
        for one in random_batches(Setting(zeroed, chosen, 3.3125), clips(zeroed, chosen)[0])
        if one is not None
    ]
    assert [run.steps % run.batches for run in found] == [0] * len(found)
    assert max(run.steps for run in found) <= 4_000
    assert min(run.steps / run.batches for run in found) > 1
    three = plan_for(zeroed, replace(chosen, epochs=3, batch_size=100))
    assert three.run.steps == 3 * -(-zeroed.n // 100)
    assert three.plan.certificate.epsilon(zeroed.delta) <= zeroed.epsilon
    with pytest.raises(InvalidInput, match=r"epochs=2.6 is not whole.*; give epochs=3"):
        plan_for(zeroed, replace(chosen, epochs=2.6))
    with pytest.raises(InvalidInput, match=r"'replace_one'; give adjacency=\"zero_out\", or"):
        plan_for(replace(CANCER, adjacency="replace_one"), chosen)


def test_sizes_make_some_numbers_of_batches_or_are_given() -> None:
    def listed(chosen: Overrides) -> list[Listed]:
        setting = Setting(CANCER, chosen, 3.3125)
        return [one for one in random_batches(setting, clips(CANCER, chosen)[0]) if one]

    found = listed(Overrides(epochs=2, bounds="best"))
    assert [one.run(0).batch_size for one in found] == [114, 29, 8]  # type: ignore[union-attr]
    assert [one.run(0).batch_size for one in listed(Overrides(batch_size=9))] == [9]  # type: ignore[union-attr]
    # the mean of a batch varies less the larger it is, and not at all where it is everybody
    assert found[0].segments.drawn[0] == pytest.approx((1 - 114 / 455) / 114)
    (full,) = listed(Overrides(batch_size=455, epochs=2, bounds="best"))
    assert full.segments.drawn[0] == 0.0


def test_rates_are_equal_or_fall_in_stages_to_nearly_0_with_the_same_noise_and_reach() -> None:
    chosen = Overrides(algorithm="sgd", batch_size=90, epochs=20, clip=1.0)
    equal, falling = random_batches(Setting(DIGITS, chosen, 6.625), clips(DIGITS, chosen)[0])
    assert equal is not None
    assert falling is not None
    one, other = equal.run(3), falling.run(3)
    assert one.noise == other.noise
    assert isinstance(one.learning_rate, float)
    assert isinstance(other.learning_rate, tuple)
    assert len(other.learning_rate) == other.steps == 319
    assert list(other.learning_rate) == sorted(other.learning_rate, reverse=True)
    assert len(set(other.learning_rate)) == falling.segments.rates.shape[1] == 32
    assert other.learning_rate[-1] == pytest.approx(other.learning_rate[0] / 32)
    assert sum(other.learning_rate) == pytest.approx(319 * one.learning_rate, rel=0.01)


def test_rates_are_equal_if_given_with_other_theorems_and_in_many_passes() -> None:
    usual = Overrides(algorithm="sgd", batch_size=90, epochs=20, clip=1.0)
    for chosen in (
        replace(usual, learning_rate=0.1),
        replace(usual, bounds="best"),
        replace(usual, epochs=21),
    ):
        (listed,) = random_batches(Setting(DIGITS, chosen, 6.625), clips(DIGITS, chosen)[0])
        assert listed is not None
        assert isinstance(listed.run(0).learning_rate, float)


def test_a_pass_at_a_small_epsilon_is_made_with_falling_rates_and_certified() -> None:
    planned = plan_for(SMALL, Overrides(epochs=1))
    assert isinstance(planned.run, NoisySGD)
    assert isinstance(planned.run.learning_rate, tuple)
    assert planned.plan.certificate.epsilon(SMALL.delta) <= SMALL.epsilon


def test_a_budget_that_no_noise_meets_lists_no_random_batches() -> None:
    """Found by fuzzing: the square of mu over the steps is less than any float."""
    tiny = replace(SMALL, epsilon=1e-300, delta=1e-290)
    with pytest.raises(InvalidInput):
        plan_for(tiny, Overrides(algorithm="sgd"))
