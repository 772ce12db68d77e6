"""A figure with the numbers it is drawn from, and what its caption claims."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from shiftdp._checks import Array
from shiftdp.ui.plots.style import LINES, loaded, new_figure
from shiftdp.ui.reproduce.verdict import Entry

ALPHA = np.linspace(0.0, 1.0, 401)
"""Where tradeoff functions are drawn."""

CALM = ("#08306b", "#2171b5", "#6baed6")
"""Of our bounds, from dark to light; solid lines."""
WARM = ("#7f2704", "#d94801", "#fd8d3c")
"""Of composition; dashed lines."""


class Series(NamedTuple):
    """One line: the panel it is in, its name, and its points."""

    panel: str
    name: str
    x: Array
    y: Array


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure of the paper, drawn again.

    Args:
        label: its name in the paper's source, and of its files.
        number: in the paper; None for one that is not in it.
        title: what it shows.
        figure: of matplotlib.
        series: the numbers.
        entries: what the caption or the text claims, checked.
        notes: what to bear in mind.
    """

    label: str
    number: int | None
    title: str
    figure: Any
    series: tuple[Series, ...]
    entries: tuple[Entry, ...] = ()
    notes: tuple[str, ...] = ()

    def csv(self) -> str:
        """The points: panel, series, x, y."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(("panel", "series", "x", "y"))
        for panel, name, xs, ys in self.series:
            for x, y in zip(xs.tolist(), ys.tolist(), strict=True):
                writer.writerow((panel, name, f"{x:.8g}", f"{y:.8g}"))
        return buffer.getvalue()


class Canvas:
    """Panels that remember what is drawn in them."""

    def __init__(self, figure: Any, panels: Sequence[Any]) -> None:
        self.figure = figure
        self.panels = list(panels)
        self._series: list[Series] = []

    def picture(
        self,
        label: str,
        number: int | None,
        title: str,
        entries: tuple[Entry, ...],
        notes: tuple[str, ...] = (),
    ) -> Picture:
        """What is drawn so far, as a figure of the paper."""
        return Picture(label, number, title, self.figure, tuple(self._series), entries, notes)

    def line(
        self,
        panel: int,
        x: ArrayLike,
        y: ArrayLike,
        name: str,
        *,
        hidden: bool = False,
        **look: Any,
    ) -> None:
        """A line with a name; `hidden` from the legend."""
        xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        axes = self.panels[panel]
        self._series.append(Series(axes.get_title() or axes.get_title(loc="left"), name, xs, ys))
        axes.plot(xs, ys, label="_" + name if hidden else name, **look)

    def tradeoff(self, panel: int, title: str = "tradeoff functions") -> None:
        """A panel for tradeoff functions, with Id in it."""
        axes = self.panels[panel]
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="type I error", ylabel="type II error")
        axes.set_xticks([0, 0.5, 1])
        axes.set_yticks([0, 0.5, 1])
        axes.set_aspect("equal")
        axes.set_title(title, loc="left")
        axes.plot([0, 1], [1, 0], label="_Id", **LINES["identity"].look)


def canvas(
    rows: int = 1, columns: int = 1, size: tuple[float, float] = (7.2, 3.3), **options: Any
) -> Canvas:
    """A figure of panels, made without pyplot."""
    with loaded():
        return Canvas(*new_figure(columns, rows, size, **options))


def epsilon_axes(axes: Any, xlabel: str, ticks: Sequence[float], *, log_y: bool = False) -> None:
    """A panel for epsilon against the length of the run, at those lengths."""
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set(xlabel=xlabel, ylabel=r"$\varepsilon$")
    if log_y:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
