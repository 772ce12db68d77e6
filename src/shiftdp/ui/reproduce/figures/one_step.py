"""Figure 4 [fig:optproof]: C_p(G(mu)) is the best bound for one step of NoisySGD."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from shiftdp._checks import Array
from shiftdp.fdp import GaussianTradeoff
from shiftdp.ui.plots.style import LINES
from shiftdp.ui.reproduce.figures.picture import ALPHA, Picture, canvas
from shiftdp.ui.reproduce.verdict import claimed

__all__ = ["instance", "one_step_figure"]

P, MU = 0.25, 2.5
_Z = np.linspace(-9.0, 9.0, 4001)


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
