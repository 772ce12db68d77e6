"""Epsilon against one parameter, with a line for each accountant."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

from shiftdp.ui.plots.style import (
    LINES,
    OTHER_LINES,
    by_magnitude,
    labelled,
    loaded,
    new_figure,
    power,
    tidy,
)

if TYPE_CHECKING:
    from shiftdp.privacy import Frontier


def frontier_figure(frontier: Frontier) -> Any:
    """All curves with a number on them; what is infinite or does not apply leaves a gap.

    What holds at infinity ("train as long as you like") is a dotted horizontal line.
    """
    import numpy as np

    finite = np.isfinite(frontier.values)
    x = frontier.values[finite]
    with loaded():
        figure, (axes,) = new_figure()
        tallest, lowest, others = 0.0, np.inf, cycle(OTHER_LINES)
        for curve in frontier:
            if not curve.known:
                continue
            line = LINES.get(curve.name) or next(others)
            y = np.where(np.isfinite(curve.epsilon), curve.epsilon, np.nan)
            axes.plot(
                x,
                y[finite],
                marker=line.marker if x.size <= 15 else "",
                markersize=3.5,
                label=labelled(curve.name, curve.theorems),
                **line.look,
            )
            for limit in y[~finite]:
                axes.axhline(limit, color=line.colour, linewidth=0.8, linestyle=(0, (1, 3)))
                if curve.name == "best":
                    _name_limit(axes, limit, line.colour)
            tallest = max(tallest, float(np.nanmax(y)))
            positive = y[y > 0.0]
            lowest = min(lowest, float(positive.min())) if positive.size else lowest
        if frontier.logarithmic:
            by_magnitude(axes, "x", float(x.min()), float(x.max()))
        if lowest > 0.0 and tallest > 30.0 * lowest:
            by_magnitude(axes, "y", lowest, tallest)
        else:
            axes.set_ylim(bottom=0.0)
        axes.set(
            xlabel=frontier.label,
            ylabel=rf"$\varepsilon$ at $\delta = {power(frontier.delta)}$",
        )
        tidy(axes)
        if axes.lines:
            figure.legend(loc="outside lower center", ncols=2)
    return figure


def _name_limit(axes: Any, limit: float, colour: str) -> None:
    axes.annotate(
        r"$\infty$",
        (1.0, limit),
        xycoords=("axes fraction", "data"),
        xytext=(3, 0),
        textcoords="offset points",
        va="center",
        color=colour,
        annotation_clip=False,
    )
