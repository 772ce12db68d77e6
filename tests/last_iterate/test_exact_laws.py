"""Mechanisms whose law is known: what they leak is a floor that no certificate may pass below."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp._checks import Array
from shiftdp.last_iterate import (
    Certificate,
    ExponentialMechanism,
    Geometry,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    certify,
)
from tests.last_iterate.brute_force import (
    batches_of,
    gaussian_delta,
    hockey_stick,
    linear_shift,
    positions,
    reshuffles,
)
from tests.last_iterate.random_runs import BOUNDS, cyclic_runs, full_batch_runs

EPSILONS = (0.0, 0.2, 0.5, 1.0, 2.0, 4.0)


# --- quadratics: the last iterate is Gaussian ---


@settings(max_examples=250)
@given(st.one_of(full_batch_runs(), cyclic_runs("fixed", most_batches=5)), st.floats(0.0, 1.0))
def test_quadratics_are_a_floor(setting: tuple[Any, Geometry], share: float) -> None:
    run, geometry = setting
    if geometry.bounded:
        return
    m, M = geometry.strong_convexity, geometry.smoothness
    for curvature in (m, M, m + share * (M - m)):
        exact = max(linear_shift(run, geometry, visits, curvature) for _, visits in positions(run))
        for bounds in BOUNDS:
            mu = certify(run, geometry, bounds=bounds).mu
            assert mu is not None
            # composition is not a digit above its exact value; the floor here is rounded
            assert mu >= exact * (1 - 1e-14)


@pytest.mark.parametrize("eta", [0.02, 0.1, 2 / 11])
def test_the_floor_is_reached_by_full_batches(eta: float) -> None:
    """[BSA24, Thm gd-sc] is exact for eta <= 2/(M+m)."""
    geometry = Geometry(strong_convexity=1.0, smoothness=10.0, sensitivity=2.0)
    for steps in (1, 2, 10, 200):
        run = NoisyGD(n=4, steps=steps, learning_rate=eta, noise=0.5)
        exact = linear_shift(run, geometry, range(steps), 1.0)
        mu = certify(run, geometry).mu
        assert mu is not None
        assert exact <= mu <= exact * (1 + 1e-11)


# --- quadratics in random order: a mixture of Gaussians, the order hidden ---


def hidden_order(run: NoisyCGD, geometry: Geometry, curvature: float, epsilon: float) -> float:
    """The worse hockey stick between X_t with a record of gradient `h x + L` and one of `h x`."""
    cases = list(reshuffles(run) if run.order == "reshuffled" else positions(run))
    shifts = np.array([linear_shift(run, geometry, visits, curvature) for _, visits in cases])
    weights = np.array([weight for weight, _ in cases])
    x = np.linspace(-9.0, float(shifts.max()) + 9.0, 20_001)
    q = np.exp(-(x**2) / 2)
    p = weights @ np.exp(-((x - shifts[:, None]) ** 2) / 2)
    return hockey_stick(p / q.sum(), q / q.sum(), epsilon)


@settings(max_examples=60)
@given(
    st.one_of(cyclic_runs("shuffled_once", most_epochs=2), cyclic_runs("reshuffled", most_epochs=2))
)
def test_a_hidden_order_is_a_floor(setting: tuple[NoisyCGD, Geometry]) -> None:
    run, geometry = setting
    if geometry.bounded:
        return
    slope = 1 - np.asarray(run.learning_rate) * geometry.strong_convexity
    if np.any(slope < 0):
        return  # linear_shift returns magnitudes, which would then not add up
    cert = certify(run, geometry)
    for epsilon in EPSILONS:
        truth = hidden_order(run, geometry, geometry.strong_convexity, epsilon)
        assert truth <= cert.delta(epsilon) + 1e-9


def test_the_hidden_order_is_not_far_below() -> None:
    """So the test above has teeth: hiding the order costs the attacker some, but not all."""
    geometry = Geometry(strong_convexity=0.2, smoothness=1.0, sensitivity=4.0)
    run = NoisyCGD(n=4, batch_size=1, epochs=2, learning_rate=0.9, noise=2.0, order="reshuffled")
    truth, bound = hidden_order(run, geometry, 0.2, 0.5), certify(run, geometry).delta(0.5)
    assert 0.4 * bound < truth < bound


# --- projected descent in one dimension, by numerical convolution ---

CELLS = 601


def projected_law(
    run: NoisyGD | NoisyCGD,
    gradient: Callable[[Array, int], Array],
    half_width: float,
    start: float,
) -> Array:
    """Masses of X_t on cells of [-w, w], with atoms at both ends where the projection puts them.

    A cell stands for its middle. The step `k` has mean gradient `gradient(x, k)`.
    """
    edges = np.linspace(-half_width, half_width, CELLS + 1)
    middles = np.concatenate([[-half_width], (edges[:-1] + edges[1:]) / 2, [half_width]])
    eta = np.broadcast_to(np.asarray(run.learning_rate), run.steps)
    sigma = np.broadcast_to(np.asarray(run.noise), run.steps)
    law = np.zeros(CELLS + 2)
    law[int(np.argmin(np.abs(middles - start)))] = 1.0
    for k in range(run.steps):
        means = middles - eta[k] * gradient(middles, k)
        below = scipy.special.ndtr((edges[None, :] - means[:, None]) / (eta[k] * sigma[k]))
        rows = np.concatenate([below[:, :1], np.diff(below, axis=1), 1 - below[:, -1:]], axis=1)
        law = law @ rows
    return law


def check_projected(
    run: NoisyGD | NoisyCGD,
    geometry: Geometry,
    loss: Callable[[Array, int], Array],
    visited: set[int],
    start: float,
    teeth: float,
) -> Certificate:
    """`loss`: mean gradient without the record's own linear term, which is +-L/2 against it."""
    cert = certify(run, geometry)
    sizes = batches_of(run)

    def side(sign: float) -> Callable[[Array, int], Array]:
        def gradient(x: Array, k: int) -> Array:
            own = sign * geometry.sensitivity / 2 / sizes[k % len(sizes)] if k in visited else 0.0
            return loss(x, k) + own

        return gradient

    width = geometry.diameter / 2
    p, q = (projected_law(run, side(sign), width, start) for sign in (1.0, -1.0))
    ratios = []
    for epsilon in EPSILONS:
        truth = hockey_stick(p, q, epsilon)
        assert truth <= cert.delta(epsilon) + 1e-5
        ratios.append(truth / cert.delta(epsilon))
    assert ratios[0] > teeth  # the certificate is not idle
    return cert


