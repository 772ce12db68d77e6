"""Figures 6 to 9: NoisyGD and NoisyCGD, f-DP (left) and (epsilon, delta)-DP (right)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shiftdp.fdp import GaussianTradeoff
from shiftdp.interpolation.closed_forms.cyclic_descent import mgd, mgd_proj, mgd_sc
from shiftdp.interpolation.closed_forms.gradient_descent import gd, gd_proj, gd_sc
from shiftdp.interpolation.periodic import optimal_shifts_periodic
from shiftdp.interpolation.schedule import PeriodicSchedule
from shiftdp.ui.reproduce.figures.picture import (
    ALPHA,
    CALM,
    WARM,
    Canvas,
    Picture,
    canvas,
    epsilon_axes,
)
from shiftdp.ui.reproduce.verdict import Entry, claimed

Mu = Callable[[int], float]

_DELTAS = (1e-3, 1e-5)
_STEPS = (10, 20, 40, 80, 160, 320, 640)
_EPOCHS = (5, 10, 20, 40, 80, 160, 320)


def gd_strongly_convex_figure() -> Picture:
    """Figure 6 [fig:ngd-fdp-approxdp-sc]: Thm gd-sc, c = 0.99, L/(n sigma) = 0.1."""
    ours: Mu = lambda t: gd_sc(0.99, 0.1, 1.0, t)  # noqa: E731
    composed: Mu = lambda t: gd(0.1, 1.0, t)  # noqa: E731
    paper = canvas(1, 2)
    lengths = (10, 100, 1000)
    _tradeoffs(paper, "t", lengths, composed, {f"= {t}": ours(t) for t in lengths})
    _epsilons(paper, "steps t", _STEPS, ours, composed)
    better = all(ours(t) < composed(t) for t in (*_STEPS, 1000))
    return paper.picture(
        "ngd-fdp-approxdp-sc",
        6,
        "NoisyGD on strongly convex losses: Thm gd-sc and composition, c = 0.99",
        (claimed("every t > 1", "improves over composition", better),),
    )


def gd_constrained_figure() -> Picture:
    """Figure 7 [fig:ngd-fdp-approxdp-proj]: Thm gd-proj, L/n = 0.5, eta = 0.1, sigma = 8."""
    s, sd, D = 0.1 * 0.5, 0.1 * 8, 1.0
    level = gd_proj(s, sd, D, math.inf)
    composed: Mu = lambda t: gd(s, sd, t)  # noqa: E731
    best: Mu = lambda t: _shifted(s, sd, 1, t, D)  # noqa: E731
    paper = canvas(1, 2)
    _tradeoffs(paper, "t", (80, 160, 320), composed, {r"$\geq$ 80": level})
    _epsilons(paper, "steps t", _STEPS, lambda t: min(level, composed(t)), composed, best)
    return paper.picture(
        "ngd-fdp-approxdp-proj",
        7,
        "Constrained NoisyGD: Thm gd-proj and composition, L/n = 0.5, η = 0.1",
        _dominated("t > 4Dn/(ηL) = 80", level, composed, 81),
    )


def cgd_strongly_convex_figure() -> Picture:
    """Figure 8 [fig:ncgd-fdp-approxdp-sc]: Thm mgd-sc, c = 0.99, l = 20, L/(b sigma) = 0.2."""
    ours: Mu = lambda E: mgd_sc(0.99, 0.2, 1.0, 20, E)  # noqa: E731
    composed: Mu = lambda E: mgd(0.2, 1.0, E)  # noqa: E731
    paper = canvas(1, 2)
    lengths = (5, 50, 500)
    _tradeoffs(paper, "E", lengths, composed, {f"= {E}": ours(E) for E in lengths})
    _epsilons(paper, "epochs E", _EPOCHS, ours, composed)
    return paper.picture(
        "ncgd-fdp-approxdp-sc",
        8,
        "NoisyCGD on strongly convex losses: Thm mgd-sc and composition, c = 0.99, l = 20",
        (claimed("text", "E = 500 is below composition at E = 5", ours(500) < composed(5)),),
    )


def cgd_constrained_figure() -> Picture:
    """Figure 9 [fig:ncgd-fdp-approxdp-proj]: Thm mgd-proj, eta = .02, L/b = .5, l = 20."""
    s, sd, D, ell = 0.02 * 0.5, 0.02 * 3, 1.0, 20
    level = mgd_proj(s, sd, D, ell, math.inf)
    composed: Mu = lambda E: mgd(s, sd, E)  # noqa: E731
    best: Mu = lambda E: _shifted(s, sd, ell, E, D)  # noqa: E731
    paper = canvas(1, 2)
    _tradeoffs(paper, "E", (25, 50, 100), composed, {r"$\geq$ 100": level})
    _epsilons(paper, "epochs E", _EPOCHS, lambda E: min(level, composed(E)), composed, best)
    return paper.picture(
        "ncgd-fdp-approxdp-proj",
        9,
        "Constrained NoisyCGD: Thm mgd-proj and composition, η = 0.02, L/b = 0.5, l = 20",
        _dominated("E > 1 + 4Db/(ηLl) = 21", level, composed, 22),
        (
            "The level of Thm mgd-proj is proved from E = Db/(ηL) = 100 on. As in the paper, the "
            "right panel shows the smaller of the two at every E; between E* = 21 and 100 it is "
            "Theorem B1 that proves as much, and more.",
        ),
    )


def _shifted(s: float, sd: float, batches: int, passes: int, diameter: float) -> float:
    schedule = PeriodicSchedule(
        1.0, s, sd, period=batches, first=batches, steps=batches * passes, diameter=diameter
    )
    return optimal_shifts_periodic(schedule).mu


def _tradeoffs(
    paper: Canvas, symbol: str, lengths: Sequence[int], composed: Mu, ours: Mapping[str, float]
) -> None:
    """f-DP on the left: composition at some lengths, and the mu of our bounds by its condition."""
    paper.tradeoff(0, "f-DP")
    lines = [
        (f"composition, {symbol} = {t}", composed(t), WARM[i], "--") for i, t in enumerate(lengths)
    ]
    lines += [
        (f"our bound, {symbol} {end}", mu, CALM[i], "-") for i, (end, mu) in enumerate(ours.items())
    ]
    for name, mu, colour, dashes in lines:
        width = 1.3 if dashes == "--" else 1.7
        paper.line(0, ALPHA, GaussianTradeoff(mu)(ALPHA), name, color=colour, ls=dashes, lw=width)
    paper.panels[0].legend(loc="upper right", fontsize=7, borderaxespad=0)


def _epsilons(
    paper: Canvas,
    xlabel: str,
    lengths: Sequence[int],
    ours: Mu,
    composed: Mu,
    best: Mu | None = None,
) -> None:
    axes = paper.panels[1]
    axes.set_title(r"$(\varepsilon, \delta)$-DP", loc="left")
    families: list[tuple[str, Mu, Sequence[str], Any, str]] = [
        ("composition", composed, WARM, "--", "+"),
        ("our bound", ours, CALM, "-", "o"),
    ]
    if best is not None:
        families.append(("Theorem B1", best, ("#00674d", "#5fc3a5"), (0, (1, 1.5)), "x"))
    for name, mu, colours, dashes, marker in families:
        for i, delta in enumerate(_DELTAS):
            values = [GaussianTradeoff(mu(length)).epsilon(delta) for length in lengths]
            label = rf"{name}, $\delta = 10^{{{round(math.log10(delta))}}}$"
            paper.line(
                1, lengths, values, label, color=colours[i], ls=dashes, marker=marker, ms=4, lw=1.5
            )
    epsilon_axes(axes, xlabel, lengths)
    axes.legend(loc="upper left", fontsize=7)


def _dominated(where: str, level: float, composed: Mu, first: int) -> tuple[Entry, ...]:
    below = composed(first - 1) <= level * (1 + 1e-12) and level < composed(first)
    return (claimed(where, "is where the bound becomes better than composition", below),)
