"""Poisson sampling: both directions of zero-out, and replace-one."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from shiftdp import InvalidInput
from shiftdp.fdp import (
    GaussianTradeoff,
    PoissonReplaceOne,
    PoissonZeroOut,
    ShiftedSubsampled,
    Subsampled,
)
from shiftdp.fdp.pairs.profiles import sum_up
from tests.fdp import exact
from tests.fdp.mixtures import grid_hockey_stick, line_hockey_stick, sides, threshold_profile

Law = PoissonZeroOut | PoissonReplaceOne

PARAMETERS = [
    (0.01, 0.0, 1.0),
    (0.01, 0.05, 1.0),
    (0.5, 1.0, 2.0),
    (1e-6, 1e-8, 10.0),
    (1e-6, 0.3, 10.0),
    (0.3, 1e-8, 1e-8),
    (0.025, 0.02, 2 / 3),
    (1 - 1e-9, 0.4, 0.7),
    (0.9, 3.0, 0.05),
    (0.2, 6.0, 9.0),
    (0.5, 0.0, 10.0),
]


def laws(p: float, a: float, s: float) -> list[Law]:
    return [PoissonZeroOut(p, a, s), PoissonZeroOut(p, a, s, True), PoissonReplaceOne(p, a, s)]


LAWS = [law for case in PARAMETERS for law in laws(*case)]


def agrees(f: Law, epsilon: float, rel: float) -> None:
    value, true = f.delta(epsilon), exact.delta(f, epsilon)
    assert mpf(value) >= true
    # e^-eps - (1 - p) cancels where delta ends, which 2e-15 allows for
    assert mpf(value) <= true * (1 + mpf(rel)) + mpf("1e-321") + vanishing(f, epsilon)


def vanishing(f: Law, epsilon: float) -> float:
    """What may be lost close to e^eps = 1/(1-p), where delta falls to almost nothing."""
    if isinstance(f, PoissonZeroOut):
        eps = epsilon if not f.swapped else -epsilon
        left = f.p + math.expm1(-max(eps, 0.0))
        if eps > 0.0 and abs(left) < 1e-3 * f.p:
            return 2e-15
    return 0.0


# --- digits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("f", LAWS, ids=str)
def test_delta_in_the_tails(f: Law) -> None:
    for goal in (0.3, 1e-3, 1e-8, 1e-30, 1e-100, 1e-300):
        epsilon = f.epsilon(goal)
        agrees(f, epsilon, 1e-12 if goal >= 1e-8 else 1e-11)
        agrees(f, 0.7 * epsilon, 1e-11)
        agrees(f, -0.1 * min(epsilon, 100.0), 1e-12)
    agrees(f, 0.0, 1e-12)


def random_cases(seed: int, n: int) -> list[tuple[Law, float]]:
    rng = np.random.default_rng(seed)
    cases = []
    for i in range(n):
        p = min(float(10 ** rng.uniform(-7, 0)), 1 - 1e-12)
        p = p if rng.random() < 0.7 else 1.0 - p
        a, s = (float(x) for x in 10 ** rng.uniform(-8, 1.2, 2))
        f = laws(p, a if rng.random() < 0.9 else 0.0, s)[i % 3]
        goal = 10 ** -float(rng.choice([rng.uniform(0, 12), rng.uniform(0, 290)]))
        cases.append((f, f.epsilon(goal) * float(rng.uniform(-0.2, 1.0))))
    return cases


@pytest.mark.parametrize("seed", range(3))
def test_delta_is_never_below_the_truth(seed: int) -> None:
    for f, epsilon in random_cases(seed, 99):
        agrees(f, epsilon, 1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 130))
def test_delta_is_never_below_the_truth_on_thousands_of_points(seed: int) -> None:
    for f, epsilon in random_cases(seed, 99):
        agrees(f, epsilon, 1e-10)


@pytest.mark.parametrize("f", laws(0.1, 0.3, 1.2) + laws(0.7, 0.0, 0.5), ids=str)
@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 0.05, 0.6])
def test_delta_is_the_integral_of_the_positive_part(f: Law, epsilon: float) -> None:
    """mpmath's quadrature of max(dP - gamma dQ, 0), which knows of no threshold."""
    P, Q = sides(f)
    gamma = mpmath.exp(epsilon)

    def integrand(x: object) -> object:
        return max(
            sum(w * mpmath.npdf(x, m) for w, m in P)
            - gamma * sum(w * mpmath.npdf(x, m) for w, m in Q),
            mpf(0),
        )

    with mpmath.workdps(15):
        true = mpmath.quad(integrand, mpmath.linspace(-12, 14, 53))
    assert f.delta(epsilon) == pytest.approx(float(true), rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("f", LAWS, ids=str)
def test_epsilon_is_the_least(f: Law) -> None:
    for goal in (0.01, 1e-5, 1e-12, 1e-60, 1e-290):
        epsilon = f.epsilon(goal)
        assert exact.delta(f, epsilon) <= mpf(goal)
        if epsilon > 0.0:
            assert exact.delta(f, epsilon * (1 - 2e-12) - 4e-15) > mpf(goal)


@pytest.mark.parametrize("f", LAWS, ids=str)
def test_f_is_below_the_truth_and_close(f: Law) -> None:
    for alpha in (1e-300, 1e-20, 1e-6, 0.01, 0.2, 0.5, 0.9, 1 - 1e-6, 1 - 1e-15):
        value, true = f(alpha), exact.beta(f, alpha)
        assert mpf(value) <= true
        assert mpf(value) >= true * (1 - mpf("1e-11")) - mpf("1e-320")


# --- relations ---------------------------------------------------------------------------------

EPSILONS = np.linspace(-4.0, 6.0, 101)


@pytest.mark.parametrize("case", PARAMETERS)
def test_the_two_directions(case: tuple[float, float, float]) -> None:
    f = PoissonZeroOut(*case)
    back = f.inverse()
    assert back == PoissonZeroOut(*case, True)
    assert back.inverse() == f
    assert not f.symmetric
    mirrored = -np.expm1(EPSILONS) + np.exp(EPSILONS) * f.delta(-EPSILONS)
    np.testing.assert_allclose(back.delta(EPSILONS), mirrored, rtol=1e-11, atol=1e-12)
    for alpha in (1e-3, 0.1, 0.5, 0.9):
        assert back(f(alpha)) == pytest.approx(alpha, rel=1e-9)


@pytest.mark.parametrize("case", PARAMETERS)
def test_replace_one_is_symmetric(case: tuple[float, float, float]) -> None:
    f = PoissonReplaceOne(*case)
    assert f.symmetric
    P, Q = sides(f)
    for epsilon in (0.0, 0.01, 0.3, 1.0):
        # x -> -x makes dQ/dP rise
        mirrored = [[(w, -m) for w, m in side] for side in (Q, P)]
        swapped = threshold_profile(*mirrored, epsilon)
        assert float(swapped) == pytest.approx(float(exact.delta(f, epsilon)), rel=1e-12)
    for alpha in (1e-3, 0.1, 0.5):
        assert f(f(alpha)) == pytest.approx(alpha, rel=1e-9)


@pytest.mark.parametrize(("p", "s"), [(0.01, 1.0), (0.3, 0.4), (1e-5, 8.0)])
def test_without_a_shift_it_is_subsampling(p: float, s: float) -> None:
    """T(N(0), (1-p) N(0) + p N(s)) is the f_p of which C_p(G(s)) is made."""
    subsampled = Subsampled(GaussianTradeoff(s), p)
    f = PoissonZeroOut(p, 0.0, s)
    right = EPSILONS[EPSILONS >= 0]
    np.testing.assert_allclose(f.inverse().delta(right), subsampled.delta(right), rtol=1e-11)
    left = EPSILONS[EPSILONS <= 0]
    np.testing.assert_allclose(f.delta(left), subsampled.delta(left), rtol=1e-11)
    np.testing.assert_allclose(f.delta(right), subsampled._backward(right), rtol=1e-9, atol=2e-15)


@pytest.mark.parametrize("case", PARAMETERS)
def test_order_of_the_laws(case: tuple[float, float, float]) -> None:
    """Zero-out meets the hypotheses of Theorem B2, and attains it where eps >= a d / 2; replacing
    a record moves it twice as far as removing it.
    """
    p, a, s = case
    out, back, one = (np.asarray(f.delta(EPSILONS)) for f in laws(p, a, s))
    bound = np.asarray(ShiftedSubsampled(p, a, s).delta(EPSILONS))
    assert np.all(np.maximum(out, back) <= bound * (1 + 1e-11))
    edge = 0.5 * a * sum_up(a, s) * (1 + 1e-14)
    high = edge <= EPSILONS
    np.testing.assert_allclose(back[high], bound[high], rtol=1e-11)
    assert np.all(np.maximum(out, back) <= one * (1 + 1e-11))
    assert np.all(one <= ShiftedSubsampled(p, a, 2 * s).delta(EPSILONS) * (1 + 1e-11))
    for more in ((p + 0.3 * (1 - p), a, s), (p, 1.2 * a + 0.01, s), (p, a, 1.2 * s)):
        for less, f in zip((out, back, one), laws(*more), strict=True):
            assert np.all(less <= f.delta(EPSILONS) * (1 + 1e-11) + 2e-15)


@pytest.mark.parametrize("case", PARAMETERS)
def test_the_profiles_are_convex_in_gamma(case: tuple[float, float, float]) -> None:
    before, after = -np.expm1(-np.diff(EPSILONS)[:-1]), np.expm1(np.diff(EPSILONS)[1:])
    for f in laws(*case):
        delta = np.asarray(f.delta(EPSILONS))
        chord = (delta[:-2] * after + delta[2:] * before) / (before + after)
        assert np.all(delta[1:-1] <= chord * (1 + 1e-11) + 2e-15)


def test_simple_cases() -> None:
    alpha = np.array([0.0, 1e-9, 0.1, 0.5, 0.9, 1.0])
    pairs: list[tuple[Law, float]] = [
        (PoissonZeroOut(1.0, 0.5, 0.7), sum_up(0.5, 0.7)),
        (PoissonZeroOut(0.0, 0.5, 0.7), 0.5),
        (PoissonZeroOut(0.3, 0.5, 0.0, True), 0.5),
        (PoissonReplaceOne(1.0, 0.5, 0.25), 1.0),
        (PoissonReplaceOne(0.0, 0.5, 0.7), 0.5),
        (PoissonReplaceOne(0.3, 0.0, 0.0), 0.0),
    ]
    for f, mu in pairs:
        simple = GaussianTradeoff(mu)
        assert f.symmetric
        assert f.inverse() == f
        np.testing.assert_array_equal(f.delta(EPSILONS), simple.delta(EPSILONS))
        np.testing.assert_array_equal(f(alpha), simple(alpha))
        assert f.epsilon(1e-5) == simple.epsilon(1e-5)


# --- the paper's conjecture ----------------------------------------------------------------------


def test_the_conjecture_of_the_paper_on_the_line() -> None:
    """R(s, 1, p) is the worst of all W, W' within s of 0. [BSA24, Lemma cpgdpinf, footnote]"""
    rng = np.random.default_rng(3)
    for _ in range(200):
        s, p, gamma = rng.uniform(0.1, 2.0), rng.uniform(), math.exp(rng.uniform(-2.0, 3.0))
        w, v = rng.uniform(-s, s, 2)
        P, Q = [(1 - p, 0.0), (p, w)], [(1 - p, 0.0), (p, v)]
        bound = PoissonReplaceOne(p, 0.0, s).delta(math.log(gamma))
        assert line_hockey_stick(P, Q, gamma) <= bound + 1e-12 * (1 + gamma)
        worst = line_hockey_stick([(1 - p, 0.0), (p, s)], [(1 - p, 0.0), (p, -s)], gamma)
        assert worst == pytest.approx(bound, rel=1e-9, abs=1e-13 * (1 + gamma))


def test_the_conjecture_of_the_paper_in_the_plane() -> None:
    rng = np.random.default_rng(4)
    h, origin = 0.05, np.zeros(2)
    for _ in range(40):
        s, p, gamma = rng.uniform(0.3, 2.0), rng.uniform(), math.exp(rng.uniform(-1.0, 1.5))
        angles = rng.uniform(0, 2 * math.pi, 2)
        w, v = (s * np.array([math.cos(t), math.sin(t)]) for t in angles)
        P, Q = [(1 - p, origin), (p, w)], [(1 - p, origin), (p, v)]
        bound = PoissonReplaceOne(p, 0.0, s).delta(math.log(gamma))
        assert grid_hockey_stick(P, Q, gamma, h) <= bound + (1 + gamma) * h * h / 20


def test_with_a_shift_replace_one_is_the_worst_case() -> None:
    """Distances a, a + s, a + s, a + 2s, on the line, both directions."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        a, s = rng.uniform(0.0, 2.0, 2)
        p, gamma = rng.uniform(), math.exp(rng.uniform(-2.0, 3.0))
        u0 = rng.uniform(-a, a)
        v1 = rng.uniform(max(-a - s, u0 - a - s), min(a + s, u0 + a + s))
        u1 = rng.uniform(-a - s, a + s)
        if abs(u1 - v1) > a + 2 * s:
            continue
        P, Q = [(1 - p, u0), (p, u1)], [(1 - p, 0.0), (p, v1)]
        bound = PoissonReplaceOne(p, a, s).delta(math.log(gamma))
        assert line_hockey_stick(P, Q, gamma) <= bound + 1e-12 * (1 + gamma)
        assert line_hockey_stick(Q, P, gamma) <= bound + 1e-12 * (1 + gamma)


@pytest.mark.parametrize(("p", "s"), [(0.01, 1.0), (0.3, 0.4), (0.9, 2.0)])
def test_the_conjecture_improves_on_the_paper(p: float, s: float) -> None:
    paper = Subsampled(GaussianTradeoff(2 * s), p).delta(EPSILONS)
    ours = PoissonReplaceOne(p, 0.0, s).delta(EPSILONS)
    assert np.all(ours <= paper * (1 + 1e-12))
    assert np.any(ours < 0.9 * paper)


# --- how it is called ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [PoissonZeroOut, PoissonReplaceOne])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("p", (-0.1, 1.0, 1.0)),
        ("p", (math.nan, 1.0, 1.0)),
        ("a", (0.5, -1.0, 1.0)),
        ("s", (0.5, 1.0, math.inf)),
    ],
)
def test_arguments_are_checked(
    kind: type[Law], name: str, arguments: tuple[float, float, float]
) -> None:
    with pytest.raises(InvalidInput, match=f"^{name}="):
        kind(*arguments)


def test_swapped_is_a_truth_value() -> None:
    with pytest.raises(InvalidInput, match="swapped=1"):
        PoissonZeroOut(0.5, 1.0, 1.0, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("case", [(0.5, 200.0, 900.0), (1e-300, 1.0, 1.0), (0.5, 0.0, 1e-150)])
def test_extreme_parameters_are_bounds_all_the_same(case: tuple[float, float, float]) -> None:
    epsilon = np.concatenate([[-math.inf, math.inf, 0.0], np.geomspace(1e-200, 1e7, 60)])
    for f in laws(*case):
        delta = np.asarray(f.delta(epsilon))
        assert delta[0] == 1.0
        assert delta[1] == 0.0
        for e, value in zip(epsilon[2:], delta[2:], strict=True):
            assert mpf(value) >= exact.delta(f, e) - mpf("1e-330")
        assert 0.0 <= f(0.5) <= 0.5
        assert f.epsilon(1e-9) >= 0.0