def test_projected_full_batches() -> None:
    """Linear losses on an interval: the convex, constrained case."""
    geometry = Geometry(strong_convexity=0.0, smoothness=1.0, sensitivity=1.0, diameter=1.0)
    for steps in (3, 10, 30):
        run = NoisyGD(n=2, steps=steps, learning_rate=0.2, noise=2.0)
        check_projected(run, geometry, lambda x, k: 0 * x, set(range(steps)), 0.0, 0.4)


@pytest.mark.parametrize("curvature", [0.5, 2.0])
def test_projected_strongly_convex_full_batches(curvature: float) -> None:
    geometry = Geometry(strong_convexity=0.5, smoothness=2.0, sensitivity=1.0, diameter=1.0)
    run = NoisyGD(n=2, steps=20, learning_rate=0.4, noise=1.0)
    teeth = 0.5 if curvature == 0.5 else 0.2
    check_projected(run, geometry, lambda x, k: curvature * x, set(range(20)), 0.1, teeth)


def test_projected_cyclic_batches_with_a_schedule() -> None:
    geometry = Geometry(strong_convexity=0.2, smoothness=2.0, sensitivity=2.0, diameter=1.5)
    run = NoisyCGD(
        n=8,
        batch_size=3,  # the last batch has two records
        steps=11,
        learning_rate=np.linspace(0.8, 0.2, 11).tolist(),
        noise=np.linspace(0.5, 1.5, 11).tolist(),
    )
    for position in range(3):
        visited = set(range(position, 11, 3))
        check_projected(run, geometry, lambda x, k: 0.2 * (x - 0.3), visited, 0.0, 0.05)


