"""The plan: constants from loss, bound, ridge, clipping and set; certificates of just that."""

import math
from typing import Any

import pytest

import shiftdp as sdp
from shiftdp import InvalidInput, NoisyCGD, NoisyGD, UnmetHypothesis
from shiftdp.training import (
    Ball,
    Box,
    ClippedSquared,
    Huber,
    Logistic,
    Loss,
    Plan,
    Seeded,
    Simplex,
    SmoothedHinge,
    Softmax,
)

RUN = NoisyGD(n=100, steps=10, learning_rate=0.1, noise=0.5)
MNIST = NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)


@pytest.mark.parametrize(
    ("loss", "G", "M"),
    [
        (Logistic(), 3.0, 9 / 4),
        (Softmax(classes=7), 3 * math.sqrt(2), 9 / 2),
        (SmoothedHinge(width=0.5), 3.0, 18.0),
        (Huber(width=2.0), 6.0, 9.0),
        (ClippedSquared(residual_bound=2.0), 6.0, 9.0),
    ],
)
def test_the_table_of_constants(loss: Loss, G: float, M: float) -> None:
    plan = Plan(run=RUN, loss=loss, feature_bound=3.0, l2=0.25, intercept=False)
    assert plan.gradient_bound == pytest.approx(G, rel=1e-14)
    assert plan.gradient_bound >= G
    assert plan.geometry.smoothness == pytest.approx(M + 0.25, rel=1e-15)
    assert plan.geometry.strong_convexity == 0.25
    # a little more, for rounding
    assert 1.0 < plan.geometry.sensitivity / (2 * plan.gradient_bound) < 1 + 1e-9
    zeroed = Plan(run=RUN, loss=loss, feature_bound=3.0, intercept=False, adjacency="zero_out")
    assert plan.gradient_bound < zeroed.geometry.sensitivity < plan.gradient_bound * (1 + 1e-9)
    assert zeroed.geometry.adjacency == "zero_out"


def test_the_intercept_counts_as_a_feature() -> None:
    plan = Plan(run=RUN, loss=Logistic(), feature_bound=math.sqrt(3.0))
    assert plan.norm_bound == pytest.approx(2.0, rel=1e-14)
    assert plan.geometry.smoothness == pytest.approx(1.0, rel=1e-14)


def test_mnist_with_certified_clipping_has_the_published_epsilon() -> None:
    plan = Plan(
        run=MNIST, loss=Softmax(classes=10), feature_bound=8, l2=0.002, clipping="envelope", clip=5
    )
    geometry = plan.geometry
    assert (geometry.strong_convexity, geometry.smoothness) == (0.002, 32.502)
    # rounding, and envelopes that are solved to 1e-10: 1,500 records
    assert 10.0 < geometry.sensitivity < 10.0 * (1 + 2e-7)
    assert plan.certificate.epsilon(1e-5) == pytest.approx(4.339, abs=5e-4)
    plan.certificate.verify()


def test_uncertified_clipping_has_no_certificate_but_a_labelled_estimate() -> None:
    plan = Plan(
        run=MNIST,
        loss=Softmax(classes=10),
        feature_bound=8,
        l2=0.002,
        clipping="uncertified",
        clip=5,
    )
    with pytest.raises(UnmetHypothesis, match="not the gradient of a convex function"):
        _ = plan.certificate
    assert plan.estimate.kind == "estimate"
    assert plan.estimate.value.epsilon(1e-5) == pytest.approx(4.339, abs=5e-4)
    assert "not a bound" in repr(plan.estimate)
    # the geometry claims nothing that is not so: what it certifies is composition
    assert sdp.certify(plan.run, plan.geometry).epsilon(1e-5) == pytest.approx(30.51, abs=0.01)


