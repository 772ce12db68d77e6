"""Each loss has the constants that it states, clipped or not, and clipping keeps it convex."""

from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from shiftdp import InvalidInput, NoisyGD
from shiftdp.last_iterate.sum_rounding import ENVELOPE_ACCURACY
from shiftdp.training import ClippedSquared, Huber, Logistic, Loss, Plan, SmoothedHinge, Softmax
from shiftdp.training.losses.base import scale_to_limits
from shiftdp.training.losses.envelope import _bracketed, envelope_residuals
from tests.training.random_pairs import pairs

LOSSES: list[Loss] = [
    Logistic(),
    SmoothedHinge(width=0.5),
    SmoothedHinge(width=3.0),
    Huber(width=1.3),
    ClippedSquared(residual_bound=2.0),
    Softmax(classes=2),
    Softmax(classes=3),
    Softmax(classes=10),
]


def labels(loss: Loss, size: int, seed: int) -> NDArray[Any]:
    rng = np.random.default_rng(seed)
    if isinstance(loss, Softmax):
        return rng.integers(0, loss.classes, size)
    if isinstance(loss, (Huber, ClippedSquared)):
        return np.asarray(rng.normal(size=size) * 3)
    return rng.integers(0, 2, size)


def residuals(
    loss: Loss, z: NDArray[Any], y: NDArray[Any], limits: NDArray[Any] | None
) -> NDArray[Any]:
    out = z.copy()
    loss.residuals(out, loss.targets(y), limits)
    return out


def value(loss: Loss, z: NDArray[np.float64], y: int | float) -> mpmath.mpf:
    """The loss of one record by its definition, in 40 digits."""
    scores = [mpmath.mpf(float(score)) for score in z]
    if isinstance(loss, Softmax):
        return mpmath.log(sum(mpmath.exp(score) for score in scores)) - scores[int(y)]
    (score,) = scores
    if isinstance(loss, Logistic):
        return mpmath.log(1 + mpmath.exp(-(2 * y - 1) * score))
    if isinstance(loss, SmoothedHinge):
        h, t = mpmath.mpf(loss.width), (2 * y - 1) * score
        if t >= 1 + h / 2:
            return mpmath.mpf(0)
        return 1 - t if t <= 1 - h / 2 else (1 + h / 2 - t) ** 2 / (2 * h)
    k = mpmath.mpf(loss.slope)
    r = score - mpmath.mpf(float(y))
    return r * r / 2 if abs(r) <= k else k * abs(r) - k * k / 2


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_residuals_are_the_gradient_of_the_definition(loss: Loss) -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(loss.outputs, 12)) * 3
    y = labels(loss, 12, 1)
    g = residuals(loss, z, y, None)
    with mpmath.workdps(40):
        for record in range(12):
            for j in range(loss.outputs):
                up, down = z[:, record].copy(), z[:, record].copy()
                # differences of exactly representable points
                up[j] += 2.0**-20
                down[j] -= 2.0**-20
                slope = (value(loss, up, y[record]) - value(loss, down, y[record])) / 2**-19
                # the third derivative is at most 1/h^2 = 4, the kinks' share at most h^-1 2^-20
                assert abs(float(slope) - g[j, record]) <= 4e-6


def check_pairs(loss: Loss, size: int, seed: int, kappa: float | NDArray[Any] | None) -> None:
    """Monotone, cocoercive with 1/curvature, and within the Lipschitz bound."""
    first, second = pairs(loss.outputs, size, seed)
    y = labels(loss, size, seed + 1)
    limits = None if kappa is None else np.broadcast_to(kappa, size).astype(np.float64)
    most = loss.slope if limits is None else np.minimum(limits, loss.slope)
    g, h = residuals(loss, first, y, limits), residuals(loss, second, y, limits)
    assert (np.linalg.norm(g, axis=0) <= most * (1 + 1e-15)).all()
    inner = np.add.reduce((g - h) * (first - second), axis=0)
    apart = np.linalg.norm(first - second, axis=0)
    change = np.linalg.norm(g - h, axis=0)
    # residuals are right to 1e-10 where they are solved for and to 1e-15 where they are not;
    # scores of size 100 pass some ulps of themselves on
    error = 1e-10 if isinstance(loss, Softmax) and kappa is not None else 1e-13
    assert (inner >= -error * apart).all()
    assert (change <= loss.curvature * apart + error).all()
    assert (loss.curvature * inner >= change**2 - error * (change + loss.curvature * apart)).all()


