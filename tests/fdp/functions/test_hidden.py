"""The functions of Theorem B7: edges, monotonicity, exact divergences of small cases."""

from __future__ import annotations

import math
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from shiftdp import InvalidInput
from shiftdp.fdp import (
    GaussianTradeoff,
    HiddenExchange,
    HiddenReplaceOne,
    HiddenZeroOut,
    Mixture,
    PoissonReplaceOne,
    PoissonZeroOut,
    TradeoffFunction,
)
from shiftdp.fdp.composition.composite import Composite
from shiftdp.fdp.functions.hidden import Hidden
from tests.fdp import exact
from tests.fdp.catalogue import log_uniform
from tests.fdp.hidden_laws import Law, atoms, capped_integrand, fixed_point, laws
from tests.fdp.mixtures import grid_hockey_stick

KINDS = (HiddenExchange, HiddenZeroOut, HiddenReplaceOne)
every_kind = pytest.mark.parametrize("kind", KINDS)
EPSILONS = np.concatenate([-np.geomspace(8.0, 1e-6, 12), [0.0], np.geomspace(1e-6, 60.0, 20)])
ALPHAS = np.concatenate([np.geomspace(1e-200, 0.4, 30), 1.0 - np.geomspace(0.5, 1e-15, 20)])
some = laws(log_uniform(1e-3, 9.0), log_uniform(1e-9, 1.0), 5)


# --- edges ---------------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("mu", [0.0, 1e-3, 1.0, 7.0])
def test_one_value_is_a_gaussian(kind: type[Hidden], mu: float) -> None:
    f, g = kind((mu,), (1.0,)), GaussianTradeoff(2.0 * mu if kind is HiddenReplaceOne else mu)
    assert f.gdp_mu == g.mu
    assert f.symmetric
    np.testing.assert_array_equal(f.delta(EPSILONS), g.delta(EPSILONS))
    np.testing.assert_array_equal(f(ALPHAS), g(ALPHAS))
    assert f.epsilon(1e-9) == g.epsilon(1e-9)
    assert f.renyi(3.0) == g.renyi(3.0)
    assert f.implied_mu() == g.mu


@settings(max_examples=15)
@given(log_uniform(1e-6, 0.99), log_uniform(1e-3, 9.0), st.booleans())
def test_a_single_step_is_a_poisson_step(p: float, s: float, swapped: bool) -> None:
    law = (0.0, s), (1.0 - p, p)
    pairs: list[tuple[TradeoffFunction, TradeoffFunction]] = [
        (HiddenZeroOut(*law, swapped=swapped), PoissonZeroOut(p, 0.0, s, swapped)),
        (HiddenReplaceOne(*law), PoissonReplaceOne(p, 0.0, s)),
    ]
    for f, g in pairs:
        np.testing.assert_allclose(f.delta(EPSILONS), g.delta(EPSILONS), rtol=1e-11, atol=4e-15)
        np.testing.assert_allclose(f(ALPHAS), g(ALPHAS), rtol=1e-11, atol=4e-15)
        assert f.epsilon(1e-6) == pytest.approx(g.epsilon(1e-6), rel=1e-12, abs=1e-14)
        assert f.renyi(2.5) == pytest.approx(g.renyi(2.5), rel=1e-11)


@pytest.mark.parametrize(("p", "s"), [(0.01, 1.0), (0.3, 3.0), (1e-4, 6.0)])
def test_an_exchange_in_a_single_step_is_the_sampled_gaussian_in_the_tail(
    p: float, s: float
) -> None:
    """From where the best test of G(s) has a threshold of at least s on."""
    knot = math.log1p(p * math.expm1(0.5 * s * s))
    epsilon = knot + np.geomspace(1e-6, 30.0, 20)
    f, g = HiddenExchange((0.0, s), (1.0 - p, p)), GaussianTradeoff(s).subsample(p)
    np.testing.assert_allclose(f.delta(epsilon), g.delta(epsilon), rtol=1e-10)
    assert np.all(np.asarray(f.delta(EPSILONS)) >= np.asarray(g.delta(EPSILONS)) * (1 - 1e-11))


