"""The contour estimate is right or refuses."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp._errors import InvalidInput
from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    Identity,
    LaplaceTradeoff,
    Maximum,
    Mixture,
    PiecewiseLinear,
    WithFailure,
)
from shiftdp.fdp.composition.product import Product
from shiftdp.fdp.contour.estimate import (
    ContourEstimate,
    estimate_delta,
    estimate_epsilon,
)
from shiftdp.fdp.functions.poisson import PoissonReplaceOne, PoissonZeroOut
from shiftdp.fdp.functions.shifted_subsampling import ShiftedSubsampled
from shiftdp.fdp.pairs.gaussian_profile import gaussian_epsilon, gaussian_log_delta
from tests.fdp.contour.cases import ASYMMETRIC, NOISE, Parts, subsampled
from tests.fdp.tilted_fft import reference_log_delta


def log_delta(parts: Parts, eps: float) -> float:
    return ContourEstimate.of(parts).log_delta(eps).value


# --- known values ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("t", "epsilon"), [(2000, 4.438137906), (4000, 6.653814024), (8000, 10.113130500)]
)
def test_figures_of_subsampled_gaussians(t: int, epsilon: float) -> None:
    estimate = estimate_epsilon([(subsampled(0.025, 2 / 3), t)], 1e-5)
    assert estimate is not None
    assert estimate.kind == "estimate"
    assert estimate.value == pytest.approx(epsilon, abs=6e-10)


@pytest.mark.parametrize("mu", [1e-4, 0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("x", [-0.9, 0.0, 0.5, 2.0, 5.0, 10.0, 21.0])
def test_gaussian_products(mu: float, x: float) -> None:
    eps = max(mu * mu / 2 + mu * x, 0.0)
    true = gaussian_log_delta(mu, eps)
    assert true > math.log(1e-103)
    assert log_delta([(GaussianTradeoff(mu / 10), 100)], eps) == pytest.approx(true, abs=1e-12)


@pytest.mark.parametrize("mu", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("delta", [0.95, 0.4, 1e-3, 1e-30, 1e-100])
def test_epsilon_of_gaussian_products(mu: float, delta: float) -> None:
    epsilon = ContourEstimate.of([(GaussianTradeoff(mu), 1)]).epsilon(delta).value
    assert epsilon == pytest.approx(gaussian_epsilon(mu, delta), rel=1e-11, abs=1e-13 * mu)


@pytest.mark.parametrize(
    ("p", "mu", "t", "eps"), [(0.025, 2 / 3, 2000, 4.5), (0.5, 2.0, 50, 90.0), (0.1, 0.3, 9999, 2)]
)
def test_against_mpmath(p: float, mu: float, t: int, eps: float) -> None:
    """The same inversion, in 40 digits, on another line, from the densities themselves."""
    with mpmath.workdps(40):
        assert log_delta([(subsampled(p, mu), t)], eps) == pytest.approx(
            float(mpmath_log_delta(p, mu, t, eps)), abs=1e-12
        )


def mpmath_log_delta(p: float, mu: float, t: int, eps: float) -> Any:
    """Of a law with an atom at 0 and densities left and right of it, by Gauss-Legendre."""
    x, w = np.polynomial.legendre.leggauss(60)
    p, mu = mpmath.mpf(p), mpmath.mpf(mu)
    end = mu * mu / 2 + 16 * mu
    masses, losses = [], []
    nodes = [(mpmath.mpf(a), mpmath.mpf(b)) for a, b in _polished(60, x, w)]
    for panel in range(3):
        for a, b in nodes:
            z = end / 3 * (panel + (1 + a) / 2)
            density = mpmath.npdf(z, -mu * mu / 2, mu) * b * end / 6
            loss = mpmath.log(1 - p + p * mpmath.exp(z))
            losses += [loss, -loss]
            masses += [density * mpmath.exp(loss), density]
    atom = 1 - mpmath.fsum(masses)
    mean = t * mpmath.fdot(masses, losses)
    sigma = mpmath.sqrt(2 * mean)
    c = (max(mpmath.mpf(eps) - mean, 0) / sigma + 1) / sigma
    step = 2 * mpmath.pi / (sigma * (24 + 40 / (c * sigma)))
    total, n = mpmath.mpf(0), 0
    while True:
        s = mpmath.mpc(c, n * step)
        moment = atom + mpmath.fdot(masses, [mpmath.exp(s * loss) for loss in losses])
        term = moment**t * mpmath.exp(-s * eps) / (s * (s + 1))
        total += term.real / (2 if n == 0 else 1)
        n += 1
        if abs(term) < abs(total) * mpmath.mpf(10) ** -17:
            return mpmath.log(total * step / mpmath.pi)


def _polished(n: int, x: Any, w: Any) -> list[tuple[Any, Any]]:
    """Gauss-Legendre nodes and weights to the working precision."""
    rule = []
    for node, _ in zip(x, w, strict=True):
        z = mpmath.findroot(lambda v: mpmath.legendre(n, v), mpmath.mpf(float(node)))
        slope = n * (z * mpmath.legendre(n, z) - mpmath.legendre(n - 1, z)) / (z * z - 1)
        rule.append((z, 2 / ((1 - z * z) * slope**2)))
    return rule


# --- whoever takes part is seen ---


def seen(p: float, a: float, s: float, t: int, eps: float) -> float:
    """log delta of T(N(0), (1-p) N(a) + p N(a+s))^t for large s: an average over how often the
    record took part, which is seen, and is a Gaussian each time.
    """
    logs = []
    for k in range(t + 1):
        choose = math.lgamma(t + 1) - math.lgamma(k + 1) - math.lgamma(t - k + 1)
        weight = (t - k) * math.log1p(-p) + k * math.log(p)
        mu = math.sqrt((t - k) * a**2 + k * (a + s) ** 2)
        logs.append(choose + weight + gaussian_log_delta(mu, eps - weight))
    return float(np.logaddexp.reduce(logs))


@pytest.mark.parametrize("s", [20.0, 29.0, 35.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-5])
def test_rare_large_losses_are_not_overlooked(s: float, delta: float) -> None:
    """They are in phase again long before the others: M comes back on the line."""
    p, a, t = 0.02, 0.1, 500
    estimate = estimate_epsilon([(PoissonZeroOut(p, a, s, swapped=True), t)], delta)
    assert estimate is not None
    assert seen(p, a, s, t, estimate.value) == pytest.approx(math.log(delta), abs=1e-9)


@pytest.mark.parametrize("delta", [0.3, 1e-5])
def test_losses_of_many_hundreds_are_served(delta: float) -> None:
    """Under N(0) nobody is seen: a Gaussian, and t times -log(1 - p)."""
    p, a, t = 0.05, 0.1, 500
    estimate = estimate_epsilon([(PoissonZeroOut(p, a, 35.0), t)], delta)
    assert estimate is not None
    expected = gaussian_epsilon(a * math.sqrt(t), delta) - t * math.log1p(-p)
    assert estimate.value == pytest.approx(expected, rel=1e-10)


# --- finite sums -----------------------------------------------------------------------------


def pure_with_gaussian(e: float, k: int, mu: float, eps: float) -> float:
    """log delta of k pure eps-DP mechanisms and one Gaussian: an average over the k answers."""
    low = -math.log1p(math.exp(e))
    logs = []
    for j in range(k + 1):
        choose = math.lgamma(k + 1) - math.lgamma(j + 1) - math.lgamma(k - j + 1)
        loss = (2 * j - k) * e
        inner = eps - loss
        if mu > 0:
            log_inner = gaussian_log_delta(mu, inner)
        else:
            log_inner = math.log(-math.expm1(inner)) if inner < 0 else -math.inf
        logs.append(choose + k * low + j * e + log_inner)
    return float(np.logaddexp.reduce(logs))


@settings(max_examples=150, deadline=None)
@given(
    st.floats(0.01, 3.0),
    st.integers(1, 400),
    st.just(0.0) | st.floats(1e-6, 3.0),
    st.floats(0.0, 12.0),
)  # fmt: skip
def test_pure_mechanisms_and_a_gaussian(e: float, k: int, mu: float, x: float) -> None:
    mean = k * e * math.tanh(e / 2) + mu * mu / 2
    eps = x * math.sqrt(2 * mean)
    true = pure_with_gaussian(e, k, mu, eps)
    estimate = estimate_delta([(ApproxDPTradeoff(e), k), (GaussianTradeoff(mu), 1)], eps)
    if estimate is not None and true > math.log(1e-290):
        assert math.log(estimate.value) == pytest.approx(true, abs=1e-9)


def test_pure_mechanisms_and_a_wide_gaussian_are_not_refused() -> None:
    parts: Parts = [(ApproxDPTradeoff(0.3), 40), (GaussianTradeoff(0.5), 1)]
    for eps in (0.0, 1.0, 5.0, 10.0):
        true = pure_with_gaussian(0.3, 40, 0.5, eps)
        assert log_delta(parts, eps) == pytest.approx(true, abs=1e-11)


# --- the slow reference ----------------------------------------------------------------------

# parts, eps, then the step, the reach and the length of the lattice
REGIMES: dict[str, tuple[Parts, list[float], float, float, float]] = {
    "t = 20": ([(subsampled(0.025, 2 / 3), 20)], [0, 0.3, 1.0], 2e-4, 9, 50),
    "t = 200": ([(subsampled(0.025, 2 / 3), 200)], [0, 1.0, 3.0], 2e-4, 9, 50),
    "t = 2000": ([(subsampled(0.025, 2 / 3), 2000)], [0, 1.0, 4.4, 12.0], 2e-4, 8, 50),
    "t = 10^6": ([(subsampled(0.025, 2 / 3), 10**6)], [230, 350, 512], 5e-4, 9, 900),
    "p = .5, mu = 2": ([(subsampled(0.5, 2.0), 1000)], [740, 1006, 1379], 1e-2, 50, 1500),
    "p = 1e-6": ([(subsampled(1e-6, 2 / 3), 10**6)], [0, 1e-3, 4e-3], 1e-7, 0.02, 0.1),
    "p = 1e-3": ([(subsampled(1e-3, 1.0), 10**4)], [0, 0.25, 0.5], 5e-5, 3, 12),
    "mu = 10": ([(subsampled(0.1, 10.0), 1000)], [4200, 5880, 8000], 5e-2, 300, 18000),
    "Laplace": ([(LaplaceTradeoff(0.1), 1000)], [0, 5, 20], 1e-3, 0.2, 80),
    "Laplace and Gaussian": (
        [(LaplaceTradeoff(0.5), 10), (GaussianTradeoff(1.0), 1)], [0, 3, 8], 1e-3, 14, 60,
    ),
    "heterogeneous": (
        [
            (subsampled(0.025, 2 / 3), 1000),
            (subsampled(0.01, 1.5), 500),
            (LaplaceTradeoff(0.2), 3),
            (GaussianTradeoff(0.3), 2),
        ],
        [0, 2, 6], 4e-4, 12, 60,
    ),
    "mixture": (
        [(Mixture([GaussianTradeoff(0.1), GaussianTradeoff(0.2)]), 50)], [0, 2, 7], 5e-4, 4, 40,
    ),
    # of which the largest loss is a point of the lattice
    "subsampled Laplace": (
        [(LaplaceTradeoff(math.log1p(math.expm1(0.1) / 0.05)).subsample(0.05), 2000)],
        [0, 3, 18], 1e-3, 0.2, 80,
    ),
    "subsampled pure": (
        [
            (ApproxDPTradeoff(math.log1p(math.expm1(0.1) / 0.05)).subsample(0.05), 2000),
            (GaussianTradeoff(1.0), 1),
        ],
        [0, 3, 18], 1e-3, 14, 80,
    ),
    # whose moment generating function all but vanishes, and comes back
    "recurrent": (
        [(LaplaceTradeoff(math.log1p(math.expm1(0.4) / 0.0075)).subsample(0.0075), 305)],
        [0, 3, 5.78], 1.25e-3, 0.42, 90,
    ),
    "two bumps": ([(subsampled(0.1, 8.0), 200)], [700, 1100, 2000], 5e-2, 250, 9000),
    # its profile is noisy, so the lattice must be coarse
    "maximum": (
        [(Maximum([GaussianTradeoff(0.3), ApproxDPTradeoff(1.0)]), 30)], [0, 4, 9], 2e-3, 2, 60,
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", REGIMES)
def test_regimes_against_the_reference(name: str) -> None:
    parts, points, h, reach, length = REGIMES[name]
    for eps in points:
        true, error = reference_log_delta(parts, eps, h, reach, length)
        assert error < 3e-5
        assert log_delta(parts, eps) == pytest.approx(true, abs=NOISE + 3.0 * error)


@pytest.mark.parametrize("f", [ASYMMETRIC, ASYMMETRIC.inverse()])
@pytest.mark.parametrize("eps", [0.0, 2.0, 8.0, 16.0])
def test_three_atoms_and_a_gaussian(f: PiecewiseLinear, eps: float) -> None:
    """An average over the numbers of times that each atom was drawn."""
    k, mu = 30, 0.5
    masses = -np.diff(f.beta)
    losses = np.log(masses / np.diff(f.alpha))
    terms = []
    for i in range(k + 1):
        for j in range(k + 1 - i):
            counts = np.array([i, j, k - i - j])
            choose = math.lgamma(k + 1) - sum(math.lgamma(n + 1) for n in counts.tolist())
            inner = gaussian_log_delta(mu, eps - float(counts @ losses))
            terms.append(choose + float(counts @ np.log(masses)) + inner)
    true = float(np.logaddexp.reduce(terms))
    gaussian = GaussianTradeoff(mu)
    assert log_delta([(f, k), (gaussian, 1)], eps) == pytest.approx(true, abs=1e-11)
    # and from the profile alone
    assert log_delta([(Mixture([f]), k), (gaussian, 1)], eps) == pytest.approx(true, abs=1e-10)


def test_a_regime_against_the_reference() -> None:
    parts: Parts = [(subsampled(0.1, 0.5), 100), (GaussianTradeoff(0.3), 1)]
    true, error = reference_log_delta(parts, 2.0, 2e-3, 5.0, 32.0)
    assert error < 1e-7
    assert log_delta(parts, 2.0) == pytest.approx(true, abs=NOISE + error)


# --- laws of the algebra ---------------------------------------------------------------------


def test_specialised_quadratures_agree_with_the_profile() -> None:
    """A mixture with one component has the same law, known by its profile alone."""
    for f, k, eps in (
        (subsampled(0.025, 2 / 3), 2000, 4.0),
        (LaplaceTradeoff(0.1), 1000, 10.0),
        (subsampled(0.3, 4.0), 300, 900.0),
        (ShiftedSubsampled(0.01, 0.05, 0.3), 1000, 8.0),
        (ShiftedSubsampled(0.3, 0.5, 3.0), 100, 250.0),
        (ShiftedSubsampled(1e-3, 1e-3, 0.05), 10**6, 5.0),
        (PoissonReplaceOne(0.01, 0.0, 1.0), 2000, 4.0),
        (PoissonReplaceOne(0.1, 0.2, 2.0), 300, 250.0),
        (PoissonZeroOut(0.01, 0.0, 1.0), 2000, 2.0),
        (PoissonZeroOut(0.01, 0.0, 1.0, swapped=True), 2000, 2.0),
        (PoissonZeroOut(0.05, 0.1, 2.0), 500, 10.0),
        (PoissonZeroOut(0.05, 0.1, 2.0, swapped=True), 500, 20.0),
    ):
        plain = log_delta([(f, k)], eps)
        assert log_delta([(Mixture([f]), k)], eps) == pytest.approx(plain, abs=1e-10)


def test_failures_are_taken_out() -> None:
    f = subsampled(0.025, 2 / 3)
    plain = ContourEstimate.of([(f, 2000)])
    failing = ContourEstimate.of([(WithFailure(f, 1e-9), 2000)])
    q = -math.expm1(2000 * math.log1p(-1e-9))
    assert failing.delta(4.0).value == pytest.approx(
        q + (1 - q) * plain.delta(4.0).value, rel=1e-12
    )
    assert failing.epsilon(1e-5).value == pytest.approx(
        plain.epsilon((1e-5 - q) / (1 - q)).value, rel=1e-12
    )
    assert failing.epsilon(1e-6).value == math.inf
    assert ContourEstimate.of([(ApproxDPTradeoff(0.0, 0.5), 1)]).delta(1.0).value == 0.5


def test_failures_inside_a_factor() -> None:
    """Subsampling keeps a share p of them."""
    q, p, mu, k = 1e-6, 0.1, 1.0, 200
    inside = WithFailure(GaussianTradeoff(mu), q).subsample(p)
    parts: Parts = [(inside, k), (GaussianTradeoff(0.4), 1)]
    true, error = reference_log_delta(parts, 3.0, 1e-3, 12.0, 64.0)
    assert error < 1e-6
    lost = -math.expm1(k * math.log1p(-p * q))
    total = math.exp(true) + lost  # the lattice leaves infinite losses out
    assert ContourEstimate.of(parts).delta(3.0).value == pytest.approx(total, rel=NOISE + error)


def test_nothing_composed() -> None:
    nothing = ContourEstimate.of([(Identity(), 5), (subsampled(0.1, 1.0), 0)])
    assert nothing.epsilon(1e-9).value == 0.0
    assert nothing.delta(0.0).value == 0.0


def test_from_a_product() -> None:
    product = Product()
    subsampled(0.025, 2 / 3)._join(product, 2000)
    assert ContourEstimate.of(product).epsilon(1e-5).value == pytest.approx(4.438137906, abs=6e-10)


def test_epsilon_inverts_delta() -> None:
    for p, mu, t in ((0.025, 2 / 3, 200), (0.01, 1.0, 10**5), (0.5, 2.0, 100)):
        estimate = ContourEstimate.of([(subsampled(p, mu), t)])
        for delta in (0.6, 0.1, 1e-5, 1e-30):
            epsilon = estimate.epsilon(delta).value
            if epsilon > 0:
                back = estimate.log_delta(epsilon).value
                assert back == pytest.approx(math.log(delta), abs=1e-10)
            else:
                assert estimate.delta(0.0).value <= delta


def test_more_factors_leak_more() -> None:
    values = [
        ContourEstimate.of([(subsampled(0.02, 1.0), t)]).epsilon(1e-6).value
        for t in (300, 301, 600, 10**4, 10**7)
    ]
    assert values == sorted(values)


def test_a_curve_agrees_with_its_points_and_falls() -> None:
    estimate = ContourEstimate.of([(subsampled(0.025, 2 / 3), 2000)])
    eps = np.linspace(0.0, 12.0, 1000)
    curve = np.asarray(estimate.delta(eps).value)
    assert curve.shape == eps.shape
    assert np.all(np.diff(curve) <= 0)
    for i in (0, 1, 333, 700, 999):
        assert curve[i] == pytest.approx(estimate.delta(float(eps[i])).value, rel=1e-10)


def test_log_delta_goes_where_delta_underflows() -> None:
    estimate = ContourEstimate.of([(GaussianTradeoff(1.0), 1)])
    assert estimate.log_delta(60.0).value == pytest.approx(gaussian_log_delta(1.0, 60.0), rel=1e-12)


@pytest.mark.parametrize("bad", [-1.0, 2.0, math.nan])
def test_meaningless_delta(bad: float) -> None:
    with pytest.raises(InvalidInput):
        ContourEstimate.of([(GaussianTradeoff(1.0), 1)]).epsilon(bad)
