"""Table 7 [tab:ngd-fdp-sc]: mu of NoisyGD on strongly convex losses."""

from __future__ import annotations

import math

from shiftdp.interpolation.closed_forms.gradient_descent import gd, gd_sc
from shiftdp.interpolation.lower_bound import lower_mu_periodic
from shiftdp.interpolation.periodic import optimal_shifts_periodic
from shiftdp.interpolation.schedule import PeriodicSchedule
from shiftdp.ui.output import down, up
from shiftdp.ui.reproduce.grid import Grid, Table
from shiftdp.ui.reproduce.published import published
from shiftdp.ui.reproduce.verdict import printed

__all__ = ["gd_strongly_convex_table"]


def gd_strongly_convex_table() -> Table:
    """mu by the number of steps and the contraction, with what some losses attain."""
    figures = published("gd_strongly_convex_mu")
    s = figures["effective_sensitivity"]
    rows, beside, entries = [], [], []
    for i, t in enumerate(figures["steps"]):
        composed = gd(s, 1.0, t)
        ours = [gd_sc(c, s, 1.0, t) for c in figures["c"]]
        rows.append((str(t), *(f"{mu:.3f}" for mu in (composed, *ours))))
        entries.append(
            printed(f"{t} steps", "μ, composition", figures["composition"][i], composed, 3)
        )
        entries += [
            printed(f"{t} steps", f"μ, Thm gd-sc, c = {c}", figures["ours"][i][j], ours[j], 3)
            for j, c in enumerate(figures["c"])
        ]
        found = []
        for c in figures["c"]:
            schedule = PeriodicSchedule(c, s, 1.0, period=1, first=1, steps=t)
            attained = lower_mu_periodic(schedule, 0.0)
            found += [
                up(optimal_shifts_periodic(schedule).mu),
                down(math.nan if attained is None else attained.mu),
            ]
        beside.append((str(t), *found))
    contractions = tuple(f"c = {c}" for c in figures["c"])
    return Table(
        "ngd-fdp-sc",
        7,
        "GDP parameter μ of NoisyGD on strongly convex losses, L/(nσ) = 0.1",
        Grid(
            ("Steps", "GDP composition", *contractions),
            tuple(rows),
            (("", 2), ("Thm gd-sc", len(contractions))),
        ),
        (
            Grid(
                ("Steps", *(("B1", "attained") * len(contractions))),
                tuple(beside),
                (("", 1), *((c, 2) for c in contractions)),
                "Theorem B1, rounded up, and what some losses attain (Theorem B5), rounded down: "
                "the bound is exact, for every learning rate below 2/M.",
            ),
        ),
        tuple(entries),
    )