@every_kind
def test_what_is_added_at_zero_makes_it_more_private(kind: type[Hidden]) -> None:
    without, diluted = kind((1.0, 2.0), (0.5, 0.5)), kind((0.0, 1.0, 2.0), (0.9, 0.05, 0.05))
    positive = EPSILONS[(EPSILONS > 0.0) & (EPSILONS < 30.0)]
    assert np.all(np.asarray(diluted.delta(positive)) < np.asarray(without.delta(positive)))


@every_kind
def test_weights_that_are_off_by_rounding_lose_nothing_above_the_first(kind: type[Hidden]) -> None:
    rounded = kind((0.5, 1.0, 3.0), (0.3 + 3e-13, 0.6, 0.1))
    plain = kind((0.5, 1.0, 3.0), (0.3, 0.6, 0.1))
    assert rounded.epsilon(1e-6) == plain.epsilon(1e-6)


# --- more is worse -------------------------------------------------------------------------------


def moved_up(law: Law, shares: list[float], by: list[float]) -> Law:
    """A part of the mass of each value is moved to a larger one."""
    values: dict[float, float] = {}
    for m, w, share, step in zip(*law, shares, by, strict=False):
        values[m] = values.get(m, 0.0) + w * (1.0 - share)
        values[m + step] = values.get(m + step, 0.0) + w * share
    kept = sorted((m, w) for m, w in values.items() if w > 0.0)
    return tuple(m for m, _ in kept), tuple(w for _, w in kept)


@every_kind
@settings(max_examples=15)
@given(
    law=some,
    shares=st.lists(st.floats(0.0, 1.0), min_size=6, max_size=6),
    by=st.lists(log_uniform(1e-6, 3.0), min_size=6, max_size=6),
)
def test_a_stochastically_larger_law_never_leaks_less(
    kind: type[Hidden], law: Law, shares: list[float], by: list[float]
) -> None:
    small, large = kind(*law), kind(*moved_up(law, shares, by))
    if kind is HiddenExchange and (small.gdp_mu is None) != (large.gdp_mu is None):
        return  # one value has the revealed bound
    for f, g in ((small, large), (small.inverse(), large.inverse())):
        assert np.all(
            np.asarray(f.delta(EPSILONS)) <= np.asarray(g.delta(EPSILONS)) * (1 + 1e-11) + 4e-15
        )
        assert f.epsilon(1e-8) <= g.epsilon(1e-8) * (1 + 1e-11) + 1e-13


@every_kind
@settings(max_examples=10)
@given(law=some, factor=st.floats(0.9, 1.0))
def test_deflated_means_leak_less(kind: type[Hidden], law: Law, factor: float) -> None:
    f = kind(*law)
    g = f._deflated(factor)
    assert np.all(np.asarray(g.delta(EPSILONS)) <= np.asarray(f.delta(EPSILONS)) * (1 + 1e-11))


def test_deflated_values_that_become_equal_are_taken_together() -> None:
    close = HiddenZeroOut((1.0, math.nextafter(1.0, 2.0)), (0.5, 0.5))
    assert close._deflated(0.3) in (
        HiddenZeroOut((0.3,), (1.0,)), HiddenZeroOut((0.3, math.nextafter(0.3, 1.0)), (0.5, 0.5))
    )  # fmt: skip


# --- what it has to bound ------------------------------------------------------------------------


@settings(max_examples=10)
@given(some)
def test_the_revealed_bound_of_a_zero_out_is_larger(law: Law) -> None:
    """Hiding the pattern only helps: the hockey-stick divergence is jointly convex."""
    revealed = Mixture([GaussianTradeoff(m) for m in law[0]], law[1])
    for swapped in (False, True):
        hidden = np.asarray(HiddenZeroOut(*law, swapped=swapped).delta(EPSILONS))
        assert np.all(hidden <= np.asarray(revealed.delta(EPSILONS)) * (1 + 1e-9) + 1e-300)