def test_projected_non_convex_losses() -> None:
    """A double well on an interval, curvature between -1 and 2: steps may expand."""
    geometry = Geometry(strong_convexity=-1.0, smoothness=2.0, sensitivity=1.0, diameter=2.0)
    run = NoisyGD(n=2, steps=12, learning_rate=0.3, noise=1.0)

    def well(x: Array, k: int) -> Array:
        return x**3 - x  # curvature 3 x^2 - 1

    cert = check_projected(run, geometry, well, set(range(12)), 0.0, 0.4)
    assert cert.bound == "Theorem B1"


def test_the_convolution_itself() -> None:
    """On a wide interval nothing is projected, and the law is the Gaussian one."""
    geometry = Geometry(strong_convexity=0.5, smoothness=2.0, sensitivity=1.0, diameter=30.0)
    run = NoisyGD(n=2, steps=5, learning_rate=0.4, noise=3.0)

    def gradient(sign: float) -> Callable[[Array, int], Array]:
        return lambda x, k: 0.5 * x + sign / 4

    p, q = (projected_law(run, gradient(sign), 15.0, 0.0) for sign in (1.0, -1.0))
    exact = linear_shift(run, geometry, range(5), 0.5)
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    for epsilon in (0.0, 0.5):
        assert hockey_stick(p, q, epsilon) == pytest.approx(
            gaussian_delta(exact, epsilon), rel=2e-3
        )


# --- the exponential mechanism in one dimension, by numerical integration ---


def densities(one: Array, other: Array) -> tuple[Array, Array]:
    p, q = np.exp(-(one - one.min())), np.exp(-(other - other.min()))
    return p / p.sum(), q / q.sum()


def check_exponential(
    geometry: Geometry, one: Array, other: Array, teeth: float = 0.0
) -> Certificate:
    cert = certify(ExponentialMechanism(), geometry)
    p, q = densities(one, other)
    for epsilon in EPSILONS:
        truth = hockey_stick(p, q, epsilon)
        assert truth <= cert.delta(epsilon) + 1e-6
        if epsilon == 0.0:
            assert truth >= teeth * cert.delta(0.0)
    return cert


@pytest.mark.parametrize("slope", [0.1, 0.5, 2.0, 10.0])
def test_linear_losses_on_an_interval(slope: float) -> None:
    """F = -F' = slope x: gradients 2 slope apart, so F and F' are (L_s / 2)-Lipschitz."""
    x = np.linspace(0.0, 1.0, 200_001)
    geometry = Geometry(strong_convexity=0.0, smoothness=0.0, sensitivity=2 * slope, diameter=1.0)
    cert = check_exponential(geometry, slope * x, -slope * x, 0.2)
    assert cert.epsilon(1e-12) <= 2 * slope * (1 + 1e-9)


@pytest.mark.parametrize("slope", [0.3, 2.0])
def test_one_sided_losses_on_an_interval(slope: float) -> None:
    """F = slope x against 0: the gradients are only slope apart."""
    x = np.linspace(0.0, 1.0, 200_001)
    geometry = Geometry(strong_convexity=0.0, smoothness=0.0, sensitivity=slope, diameter=1.0)
    check_exponential(geometry, slope * x, 0 * x, 0.2)


