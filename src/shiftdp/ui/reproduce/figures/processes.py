"""Figures 3 and 5 [fig:shift-int, shift-int-sgd-sc]: interpolated processes of simulated runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftdp._checks import Array
from shiftdp.interpolation.periodic import optimal_shifts_periodic
from shiftdp.interpolation.schedule import PeriodicSchedule
from shiftdp.interpolation.simulation.process import ShiftedProcess, simulate_shifted
from shiftdp.interpolation.simulation.sampled_process import (
    Sampled,
    SampledPair,
    simulate_sampled_pair,
    simulate_sampled_proj,
)
from shiftdp.ui.reproduce.figures.picture import Canvas, Picture, canvas
from shiftdp.ui.reproduce.verdict import claimed

ORIGINAL, ADJACENT, BETWEEN = "#0072B2", "#D55E00", "#009E73"

_SCHEDULE = PeriodicSchedule(1.0, 0.2, 0.07, period=1, first=1, steps=45, diameter=2.0)


def simulated(seed: int = 14) -> ShiftedProcess:
    """NoisyGD on [-1, 1]: the two data sets pull in opposite directions, a fifth of a unit apart.

    Both losses are convex and smooth; the shifts are those of the certificate of this run.
    """

    def step(x: Array, pull: float) -> Array:
        return x - 0.3 * np.maximum(np.abs(x) - 0.55, 0.0) * np.sign(x) + pull

    return simulate_shifted(
        lambda k, x: step(x, 0.1),
        lambda k, x: step(x, -0.1),
        _SCHEDULE,
        optimal_shifts_periodic(_SCHEDULE),
        [0.0],
        np.random.default_rng(seed),
        project=lambda x: np.clip(x, -1.0, 1.0),
    )


def shifted_process_figure() -> Picture:
    """Time along, the iterate up; below, the distance of X~ from X and what the proof allows."""
    paths = simulated()
    tau, t = paths.tau, len(paths.original) - 1
    time, late = np.arange(t + 1), np.arange(tau, t + 1)
    paper = canvas(2, 1, (7.2, 4.6), sharex=True, height_ratios=[3, 1])
    axes, below = paper.panels
    axes.set_title("iterates", loc="left")
    dots: dict[str, Any] = {"marker": "o", "markersize": 2.6, "lw": 1.4}
    paper.line(0, time, paths.original[:, 0], "$X_k$", color=ORIGINAL, **dots)
    paper.line(0, time, paths.adjacent[:, 0], "$X'_k$", color=ADJACENT, **dots)
    paper.line(
        0, late, paths.interpolated[:, 0], r"$\widetilde{X}_k$", color=BETWEEN, zorder=4, **dots
    )
    for k, text, place in (
        (tau, r"$\widetilde{X}_\tau = X'_\tau$", (-26, -20)),
        (t, r"$\widetilde{X}_t = X_t$", (-26, 12)),
    ):
        where = (k, paths.interpolated[k - tau, 0])
        axes.plot(*where, "o", ms=8, mfc="none", mec=BETWEEN, mew=1.3, zorder=5)
        axes.annotate(text, where, place, textcoords="offset points", fontsize=9)
    for one in paper.panels:
        one.axvline(tau, color="#bbbbbb", lw=0.8, ls=":")
    axes.set(ylabel="iterate", ylim=(-1.55, 1.55))
    for edge in (-1.0, 1.0):
        axes.axhline(edge, color="#cccccc", lw=0.8)
    axes.legend(loc="center")
    below.set_title("distance", loc="left")
    paper.line(1, late, paths.z, "proved, $z_k$", color="#777777", lw=1.2, ls="--")
    paper.line(
        1,
        late,
        paths.distances,
        r"$|X_k - \widetilde{X}_k|$",
        color=BETWEEN,
        lw=1.4,
        marker="o",
        ms=2.6,
    )
    below.set(xlabel="step k", ylabel="distance", xticks=[0, 10, 20, 30, tau, t])
    below.set_xticklabels(["0", "10", "20", "30", r"$\tau$", "$t$"])
    below.legend(loc="upper left")
    within = bool((paths.distances <= paths.z + 1e-12).all())
    met = bool((paths.interpolated[-1] == paths.original[-1]).all())
    started = bool((paths.interpolated[0] == paths.adjacent[tau]).all())
    shifted = bool((paths.shifted[:, ...].ravel() <= paths.a + 1e-12).all())
    return paper.picture(
        "shift-int",
        3,
        "The shifted interpolated process of a simulated run of NoisyGD",
        (
            claimed("k = τ", "starts at X'", started),
            claimed("k = t", "ends at X", met),
            claimed("every k", "stays within z_k of X", within),
            claimed("every k", "is shifted by at most a_k", shifted),
        ),
        (
            f"Constrained NoisyGD, D = 2, s = 0.2, t = {t}: Theorem B1 starts at τ = {tau}, "
            "D/s steps before the end.",
        ),
    )


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