@pytest.mark.parametrize("kappa", [None, 0.05, 0.62, 1.2])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_constants_on_random_pairs(loss: Loss, kappa: float | None) -> None:
    check_pairs(loss, 5_000 if isinstance(loss, Softmax) else 200_000, 3, kappa)


@pytest.mark.slow
@pytest.mark.parametrize("kappa", [None, 0.3, 0.62])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_constants_on_millions_of_pairs(loss: Loss, kappa: float | None) -> None:
    few = isinstance(loss, Softmax) and kappa is not None
    for seed in range(4):
        check_pairs(loss, 50_000 if few else 500_000, 100 + seed, kappa)


def own_limits(size: int, seed: int) -> NDArray[Any]:
    """A clip for each pair, from one that cuts nearly all gradients to one that cuts none."""
    return np.asarray(10.0 ** np.random.default_rng(seed).uniform(-2, 0.16, size))


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_the_envelope_on_pairs_with_clips_of_their_own(classes: int) -> None:
    check_pairs(Softmax(classes=classes), 10_000, 200, own_limits(10_000, 201))


@pytest.mark.slow
@pytest.mark.parametrize(("classes", "parts"), [(2, 10), (3, 10), (10, 5)])
def test_the_envelope_on_millions_of_pairs(classes: int, parts: int) -> None:
    for part in range(parts):
        check_pairs(Softmax(classes=classes), 200_000, 300 + part, own_limits(200_000, 400 + part))


def test_plain_clipping_of_three_classes_is_not_monotone() -> None:
    """What section 2 of the theory says, and the reason for the envelope."""
    first, second = pairs(3, 200_000, 5)
    rng = np.random.default_rng(0)
    second = first + rng.normal(size=first.shape) * 1e-3
    y = labels(Softmax(classes=3), 200_000, 6)
    limits = np.full(200_000, 0.62)
    g, h = (residuals(Softmax(classes=3), z, y, None) for z in (first, second))
    scale_to_limits(g, limits)
    scale_to_limits(h, limits)
    inner = np.add.reduce((g - h) * (first - second), axis=0)
    assert inner.min() < -1e-9


def test_plain_clipping_of_two_classes_is_the_envelope() -> None:
    z, _ = pairs(2, 2_000, 7)
    y = labels(Softmax(classes=2), 2_000, 8)
    limits = np.full(2_000, 0.4)
    plain = residuals(Softmax(classes=2), z, y, None)
    scale_to_limits(plain, limits)
    assert np.abs(plain - residuals(Softmax(classes=2), z, y, limits)).max() < 1e-11


@given(
    st.lists(st.floats(-40, 40), min_size=2, max_size=6),
    st.integers(0, 5),
    st.floats(1e-3, 1.4),
)
def test_the_envelope_solves_its_equation(scores: list[float], label: int, kappa: float) -> None:
    y = label % len(scores)
    z = np.array(scores)[:, None]
    loss = Softmax(classes=len(scores))
    q = residuals(loss, z, np.array([y]), np.array([kappa]))[:, 0]
    free = residuals(loss, z, np.array([y]), None)[:, 0]
    if np.linalg.norm(free) <= kappa:
        assert (q == free).all()
        return
    assert kappa * (1 - 1e-10) <= np.linalg.norm(q) <= kappa
    # it maximises <p - e_y, z> - sum p log p on the ball: z - log p = A + nu (p - e_y), nu >= 0
    p = q + np.eye(len(scores))[y]
    weight = np.sqrt(np.maximum(p, 0.0))
    right = np.where(p > 0.0, z[:, 0] - np.log(np.where(p > 0.0, p, 1.0)), 0.0)
    left = np.stack([np.ones_like(q), q], axis=1)
    (A, nu), *_ = np.linalg.lstsq(weight[:, None] * left, weight * right, rcond=None)
    assert nu >= -1e-9
    # log p is known to (error of p)/p, which the weight p takes back
    assert np.abs(p * (right - A - nu * q)).max() <= 1e-9 * (1.0 + np.abs(z).max())