@settings(max_examples=10)
@given(some)
def test_an_exchange_leaks_at_least_what_a_zero_out_does(law: Law) -> None:
    """The record may be exchanged against one that does nothing."""
    exchange = np.asarray(HiddenExchange(*law).delta(EPSILONS))
    for swapped in (False, True):
        there = np.asarray(HiddenZeroOut(*law, swapped=swapped).delta(EPSILONS))
        assert np.all(there <= exchange * (1 + 1e-11) + 4e-15)


def last_iterates(
    p: float, s: float, c: float, t: int, first: np.ndarray, second: np.ndarray
) -> tuple[list[tuple[float, np.ndarray]], list[tuple[float, np.ndarray]], Law]:
    """The exact laws of X_t and X'_t of a linear walk in the plane, and the law of mu(V).

    Where the record takes part, step k moves the one by s first_k and the other by s second_k,
    vectors of length at most 1 that are at most 1 apart; otherwise neither moves. The noise is
    standard normal in each step, so both are mixtures over all patterns.
    """
    w = c ** np.arange(t - 1.0, -1.0, -1.0)
    scale = math.sqrt(float((w * w).sum()))
    P, Q, law = [], [], dict[float, float]()
    for pattern in product((0, 1), repeat=t):
        v = np.array(pattern, dtype=float)
        chance = float(np.prod(np.where(v > 0.0, p, 1.0 - p)))
        P.append((chance, (w * v) @ first * s / scale))
        Q.append((chance, (w * v) @ second * s / scale))
        mu = least_energy(w, w * s * v)
        law[mu] = law.get(mu, 0.0) + chance
    values = sorted(law.items())
    return P, Q, (tuple(m for m, _ in values), tuple(x for _, x in values))


