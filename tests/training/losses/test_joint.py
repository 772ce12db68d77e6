"""Several heads as one loss: constants, limits that are shared out, targets, and certificates."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp import InvalidInput, NoisyCGD, NoisyGD, VerificationFailed
from shiftdp.last_iterate import Certificate
from shiftdp.training import (
    ClippedSquared,
    Huber,
    Joint,
    Logistic,
    Loss,
    Plan,
    Seeded,
    SmoothedHinge,
    Softmax,
    System,
    Weighted,
    descend,
)
from shiftdp.training.descent.gradient import LocalSource
from shiftdp.training.descent.records import prepare
from tests.training.losses.examples import labels, pairs, residuals

KINDS: list[Loss] = [
    Logistic(),
    SmoothedHinge(width=0.6),
    Huber(width=2.0),
    ClippedSquared(residual_bound=0.5),
    Softmax(classes=3),
    Weighted(Softmax(classes=2), (0.1, 1.0)),
]
SOME = Joint((Logistic(), Softmax(classes=3), Huber(width=0.7)))


def test_without_limits_it_is_the_heads_side_by_side() -> None:
    z, _ = pairs(SOME.outputs, 200, 1)
    y = labels(SOME, 200, 2)
    found = residuals(SOME, z, y, None)
    for head, place, own in zip(SOME.heads, SOME.places, y.T, strict=True):
        assert np.abs(found[place] - residuals(head, z[place], own, None)).max() <= 1e-15


@given(heads=st.lists(st.sampled_from(KINDS), min_size=1, max_size=5), seed=st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_no_residual_is_longer_than_the_slope_or_its_limit(heads: list[Loss], seed: int) -> None:
    loss = Joint(tuple(heads))
    z, _ = pairs(loss.outputs, 40, seed)
    y = labels(loss, 40, seed)
    limits = np.random.default_rng(seed).uniform(1e-3, 2.0, 40)
    assert (np.linalg.norm(residuals(loss, z, y, None), axis=0) <= loss.slope).all()
    clipped = residuals(loss, z, y, limits)
    assert (np.linalg.norm(clipped, axis=0) <= limits).all()
    scaled = z.copy()
    loss.scaled_residuals(scaled, loss.targets(y), limits)
    assert (np.linalg.norm(scaled, axis=0) <= limits * (1 + 1e-14)).all()
    assert math.fsum(share**2 for share in loss.shares) <= 1.0


def test_the_slope_is_attained_nearly() -> None:
    """Heads that are all wrong at once pull together by the root of the sum of their squares."""
    loss = Joint((Logistic(), Softmax(classes=3), Huber(width=0.7)))
    z = np.array([[-50.0], [80.0], [0.0], [-80.0], [9.0]])
    g = residuals(loss, z, np.array([[1, 2, 0.0]]), None)
    assert np.linalg.norm(g) == pytest.approx(math.sqrt(1.0 + 2.0 + 0.49), rel=1e-12)
    assert loss.slope == pytest.approx(math.sqrt(3.49), rel=1e-14)


def test_a_record_changes_the_sum_by_no_more_than_the_sensitivity_and_by_nearly_as_much() -> None:
    """Over all pairs of records that were made to show it, for the joint gradient of all heads."""
    loss = Joint((Logistic(), SmoothedHinge(), Huber(width=0.7)))
    run = NoisyGD(n=4, steps=1, learning_rate=0.1, noise=1.0)
    plan = Plan(run=run, loss=loss, feature_bound=2.0, intercept=False)
    X = np.array([[2.0, 0.0], [0.1, 0.2], [0.3, -0.2], [1.0, 1.0]])
    models = np.array([[[30.0, 0.0], [-30.0, 0.0], [30.0, 0.0]]])
    sums = []
    for y in itertools.product([0, 1], [0, 1], [-100.0, 100.0]):
        Y = np.vstack([y, np.zeros((3, 3))])
        with LocalSource(prepare(plan, X, Y)).gradient(plan, models) as gradient:
            sums.append(gradient(models, slice(0, 4)).copy())
    for sign in (-1.0, 1.0):
        with LocalSource(prepare(plan, X * [[sign], [1], [1], [1]], Y)).gradient(
            plan, models
        ) as gradient:
            sums.append(gradient(models, slice(0, 4)).copy())
    apart = max(
        float(np.linalg.norm(one - other)) for one, other in itertools.combinations(sums, 2)
    )
    assert apart <= plan.sensitivity
    assert plan.gradient_bound == pytest.approx(2.0 * math.sqrt(2.49))
    # one label, or another: logistic and hinge move by a slope each at saturated scores, Huber by
    # two, where two gradients of opposite direction would move all of them by two
    assert apart >= 0.6 * plan.sensitivity


def test_opposite_records_attain_the_sensitivity() -> None:
    """x and -x at wrong labels of all heads: gradients of the largest norm, in one direction."""
    loss = Joint((Huber(width=1.0), Huber(width=0.5)))
    run = NoisyGD(n=1, steps=1, learning_rate=0.1, noise=1.0)
    plan = Plan(run=run, loss=loss, feature_bound=1.0, intercept=False)
    found = []
    for target in (9.0, -9.0):
        records = prepare(plan, np.array([[1.0]]), np.array([[target, target]]))
        models = np.zeros((1, 2, 1))
        with LocalSource(records).gradient(plan, models) as gradient:
            found.append(gradient(models, slice(0, 1)).copy())
    apart = float(np.linalg.norm(found[0] - found[1]))
    assert apart == pytest.approx(plan.sensitivity, rel=1e-9)
    assert apart <= plan.sensitivity


def test_heads_without_noise_do_not_see_each_other() -> None:
    """One run on the concatenated weights is, but for the noise, each head's own run."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) / 4
    run = NoisyCGD(n=40, batch_size=10, epochs=5, learning_rate=0.5, noise=1e-9)
    common: dict[str, Any] = {"run": run, "feature_bound": 1.0, "l2": 0.1, "entropy": Seeded(1)}
    y = labels(SOME, 40, 3)
    together = descend(Plan(loss=SOME, **common), X, y)
    for head, place, own in zip(SOME.heads, SOME.places, y.T, strict=True):
        alone = np.atleast_2d(descend(Plan(loss=head, **common), X, own))
        assert np.abs(together[place] - alone).max() <= 1e-7


