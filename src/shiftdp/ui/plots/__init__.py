"""Figures for papers and reports. matplotlib is loaded when one is made.

A figure belongs to whoever asked for it: it is made without pyplot, so nothing has to be closed and
no window opens.
"""

from shiftdp.ui.plots.certificates import certificate_figure, profile_figure, tradeoff_figure
from shiftdp.ui.plots.frontiers import frontier_figure
from shiftdp.ui.plots.style import write

__all__ = [
    "certificate_figure",
    "frontier_figure",
    "profile_figure",
    "tradeoff_figure",
    "write",
]
