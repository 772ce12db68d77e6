"""Runs as steps of one coordinate: who is moved when, and by how much."""

from __future__ import annotations

import math

from shiftdp import (
    ExponentialMechanism,
    Geometry,
    LangevinMC,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    NoisyStream,
    Unlearning,
)
from shiftdp.trials.exact.timeline import timeline_of

LOSSES = Geometry(strong_convexity=0.5, smoothness=4.0, sensitivity=6.0, gradient_bound=4.0)


def test_a_smaller_last_batch_weighs_more_or_as_much() -> None:
    shape = {"n": 5, "batch_size": 2, "epochs": 1, "learning_rate": 0.1, "noise": 1.0}
    own = timeline_of(NoisyCGD(**shape), LOSSES)  # type: ignore[arg-type]
    divided = timeline_of(NoisyCGD(**shape, last_batch="divide_by_b"), LOSSES)  # type: ignore[arg-type]
    dropped = timeline_of(NoisyCGD(**shape, last_batch="drop"), LOSSES)  # type: ignore[arg-type]
    assert own is not None
    assert divided is not None
    assert dropped is not None
    assert own.moved.tolist() == [3.0, 3.0, 6.0]
    assert divided.moved.tolist() == [3.0, 3.0, 3.0]
    assert own.places == (2, 2, 1, 0)
    assert own.alike
    assert not divided.alike  # the last step shows less curvature than others
    assert dropped.places == (2, 2, 1)


def test_a_persons_records_are_together_where_they_may_be() -> None:
    run = NoisyCGD(n=6, batch_size=2, epochs=1, learning_rate=0.1, noise=1.0, records_per_person=2)
    together = timeline_of(run, LOSSES)
    assert together is not None
    assert together.moved.tolist() == [6.0] * 3
    apart = timeline_of(NoisyCGD(**{**vars(run), "arrangement": "one_per_batch"}), LOSSES)
    assert apart is not None
    assert apart.moved.tolist() == [3.0] * 3


def test_under_poisson_sampling_a_version_without_gradient_needs_its_bound() -> None:
    run = NoisySGD(n=8, batch_size=2, steps=3, learning_rate=0.1, noise=1.0, sampling="poisson")
    line = timeline_of(run, LOSSES)
    assert line is not None
    assert line.moved.tolist() == [2.0] * 3  # 4 of 6, over b
    assert line.p == 0.25
    assert not line.alike


def test_deleted_records_take_no_part_in_further_steps() -> None:
    training = NoisyGD(n=2, steps=2, learning_rate=0.1, noise=1.0)
    run = Unlearning(training=training, further_steps=2, records=2, learning_rate=0.2, noise=3.0)
    line = timeline_of(run, LOSSES)
    assert line is not None
    assert line.moved.tolist() == [6.0, 6.0, 0.0, 0.0]
    assert line.rate.tolist() == [0.1, 0.1, 0.2, 0.2]
    assert line.noise.tolist() == [1.0, 1.0, 3.0, 3.0]
    assert line.releases == (4,)


def test_a_stream_is_one_of_its_windows() -> None:
    stream = NoisyStream(
        batch_size=2, batches_per_release=3, learning_rate=0.1, noise=1.0, order="shuffled"
    )
    line = timeline_of(stream, LOSSES)
    assert line is not None
    assert (line.steps, line.law) == (3, "shuffled_once")


def test_some_runs_have_none() -> None:
    assert timeline_of(ExponentialMechanism(), LOSSES) is None
    assert timeline_of(LangevinMC(steps=math.inf, learning_rate=0.1), LOSSES) is None
    rounded = Unlearning(
        training=NoisyGD(n=2, steps=2, learning_rate=0.1, noise=1.0), further_steps=2, grid=0.1
    )
    assert timeline_of(rounded, LOSSES) is None
