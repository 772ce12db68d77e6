"""S_p(a, s): Theorem B2 against brute force, and its digits against 50-digit arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mpf

from shiftdp import InvalidInput
from shiftdp.fdp import (
    GaussianTradeoff,
    ShiftedSubsampled,
    Subsampled,
    shifted_subsampled,
)
from shiftdp.fdp.pairs.profiles import sum_up
from tests.fdp import exact
from tests.fdp.mixtures import grid_hockey_stick, line_hockey_stick

CASES = [
    (0.01, 0.05, 1.0),
    (0.5, 1.0, 2.0),
    (1e-6, 1e-8, 10.0),
    (1e-6, 0.3, 10.0),
    (0.3, 1e-8, 1e-8),
    (0.025, 0.02, 2 / 3),
    (1 - 1e-9, 0.4, 0.7),
    (0.9, 3.0, 0.05),
    (0.2, 6.0, 9.0),
    (0.3, 0.0, 1.5),
]


def agrees(f: ShiftedSubsampled, epsilon: float, rel: float) -> None:
    value, true = f.delta(epsilon), exact.delta(f, epsilon)
    assert mpf(value) >= true
    assert mpf(value) <= true * (1 + mpf(rel)) + mpf("1e-321")


# --- digits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("goal", [0.3, 1e-3, 1e-8, 1e-30, 1e-100, 1e-300])
def test_delta_in_the_tails(case: tuple[float, float, float], goal: float) -> None:
    f = ShiftedSubsampled(*case)
    epsilon = f.epsilon(goal)
    agrees(f, epsilon, 1e-12 if goal >= 1e-8 else 1e-11)
    agrees(f, 0.7 * epsilon, 1e-11)
    agrees(f, -0.1 * min(epsilon, 100.0), 1e-12)


@pytest.mark.parametrize("case", CASES)
def test_delta_where_the_regimes_meet(case: tuple[float, float, float]) -> None:
    f = ShiftedSubsampled(*case)
    edge = 0.5 * f.a * (f.a + f.s)
    for epsilon in (edge, math.nextafter(edge, 0.0), math.nextafter(edge, 1e9), edge * (1 + 1e-9)):
        agrees(f, epsilon, 1e-12)


def random_cases(seed: int, n: int) -> list[tuple[ShiftedSubsampled, float]]:
    rng = np.random.default_rng(seed)
    cases = []
    for _ in range(n):
        p = min(float(10 ** rng.uniform(-7, 0)), 1 - 1e-12)
        p = p if rng.random() < 0.7 else 1.0 - p
        f = ShiftedSubsampled(p, *(10 ** rng.uniform(-8, 1.2, 2)))
        goal = 10 ** -float(rng.choice([rng.uniform(0, 12), rng.uniform(0, 290)]))
        epsilon = f.epsilon(goal) if goal > 0 else 0.0
        cases.append((f, epsilon * float(rng.uniform(-0.2, 1.0))))
    return cases


@pytest.mark.parametrize("seed", range(3))
def test_delta_is_never_below_the_truth(seed: int) -> None:
    for f, epsilon in random_cases(seed, 100):
        agrees(f, epsilon, 1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 130))
def test_delta_is_never_below_the_truth_on_thousands_of_points(seed: int) -> None:
    for f, epsilon in random_cases(seed, 100):
        agrees(f, epsilon, 1e-11)


@pytest.mark.parametrize("case", CASES)
def test_an_array_is_its_points(case: tuple[float, float, float]) -> None:
    f = ShiftedSubsampled(*case)
    epsilon = np.linspace(-2.0, 2.0, 41) * f.epsilon(1e-12)
    single = [f.delta(float(e)) for e in epsilon]
    np.testing.assert_allclose(f.delta(epsilon), single, rtol=1e-12)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("goal", [0.01, 1e-5, 1e-12, 1e-60, 1e-290])
def test_epsilon_is_the_least(case: tuple[float, float, float], goal: float) -> None:
    f = ShiftedSubsampled(*case)
    epsilon = f.epsilon(goal)
    assert exact.delta(f, epsilon) <= mpf(goal)
    if epsilon > 0.0:
        assert exact.delta(f, epsilon * (1 - 2e-12)) > mpf(goal)


@pytest.mark.parametrize("case", CASES)
def test_f_is_below_the_truth_and_close(case: tuple[float, float, float]) -> None:
    f = ShiftedSubsampled(*case)
    knee = float(f(0.5))
    for alpha in (1e-300, 1e-20, 1e-6, 0.01, 0.2, 0.5, min(knee, 0.5), 0.9, 1 - 1e-6, 1 - 1e-15):
        value, true = f(alpha), exact.beta(f, alpha)
        assert mpf(value) <= true
        assert mpf(value) >= true * (1 - mpf("1e-11")) - mpf("1e-320")


# --- brute force -------------------------------------------------------------------------------


def test_random_pairs_on_the_line_stay_below_it() -> None:
    """Both directions, gamma < 1 included; the masses are exact to about 1e-14 (1 + gamma)."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        a, s = rng.uniform(0.0, 2.0, 2)
        p, gamma = rng.uniform(), math.exp(rng.uniform(-2.0, 3.0))
        d = a + s
        while True:
            u0 = a * rng.choice([-1.0, 1.0, rng.uniform(-1.0, 1.0)])
            u1, v1 = rng.uniform(-d, d), rng.uniform(-d, d)
            if rng.random() < 0.5:  # at the edge of what is allowed
                u1 = float(rng.choice([-d, d]))
                v1 = u1 - math.copysign(d, u1) * float(rng.choice([1.0, rng.uniform()]))
            if max(abs(u1), abs(v1 - u0), abs(u1 - v1)) <= d + 1e-15:
                break
        P, Q = [(1 - p, u0), (p, u1)], [(1 - p, 0.0), (p, v1)]
        bound = ShiftedSubsampled(p, a, s).delta(math.log(gamma))
        slack = 1e-12 * (1.0 + gamma)
        assert line_hockey_stick(P, Q, gamma) <= bound + slack
        assert line_hockey_stick(Q, P, gamma) <= bound + slack