@pytest.mark.parametrize("kink", [0.0, 0.3, 0.7])
def test_kinked_losses_on_an_interval(kink: float) -> None:
    x = np.linspace(0.0, 2.0, 200_001)
    geometry = Geometry(strong_convexity=0.0, smoothness=math.inf, sensitivity=6.0, diameter=2.0)
    check_exponential(geometry, 3 * np.abs(x - kink), 3 * np.abs(x - 2 + kink), 0.3)


@pytest.mark.parametrize("ridge", [0.25, 1.0, 9.0])
def test_strongly_convex_losses_on_the_line(ridge: float) -> None:
    """Two Gaussians whose means are L/m apart, with deviation 1/sqrt(m): exactly L/sqrt(m)."""
    x = np.linspace(-40.0, 40.0, 800_001)
    geometry = Geometry(strong_convexity=ridge, smoothness=10.0, sensitivity=1.5)
    cert = check_exponential(
        geometry, ridge * x**2 / 2 + 0.75 * x, ridge * x**2 / 2 - 0.75 * x, 0.999
    )
    assert cert.mu == pytest.approx(1.5 / math.sqrt(ridge))
    # other members of the class leak less
    check_exponential(geometry, ridge * x**2 / 2 + 0.75 * np.abs(x), ridge * x**2 / 2, 0.0)
    check_exponential(
        geometry, ridge * x**2 / 2 + 0.75 * np.logaddexp(0, x) * 2, ridge * x**2 / 2, 0.0
    )


def test_strongly_convex_losses_on_an_interval() -> None:
    x = np.linspace(-0.5, 0.5, 200_001)
    for ridge, sensitivity in ((0.1, 0.5), (0.1, 5.0), (20.0, 5.0)):
        geometry = Geometry(
            strong_convexity=ridge, smoothness=30.0, sensitivity=sensitivity, diameter=1.0
        )
        half = sensitivity / 2
        check_exponential(geometry, ridge * x**2 / 2 + half * x, ridge * x**2 / 2 - half * x, 0.2)


# --- random allocation: a mixture of Gaussians on a line ---


@pytest.mark.parametrize("slope", [0.5, 1.0])
@pytest.mark.parametrize("epochs", [1, 2])
def test_random_allocation_is_never_below_its_exact_law(slope: float, epochs: int) -> None:
    """Quadratics: the record's batch of each epoch moves the last iterate by its own weight."""
    batches, eta, pull = 3, 0.1, 2.0
    steps = batches * epochs
    noise = [1.0 + 0.3 * (k % 4) for k in range(steps)]
    weights = slope ** np.arange(steps - 1, -1, -1.0)
    sd = math.sqrt(float(np.sum(np.square(weights * noise))))
    means = [0.0]
    for epoch in range(epochs):
        places = weights[epoch * batches : (epoch + 1) * batches]
        means = [mean + pull * float(w) for mean in means for w in places]
    grid = np.arange(-12.0, 24.0, 0.005) * sd
    cells = np.append(grid, grid[-1] + 0.005 * sd)

    def law(centres: list[float]) -> Array:
        cdf = [scipy.special.ndtr((cells - centre) / sd) for centre in centres]
        return np.asarray(np.mean([np.diff(one) for one in cdf], axis=0))

    with_record, without = law(means), law([0.0])
    curvature = (1.0 - slope) / eta
    geometry = Geometry(
        strong_convexity=curvature,
        smoothness=curvature,
        sensitivity=pull * 10 / eta,
        adjacency="zero_out",
    )
    run = NoisySGD(
        n=30,
        batch_size=10,
        epochs=epochs,
        learning_rate=eta,
        noise=[x / eta for x in noise],
        sampling="random_allocation",
    )
    for bounds in BOUNDS:
        certificate = certify(run, geometry, bounds=bounds, delta=1e-3)
        certificate.verify()
        for epsilon in EPSILONS:
            leaked = hockey_stick(with_record, without, epsilon)
            assert leaked <= certificate.delta(epsilon) * (1 + 1e-3) + 1e-9
