"""The tradeoff function and the privacy profile of a certificate, beside those of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shiftdp.ui.plots.style import LINES, loaded, new_figure, power, tidy

if TYPE_CHECKING:
    from shiftdp.last_iterate import Certificate
    from shiftdp.ui.plots.curves import Named


def certificate_figure(certificate: Certificate, *, delta: float) -> Any:
    """Both: f(alpha) on the left, delta(epsilon) on the right, with one legend."""
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


def tradeoff_figure(certificate: Certificate, *, delta: float) -> Any:
    """f(alpha), the least false negative rate of any attacker."""
    named = _named(certificate, delta)
    with loaded():
        figure, (axes,) = new_figure()
        _draw_tradeoff(axes, named)
        tidy(axes)
        figure.legend(loc="outside lower center")
    return figure


def profile_figure(certificate: Certificate, *, delta: float) -> Any:
    """delta(epsilon), with the delta at hand marked."""
    named = _named(certificate, delta)
    with loaded():
        figure, (axes,) = new_figure()
        _draw_profile(axes, named, delta)
        tidy(axes)
        figure.legend(loc="outside lower center")
    return figure


def _named(certificate: Certificate, delta: float) -> list[Named]:
    from shiftdp.ui.plots.curves import beside

    return beside(certificate, delta)


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
        widest = max(widest, one.f.epsilon(delta))
    axes.axhline(delta, color="#777777", linewidth=0.8, dashes=(2, 2), zorder=1)
    axes.annotate(
        rf"$\delta = {power(delta)}$",
        (1.0, delta),
        xycoords=("axes fraction", "data"),
        xytext=(-2, 3),
        textcoords="offset points",
        ha="right",
        fontsize=8,
        color="#555555",
    )
    axes.set_yscale("log")
    axes.set(xlabel=r"$\varepsilon$", ylabel=r"$\delta(\varepsilon)$", ylim=(least, 1.0))
    if 0.0 < widest < float("inf"):
        axes.set_xlim(0.0, 1.25 * widest)


def _line(axes: Any, style: str, x: Any, y: Any, label: str) -> None:
    axes.plot(x, y, label=label, **LINES[style].look)