def test_plain_clipping_is_certified_by_composition_and_by_nothing_else() -> None:
    fields: dict[str, Any] = {
        "run": MNIST,
        "loss": Softmax(classes=10),
        "feature_bound": 8,
        "l2": 0.002,
        "clip": 5,
    }
    plain = Plan(**fields, clipping="plain", bounds="composition")
    envelope = Plan(**fields, clipping="envelope", bounds="composition")
    # the envelope is solved for to 1e-10, which is in its sensitivity
    same = pytest.approx(envelope.certificate.epsilon(1e-5), rel=1e-6)
    assert plain.certificate.epsilon(1e-5) == same
    assert plain.certificate.epsilon(1e-5) == pytest.approx(30.51, abs=0.01)
    plain.certificate.verify()
    assert plain.estimate.source == "the certificate's own bound"
    for bounds in ("best", "paper"):
        with pytest.raises(UnmetHypothesis, match="no bound but composition") as refusal:
            Plan(**fields, clipping="plain", bounds=bounds)
        assert refusal.value.name == "clipping"
    # the same loop under the other name stays without a certificate
    with pytest.raises(UnmetHypothesis, match='clipping="plain"'):
        _ = Plan(**fields, clipping="uncertified", bounds="composition").certificate


@pytest.mark.parametrize("loss", [Logistic(), Softmax(classes=2), Huber()], ids=repr)
def test_plain_clipping_is_the_envelope_for_one_score_and_for_two_classes(loss: Loss) -> None:
    plain, envelope = (
        Plan(run=RUN, loss=loss, feature_bound=2.0, clipping=clipping, clip=0.5)
        for clipping in ("plain", "envelope")
    )
    assert not plain.plainly_clipped
    assert plain.geometry == envelope.geometry
    assert plain.certificate.epsilon(1e-5) == envelope.certificate.epsilon(1e-5)


def test_a_clip_that_touches_nothing_changes_nothing() -> None:
    plan = Plan(run=RUN, loss=Logistic(), feature_bound=1.0, clipping="envelope", clip=9.0)
    assert plan.residual_clip is None
    loose = Plan(run=RUN, loss=Softmax(classes=3), feature_bound=1.0, clipping="plain", clip=9.0)
    assert not loose.plainly_clipped  # so that any bounds will do
    assert loose.geometry == Plan(run=RUN, loss=Softmax(classes=3), feature_bound=1.0).geometry
    assert plan.geometry == Plan(run=RUN, loss=Logistic(), feature_bound=1.0).geometry


def test_sets_bring_their_diameter() -> None:
    def diameter(**extra: object) -> float:
        plan = Plan(run=RUN, loss=Softmax(classes=3), feature_bound=1.0, **extra)  # type: ignore[arg-type]
        return plan.geometry.diameter

    assert diameter() == math.inf
    assert diameter(projection=Ball(2.0)) == 4.0
    assert diameter(projection=Simplex()) == pytest.approx(math.sqrt(2.0))
    # three classes of four features and an intercept
    assert diameter(projection=Box(-1.0, 1.0), features=4) == pytest.approx(2 * math.sqrt(15.0))
    with pytest.raises(InvalidInput, match="features"):
        diameter(projection=Box(-1.0, 1.0))


def test_a_seed_is_stamped_on_the_certificate() -> None:
    plan = Plan(run=RUN, loss=Logistic(), feature_bound=1.0, entropy=Seeded(1))
    assert plan.certificate.assumptions[0].name == "reproducible run: not private"
    assert "reproducible run: not private" in str(plan.certificate)
    assert "reproducible run: not private" in plan.certificate.to_json()
    with pytest.raises(sdp.VerificationFailed):
        plan.certificate.verify()
    private = Plan(run=RUN, loss=Logistic(), feature_bound=1.0)
    assert "reproducible" not in str(private.certificate)
    private.certificate.verify()


def test_the_grid_is_a_power_of_two_below_the_noise() -> None:
    plan = Plan(run=MNIST, loss=Logistic(), feature_bound=1.0)
    assert math.frexp(plan.grid)[0] == 0.5
    assert 2.0**-9 < plan.grid / (0.05 * 0.01) <= 2.0**-8
    steps = NoisyGD(n=5, steps=2, learning_rate=[0.5, 0.25], noise=[1.0, 4.0])
    assert Plan(run=steps, loss=Logistic(), feature_bound=1.0).grid == 2.0**-8
