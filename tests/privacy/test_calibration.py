"""Inversion: the noise that is calibrated meets its budget, and a little less does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mpmath
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shiftdp
from shiftdp import Certificate, Geometry, InvalidInput, NoisyCGD, NoisyGD, NoisySGD, certify
from shiftdp.fdp import WithFailure
from shiftdp.last_iterate.certification import Bounds
from shiftdp.last_iterate.runs import Order
from shiftdp.privacy import (
    calibrate_batch_size,
    calibrate_epochs,
    calibrate_learning_rate,
    calibrate_noise,
)
from shiftdp.privacy.calibration import scaled
from shiftdp.privacy.parameters import with_parameter
from tests.last_iterate.random_runs import cyclic_runs, full_batch_runs
from tests.privacy.spending import CYCLIC, MNIST, STRONG, met
from tests.privacy.targets import A_LITTLE, KINDS, ORDERS, budgets

# --- the noise ---


@settings(max_examples=40)
@given(
    st.one_of(full_batch_runs(), *(cyclic_runs(order) for order in ORDERS)),
    budgets(),
    st.sampled_from(["best", "paper", "composition"]),
)
def test_the_least_noise(setting: Any, terms: dict[str, Any], bounds: Bounds) -> None:
    run, geometry = setting
    found = calibrate_noise(run, geometry, bounds=bounds, **terms)
    assert met(terms, found, geometry, bounds)
    assert not met(terms, scaled(found, "noise", 1.0 - A_LITTLE), geometry, bounds)
    kept = {**vars(found), "noise": run.noise}
    assert kept == vars(run)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("terms", KINDS)
def test_the_least_noise_of_a_long_run(order: Order, terms: dict[str, Any]) -> None:
    run = NoisyCGD(**{**vars(CYCLIC), "order": order})
    found = calibrate_noise(run, MNIST, **terms)
    assert met(terms, found, MNIST)
    assert not met(terms, scaled(found, "noise", 1.0 - A_LITTLE), MNIST)


@pytest.mark.parametrize(
    "sampling", [pytest.param("without_replacement", marks=pytest.mark.slow), "poisson"]
)
@pytest.mark.parametrize("terms", KINDS)
@pytest.mark.parametrize("bounds", ["composition", "best"])
def test_the_least_noise_with_random_batches(
    sampling: Any, terms: dict[str, Any], bounds: Bounds
) -> None:
    run = NoisySGD(n=200, batch_size=10, steps=40, learning_rate=0.1, noise=1.0, sampling=sampling)
    found = calibrate_noise(run, STRONG, bounds=bounds, **terms)
    assert met(terms, found, STRONG, bounds)
    assert not met(terms, scaled(found, "noise", 1.0 - A_LITTLE), STRONG, bounds)


@pytest.mark.slow
@settings(max_examples=15)
@given(
    st.integers(1, 20),
    st.integers(1, 400),
    st.sampled_from(["without_replacement", "poisson"]),
    st.sampled_from(["replace_one", "zero_out"]),
    st.floats(0.3, 8.0),
    st.sampled_from([1e-6, 1e-5, 1e-4]),
    st.sampled_from(["composition", "best", "paper"]),
)
def test_random_batches_and_budgets(
    batch_size: int,
    steps: int,
    sampling: Any,
    adjacency: Any,
    epsilon: float,
    delta: float,
    bounds: Bounds,
) -> None:
    assume(sampling == "poisson" or adjacency == "replace_one")
    run = NoisySGD(
        n=400, batch_size=batch_size, steps=steps, learning_rate=0.1, noise=1.0, sampling=sampling
    )
    longest = 1.0 if adjacency == "replace_one" else 2.0
    geometry = replace(STRONG, adjacency=adjacency, gradient_bound=longest)
    terms = {"epsilon": epsilon, "delta": delta}
    found = calibrate_noise(run, geometry, bounds=bounds, **terms)
    assert met(terms, found, geometry, bounds)
    assert not met(terms, scaled(found, "noise", 1.0 - A_LITTLE), geometry, bounds)


@pytest.mark.parametrize(
    "order",
    [pytest.param(1.25, marks=pytest.mark.slow), 2.0, pytest.param(32.0, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("adjacency", ["replace_one", "zero_out"])
def test_renyi_budgets_with_poisson_batches(order: float, adjacency: Any) -> None:
    """Contraction needs a batch cap, which may fail: the divergence is then that of composition."""
    run = NoisySGD(
        n=500, batch_size=10, steps=3_000, learning_rate=0.1, noise=1.0, sampling="poisson"
    )
    longest = 1.0 if adjacency == "replace_one" else 2.0
    geometry = replace(STRONG, adjacency=adjacency, gradient_bound=longest)
    terms: dict[str, Any] = {"renyi": 1.0, "order": order}
    found = calibrate_noise(run, geometry, **terms)
    assert isinstance(certify(found, geometry).f, WithFailure)
    assert met(terms, found, geometry)
    assert not met(terms, scaled(found, "noise", 1.0 - A_LITTLE), geometry)
    composed = calibrate_noise(run, geometry, bounds="composition", **terms)
    assert composed.noise == pytest.approx(found.noise, rel=A_LITTLE)


@pytest.mark.parametrize("sampling", ["without_replacement", "poisson"])
def test_renyi_budgets_for_all_that_random_batches_have(sampling: Any) -> None:
    run = NoisySGD(n=30, batch_size=6, steps=20, learning_rate=0.1, noise=1.0, sampling=sampling)
    terms: dict[str, Any] = {"renyi": 0.3, "order": 3.0}
    longer = calibrate_epochs(run, STRONG, bounds="composition", **terms)
    assert met(terms, longer, STRONG, "composition")
    one_more = with_parameter(longer, STRONG, "steps", longer.steps + 1)[0]
    assert not met(terms, one_more, STRONG, "composition")
    smaller = calibrate_batch_size(run, STRONG, **terms)
    assert met(terms, smaller, STRONG)
    if smaller.batch_size > 1:
        less = with_parameter(smaller, STRONG, "batch_size", smaller.batch_size - 1)[0]
        assert not met(terms, less, STRONG)
    faster = calibrate_learning_rate(run, STRONG, **terms)
    assert met(terms, faster, STRONG)
    assert isinstance(faster.learning_rate, float)
    assert faster.learning_rate <= 1.0


@pytest.mark.parametrize("sampling", ["without_replacement", "poisson"])
@pytest.mark.parametrize("delta", [1e-9, 1e-12])
@pytest.mark.parametrize("bounds", ["composition", pytest.param("best", marks=pytest.mark.slow)])
def test_small_deltas_with_random_batches(sampling: Any, delta: float, bounds: Bounds) -> None:
    """The certificate is made for that delta: else a batch cap may fail more often than that."""
    run = NoisySGD(n=500, batch_size=10, steps=300, learning_rate=0.1, noise=1.0, sampling=sampling)
    found = calibrate_noise(run, STRONG, bounds=bounds, epsilon=2.0, delta=delta)
    certificate = certify(found, STRONG, bounds=bounds, delta=delta)
    assert certificate.epsilon(delta) <= 2.0
    less = scaled(found, "noise", 1.0 - A_LITTLE)
    assert certify(less, STRONG, bounds=bounds, delta=delta).epsilon(delta) > 2.0


@pytest.mark.slow
@pytest.mark.parametrize("sampling", ["without_replacement", "poisson"])
def test_a_finer_accuracy_finds_less_noise(sampling: Any) -> None:
    run = NoisySGD(
        n=6_000, batch_size=60, steps=1_000, learning_rate=0.1, noise=1.0, sampling=sampling
    )
    terms: dict[str, Any] = {"epsilon": 1.5, "delta": 1e-5}
    usual = calibrate_noise(run, STRONG, bounds="composition", **terms)
    fine = calibrate_noise(run, STRONG, bounds="composition", accuracy=2e-5, **terms)
    assert isinstance(fine.noise, float)
    assert isinstance(usual.noise, float)
    assert fine.noise < usual.noise < 1.001 * fine.noise
    certificate = certify(fine, STRONG, bounds="composition", accuracy=2e-5)
    low, high = certificate.epsilon_interval(1e-5)
    assert 1.5 - 2e-5 - 3e-6 <= low <= high <= 1.5
    with pytest.raises(InvalidInput, match="accuracy"):
        calibrate_noise(run, STRONG, accuracy=0.0, **terms)


def test_a_sequence_of_noises_is_scaled_as_a_whole() -> None:
    noise = (1.0, 2.0, 0.5)
    run = NoisyGD(n=5, steps=3, learning_rate=0.1, noise=noise)
    found = calibrate_noise(run, STRONG, mu=0.3)
    assert isinstance(found.noise, tuple)
    factor = found.noise[0] / noise[0]
    assert found.noise == pytest.approx([factor * x for x in noise], rel=1e-15)
    assert certify(found, STRONG).mu == pytest.approx(0.3, rel=A_LITTLE)


# --- the mistakes of others ---


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0, 1000.0])
@pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-5, 0.1])
def test_gdp_is_inverted_right_for_large_epsilon_and_tiny_delta(
    epsilon: float, delta: float
) -> None:
    """One step is G(L/(n noise)): the noise against a root of the profile in 400 digits."""
    run = NoisyGD(n=1, steps=1, learning_rate=0.1, noise=1.0)
    geometry = Geometry(strong_convexity=0.0, smoothness=1.0, sensitivity=1.0)
    noise = calibrate_noise(run, geometry, epsilon=epsilon, delta=delta).noise
    assert isinstance(noise, float)
    with mpmath.workdps(1000):

        def exact_delta(sigma: Any) -> Any:
            mu, e = 1 / sigma, mpmath.mpf(epsilon)
            tails = [mpmath.erfc((e / mu + sign * mu / 2) / mpmath.sqrt(2)) / 2 for sign in (-1, 1)]
            return tails[0] - mpmath.exp(e) * tails[1]

        sigma = mpmath.mpf(noise)
        assert exact_delta(sigma) <= mpmath.mpf(delta)
        assert exact_delta(sigma * (1 - mpmath.mpf(A_LITTLE))) > mpmath.mpf(delta)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 8.0])
def test_never_above_the_target(epsilon: float) -> None:
    """Not by a tolerance, for any order, and not after a detour through JSON either."""
    for order in ORDERS:
        run = NoisyCGD(**{**vars(CYCLIC), "order": order})
        found = calibrate_noise(run, MNIST, epsilon=epsilon, delta=1e-5)
        certificate = certify(found, MNIST)
        assert certificate.epsilon(1e-5) <= epsilon
        assert Certificate.from_json(certificate.to_json()).epsilon(1e-5) <= epsilon


def test_reading_epsilon_loses_nothing() -> None:
    """A certificate answers the same however often, and in which order, it is asked."""
    run = NoisySGD(n=200, batch_size=10, steps=40, learning_rate=0.1, noise=1.0)
    fresh = certify(run, STRONG).epsilon(1e-5)
    certificate = certify(run, STRONG)
    assert [certificate.epsilon(1e-5) for _ in range(3)] == [fresh] * 3
    before = calibrate_noise(run, STRONG, epsilon=1.0, delta=1e-5)
    certificate.epsilon(1e-9)
    certificate.delta(1.0)
    assert certificate.run == run
    low, high = certificate.epsilon_interval(1e-5)
    assert low <= fresh <= high + 2e-3
    assert calibrate_noise(run, STRONG, epsilon=1.0, delta=1e-5) == before


DOORS = ("noise", "epochs", "batch_size", "learning_rate", "diameter")


@pytest.mark.parametrize("calibrator", DOORS)
@pytest.mark.parametrize("run", ["a run", None, [], Geometry])
def test_what_is_no_run_is_refused_before_it_is_asked_anything(calibrator: str, run: Any) -> None:
    geometry = Geometry(strong_convexity=0.1, smoothness=1.0, sensitivity=1.0)
    with pytest.raises(InvalidInput, match="is not a run; give one of NoisyGD, NoisyCGD"):
        getattr(shiftdp, f"calibrate_{calibrator}")(run, geometry, epsilon=1.0, delta=1e-5)