def test_random_pairs_in_the_plane_stay_below_it() -> None:
    rng = np.random.default_rng(2)
    h = 0.05
    for _ in range(60):
        a, s = rng.uniform(0.1, 1.5, 2)
        p, gamma = rng.uniform(), math.exp(rng.uniform(-1.0, 1.5))
        d = a + s

        def direction() -> np.ndarray:
            angle = rng.uniform(0.0, 2 * math.pi)
            return np.array([math.cos(angle), math.sin(angle)])

        v0, u0 = np.zeros(2), a * direction()
        while True:
            u1, v1 = d * direction(), d * rng.uniform() * direction()
            if np.linalg.norm(u0 - v1) <= d and np.linalg.norm(u1 - v1) <= d:
                break
        P, Q = [(1 - p, u0), (p, u1)], [(1 - p, v0), (p, v1)]
        bound = ShiftedSubsampled(p, a, s).delta(math.log(gamma))
        slack = (1.0 + gamma) * h * h / 20.0
        assert grid_hockey_stick(P, Q, gamma, h) <= bound + slack
        assert grid_hockey_stick(Q, P, gamma, h) <= bound + slack


def test_brute_force_would_notice() -> None:
    """The grid sees the extremal pair within its stated error, so a smaller bound would fail."""
    p, a, s, gamma, h = 0.4, 0.5, 1.0, math.exp(0.8), 0.05
    turn = np.array([0.6, 0.8])
    P, Q = [(1 - p, a * turn), (p, (a + s) * turn)], [(1.0, np.zeros(2))]
    bound = ShiftedSubsampled(p, a, s).delta(0.8)
    assert grid_hockey_stick(P, Q, gamma, h) == pytest.approx(bound, abs=(1 + gamma) * h * h / 20)


