"""Figures 1, 2 and 4 [fig:fdp-opt, fdp-intro, optproof]: what is gained, what f-DP means, and that
one step of NoisySGD cannot be bounded better.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from shiftdp._checks import Array
from shiftdp.fdp import GaussianTradeoff, LaplaceTradeoff, zcdp_epsilon
from shiftdp.fdp.comparison import dominates
from shiftdp.interpolation.closed_forms.gradient_descent import gd, gd_sc
from shiftdp.interpolation.closed_forms.renyi_baseline import renyi_full_batch
from shiftdp.ui.plots.style import LINES
from shiftdp.ui.reproduce.figures.picture import ALPHA, CALM, Picture, canvas, epsilon_axes
from shiftdp.ui.reproduce.verdict import claimed, published


def introduction_figure() -> Picture:
    """1-strongly convex, 10-smooth, eta = 0.05, L/(n sigma) = 0.1."""
    setting = published("figure_1")
    s, eta, m, delta = (setting[name] for name in ("effective_sensitivity", "eta", "m", "delta"))
    c, steps = 1.0 - eta * m, setting["steps"]
    ours = [gd_sc(c, s, 1.0, t) for t in steps]
    composed = [gd(s, 1.0, t) for t in steps]
    rho = [renyi_full_batch(c, s, 1.0, t, learning_rate=eta, strong_convexity=m) for t in steps]
    curves = {
        "GDP composition": (
            [GaussianTradeoff(mu).epsilon(delta) for mu in composed],
            "composition",
        ),
        "prior RDP bound": ([zcdp_epsilon(r, delta=delta).epsilon for r in rho], "prior Renyi"),
        "our bound in RDP": (
            [zcdp_epsilon(mu * mu / 2, delta=delta).epsilon for mu in ours],
            "paper",
        ),
        "our bound in f-DP (exact)": ([GaussianTradeoff(mu).epsilon(delta) for mu in ours], "best"),
    }
    paper = canvas(1, 2)
    paper.tradeoff(0, f"f-DP, t = {steps[-1]}")
    last = GaussianTradeoff(composed[-1])(ALPHA), GaussianTradeoff(ours[-1])(ALPHA)
    paper.line(0, ALPHA, last[0], "GDP composition", **LINES["composition"].look)
    paper.line(0, ALPHA, last[1], "our bound (exact)", **LINES["best"].look)
    paper.panels[0].fill_between(ALPHA, last[0], last[1], color="#0072B2", alpha=0.08, lw=0)
    paper.panels[0].legend(loc="upper right")
    paper.panels[1].set_title(r"$(\varepsilon, \delta)$-DP, $\delta = 10^{-5}$", loc="left")
    for name, (values, style) in curves.items():
        look = LINES[style]
        paper.line(1, steps, values, name, marker=look.marker, markersize=4, **look.look)
    epsilon_axes(paper.panels[1], "steps t", steps)
    paper.panels[1].legend(loc="upper left")
    best = curves["our bound in f-DP (exact)"][0]
    ordered = all(
        here < other
        for name in ("our bound in RDP", "prior RDP bound", "GDP composition")
        for here, other in zip(best, curves[name][0], strict=True)
    )
    limit = renyi_full_batch(c, s, 1.0, math.inf, learning_rate=eta, strong_convexity=m)
    factor = limit / (gd_sc(c, s, 1.0, math.inf) ** 2 / 2.0)
    return paper.picture(
        "fdp-opt",
        1,
        "Improved f-DP and (ε, δ)-DP of NoisyGD on strongly convex losses",
        (
            claimed("right", "f-DP is below all others at every t", ordered),
            claimed(
                "t = ∞", "the bound is better by a factor 2 in Rényi DP", abs(factor - 2) < 1e-9
            ),
        ),
    )


def tradeoffs_figure() -> Picture:
    """Gaussian tradeoff functions, and a mechanism A between two of them."""
    mechanism = LaplaceTradeoff(0.75)
    paper = canvas(1, 1, (4.4, 4.2))
    paper.tradeoff(0, "tradeoff functions")
    axes = paper.panels[0]
    axes.text(0.68, 0.34, "Id", color="#777777")
    for mu, colour in zip((0.5, 1.0, 2.0), reversed(CALM), strict=True):
        f = GaussianTradeoff(mu)
        paper.line(0, ALPHA, f(ALPHA), f"G({mu:g})", color=colour, lw=1.6)
    paper.line(
        0, ALPHA, mechanism(ALPHA), r"$\mathcal{A}$", color="#D55E00", lw=1.8, ls=(0, (5, 2))
    )
    axes.text(0.53, 0.53, "more private", color="#777777", fontsize=8)
    axes.text(0.015, 0.02, "less private", color="#777777", fontsize=8)
    axes.legend(loc="upper right")
    above = dominates(mechanism, GaussianTradeoff(1.0)).holds is True
    below = dominates(mechanism, GaussianTradeoff(0.5)).holds is False
    return paper.picture(
        "fdp-intro",
        2,
        "Illustration of f-DP and GDP",
        (
            claimed("A", "is 1-GDP", above),
            claimed("A", "is not 0.5-GDP", below),
        ),
        ("The paper does not say what A is; here it is the Laplace mechanism with ε = 0.75.",),
    )


P, MU = 0.25, 2.5
_Z = np.linspace(-9.0, 9.0, 4001)  # thresholds of the tests whose errors are drawn


def instance(lam: float, z: Array) -> tuple[Array, Array]:
    """A point (alpha, f^(lambda)(alpha)) for each threshold z: gradients (1-lam) L u and -lam L u.

    alpha = 1 - (1-p) Phi(z) - p Phi(z + (1-lam) mu), beta = (1-p) Phi(z) + p Phi(z - lam mu).
    """
    alpha = (1.0 - P) * ndtr(-z) + P * ndtr(-z - (1.0 - lam) * MU)
    return np.asarray(alpha), np.asarray((1.0 - P) * ndtr(z) + P * ndtr(z - lam * MU))


def one_step_figure() -> Picture:
    """Three instances, none of which lies below the bound, and each of which touches it."""
    bound = GaussianTradeoff(MU).subsample(P)
    paper = canvas(1, 1, (4.4, 4.2))
    paper.tradeoff(0, f"p = {P}, $L/(b\\sigma)$ = {MU}")
    best = LINES["best"]
    values = np.asarray(bound(ALPHA))
    paper.line(0, ALPHA, values, r"$C_p(G(L/(b\sigma)))$", color="#9ecae1", lw=5.0, zorder=2)
    entries = []
    colours = {0.0: "#D55E00", 0.5: "#009E73", 1.0: best.colour}
    for lam, colour in colours.items():
        alpha, beta = instance(lam, _Z)
        dashes = {0.0: "--", 0.5: "-.", 1.0: "-"}[lam]
        name = rf"$f^{{({lam:g})}}$"
        paper.line(0, alpha, beta, name, color=colour, lw=1.3, ls=dashes, zorder=3)
        at, on = instance(lam, np.array([(lam - 0.5) * MU]))
        gap = float(np.min(beta - np.asarray(bound(alpha))))
        entries.append(claimed(f"λ = {lam}", "f^(λ) is above C_p(G)", gap > -1e-12))
        if 0.0 < lam < 1.0:
            paper.panels[0].plot(at, on, "o", color=colour, ms=5, zorder=4)
        touched = abs(float(on[0]) - float(bound(float(at[0])))) < 1e-12
        entries.append(claimed(f"λ = {lam}", "touches it where its slope is -1", touched))
    paper.panels[0].legend(loc="upper right")
    return paper.picture(
        "optproof",
        4,
        "One-step optimality for NoisySGD: C_p(G(L/(bσ))) and instances that attain it",
        tuple(entries),
    )