@pytest.mark.parametrize("spread", [1.0, 10.0, 300.0, 1e4])
@pytest.mark.parametrize("kappa", [1e-4, 0.3, 1.41])
def test_both_ways_to_the_envelope_agree(spread: float, kappa: float) -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(size=(10, 60)) * spread
    y = rng.integers(0, 10, 60)
    q = residuals(Softmax(classes=10), z, y, None)
    far = np.flatnonzero(np.linalg.norm(q, axis=0) > kappa)
    if not far.size:
        return
    limits = np.full(far.size, kappa)
    solved = envelope_residuals(z[:, far], y[far], limits)
    closed = _bracketed(z[:, far] - z[:, far].max(axis=0), y[far], limits)
    assert np.abs(solved - closed).max() <= 1e-10
    assert np.linalg.norm(solved, axis=0).max() <= kappa


def test_huge_scores_do_no_harm() -> None:
    z = np.array([[500.0, -800.0], [-500.0, 800.0], [0.0, 0.0]])
    for kappa in (None, 0.5):
        limits = None if kappa is None else np.full(2, kappa)
        g = residuals(Softmax(classes=3), z, np.array([1, 1]), limits)
        assert np.isfinite(g).all()
    assert residuals(Logistic(), np.array([[1e4, -1e4]]), np.array([1, 1]), None).tolist() == [
        [-0.0, -1.0]
    ]


def test_huber_is_least_squares_with_a_clipped_residual() -> None:
    z, _ = pairs(1, 1000, 11)
    y = labels(Huber(width=0.7), 1000, 12)
    for limits in (None, np.full(1000, 0.3)):
        ours = residuals(Huber(width=0.7), z, y, limits)
        assert (ours == residuals(ClippedSquared(residual_bound=0.7), z, y, limits)).all()


