"""Table 9 [tab:ncgd-fdp-sc]: mu of NoisyCGD on strongly convex losses."""

from __future__ import annotations

from shiftdp.interpolation.closed_forms.cyclic_descent import mgd, mgd_sc
from shiftdp.interpolation.lower_bound import lower_mu_periodic
from shiftdp.interpolation.periodic import optimal_shifts_periodic
from shiftdp.interpolation.schedule import PeriodicSchedule
from shiftdp.ui.output import down, up
from shiftdp.ui.reproduce.grid import Grid, Table
from shiftdp.ui.reproduce.published import published
from shiftdp.ui.reproduce.verdict import Entry, printed

__all__ = ["cgd_strongly_convex_table"]


def cgd_strongly_convex_table() -> Table:
    """mu by epochs, batches and contraction."""
    figures = published("cgd_strongly_convex_mu")
    s = figures["effective_sensitivity"]
    rows, beside = [], []
    entries: list[Entry] = []
    for i, E in enumerate(figures["epochs"]):
        composed = mgd(s, 1.0, E)
        entries.append(
            printed(f"{E} epochs", "μ, composition", figures["composition"][i], composed, 3)
        )
        cells = [f"{composed:.3f}"]
        for j, batches in enumerate(figures["l"]):
            for k, c in enumerate(figures["c"]):
                mu = mgd_sc(c, s, 1.0, batches, E)
                name = f"μ, Thm mgd-sc, l = {batches}, c = {c}"
                entries.append(printed(f"{E} epochs", name, figures["ours"][i][j][k], mu, 3))
                cells.append(f"{mu:.3f}")
                beside.append((str(E), str(batches), str(c), *_ours(c, s, batches, E)))
        rows.append((str(E), *cells))
    contractions = tuple(f"c = {c}" for c in figures["c"])
    return Table(
        "ncgd-fdp-sc",
        9,
        "GDP parameter μ of NoisyCGD on strongly convex losses, L/(bσ) = 0.2",
        Grid(
            ("Epochs", "GDP composition", *(contractions * len(figures["l"]))),
            tuple(rows),
            (("", 2), *((f"l = {batches}", len(contractions)) for batches in figures["l"])),
        ),
        (
            Grid(
                ("Epochs", "l", "c", "B1, first batch", "B1, last batch", "attained (B5)"),
                tuple(beside),
                (),
                "Theorem B1 for a record in the first and in the last batch of the epoch; what "
                "losses with η M ≥ 1 attain. The last two agree: mgd-sc is exact for them, which "
                "the paper leaves open.",
            ),
        ),
        tuple(entries),
    )


def _ours(c: float, s: float, batches: int, epochs: int) -> tuple[str, str, str]:
    first, last = (
        PeriodicSchedule(c, s, 1.0, period=batches, first=j, steps=batches * epochs)
        for j in (1, batches)
    )
    attained = lower_mu_periodic(last, 0.0)
    return (
        up(optimal_shifts_periodic(first).mu),
        up(optimal_shifts_periodic(last).mu),
        down(None if attained is None else attained.mu),
    )
