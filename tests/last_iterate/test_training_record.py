"""The record of a training in its certificate: complete, and consistent with what is certified."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

import shiftdp
from shiftdp import NoisyCGD, NoisyGD, VerificationFailed, certify
from shiftdp.last_iterate import Certificate
from shiftdp.last_iterate.sum_rounding import arithmetic_words
from shiftdp.last_iterate.training_record import TrainingRecord
from shiftdp.training import ClippedSquared, Huber, Logistic, Plan, SmoothedHinge, Softmax
from shiftdp.training.descent.entropy import Seeded
from shiftdp.training.descent.projection import Ball, Box, Simplex

RUN = NoisyCGD(n=60, batch_size=20, epochs=4, learning_rate=0.05, noise=2.0)
PLANS = {
    "logistic": Plan(run=RUN, loss=Logistic(), feature_bound=1.5, l2=0.1),
    "no intercept": Plan(run=RUN, loss=Logistic(), feature_bound=1.5, intercept=False),
    "zero out": Plan(run=RUN, loss=Logistic(), feature_bound=1.5, adjacency="zero_out"),
    "hinge": Plan(run=RUN, loss=SmoothedHinge(width=0.3), feature_bound=0.7),
    "huber": Plan(run=RUN, loss=Huber(width=0.3), feature_bound=0.7, projection=Ball(3.0)),
    "squared": Plan(
        run=RUN, loss=ClippedSquared(), feature_bound=0.7, clipping="envelope", clip=0.4
    ),
    "softmax": Plan(
        run=RUN,
        loss=Softmax(classes=4),
        feature_bound=2.0,
        clipping="envelope",
        clip=1.0,
        projection=Box(-1.0, 1.0),
        features=3,
    ),
    "simplex": Plan(run=RUN, loss=Logistic(), feature_bound=0.7, projection=Simplex(2.0)),
    "plainly clipped": Plan(
        run=RUN,
        loss=Softmax(classes=4),
        feature_bound=2.0,
        clipping="plain",
        clip=1.0,
        bounds="composition",
    ),
}
every_plan = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())


def record_of(plan: Plan) -> TrainingRecord:
    assert plan.certificate.training is not None
    return plan.certificate.training


@every_plan
def test_the_certificate_says_what_was_signed(plan: Plan) -> None:
    record = record_of(plan)
    assert record.loss == type(plan.loss).__name__
    assert record.feature_bound == plan.feature_bound
    assert record.arithmetic == plan.arithmetic
    assert record.version == shiftdp.__version__
    made = date.fromisoformat(record.date)
    assert abs(datetime.now(UTC).date() - made) <= timedelta(days=1)
    text = plan.certificate.statement()
    for word in (record.loss, f"{record.feature_bound:g}", record.version, record.date):
        assert word in text


@every_plan
def test_it_is_verified_also_from_its_json(plan: Plan) -> None:
    plan.certificate.verify()
    again = Certificate.from_json(plan.certificate.to_json())
    assert again.training == record_of(plan)
    again.verify()


@every_plan
def test_the_geometry_may_not_be_less_than_the_training_implies(plan: Plan) -> None:
    record = record_of(plan)
    changes: list[dict[str, Any]] = [
        {"feature_bound": record.feature_bound * 1.001},
        {"slope": 0.0},
        {"curvature": record.curvature / 2},
        {"private": False},
    ]
    if record.clip is not None:
        changes = [{"clip": record.clip * 1.001}, {"clip": None}, {"private": False}]
    if record.projection is not None:
        changes += [
            {"projection_parameters": tuple((k, 2 * v) for k, v in record.projection_parameters)},
            {"projection": None},
        ]
    if not record.intercept:
        changes.append({"intercept": True})
    if record.clipping == "envelope" and record.outputs > 2:
        changes.append({"clipping": "plain"})
    for change in changes:
        with pytest.raises(VerificationFailed):
            replace(plan.certificate, training=replace(record, **change)).verify()


@every_plan
def test_the_words_on_arithmetic_are_those_of_the_loop(plan: Plan) -> None:
    record, words = record_of(plan), record_of(plan).arithmetic
    others = [
        "",
        "exact rational arithmetic",
        words.replace("float64", "float32"),
        words + " or so",
        arithmetic_words(0.0),
        arithmetic_words(0.3),
    ]
    for other in others:
        with pytest.raises(VerificationFailed, match="arithmetic"):
            replace(plan.certificate, training=replace(record, arithmetic=other)).verify()


@pytest.mark.parametrize("n", [1, 2, 3, 40_000])
def test_they_are_verified_for_a_few_records_and_for_many(n: int) -> None:
    run = NoisyGD(n=n, steps=3, learning_rate=0.01, noise=2.0)
    for bound in (0.1, 0.7, 1.0, 3.3):
        Plan(run=run, loss=Logistic(), feature_bound=bound).certificate.verify()


@every_plan
def test_more_cautious_constants_are_no_contradiction(plan: Plan) -> None:
    record = record_of(plan)
    lower = replace(record, feature_bound=record.feature_bound * 0.99)
    replace(plan.certificate, training=lower).verify()


def test_guarantees_are_compared_without_version_and_date() -> None:
    one, other = PLANS["logistic"].certificate, PLANS["no intercept"].certificate
    record = record_of(PLANS["logistic"])
    later = replace(one, training=replace(record, version="9", date="2999-01-01", estimator="X"))
    assert one.same_guarantee(later)
    assert one.same_guarantee(Certificate.from_json(later.to_json()))
    assert not one.same_guarantee(other)
    assert not one.same_guarantee(replace(one, training=None))
    assert not one.same_guarantee(replace(one, training=replace(record, l2=record.l2 / 2)))
    assert not one.same_guarantee(replace(one, bound="Theorem B4"))


def test_a_seeded_run_is_refused_as_not_private() -> None:
    plan = Plan(run=RUN, loss=Logistic(), feature_bound=1.0, entropy=Seeded(3))
    assert not record_of(plan).private
    seeded = plan.certificate
    unstamped = replace(seeded, assumptions=seeded.assumptions[1:])
    unrecorded = replace(seeded, training=None)
    for certificate in (seeded, unstamped, unrecorded):
        with pytest.raises(VerificationFailed, match="NOT PRIVATE: the noise came from a seed"):
            certificate.verify()


def test_an_unbounded_slope_is_written_as_a_word() -> None:
    document = json.loads(PLANS["squared"].certificate.to_json())
    assert document["training"]["slope"] == "inf"
    assert record_of(PLANS["squared"]).slope == math.inf


@every_plan
def test_a_record_may_not_contradict_itself(plan: Plan) -> None:
    record = record_of(plan)
    parameters = record.loss_parameters
    changes: list[dict[str, Any]] = [
        {"outputs": 2 if record.outputs != 2 else 3},
        {"noise_source": "Seeded"},
    ]
    for bad in (-0.02, 0.0, 1e30):
        if parameters:
            changes.append({"loss_parameters": tuple((name, bad) for name, _ in parameters)})
    for change in changes:
        with pytest.raises(VerificationFailed):
            replace(plan.certificate, training=replace(record, **change)).verify()


@pytest.mark.parametrize("times", [1.0, 1 + 1e-12, 1.9])
def test_the_sensitivity_includes_what_rounding_adds(times: float) -> None:
    """Of ten billion records it is more than the sensitivity itself."""
    run = NoisyGD(n=10**10, steps=100, learning_rate=0.05, noise=1e-9)
    plan = Plan(run=run, loss=Logistic(), feature_bound=1.0, l2=0.1)
    plan.certificate.verify()
    assert plan.sensitivity > 2 * 2 * plan.gradient_bound
    geometry = replace(
        plan.geometry,
        sensitivity=2 * times * plan.gradient_bound,
        gradient_bound=times * plan.gradient_bound,
    )
    forged = replace(certify(run, geometry), training=record_of(plan))
    with pytest.raises(VerificationFailed, match="the sensitivity does not follow"):
        forged.verify()


def test_what_cannot_be_checked_is_said() -> None:
    record = replace(record_of(PLANS["huber"]), loss="Mine", projection="Other")
    text = dict(record.lines())["trained"]
    assert text.endswith("the loss and the projection as declared, not checked")
