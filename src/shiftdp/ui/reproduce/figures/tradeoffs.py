"""Figure 2 [fig:fdp-intro]: what f-DP and GDP mean."""

from __future__ import annotations

from shiftdp.fdp import GaussianTradeoff, LaplaceTradeoff
from shiftdp.fdp.comparison import dominates
from shiftdp.ui.reproduce.figures.picture import ALPHA, CALM, Picture, canvas
from shiftdp.ui.reproduce.verdict import claimed

__all__ = ["tradeoffs_figure"]


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