def least_energy(w: np.ndarray, jumps: np.ndarray) -> float:
    """mu of Theorem B1: the energy of the least concave majorant, in order of age."""
    clock = np.append(0.0, np.cumsum((w * w)[::-1]))
    height = np.append(0.0, np.cumsum(jumps[::-1]))
    energy, at = 0.0, 0
    while at < clock.size - 1:
        slopes = (height[at + 1 :] - height[at]) / (clock[at + 1 :] - clock[at])
        step = at + 1 + int(np.flatnonzero(slopes >= slopes.max() * (1 - 1e-12))[-1])
        energy += (height[step] - height[at]) ** 2 / (clock[step] - clock[at])
        at = step
    return math.sqrt(energy) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_an_exchange_bounds_exact_laws_in_the_plane(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, s, c = rng.uniform(0.05, 0.6), rng.uniform(0.5, 3.0), rng.uniform(0.6, 1.0)
    t = int(rng.integers(1, 5))
    angle, apart = rng.uniform(0.0, 2.0 * math.pi, t), rng.uniform(-1.0, 1.0, t) * math.pi / 3.0
    first = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    second = np.stack([np.cos(angle + apart), np.sin(angle + apart)], axis=1)
    P, Q, law = last_iterates(p, s, c, t, first, second * rng.uniform(0.5, 1.0))
    f, h = HiddenExchange(*law), 0.05
    for gamma in (1.0, 1.3, 2.0, 4.0):
        room = (1.0 + gamma) * h * h / 20.0
        bound = f.delta(math.log(gamma)) + room
        assert grid_hockey_stick(P, Q, gamma, h) <= bound
        assert grid_hockey_stick(Q, P, gamma, h) <= bound


def test_an_exchange_against_nothing_attains_its_bound_in_the_tail() -> None:
    """All steps in one direction and equal weights: nothing is lost but by the concave majorant."""
    P, Q, law = last_iterates(0.2, 2.0, 1.0, 1, np.array([[1.0, 0.0]]), np.zeros((1, 2)))
    value = grid_hockey_stick(P, Q, 3.0, 0.02)
    assert value == pytest.approx(HiddenExchange(*law).delta(math.log(3.0)), rel=1e-3)


# --- the fixed point -----------------------------------------------------------------------------


@settings(max_examples=15)
@given(some)
def test_the_fixed_point_is_on_the_safe_side(law: Law) -> None:
    f = HiddenExchange(*law)
    if f.gdp_mu is not None:
        return
    x, knot = f._fixed
    with mpmath.workdps(60):
        true = fixed_point(atoms(f))
        assert mpf(x) >= true
        assert mpf(x) <= true * (1 + mpf("1e-11"))
        assert knot == pytest.approx(float(mpmath.log(capped_integrand(atoms(f), true))), rel=1e-9)


@settings(max_examples=15)
@given(some)
def test_the_curve_of_an_exchange_passes_through_its_fixed_point(law: Law) -> None:
    f = HiddenExchange(*law)
    a = 0.5 * (1.0 - f.advantage())
    assert f(a) == pytest.approx(a, rel=1e-9, abs=1e-13)
    assert f.delta(0.0) <= 1.0


def test_an_exchange_with_large_means_stays_a_tradeoff_function() -> None:
    """There the integral of the theorem is far above 1 at eps = 0."""
    f = HiddenExchange((5.0, 9.0), (0.4, 0.6))
    delta = np.asarray(f.delta(EPSILONS))
    assert np.all((delta >= 0.0) & (delta <= 1.0))
    assert f.advantage() == pytest.approx(1.0, abs=1e-6)
    assert f.advantage() < 1.0
    assert f(0.5) > 0.0


# --- how it is called ----------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize(
    ("name", "mu", "weight"),
    [
        ("mu", (-1.0, 1.0), (0.5, 0.5)),
        ("mu", (1.0, 1.0), (0.5, 0.5)),
        ("mu", (2.0, 1.0), (0.5, 0.5)),
        ("mu", (1.0, math.inf), (0.5, 0.5)),
        ("mu", (1.0, 1e151), (0.5, 0.5)),
        ("mu", (1.0, math.nan), (0.5, 0.5)),
        ("mu", (), ()),
        ("mu", ((1.0, 2.0),), (0.5, 0.5)),
        ("mu", "12", (0.5, 0.5)),
        ("weight", (1.0, 2.0), (1.0,)),
        ("weight", (1.0, 2.0), (0.0, 1.0)),
        ("weight", (1.0, 2.0), (0.5, 0.6)),
        ("weight", (1.0, 2.0), (0.5, 0.5 - 1e-11)),
        ("weight", (1.0, 2.0), (-0.5, 1.5)),
    ],
)
def test_arguments_are_checked(kind: type[Hidden], name: str, mu: Law, weight: Law) -> None:
    with pytest.raises(InvalidInput, match=f"^{name}="):
        kind(mu, weight)  # type: ignore[arg-type]


def test_swapped_is_a_truth_value() -> None:
    with pytest.raises(InvalidInput, match="swapped=1"):
        HiddenZeroOut((1.0,), (1.0,), 1)  # type: ignore[arg-type]


@every_kind
def test_lists_and_arrays_make_the_same_function(kind: type[Hidden]) -> None:
    f = kind((0, 1.5), (0.75, 0.25))
    assert f == kind(np.array([0.0, 1.5]), [0.75, 0.25])  # type: ignore[arg-type]
    assert hash(f) == hash(kind([0.0, 1.5], (0.75, 0.25)))  # type: ignore[arg-type]
    assert f.mu == (0.0, 1.5)


def test_the_directions_of_a_zero_out_are_told_apart() -> None:
    f = HiddenZeroOut((0.0, 1.0, 2.0), (0.8, 0.15, 0.05))
    assert f.worse_direction().directions == (f.inverse(), f)
    assert f._record_first is True
    assert f.inverse()._record_first is False
    worse = f.worse_direction()
    assert worse.epsilon(1e-5) == max(f.epsilon(1e-5), f.inverse().epsilon(1e-5))


