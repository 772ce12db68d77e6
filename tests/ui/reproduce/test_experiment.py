"""The stacked experiment is the shipped loop: the same iterates, and the published accuracy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shiftdp.last_iterate.runs import NoisyCGD, NoisySGD
from shiftdp.training import Plan, Seeded, Softmax, descend, descend_stacked
from shiftdp.training.descent.records import prepare
from shiftdp.training.plan import Clipping
from shiftdp.ui.reproduce.experiment import (
    PUBLISHED,
    RIGOROUS,
    Variant,
    experiment,
    trajectories,
)
from shiftdp.ui.reproduce.images import Images, digits, mnist_in
from shiftdp.ui.reproduce.verdict import Entry


@pytest.fixture(scope="module")
def images() -> Images:
    found = digits()
    return replace(found, setting=replace(found.setting, epochs=(1, 2, 3)))


def planned(images: Images, clipping: Clipping, batching: str, epochs: int, seed: int = 5) -> Plan:
    setting = images.setting
    run: NoisyCGD | NoisySGD
    run = setting.sampled(epochs) if batching == "sampled" else setting.cyclic(epochs)
    return Plan(
        run=run,
        loss=Softmax(classes=10),
        feature_bound=setting.feature_bound,
        l2=0.004,
        clipping=clipping,
        clip=5.0,
        entropy=Seeded(seed),
    )


@pytest.mark.parametrize("clipping", ["uncertified", "envelope"])
def test_a_stack_in_fixed_order_is_what_the_loop_releases(
    images: Images, clipping: Clipping
) -> None:
    plan = planned(images, clipping, "fixed", 2)
    data = images.train.features, images.train.labels
    (ours,) = trajectories(plan, prepare(plan, *data), [0.004] * 3, Seeded(5).several(3), [80])
    theirs = descend_stacked(plan, *data, 3)
    # what is released is rounded to the grid
    assert np.abs(ours - theirs).max() <= plan.grid / 2 * (1 + 1e-9)


def test_a_sampled_run_is_what_the_loop_releases(images: Images) -> None:
    plan = planned(images, "uncertified", "sampled", 2)
    data = images.train.features, images.train.labels
    (ours,) = trajectories(plan, prepare(plan, *data), [0.004], [Seeded(5)], [80])
    assert np.abs(ours[0] - descend(plan, *data)).max() <= plan.grid / 2 * (1 + 1e-9)


def test_each_model_has_its_own_ridge(images: Images) -> None:
    """Hardly any noise, so that what is left is the ridge."""
    data = images.train.features, images.train.labels
    setting = replace(images.setting, noise=1e-9)
    quiet = replace(images, setting=setting)
    plan = planned(quiet, "uncertified", "fixed", 1)
    records = prepare(plan, *data)
    (both,) = trajectories(plan, records, [0.004, 1.0], Seeded(1).several(2), [40])
    for model, ridge in zip(both, (0.004, 1.0), strict=True):
        alone = descend(replace(plan, l2=ridge), *data)
        # float32: 40 steps of relative 6e-8 on numbers below 1
        assert np.abs(model - alone).max() < 1e-5
    assert np.abs(both[1]).sum() < 0.7 * np.abs(both[0]).sum()


def test_a_run_read_on_its_way_is_a_shorter_run(images: Images) -> None:
    data = images.train.features, images.train.labels
    short, long = (planned(images, "uncertified", "fixed", epochs) for epochs in (1, 3))
    first, _ = trajectories(long, prepare(long, *data), [0.004], [Seeded(5)], [40, 120])
    (alone,) = trajectories(short, prepare(short, *data), [0.004], [Seeded(5)], [40])
    assert (first == alone).all()


@pytest.mark.parametrize("variant", [*PUBLISHED, RIGOROUS[1]], ids=lambda v: str(v.name))
def test_accuracies_for_every_setting(images: Images, variant: Variant) -> None:
    steps: list[int] = []
    found = experiment(images, variant, 2, 3, steps.append)
    assert set(found) == {(ridge, E) for ridge in (0.002, 0.004) for E in (1, 2, 3)}
    assert sum(steps) == 120 * 2 * 2
    for accuracies in found.values():
        assert len(accuracies.train) == len(accuracies.test) == 2
        assert all(25.0 < value <= 100.0 for value in (*accuracies.train, *accuracies.test))
    last = found[0.002, 3].train
    assert last[0] != last[1]
    again = experiment(images, variant, 2, 3)
    assert again == found


@pytest.mark.slow
def test_every_published_accuracy(mnist: Path) -> None:
    """All 24 settings, 10 runs each: some five minutes on two cores."""
    images = mnist_in(mnist)
    found = {variant.name: experiment(images, variant, 10, 1) for variant in PUBLISHED}
    few = replace(images, setting=replace(images.setting, epochs=(50,), ridges=(0.002,)))
    rigorous = {variant.name: experiment(few, variant, 1, 1) for variant in RIGOROUS}
    assert all(result[0.002, 50].test[0] > 89.5 for result in rigorous.values())
    entries: list[Entry] = []
    from shiftdp.ui.reproduce.tables.mnist_accuracy import detailed_accuracy_table

    entries += detailed_accuracy_table(images, found, "train").entries
    entries += detailed_accuracy_table(images, found, "test").entries
    assert len(entries) == 24
    assert [entry for entry in entries if entry.verdict != "agrees"] == []


def test_mnist_begins_as_it_should(mnist: Path) -> None:
    """One epoch of two runs; a linear model is at 70 to 76 per cent by then."""
    images = mnist_in(mnist)
    brief = replace(images, setting=replace(images.setting, epochs=(1,)))
    found = experiment(brief, PUBLISHED[0], 2, 1)
    assert all(70.0 < value < 76.0 for value in found[0.002, 1].test)