@pytest.mark.parametrize(
    ("loss", "y"),
    [
        (Logistic(), [0, 1, 2]),
        (Logistic(), [0.5, 1, 0]),
        (Logistic(), ["a", "b", "c"]),
        (Logistic(), [[0, 1, 1]]),
        (SmoothedHinge(), [float("nan"), 1, 0]),
        (Softmax(classes=3), [0, 1, 3]),
        (Softmax(classes=3), [0, -1, 2]),
        (Softmax(classes=3), [0, 1.5, 2]),
        (Softmax(classes=3), None),
        (Huber(), [float("inf"), 1.0, 2.0]),
        (Huber(), [1j, 1.0, 2.0]),
        (Huber(), [[1.0], [1.0, 2.0]]),
    ],
)
def test_bad_labels_are_one_error_without_their_values(loss: Loss, y: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        loss.targets(y)
    assert caught.value.name == "y"
    assert str(caught.value.value).startswith("<")


@pytest.mark.parametrize(
    "call",
    [
        lambda: Softmax(classes=1),
        lambda: SmoothedHinge(width=0.0),
        lambda: Huber(width=-1.0),
        lambda: Huber(width=float("inf")),
        lambda: ClippedSquared(residual_bound=0.0),
    ],
)
def test_bad_parameters_are_refused(call: Any) -> None:
    with pytest.raises(InvalidInput):
        call()


@pytest.mark.parametrize("size", [1.0, 20.0, 200.0])
@pytest.mark.parametrize("clip", [1e-12, 1e-6, 0.3, 5.0])
def test_normalising_and_clipping_in_one_is_one_after_the_other(size: float, clip: float) -> None:
    rng = np.random.default_rng(7)
    z = size * rng.normal(size=(10, 300))
    y = rng.integers(0, 10, 300)
    limits = clip * rng.uniform(0.5, 1.0, 300)
    fused, exact = z.copy(), z
    loss = Softmax(classes=10)
    loss.scaled_residuals(fused, y, limits)
    # in double precision, with the entry of y as minus the others so that nothing cancels
    p = np.exp(exact - exact.max(axis=0))
    own = (y, np.arange(300))
    p /= p.sum(axis=0)
    p[own] = 0.0
    p[own] = -p.sum(axis=0)
    norms = np.linalg.norm(p, axis=0)
    with np.errstate(divide="ignore"):
        p *= np.minimum(1.0, limits / norms)
    eps = float(np.finfo(np.float64).eps)
    # no residual is longer than its limit by more than the room that limits leave
    longest = np.linalg.norm(fused, axis=0) / limits
    assert longest.max() <= 1.0 + (8 + 10) * eps
    # exponents have errors of half an ulp of scores of up to 4 size
    assert np.abs(fused - p).max() <= (10 + 8 * size) * eps * min(1.0, clip) + 1e-36


@pytest.mark.parametrize(
    "loss",
    [Softmax(classes=3), Logistic(), SmoothedHinge(), Huber(), ClippedSquared()],
    ids=repr,
)
@pytest.mark.parametrize("limited", [False, True])
def test_stacked_models_are_the_models_one_by_one(loss: Loss, limited: bool) -> None:
    rng = np.random.default_rng(2)
    z = 3.0 * rng.normal(size=(4, loss.outputs, 50))
    y = loss.targets(rng.integers(0, 2, 50))
    limits = np.full(50, 0.4) if limited else None
    stacked, plain = z.copy(), z.copy()
    loss.residuals(stacked, y, limits)
    for one, together in zip(z.copy(), stacked, strict=True):
        loss.residuals(one, y, limits)
        assert np.abs(one - together).max() <= 1e-11
    if limits is not None:
        loss.scaled_residuals(plain, y, limits)
        for one, together in zip(z.copy(), plain, strict=True):
            loss.residuals(one, y, None)
            scale_to_limits(one, limits)
            assert np.abs(one - together).max() <= 1e-14


def test_scores_in_any_layout_are_replaced() -> None:
    z = np.random.default_rng(1).normal(size=(3, 8))
    y = np.arange(8) % 3
    turned = np.asfortranarray(z)
    Softmax(classes=3).residuals(turned, y, None)
    Softmax(classes=3).residuals(z, y, None)
    assert (turned == z).all()


@given(
    z=arrays(np.float64, (4, 5), elements=st.floats(-60.0, 60.0)),
    limits=arrays(np.float64, 5, elements=st.floats(-4.0, 0.1).map(lambda x: 10.0**x)),
)
@settings(max_examples=60, deadline=None)
def test_an_envelope_does_not_depend_on_the_records_beside_it(
    z: NDArray[np.float64], limits: NDArray[np.float64]
) -> None:
    """To the accuracy that is certified: limits from the least that plans admit."""
    y = np.arange(5) % 4
    loss = Softmax(classes=4)
    together = residuals(loss, z, y, limits)
    for k in range(5):
        alone = residuals(loss, z[:, [k]], y[[k]], limits[[k]])[:, 0]
        assert np.linalg.norm(alone - together[:, k]) <= ENVELOPE_ACCURACY * limits[k]


def test_limits_that_cannot_be_solved_for_are_refused() -> None:
    run = NoisyGD(n=10, steps=2, learning_rate=1e-9, noise=1.0)
    with pytest.raises(InvalidInput, match=r"clip=0\.09 is too small"):
        Plan(run=run, loss=Softmax(classes=3), feature_bound=1e3, clipping="envelope", clip=0.09)
    Plan(run=run, loss=Logistic(), feature_bound=1e3, clipping="envelope", clip=0.09)
