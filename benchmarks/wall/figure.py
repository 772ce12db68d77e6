"""The wall as one figure: every ratio with its spread, on a logarithmic scale."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .claim import Row


def draw(rows: Sequence[Row], target: Path) -> None:
    """Ratios to peers in one panel (more is better), to floors and limits in another (less is)."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    mpl.rcParams.update({"svg.hashsalt": "shiftdp", "svg.fonttype": "none"})
    parts = (
        ("times faster, or less, than a peer", [row for row in rows if row.kind == "peer"]),
        ("of a floor or a limit", [row for row in rows if row.kind != "peer"]),
    )
    counts = [max(1, sum(row.ratio is not None for row in part)) for _, part in parts]
    figure, axes = plt.subplots(
        2, 1, figsize=(8.5, 1.2 + 0.24 * sum(counts)), height_ratios=counts, layout="constrained"
    )
    for ax, (title, part), colour in zip(axes, parts, ("#1f6f8b", "#b5651d"), strict=True):
        shown = [row for row in part if row.ratio is not None][::-1]
        for y, row in enumerate(shown):
            ax.plot([row.least, row.most], [y, y], color=colour, alpha=0.5, linewidth=3)
            ax.plot([row.ratio], [y], "o", color=colour, markersize=4)
            if row.goal is not None:
                ax.plot([row.goal], [y], "|", color="black", markersize=8)
        ax.set_yticks(range(len(shown)), [row.name for row in shown], fontsize=7)
        ax.set_ylim(-0.6, len(shown) - 0.4)
        ax.set_xscale("log")
        ax.axvline(1.0, color="grey", linewidth=0.8)
        ax.set_title(f"{title}; bars: spread over rounds, |: goal", fontsize=9, loc="left")
        ax.grid(axis="x", alpha=0.3)
    figure.savefig(target, metadata={"Date": None})
    plt.close(figure)
