"""Figure 5 [fig:shift-int-sgd-sc]: the interpolated processes of NoisySGD, simulated."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftdp._checks import Array
from shiftdp.interpolation.simulation.sampled_process import (
    Sampled,
    SampledPair,
    simulate_sampled_pair,
    simulate_sampled_proj,
)
from shiftdp.ui.reproduce.figures.picture import Canvas, Picture, canvas
from shiftdp.ui.reproduce.figures.shifted_process import ADJACENT, BETWEEN, ORIGINAL
from shiftdp.ui.reproduce.verdict import claimed

__all__ = ["sampled_processes_figure"]

_STEPS, _TAU = 9, 4
_OTHER = "#CC79A7"


def _strongly_convex() -> SampledPair:
    """c = 0.85, s = 0.5: nothing is shifted before step 5, all of s from there on."""
    c, s = 0.85, 0.5
    return simulate_sampled_pair(
        lambda k, x: c * x,
        lambda k, x: c * x + s,
        lambda k, x: c * x - s,
        [0.0],
        np.where(np.arange(1, _STEPS) > _TAU, 0.8 * s, 0.1 * s),
        contraction=c,
        sensitivity=s,
        noise=0.08,
        p=0.6,
        steps=_STEPS,
        rng=np.random.default_rng(5),
    )


def _constrained() -> SampledPair:
    return simulate_sampled_proj(
        lambda k, x: x,
        lambda k, x: x + 0.3,
        lambda k, x: x - 0.3,
        [0.0],
        diameter=2.4,
        noise=0.07,
        p=0.55,
        steps=_STEPS,
        tau=_TAU,
        project=lambda x: np.clip(x, -1.2, 1.2),
        rng=np.random.default_rng(12),
    )


def sampled_processes_figure() -> Picture:
    """Solid: the updates that were made. Dashed: those of the other V_k, with the same noise."""
    paper = canvas(1, 2, (7.4, 3.6))
    left, right = _strongly_convex(), _constrained()
    for panel, title in (
        (0, "Thm sgd-sc: each process is tracked"),
        (1, "Thm sgd-proj: one is built"),
    ):
        paper.panels[panel].set_title(title, loc="left")
        paper.panels[panel].set(xlabel="step k", ylabel="iterate", xticks=range(_STEPS + 1))
    _draw(paper, 0, left.original.original, left.original.untaken, 0, "$X_k$", ORIGINAL)
    _draw(paper, 0, left.adjacent.original, left.adjacent.untaken, 0, "$X'_k$", ADJACENT)
    _between(paper, 0, left.original, r"$\widetilde{X}_k$", BETWEEN)
    _between(paper, 0, left.adjacent, r"$\widetilde{X}'_k$", _OTHER)
    _draw(paper, 1, right.original.original, right.original.untaken, 0, "$X_k$", ORIGINAL)
    _draw(paper, 1, right.adjacent.original, right.adjacent.untaken, 0, "$X'_k$", ADJACENT)
    _between(paper, 1, right.original, r"$\widetilde{X}_k$", BETWEEN)
    paper.panels[1].axvline(_TAU, color="#bbbbbb", lw=0.8, ls=":")
    paper.panels[1].set_xticklabels(
        [*map(str, range(_TAU)), r"$\tau$", *map(str, range(5, 9)), "$t$"]
    )
    for axes in paper.panels:
        axes.legend(loc="upper left", ncols=2)
    one = right.original
    return paper.picture(
        "shift-int-sgd-sc",
        5,
        "Shifted interpolated processes in the proofs for NoisySGD, from simulated runs",
        (
            claimed("left", "X~ stays within z_k of X", _within(left.original)),
            claimed("left", "X~' stays within z_k of X'", _within(left.adjacent)),
            claimed("right", "X~ stays within z_k of X", _within(one)),
            claimed(
                "right", "X~ ends at X", bool((one.interpolated[-1] == one.original[-1]).all())
            ),
        ),
    )


def _within(one: Sampled) -> bool:
    return bool((one.distances <= one.z + 1e-12).all())


def _between(paper: Canvas, panel: int, one: Sampled, name: str, colour: str) -> None:
    _draw(paper, panel, one.interpolated, one.untaken_interpolated, one.tau, name, colour)


def _draw(
    paper: Canvas, panel: int, path: Array, untaken: Array, first: int, name: str, colour: str
) -> None:
    look: dict[str, Any] = {"color": colour, "zorder": 3}
    times = np.arange(first, first + len(path))
    paper.line(panel, times, path[:, 0], name, lw=1.5, marker="o", ms=3.5, **look)
    for k, end in enumerate(untaken):
        paper.panels[panel].plot(
            [times[k], times[k] + 1],
            [path[k, 0], end[0]],
            ls=(0, (3, 2)),
            lw=1.0,
            alpha=0.8,
            **look,
        )