@every_kind
def test_laws_of_some_hundred_values(kind: type[Hidden]) -> None:
    """Up to 1e4, with rare values at the end."""
    mu = np.append(np.linspace(0.0, 6.0, 297), [50.0, 500.0, 1e4])
    weight = np.append(np.exp(-mu[:-3]), [1e-14] * 3)
    f = kind(tuple(mu), tuple(weight / weight.sum()))
    for delta in (1e-5, 1e-9, 1e-12):
        epsilon = f.epsilon(delta)
        assert f.delta(epsilon) <= delta < f.delta(epsilon * (1 - 1e-10))
    beta = np.asarray(f(ALPHAS))
    assert np.all(np.diff(beta) <= 1e-13)
    assert math.isfinite(f.implied_mu())
    assert f.renyi(1.01) >= 0.0


EXTREME = {
    "tiny": ((0.0, 1e-300, 1e-120), (0.5, 0.25, 0.25)),
    "neighbours": ((1.0, math.nextafter(1.0, 2.0)), (0.5, 0.5)),
    "rare": ((0.0, 1.0, 2.0), (1.0 - 1e-12, 1e-12, 1e-300)),
    "large": ((200.0, 900.0), (0.5, 0.5)),
    "far apart": ((0.0, 1e6), (1.0 - 1e-14, 1e-14)),
    "huge": ((1e-3, 1e150), (0.5, 0.5)),
}


@every_kind
@pytest.mark.parametrize("name", EXTREME)
@pytest.mark.filterwarnings("error")
def test_extreme_laws_are_bounds_all_the_same(kind: type[Hidden], name: str) -> None:
    epsilon = np.concatenate([[-math.inf, math.inf, -5.0, 0.0], np.geomspace(1e-300, 1e8, 20)])
    one = kind(*EXTREME[name])
    for f in {one, one.inverse()}:
        delta = np.asarray(f.delta(epsilon))
        assert delta[:2].tolist() == [1.0, 0.0]
        if name not in ("tiny", "far apart", "huge"):
            for e, value in zip(epsilon[2:].tolist(), delta[2:].tolist(), strict=True):
                assert mpf(value) >= exact.delta(f, e) - mpf("1e-330")
        assert np.all(np.asarray(f([0.0, 1e-300, 0.5, 1.0])) <= [1.0, 1.0, 0.5, 0.0])
        assert f.epsilon(0.0) >= f.epsilon(1e-300) >= f.epsilon(1e-9) >= f.epsilon(0.5) >= 0.0
        assert 0.0 < f.renyi(1.5) <= f.renyi(1e3) <= f.renyi(1e100)


def test_near_its_largest_loss_a_zero_out_keeps_its_digits() -> None:
    """Without the record the loss is at most log(1/w_0): delta falls from 1e-7 to 0 within 1e-9."""
    f = HiddenZeroOut((0.0, 4.5, 40.0, 400.0), (2e-7, 0.06, 1e-8, 0.94 - 2e-7 - 1e-8))
    delta = 3e-13
    epsilon, below = f.epsilon(delta), f.epsilon_below(delta)
    assert epsilon < -math.log(2e-7)
    assert exact.delta(f, below) >= delta >= exact.delta(f, epsilon)


@every_kind
def test_a_product_has_a_narrow_interval(kind: type[Hidden]) -> None:
    f = kind((0.0, 0.5, 1.0, 2.0), (0.5, 0.3, 0.19, 0.01))
    low, high = Composite(((f, 3),)).epsilon_interval(1e-6)
    assert high - low <= 1e-3
    assert f.epsilon(1e-6) < low
    revealed = GaussianTradeoff(f._gaussian_below()[0]).power(3)
    assert high < revealed.epsilon(1e-6)


def test_exact_values_are_those_of_the_definition() -> None:
    """A reference that shares nothing: delta of a zero-out by the definition, in 60 digits."""
    f = HiddenZeroOut((0.25, 1.0, 4.0), (0.6, 0.3, 0.1), swapped=True)
    for epsilon in (0.0, 0.5, 3.0, 12.0):
        assert f.delta(epsilon) == pytest.approx(float(exact.delta(f, epsilon)), rel=1e-13)
