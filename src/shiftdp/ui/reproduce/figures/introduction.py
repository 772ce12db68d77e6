"""Figure 1 [fig:fdp-opt]: f-DP and (epsilon, delta)-DP of NoisyGD, four ways."""

from __future__ import annotations

import math

from shiftdp.fdp import GaussianTradeoff, zcdp_epsilon
from shiftdp.interpolation.closed_forms.gradient_descent import gd, gd_sc
from shiftdp.interpolation.closed_forms.renyi_baseline import renyi_full_batch
from shiftdp.ui.plots.style import LINES
from shiftdp.ui.reproduce.figures.picture import ALPHA, Picture, canvas, epsilon_axes
from shiftdp.ui.reproduce.published import published
from shiftdp.ui.reproduce.verdict import claimed

__all__ = ["introduction_figure"]


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
        "prior RDP bound": ([zcdp_epsilon(r, delta).epsilon for r in rho], "prior Renyi"),
        "our bound in RDP": ([zcdp_epsilon(mu * mu / 2, delta).epsilon for mu in ours], "paper"),
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
