"""Hidden mixtures: against closed forms for Gaussian parts, and finite pairs of measures."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import shiftdp as sdp
from shiftdp.fdp import GaussianTradeoff, HiddenExchange, HiddenZeroOut, Mixture, TradeoffFunction
from shiftdp.fdp.composition.hidden_mixture import HiddenMixture

MU, WEIGHT = (0.0, 0.5, 1.0, 2.0), (0.7, 0.2, 0.09, 0.01)
PARTS = tuple(map(GaussianTradeoff, MU))
EPSILON = (0.2, 0.5, 1.0, 2.0, 4.0)


def test_a_shared_measure_gives_the_mixture_of_gaussians() -> None:
    f, exact = HiddenMixture(PARTS, WEIGHT, "second"), HiddenZeroOut(MU, WEIGHT)
    for g, h in ((f, exact), (f.inverse(), exact.inverse())):
        for epsilon in EPSILON:
            assert h.delta(epsilon) <= g.delta(epsilon) <= 1.01 * h.delta(epsilon) + 1e-12
        assert h.epsilon(1e-5) <= g.epsilon(1e-5) <= 1.002 * h.epsilon(1e-5)
    assert f.inverse().inverse() == f
    assert not f.symmetric


def test_neither_shared_is_what_theorem_b7_integrates() -> None:
    """Theorem B7 takes the maximum over all smaller values, this one over those that occur."""
    f, exact = HiddenMixture(PARTS, WEIGHT, "neither"), HiddenExchange(MU, WEIGHT)
    for epsilon in EPSILON:
        assert f.delta(epsilon) == pytest.approx(exact.delta(epsilon), rel=0.01)
    assert f.epsilon(1e-5) == pytest.approx(exact.epsilon(1e-5), rel=2e-3)
    assert f.inverse() is f


def test_told_is_the_mean() -> None:
    f, exact = HiddenMixture(PARTS, WEIGHT, "told"), Mixture(PARTS, WEIGHT)
    for epsilon in EPSILON:
        assert exact.delta(epsilon) <= f.delta(epsilon) <= 1.01 * exact.delta(epsilon)
    for shared in ("neither", "second"):
        hidden = HiddenMixture(PARTS, WEIGHT, shared)
        assert hidden.epsilon(1e-5) <= f.epsilon(1e-5)


def test_products_and_single_steps_are_parts_like_any_other() -> None:
    step = sdp.GaussianTradeoff(1.0).subsample(0.05)
    parts: list[TradeoffFunction] = [step.power(20), step.power(20).compose(GaussianTradeoff(1.0))]
    f = HiddenMixture(parts, (0.999, 0.001), "neither")
    assert parts[0].epsilon(1e-5) <= f.epsilon(1e-5) <= parts[1].epsilon(1e-5)
    assert f == HiddenMixture(parts, (0.999, 0.001), "neither")
    assert TradeoffFunction.from_dict(f.to_dict()) == f


def test_it_answers_everything_and_consistently() -> None:
    for shared in ("first", "second", "neither", "told"):
        f = HiddenMixture(PARTS, WEIGHT, shared)
        delta = f.delta(0.2)
        assert f.epsilon(delta) == pytest.approx(0.2, rel=1e-6)
        alpha = np.linspace(0.0, 1.0, 41)
        beta = f(alpha)
        assert np.all(np.diff(beta) <= 0.0)
        assert np.all(beta <= 1.0 - alpha)
        assert np.all(1.0 - beta - math.exp(0.2) * alpha <= delta + 1e-12)
        assert math.isfinite(f.renyi(2.0))
        assert f.implied_mu() == 2.0
        assert 0.0 <= f.epsilon_below(1e-5) <= f.epsilon(1e-5)


@pytest.mark.parametrize(
    ("weights", "shared"), [((0.5, 0.6), "first"), ((1.0,), "first"), ((0.5, 0.5), "both")]
)
def test_bad_input(weights: Any, shared: Any) -> None:
    with pytest.raises(sdp.InvalidInput):
        HiddenMixture(PARTS[:2], weights, shared)


def test_parts_that_are_not_symmetric_need_a_shared_side() -> None:
    step = sdp.fdp.PoissonZeroOut(0.1, 0.0, 1.0)
    with pytest.raises(sdp.InvalidInput, match="symmetric"):
        HiddenMixture([step, step], (0.5, 0.5), "neither")


# --- the theorem itself, on pairs of measures that can be listed ---


def exact(p: np.ndarray, q: np.ndarray, gamma: float) -> float:
    return float(max(np.maximum(p - gamma * q, 0).sum(), np.maximum(q - gamma * p, 0).sum()))


def test_no_ordered_family_of_gaussian_pairs_leaks_more() -> None:
    """P_v = N(m_v), Q_v = N(-n_v) for v in {0, 1}^2, with means such that T(P_v, Q_v') >= f_v."""
    rng = np.random.default_rng(5)
    x = np.linspace(-12.0, 12.0, 4001)
    width = x[1] - x[0]
    for _ in range(25):
        u, share = rng.uniform(0.1, 2.0, 2), float(rng.choice([0.0, 0.5, 1.0]))
        chance = rng.uniform(0.02, 0.6, 2)
        patterns = list(itertools.product((0, 1), repeat=2))
        moved = np.array([float(np.dot(u, v)) for v in patterns])
        weight = np.array(
            [math.prod(c if i else 1 - c for c, i in zip(chance, v, strict=True)) for v in patterns]
        )
        density = [
            np.exp(-0.5 * (x[:, None] - m) ** 2) @ weight
            for m in (share * moved, (share - 1) * moved)
        ]
        p, q = (d * width / math.sqrt(2 * math.pi) for d in density)
        order = np.argsort(moved)
        f = HiddenMixture(
            [GaussianTradeoff(float(m)) for m in moved[order]],
            tuple(weight[order].tolist()),
            "neither",
        )
        for epsilon in (0.0, 0.3, 1.0, 2.5):
            assert exact(p, q, math.exp(epsilon)) <= f.delta(epsilon) + 1e-9


def test_no_law_of_gaussian_parts_leaks_more_than_stated() -> None:
    """From parts that reveal nothing to parts that reveal all: slopes of masses near 0 count."""
    rng = np.random.default_rng(7)
    for _ in range(12):
        mu = np.sort(np.append(rng.choice([0.0, 0.01]), 10.0 ** rng.uniform(-3, 1.2, 3)))
        weight = rng.dirichlet(10.0 ** rng.uniform(-3, 1, 4) + 1e-3)
        weight = np.maximum(weight, 1e-9) / np.maximum(weight, 1e-9).sum()
        law = tuple(mu.tolist()), tuple(weight.tolist())
        f = HiddenMixture(map(GaussianTradeoff, mu.tolist()), law[1], "second")
        exact = HiddenZeroOut(*law)
        for g, h in ((f, exact), (f.inverse(), exact.inverse())):
            for epsilon in (0.0, 0.01, 0.3, 2.0, 10.0):
                assert g.delta(epsilon) >= h.delta(epsilon) * (1.0 - 1e-9)