@pytest.mark.parametrize("p", [0.01, 0.3, 0.95])
@pytest.mark.parametrize(("a", "s"), [(0.2, 1.0), (1.0, 1.0), (2.0, 0.3)])
def test_it_is_attained(p: float, a: float, s: float) -> None:
    f, d = ShiftedSubsampled(p, a, s), a + s
    edge = 0.5 * a * d
    for epsilon in (edge, 1.1 * edge, edge + 0.5, edge + 2.0):
        attained = line_hockey_stick([(1 - p, a), (p, d)], [(1.0, 0.0)], math.exp(epsilon))
        assert f.delta(epsilon) == pytest.approx(attained, rel=1e-9, abs=1e-14)
    for epsilon in np.linspace(0.0, edge, 5):
        r = 0.5 * s - s * epsilon / (a * d)
        P, Q = [(1 - p, a), (p, a + s - r)], [(1 - p, 0.0), (p, -r)]
        assert max(abs(a + r), abs(a + s - r)) <= d + 1e-12
        attained = line_hockey_stick(P, Q, math.exp(epsilon))
        assert f.delta(epsilon) == pytest.approx(attained, rel=1e-9)


# --- structure ---------------------------------------------------------------------------------

EPSILONS = np.linspace(-4.0, 12.0, 161)


@pytest.mark.parametrize("case", CASES)
def test_more_of_anything_leaks_more(case: tuple[float, float, float]) -> None:
    p, a, s = case
    f = ShiftedSubsampled(p, a, s)
    epsilon = np.linspace(-0.5, 1.0, 61) * f.epsilon(1e-9)
    delta = f.delta(epsilon)
    for more in ((p + 0.3 * (1 - p), a, s), (p, 1.2 * a + 1e-9, s), (p, a, 1.2 * s)):
        above = ShiftedSubsampled(*more).delta(epsilon)
        assert np.all(delta <= above * (1 + 1e-11))
        assert np.any(delta < above * (1 - 1e-9))


@pytest.mark.parametrize("case", CASES)
def test_the_profile_is_convex_in_gamma(case: tuple[float, float, float]) -> None:
    f = ShiftedSubsampled(*case)
    edge = 0.5 * f.a * (f.a + f.s)
    epsilon = np.unique(np.concatenate([EPSILONS, edge + np.linspace(-0.01, 0.01, 21)]))
    delta = np.asarray(f.delta(epsilon))
    before, after = -np.expm1(-np.diff(epsilon)[:-1]), np.expm1(np.diff(epsilon)[1:])
    chord = (delta[:-2] * after + delta[2:] * before) / (before + after)
    assert np.all(delta[1:-1] <= chord * (1 + 1e-11) + 1e-15)


def test_simple_cases() -> None:
    alpha = np.array([0.0, 1e-9, 0.1, 0.5, 0.9, 1.0])
    pairs = [
        (ShiftedSubsampled(1.0, 0.5, 0.7), GaussianTradeoff(sum_up(0.5, 0.7))),
        (ShiftedSubsampled(0.0, 0.5, 0.7), GaussianTradeoff(0.5)),
        (ShiftedSubsampled(0.1, 0.5, 0.0), GaussianTradeoff(0.5)),
        (ShiftedSubsampled(0.1, 0.0, 0.0), GaussianTradeoff(0.0)),
    ]
    for f, simple in pairs:
        np.testing.assert_array_equal(f.delta(EPSILONS), simple.delta(EPSILONS))
        np.testing.assert_array_equal(f(alpha), simple(alpha))
        assert f.epsilon(1e-5) == simple.epsilon(1e-5)
        factory = shifted_subsampled(f.p, f.a, f.s)
        np.testing.assert_array_equal(factory.delta(EPSILONS), simple.delta(EPSILONS))
        assert isinstance(factory, GaussianTradeoff)
    assert shifted_subsampled(0.1, 0.5, 0.7) == ShiftedSubsampled(0.1, 0.5, 0.7)


@pytest.mark.parametrize(("p", "s"), [(0.1, 0.7), (1e-6, 5.0), (0.9, 1.0)])
def test_without_a_shift_it_is_subsampling(p: float, s: float) -> None:
    f, subsampled = ShiftedSubsampled(p, 0.0, s), Subsampled(GaussianTradeoff(s), p)
    assert shifted_subsampled(p, 0.0, s) == subsampled
    np.testing.assert_allclose(f.delta(EPSILONS), subsampled.delta(EPSILONS), rtol=1e-11)
    alpha = np.array([0.0, 1e-9, 0.1, 0.3, 0.5, 0.9, 1 - 1e-9, 1.0])
    np.testing.assert_allclose(f(alpha), subsampled(alpha), rtol=1e-9, atol=1e-13)
    assert f.epsilon(1e-7) == pytest.approx(subsampled.epsilon(1e-7), rel=1e-11)


