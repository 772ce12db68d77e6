"""The tradeoff function and the privacy profile of a certificate, beside those of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shiftdp._printed import up
from shiftdp.ui.plots.style import LINES, loaded, new_figure, power, tidy

if TYPE_CHECKING:
    from shiftdp.fdp import TradeoffFunction
    from shiftdp.last_iterate import Certificate
    from shiftdp.ui.plots.curves import Named

    Guarantee = Certificate | TradeoffFunction

_DELTA = 1e-5  # unless another is given


def certificate_figure(certificate: Guarantee, *, delta: float = _DELTA) -> Any:
    """Both: f(alpha) on the left, delta(epsilon) on the right, with one legend.

    Args:
        certificate: of a run, which is drawn beside what others prove of it; or a tradeoff
            function, which is drawn by itself.
        delta: where epsilon is read.
    """
    named = _named(certificate, delta)
    with loaded():
        figure, (left, right) = new_figure(2)
        _draw_tradeoff(left, named)
        _draw_profile(right, named, delta)
        tidy(left, "Tradeoff function")
        tidy(right, "Privacy profile")
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def tradeoff_figure(certificate: Guarantee, *, delta: float = _DELTA) -> Any:
    """f(alpha), the least false negative rate of any attacker; arguments as above."""
    named = _named(certificate, delta)
    with loaded():
        figure, (axes,) = new_figure()
        _draw_tradeoff(axes, named)
        tidy(axes)
        figure.legend(loc="outside lower center")
    return figure


def profile_figure(certificate: Guarantee, *, delta: float = _DELTA) -> Any:
    """delta(epsilon), with the delta at hand and the epsilon of each curve there marked."""
    named = _named(certificate, delta)
    with loaded():
        figure, (axes,) = new_figure()
        _draw_profile(axes, named, delta)
        tidy(axes)
        figure.legend(loc="outside lower center")
    return figure


def _named(certificate: Guarantee, delta: float) -> list[Named]:
    from shiftdp.fdp import TradeoffFunction
    from shiftdp.ui.plots.curves import alone, bounds_compared

    if isinstance(certificate, TradeoffFunction):
        return [alone(certificate)]
    return bounds_compared(certificate, delta)


def _draw_tradeoff(axes: Any, named: list[Named]) -> None:
    import numpy as np

    from shiftdp.ui.plots.curves import tradeoff_points

    alpha = np.union1d(np.linspace(0.0, 1.0, 201), np.geomspace(1e-5, 1.0, 120))
    _line(axes, "identity", alpha, 1.0 - alpha, "nothing revealed")
    for one in named:
        _line(axes, one.style, alpha, tradeoff_points(one.f, alpha), one.label)
    axes.set(
        xlabel=r"false positive rate $\alpha$",
        ylabel=r"least false negative rate $f(\alpha)$",
        xlim=(0.0, 1.0),
        ylim=(0.0, 1.0),
        aspect="equal",
        xticks=np.linspace(0.0, 1.0, 6),
        yticks=np.linspace(0.0, 1.0, 6),
    )


def _draw_profile(axes: Any, named: list[Named], delta: float) -> None:
    from shiftdp.ui.plots.curves import profile_points

    least = min(1e-8, delta * 1e-3)
    widest = 0.0
    for one in named:
        eps, deltas = profile_points(one.f, least)
        _line(axes, one.style, eps, deltas, one.label)
    for one in named:
        met = one.f.epsilon(delta)
        if 0.0 < met < float("inf"):
            _mark(axes, one.style, met, delta)
            widest = max(widest, met)
    axes.axhline(delta, color="#777777", linewidth=0.8, dashes=(2, 2), zorder=1)
    axes.annotate(
        rf"$\delta = {power(delta)}$",
        (1.0, delta),
        xycoords=("axes fraction", "data"),
        xytext=(3, 0),  # beside the axes, where no curve is
        textcoords="offset points",
        va="center",
        fontsize=8,
        color="#555555",
        annotation_clip=False,
    )
    axes.set_yscale("log")
    axes.set(xlabel=r"$\varepsilon$", ylabel=r"$\delta(\varepsilon)$", ylim=(least, 1.0))
    if 0.0 < widest < float("inf"):
        axes.set_xlim(0.0, 1.25 * widest)


def _mark(axes: Any, style: str, epsilon: float, delta: float) -> None:
    """Where a curve meets the delta at hand, and the epsilon there, rounded up."""
    line = LINES[style]
    axes.plot([epsilon], [delta], "o", color=line.colour, markersize=4, zorder=4)
    axes.annotate(
        up(epsilon, 3),
        (epsilon, delta),
        xytext=(4, 4),
        textcoords="offset points",
        fontsize=7.5,
        color=line.colour,
    )


def _line(axes: Any, style: str, x: Any, y: Any, label: str) -> None:
    axes.plot(x, y, label=label, **LINES[style].look)