def test_two_heads_of_one_score_are_clipped_by_their_envelopes_in_either_way() -> None:
    """Their residual has two numbers, of which scaling is not the gradient of a convex function."""
    loss = Joint((Logistic(), Huber(width=2.0)))
    run = NoisyGD(n=30, steps=4, learning_rate=0.1, noise=0.1)
    X, y = np.random.default_rng(1).normal(size=(30, 2)), labels(loss, 30, 2)
    fields: dict[str, Any] = {"run": run, "loss": loss, "feature_bound": 1.0, "clip": 0.3}
    plans = [Plan(**fields, clipping=word, entropy=Seeded(1)) for word in ("plain", "envelope")]
    plain, envelope = (descend(plan, X, y) for plan in plans)
    assert (plain == envelope).all()
    for plan in plans:
        assert not plan.plainly_clipped
        replace(plan, entropy=System()).certificate.verify()


def certified(**fields: Any) -> Certificate:
    run = NoisyCGD(n=60, batch_size=20, epochs=4, learning_rate=0.05, noise=2.0)
    return Plan(run=run, loss=SOME, feature_bound=1.5, l2=0.1, **fields).certificate


def test_its_certificate_names_the_heads_and_verifies_also_from_its_json() -> None:
    for fields in ({}, {"clipping": "envelope", "clip": 0.8}):
        certificate = certified(**fields)
        again = Certificate.from_json(certificate.to_json())
        again.verify()
        assert "head_1_Softmax=3" in again.statement()
        assert "not checked" not in again.statement()
        assert again.bound != "Thm mgd (composition)"


@pytest.mark.parametrize(
    "edit",
    [
        lambda record: {"loss_parameters": record.loss_parameters[:3]},
        lambda record: {"loss_parameters": (("head_0_Magic", 5),)},
        lambda record: {"loss_parameters": ()},
        lambda record: {"slope": record.slope * 0.99},
        lambda record: {"curvature": 0.5},
        lambda record: {
            "loss_parameters": (*record.loss_parameters[:-1], ("head_2_width", 5.0)),
        },
    ],
)
def test_an_edited_list_of_heads_does_not_verify(edit: Any) -> None:
    certificate = certified()
    assert certificate.training is not None
    record = replace(certificate.training, **edit(certificate.training))
    with pytest.raises(VerificationFailed):
        replace(certificate, training=record).verify()


@pytest.mark.parametrize(
    "heads", [(), (Logistic(), 3), (SOME,), (ClippedSquared(), Logistic())], ids=str
)
def test_heads_that_are_none_are_refused(heads: Any) -> None:
    with pytest.raises(InvalidInput, match="heads"):
        Joint(heads)


@pytest.mark.parametrize(
    "y",
    [[0, 1], [[0, 1]], np.zeros((4, 2)), "text", None, [[1, 2], [1]], [[0, 5, 0.0]], [["a"] * 3]],
)
def test_targets_that_do_not_fit_are_one_error(y: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        SOME.targets(y)
    assert caught.value.name == "y"
    assert str(caught.value.value).startswith("<")


def test_targets_may_be_columns_of_their_own() -> None:
    y = labels(SOME, 9, 1)
    assert (SOME.targets(y) == SOME.targets([*y.T])).all()
    assert SOME.targets(y).shape == (9,)