@pytest.mark.parametrize(("p", "s"), [(0.1, 0.7), (1e-6, 5.0), (0.9, 1.0)])
def test_it_is_continuous_at_the_simple_cases(p: float, s: float) -> None:
    """From the general formula, a hair away from where another one takes over."""
    epsilon = np.linspace(0.1, 2.0, 20)
    near = ShiftedSubsampled(p, 1e-13, s).delta(epsilon)
    np.testing.assert_allclose(near, ShiftedSubsampled(p, 0.0, s).delta(epsilon), rtol=1e-5)
    near = ShiftedSubsampled(1 - 1e-13, 0.5, s).delta(epsilon)
    np.testing.assert_allclose(near, GaussianTradeoff(0.5 + s).delta(epsilon), rtol=1e-9)
    near = ShiftedSubsampled(p, 0.5, 1e-13).delta(epsilon)
    np.testing.assert_allclose(near, GaussianTradeoff(0.5).delta(epsilon), rtol=1e-9)


@pytest.mark.parametrize(("p", "a", "s"), [(0.05, 0.1, 1.0), (0.4, 0.5, 0.5), (0.9, 0.3, 1.5)])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_it_dominates_the_split_of_the_noise(p: float, a: float, s: float, share: float) -> None:
    """S_p(a, s) >= G(alpha a) (x) C_p(G(beta s)), 1/alpha^2 + 1/beta^2 = 1.

    The profile of the product is E[delta_2(eps - L)], L ~ N(mu^2/2, mu^2) the loss of G(mu).
    """
    mu = a / math.sqrt(share)
    other = Subsampled(GaussianTradeoff(s / math.sqrt(1 - share)), p)
    z = np.linspace(-9.0, 9.0, 4001)
    weights = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    f = ShiftedSubsampled(p, a, s)
    for epsilon in (0.0, 0.1, 0.5, 1.0, 2.0, 4.0):
        split = float(np.sum(weights * other.delta(epsilon - (0.5 * mu * mu + mu * z))))
        assert f.delta(epsilon) <= split * (1 + 1e-6)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("p", (-0.1, 1.0, 1.0)),
        ("p", (1.1, 1.0, 1.0)),
        ("a", (0.5, -1.0, 1.0)),
        ("a", (0.5, math.inf, 1.0)),
        ("s", (0.5, 1.0, math.nan)),
        ("s", (0.5, 1.0, math.inf)),
    ],
)
def test_arguments_are_checked(name: str, arguments: tuple[float, float, float]) -> None:
    with pytest.raises(InvalidInput, match=f"^{name}="):
        ShiftedSubsampled(*arguments)


@pytest.mark.parametrize("case", [(0.5, 200.0, 900.0), (1e-300, 1.0, 1.0), (0.5, 1e-200, 1e-150)])
def test_extreme_parameters_are_bounds_all_the_same(case: tuple[float, float, float]) -> None:
    f = ShiftedSubsampled(*case)
    epsilon = np.concatenate([[-math.inf, math.inf, 0.0], np.geomspace(1e-200, 1e7, 60)])
    delta = np.asarray(f.delta(epsilon))
    assert delta[0] == 1.0
    assert delta[1] == 0.0
    for e, value in zip(epsilon[2:], delta[2:], strict=True):
        assert mpf(value) >= exact.delta(f, e) - mpf("1e-330")
    assert 0.0 <= f(0.5) <= 0.5
    assert f.epsilon(1e-9) >= 0.0


def test_the_sum_is_rounded_up() -> None:
    rng = np.random.default_rng(0)
    for a, s in 10 ** rng.uniform(-8, 8, (200, 2)):
        total = sum_up(float(a), float(s))
        assert mpf(total) >= mpf(a) + mpf(s)
        assert total <= (a + s) * (1 + 2.3e-16)
