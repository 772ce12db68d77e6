"""Certified products: known values inside narrow intervals, in all regimes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp import InvalidInput
from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    Identity,
    LaplaceTradeoff,
    Minimum,
    Mixture,
    PiecewiseLinear,
    PoissonReplaceOne,
    ShiftedSubsampled,
    TradeoffFunction,
    WithFailure,
)
from shiftdp.fdp.composition.composite import AccuracyNotMet, Composite
from shiftdp.fdp.contour.estimate import estimate_epsilon

STEP = GaussianTradeoff(2 / 3).subsample(0.025)
ASYMMETRIC = PiecewiseLinear([0, 0.1, 0.5, 1], [1, 0.6, 0.1, 0])


def exact_finite(atoms: list[tuple[float, float]], k: int, delta: float) -> float:
    """eps(delta) of k independent draws from finitely many atoms (P-mass, Q-mass)."""
    losses, masses = [], []
    for draws in itertools.combinations_with_replacement(range(len(atoms)), k):
        counts = [draws.count(i) for i in range(len(atoms))]
        ways = math.factorial(k) // math.prod(math.factorial(c) for c in counts)
        p = math.prod(a[0] ** c for a, c in zip(atoms, counts, strict=True))
        q = math.prod(a[1] ** c for a, c in zip(atoms, counts, strict=True))
        losses.append(math.log(q / p))
        masses.append(ways * q)
    loss, mass = np.array(losses), np.array(masses)

    def excess(epsilon: float) -> float:
        return float(np.sum(mass * np.maximum(0.0, 1.0 - np.exp(epsilon - loss)))) - delta

    return float(scipy.optimize.brentq(excess, 0.0, loss.max(), xtol=1e-14))


@pytest.mark.parametrize(
    ("t", "epsilon"), [(2000, 4.438137906), (4000, 6.653814024), (8000, 10.113130500)]
)
@pytest.mark.parametrize("accuracy", [1e-3, 1e-5])
def test_the_subsampled_gaussian_of_the_paper(t: int, epsilon: float, accuracy: float) -> None:
    low, high = Composite(((STEP, t),), accuracy).epsilon_interval(1e-5)
    assert low < epsilon < high
    assert high - low < accuracy


@pytest.mark.parametrize("delta", [0.3, 1e-2, 1e-5, 1e-10, 1e-30, 1e-100])
@pytest.mark.parametrize(("mu", "k"), [(1.0, 4), (0.01, 10_000), (3.0, 2), (0.2, 7)])
def test_gaussians_against_their_closed_form(mu: float, k: int, delta: float) -> None:
    truth = GaussianTradeoff(mu * math.sqrt(k)).epsilon(delta)
    low, high = Composite(((GaussianTradeoff(mu), k),)).epsilon_interval(delta)
    assert low <= truth * (1 + 1e-12)
    assert truth <= high * (1 + 1e-12)
    assert high - low <= 1e-3


@pytest.mark.parametrize("delta", [0.2, 1e-3, 1e-8])
def test_pure_privacy_against_the_binomial_law(delta: float) -> None:
    odds = math.exp(0.3)
    atoms = [(odds / (1 + odds), 1 / (1 + odds)), (1 / (1 + odds), odds / (1 + odds))]
    low, high = Composite(((ApproxDPTradeoff(0.3), 30),)).epsilon_interval(delta)
    assert low <= exact_finite(atoms, 30, delta) <= high


def test_losses_beyond_what_a_float_can_weigh_are_bounded_without_a_grid() -> None:
    product = GaussianTradeoff(1000.0).compose(LaplaceTradeoff(1.0))
    least = GaussianTradeoff(1000.0).epsilon(1e-5)
    assert least <= product.epsilon(1e-5) <= least + 10.0
    assert product.delta(least) >= 1e-5 >= product.delta(product.epsilon(1e-5) * (1 + 1e-9))
    assert product.advantage() == 1.0
    assert isinstance(product, Composite)
    with pytest.raises(AccuracyNotMet, match="is known to"):
        product.epsilon_interval(1e-5)


STRANGE: list[TradeoffFunction] = [
    GaussianTradeoff(5.0).subsample(0.1).compose(GaussianTradeoff(900.0)),
    PoissonReplaceOne(0.6, 0.3, 500.0).power(2),
    ShiftedSubsampled(0.7, 50.0, 90.0).power(3),
    ApproxDPTradeoff(200.0, 1e-9).compose(LaplaceTradeoff(800.0)),
    LaplaceTradeoff(900.0).compose(PiecewiseLinear([0, 0.25, 1], [0.9, 0.25, 0])),
    Mixture([GaussianTradeoff(90.0), LaplaceTradeoff(3.0)]).compose(GaussianTradeoff(2.0)),
    Minimum([GaussianTradeoff(90.0), LaplaceTradeoff(3.0)]).compose(GaussianTradeoff(2.0)),
]


@pytest.mark.parametrize("product", STRANGE, ids=repr)
def test_every_question_is_answered_however_large_the_losses(product: TradeoffFunction) -> None:
    deltas = np.array([1e-300, 1e-5])
    epsilon = np.array([product.epsilon(d) for d in deltas.tolist()])
    assert np.all(epsilon[1:] <= epsilon[:-1])
    for eps, delta in zip(epsilon.tolist(), deltas.tolist(), strict=True):
        # both are bounds, and the one is known no better than to the accuracy of the other
        assert math.isinf(eps) or product.delta(eps + 0.1) <= 2.0 * delta + 1e-11
    curve = np.asarray(product([0.0, 1e-12, 0.01, 0.5, 1.0]))
    assert np.all((curve >= 0.0) & (curve <= 1.0) & np.isfinite(curve))
    assert 0.0 <= product.advantage() <= 1.0


@pytest.mark.parametrize("k", [3, 12])
def test_the_curve_of_pure_mechanisms_is_that_of_the_binomial_law(k: int) -> None:
    odds = math.exp(0.7)
    counts = np.arange(k, -1, -1)  # of answers that favour Q, likeliest under Q first
    p, q = (
        scipy.stats.binom.pmf(counts, k, 1 / (1 + odds)),
        scipy.stats.binom.pmf(counts, k, odds / (1 + odds)),
    )
    alpha = np.linspace(0.0, 1.0, 101)
    exact = np.interp(alpha, np.append(0, np.cumsum(p)), np.append(1, 1 - np.cumsum(q)))
    curve = np.asarray(Composite(((ApproxDPTradeoff(0.7), k),))(alpha))
    assert np.all(curve <= exact + 1e-12)
    assert np.all(curve >= exact - 1e-3)


@pytest.mark.parametrize("delta", [0.1, 1e-3])
def test_asymmetric_atoms_against_enumeration_in_both_directions(delta: float) -> None:
    forward = [(0.1, 0.4), (0.4, 0.5), (0.5, 0.1)]
    product = Composite(((ASYMMETRIC, 5),))
    for f, atoms in (
        (product, forward),
        (product.inverse(), [(q, p) for p, q in forward]),
    ):
        assert isinstance(f, Composite)
        low, high = f.epsilon_interval(delta)
        assert low <= exact_finite(atoms, 5, delta) <= high


@pytest.mark.parametrize(
    "factors",
    [
        ((GaussianTradeoff(2.0).subsample(0.5), 1000),),
        ((STEP, 20),),
        ((STEP, 200),),
        ((GaussianTradeoff(1.0).subsample(1e-6), 1_000_000),),
        ((GaussianTradeoff(10.0).subsample(0.01), 5),),
        ((STEP, 1000), (GaussianTradeoff(1.0), 1), (LaplaceTradeoff(0.3), 2)),
        ((LaplaceTradeoff(0.1), 100),),
    ],
    ids=str,
)
def test_two_routes_agree(factors: tuple[tuple[TradeoffFunction, int], ...]) -> None:
    product = Composite(factors)
    served = 0
    for delta in (1e-2, 1e-5, 1e-10):
        low, high = product.epsilon_interval(delta)
        assert 0 <= low <= high <= low + 1e-3
        estimate = estimate_epsilon(factors, delta)
        if estimate is None:
            continue
        served += 1
        assert low - 1e-9 <= estimate.value <= high + 1e-9
    # atoms and few factors are beyond the contour
    assert served > 0 or factors[0][1] < 200


def test_one_factor_once_is_itself() -> None:
    low, high = Composite(((STEP, 1),)).epsilon_interval(1e-5)
    assert low <= STEP.epsilon(1e-5) <= high * (1 + 1e-12)


@settings(max_examples=10)
@given(mu=st.floats(0.1, 2.0), p=st.floats(0.01, 0.5), k=st.integers(2, 300), extra=st.floats(0, 1))
def test_more_factors_leak_more(mu: float, p: float, k: int, extra: float) -> None:
    f = GaussianTradeoff(mu).subsample(p)
    fewer = Composite(((f, k),)).epsilon_interval(1e-5)
    more = Composite(((f, k), (GaussianTradeoff(extra), 1))).epsilon_interval(1e-5)
    assert fewer[0] <= more[1]


def test_profile_curve_and_epsilon_tell_one_story() -> None:
    product = Composite(((STEP, 2000),))
    deltas = np.array([0.2, 1e-2, 1e-4, 1e-6, 1e-9])
    epsilons = np.array([product.epsilon(float(d)) for d in deltas])
    assert np.all(np.diff(epsilons) > 0)
    back = np.asarray(product.delta(epsilons))
    assert np.all(back <= deltas * 1.02)
    assert np.all(back >= deltas * 0.98)
    # f lies above every line that the guarantees allow, and close to their envelope
    alpha = np.linspace(0.0, 1.0, 101)
    curve = np.asarray(product(alpha))
    for e, d in zip(epsilons, deltas, strict=True):
        assert np.all(curve >= 1 - d - np.exp(e) * alpha - 2e-3)
    assert np.all(np.diff(curve) <= 1e-12)
    # it is its own inverse
    assert np.allclose(np.asarray(product(curve)), alpha, atol=2e-4)


def test_the_curve_of_a_gaussian_product() -> None:
    product, truth = Composite(((GaussianTradeoff(0.5), 16),)), GaussianTradeoff(2.0)
    alpha = np.concatenate([[0.0], np.geomspace(1e-12, 0.5, 60), 1 - np.geomspace(1e-9, 0.5, 60)])
    below = np.asarray(truth(alpha)) - np.asarray(product(alpha))
    assert np.all(below >= -1e-12)
    assert np.all(below <= 1e-4)


def test_products_join_the_algebra() -> None:
    squared = STEP.power(2)
    assert isinstance(squared, Composite)
    assert STEP.compose(STEP) == squared
    assert squared.compose(Identity()) == squared
    assert squared.power(1000) == STEP.power(2000)
    with_failure = squared.compose(ApproxDPTradeoff(0.0, 1e-6))
    assert isinstance(with_failure, WithFailure)
    assert with_failure.epsilon(1e-6) == math.inf
    mixed = GaussianTradeoff(3.0).compose(STEP, GaussianTradeoff(4.0))
    assert mixed == Composite(((STEP, 1), (GaussianTradeoff(5.0), 1)))


def test_what_cannot_be_met_is_said() -> None:
    product = Composite(((STEP, 10**6),), 1e-9)
    with pytest.raises(AccuracyNotMet, match=r"known to .* within"):
        product.epsilon_interval(1e-5)
    low, high = product.epsilon_between(1e-5)
    assert low < high == product.epsilon(1e-5) < low + 0.01
    with pytest.raises(InvalidInput, match="accuracy"):
        Composite(((STEP, 2),), 0.0)
    for delta in (0.0, 1.0, -1.0, math.nan):
        with pytest.raises(InvalidInput, match="delta"):
            Composite(((STEP, 2),)).epsilon_interval(delta)
