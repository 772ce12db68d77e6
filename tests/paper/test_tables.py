"""Every entry of the paper's tables about NoisyGD, NoisyCGD and composition, to its last digit."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
import scipy.optimize
import scipy.special

from shiftdp.interpolation.closed_forms.cyclic_descent import mgd, mgd_proj, mgd_sc
from shiftdp.interpolation.closed_forms.gradient_descent import gd, gd_proj, gd_sc
from shiftdp.interpolation.closed_forms.langevin import pure_threshold
from shiftdp.interpolation.closed_forms.renyi_baseline import renyi_cyclic, renyi_full_batch
from shiftdp.interpolation.closed_forms.thresholds import gd_proj_crossing, mgd_proj_crossing

PUBLISHED: dict[str, Any] = json.loads(
    files("shiftdp.ui.reproduce").joinpath("published.json").read_text(encoding="utf-8")
)
DELTA = 1e-5
MNIST = PUBLISHED["mnist_setting"]
BATCHES = MNIST["n"] // MNIST["batch"]
EFFECTIVE = MNIST["L"] / MNIST["batch"], MNIST["sigma"]  # s and sd, both over eta


def shown(value: float, digits: int) -> float:
    return round(value, digits)


def gaussian_epsilon(mu: float) -> float:
    """delta(eps) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), inverted."""

    def excess(eps: float) -> float:
        tail = math.exp(eps + float(scipy.special.log_ndtr(-mu / 2 - eps / mu)))
        return float(scipy.special.ndtr(mu / 2 - eps / mu)) - tail - DELTA

    return float(scipy.optimize.brentq(excess, 0.0, 500.0, xtol=1e-12))


def least(formula: Callable[[float], float]) -> float:
    """The least value over alpha > 1 of a conversion."""
    found = scipy.optimize.minimize_scalar(
        lambda u: formula(1.0 + math.exp(u)), bounds=(-7.0, 7.0), method="bounded"
    )
    return float(found.fun)


def renyi_epsilon(rho: float) -> float:
    """The least of the four conversions that the paper takes for (alpha, rho alpha)-RDP."""

    def mironov(alpha: float) -> float:
        return rho * alpha - math.log(DELTA) / (alpha - 1)

    def balle(alpha: float) -> float:
        return (
            rho * alpha + math.log1p(-1 / alpha) - (math.log(DELTA) + math.log(alpha)) / (alpha - 1)
        )

    def asoodeh(alpha: float) -> float:
        moment = (alpha - 1) * rho * alpha
        if moment > 600:
            return math.inf
        return math.log1p(math.expm1(moment) / (alpha * DELTA)) / (alpha - 1)

    def bun_steinke(eps: float) -> float:
        x = 1 + (eps - rho) / (2 * rho)
        factors = (
            1.0,
            math.sqrt(math.pi * rho),
            1 / x,
            2 / (x + math.sqrt(x * x + 4 / (math.pi * rho))),
        )
        return math.exp(-((eps - rho) ** 2) / (4 * rho)) * min(factors) - DELTA

    concentrated = float(scipy.optimize.brentq(bun_steinke, rho, 1000.0, xtol=1e-12))
    return min(least(mironov), least(balle), least(asoodeh), concentrated)


@pytest.mark.parametrize("i", range(3))
def test_mnist(i: int) -> None:
    s, sd = EFFECTIVE
    epochs = MNIST["epochs"][i]
    composed = mgd(s, sd, epochs)
    assert shown(composed, 2) == PUBLISHED["mnist_mu"]["composition_cgd"][i]
    assert shown(gaussian_epsilon(composed), 2) == PUBLISHED["mnist_epsilon"]["composition_cgd"][i]
    for ridge in MNIST["lambda"]:
        c = 1 - MNIST["eta"] * ridge
        mu, rho = mgd_sc(c, s, sd, BATCHES, epochs), renyi_cyclic(c, s, sd, BATCHES, epochs)
        assert shown(mu, 2) == PUBLISHED["mnist_mu"][f"ours_cgd_{ridge}"][i]
        assert shown(gaussian_epsilon(mu), 2) == PUBLISHED["mnist_epsilon"][f"ours_cgd_{ridge}"][i]
        assert shown(renyi_epsilon(rho), 2) == PUBLISHED["mnist_epsilon"][f"rdp_cgd_{ridge}"][i]


def test_gd_strongly_convex() -> None:
    table = PUBLISHED["gd_strongly_convex_mu"]
    s = table["effective_sensitivity"]
    for i, t in enumerate(table["steps"]):
        assert shown(gd(s, 1.0, t), 3) == table["composition"][i]
        assert [shown(gd_sc(c, s, 1.0, t), 3) for c in table["c"]] == table["ours"][i]


def test_gd_constrained() -> None:
    table = PUBLISHED["gd_constrained"]
    D, sigma = table["D"], table["sigma"]
    for (i, r), (j, eta) in itertools.product(
        enumerate(table["L_over_n"]), enumerate(table["eta"])
    ):
        t_star, mu_star = table["t_star_mu_star"][i][j]
        assert gd_proj_crossing(D, r, eta) == t_star
        assert shown(gd_proj(eta * r, eta * sigma, D, t_star), 3) == mu_star


def test_cgd_strongly_convex() -> None:
    table = PUBLISHED["cgd_strongly_convex_mu"]
    s = table["effective_sensitivity"]
    for i, epochs in enumerate(table["epochs"]):
        assert shown(mgd(s, 1.0, epochs), 3) == table["composition"][i]
        for j, batches in enumerate(table["l"]):
            ours = [shown(mgd_sc(c, s, 1.0, batches, epochs), 3) for c in table["c"]]
            assert ours == table["ours"][i][j]


@pytest.mark.parametrize("batches", [10, 20, 40])
def test_cgd_constrained(batches: int) -> None:
    """mu* is right. The printed E* is ceil((R/l)(3 + (L/b)^2)), R = D b/(eta L): a product where
    mu*^2 = (L/(b sigma))^2 (1 + (3R + ceil R)/l) has a sum. The first epoch at which composition
    reaches mu* is ceil(1 + (3R + ceil R)/l); Theorem B1 from the start reaches it at 1 + 4R only.
    """
    table = PUBLISHED["cgd_constrained"]
    D, sigma = table["D"], table["sigma"]
    for (i, r), (j, eta) in itertools.product(
        enumerate(table["L_over_b"]), enumerate(table["eta"])
    ):
        printed, mu_star = table["by_l"][str(batches)][i][j]
        found = mgd_proj_crossing(D, r, eta, batches)
        assert found.printed == printed
        assert found.composition == table["corrected_E_star"][str(batches)][i][j]
        assert found.from_the_start == 1 + 4 * found.closed_form
        s, sd = eta * r, eta * sigma
        level = mgd_proj(s, sd, D, batches, found.closed_form)
        assert shown(level, 3) == mu_star
        assert mgd(s, sd, found.composition) >= level * (1 - 1e-12)
        assert mgd(s, sd, found.composition - 1) < level
        assert mgd_sc(1.0, s, sd, batches, found.from_the_start) >= level * (1 - 1e-12)
        assert mgd_sc(1.0, s, sd, batches, found.from_the_start - 1) < level
        # The closed form itself does not yet apply at any of these epochs.
        assert found.composition < found.closed_form


def test_figure_1_orders_the_bounds() -> None:
    setting = PUBLISHED["figure_1"]
    s, eta, m = setting["effective_sensitivity"], setting["eta"], setting["m"]
    c = 1 - eta * m
    for t in setting["steps"]:
        mu = gd_sc(c, s, 1.0, t)
        rho = renyi_full_batch(c, s, 1.0, t, learning_rate=eta, strong_convexity=m)
        assert gaussian_epsilon(mu) < renyi_epsilon(mu * mu / 2) < renyi_epsilon(rho)
        assert gaussian_epsilon(mu) < gaussian_epsilon(gd(s, 1.0, t))


def test_exponential_mechanism_threshold() -> None:
    assert shown(pure_threshold(), 3) == PUBLISHED["exponential_mechanism_threshold_LD"]
