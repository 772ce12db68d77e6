"""The figures, as Plotly reads them. Plain dictionaries: nothing is imported to make one.

They are drawn dark on white, as they are exported; on a dark page the style sheet recolours axes
and letters. Where lines coincide all of them show: the best is wide and below the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from shiftdp._printed import percent, up
from shiftdp.ui.explorer.answers import Curve
from shiftdp.ui.explorer.paths import LawOfMu, NoPath, Path
from shiftdp.ui.explorer.sweep import Sweep
from shiftdp.ui.plots.style import LINES

Figure = dict[str, Any]

_INK, _GRID = "#222222", "#e3e3e3"
_COLOURS = {name: line.colour for name, line in LINES.items()} | {"composition": "#7a7a7a"}
_DASHES = {"prior Renyi": "dash", "paper": "dashdot", "lower bound": "dot", "identity": "dot"}
_WIDTHS = {"best": 4.0}
_LABELS = {
    "composition": "composition",
    "prior Renyi": "prior Rényi",
    "paper": "paper",
    "best": "our bound",
    "lower bound": "lower bound",
}
_BESIDE = ("#E69F00", "#56B4E9")
_RARE = 1e-3  # of the law of mu, what is not shown
_SPREAD = 30.0  # from which ratio on an axis is by magnitude


def _axis(title: str, **more: Any) -> dict[str, Any]:
    return {
        "title": {"text": title, "standoff": 8},
        "gridcolor": _GRID,
        "linecolor": _INK,
        "zeroline": False,
        "automargin": True,
        **more,
    }


def _figure(traces: Sequence[dict[str, Any]], xaxis: dict[str, Any], **layout: Any) -> Figure:
    return {
        "data": list(traces),
        "layout": {
            "xaxis": xaxis,
            "font": {"family": "system-ui, sans-serif", "size": 13, "color": _INK},
            "paper_bgcolor": "#ffffff",
            "plot_bgcolor": "#ffffff",
            "margin": {"l": 8, "r": 12, "t": 12, "b": 8},
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            "hovermode": "closest",
            "height": 380,
            **layout,
        },
    }


def empty_figure(text: str) -> Figure:
    """A figure that says why there is none."""
    hidden = {"visible": False, "fixedrange": True}
    note = {"text": "<br>".join(_folded(text)), "showarrow": False, "x": 0.5, "y": 0.5}
    return _figure(
        [], hidden, yaxis=hidden, annotations=[{**note, "xref": "paper", "yref": "paper"}]
    )


def _folded(text: str, width: int = 44) -> list[str]:
    """Lines of a text, for where there is no other way to break it.

    >>> _folded("one two three", 8)
    ['one two', 'three']
    """
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) + 1 > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _line(name: str, label: str, x: Any, y: Any, **more: Any) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": label,
        "x": [float(value) for value in x],
        "y": [_plain(value) for value in y],
        "line": {
            "color": _COLOURS[name],
            "dash": _DASHES.get(name, "solid"),
            "width": _WIDTHS.get(name, 2.0),
        },
        **more,
    }


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def tradeoff_figure(
    curves: Sequence[Curve], caught: Sequence[tuple[float, float]], about: str = "this run"
) -> Figure:
    """f(alpha), with the attacker's best points on it."""
    traces = [_line("identity", "nothing revealed", [0.0, 1.0], [1.0, 0.0], hoverinfo="skip")]
    beside = iter(_BESIDE)
    for curve in curves:
        known = curve.name in _COLOURS
        line = _line(curve.name if known else "best", curve.label, curve.alpha, curve.beta)
        if not known:
            line["line"] = {"color": next(beside, _INK), "width": 2.0, "dash": "dash"}
        traces.append(line)
    said = [
        f"with {fpr:.1%} false alarms<br>at most {percent(tpr)} are recognised"
        for fpr, tpr in caught
    ]
    traces.append(
        {
            "type": "scatter",
            "mode": "markers",
            "name": f"attacker's best on {about}",
            "x": [fpr for fpr, _ in caught],
            "y": [1.0 - tpr for _, tpr in caught],
            "text": said,
            "hoverinfo": "text",
            "marker": {"size": 11, "color": "#D55E00", "line": {"color": "#ffffff", "width": 1.5}},
        }
    )
    return _figure(
        traces,
        _axis("false positive rate (false alarms)", range=[-0.02, 1.0], dtick=0.2),
        yaxis=_axis("false negative rate, at least", range=[-0.02, 1.02], dtick=0.2),
    )


def sweep_figure(sweep: Sweep, own: float, delta: float) -> Figure:
    """Epsilon against the length of the run, by every accountant, with the run marked."""
    finite = [i for i, value in enumerate(sweep.values) if math.isfinite(value)]
    x = [sweep.values[i] for i in finite]
    traces, seen = [], [1.0]
    for name in ("best", "composition", "prior Renyi", "paper", "lower bound"):
        values = sweep.curves.get(name, ())
        y = [values[i] for i in finite] if values else []
        if not any(map(math.isfinite, y)):
            continue
        seen += [value for value in y if math.isfinite(value) and value > 0.0]
        label = "what is left" if sweep.parameter == "further_steps" and name == "best" else ""
        traces.append(_line(name, label or _LABELS[name], x, y, mode="lines+markers"))
        traces[-1]["marker"] = {"size": 6}
        ends = [value for i, value in enumerate(values) if i not in finite]
        if ends and math.isfinite(ends[0]) and name == "best":
            flat = _line(name, "our bound, however long", [x[0], x[-1]], [ends[0]] * 2)
            flat["line"] = {**flat["line"], "dash": "dot", "width": 2.0}
            traces.append(flat)
    steep = max(seen[1:], default=1.0) > _SPREAD * min(seen[1:], default=1.0)
    shapes = []
    if math.isfinite(own):
        shapes.append(
            {
                "type": "line",
                "xref": "x",
                "yref": "paper",
                "x0": own,
                "x1": own,
                "y0": 0,
                "y1": 1,
                "line": {"color": "#888888", "width": 1, "dash": "dot"},
            }
        )
    yaxis = _axis(f"epsilon at delta = {delta:g}")
    yaxis |= {"type": "log", "dtick": 1} if steep else {"rangemode": "tozero"}
    xaxis = _axis(f"{sweep.label} (the dotted line is this run)", nticks=8)
    if min(x, default=0.0) > 0.0 and max(x) >= _SPREAD * min(x):
        xaxis |= {"type": "log", "dtick": 1}
    return _figure(traces, xaxis, yaxis=yaxis, shapes=shapes)


def path_figure(path: Path) -> Figure:
    """Shifts and distances over time, or the law of mu, or why there is neither."""
    if isinstance(path, NoPath):
        return empty_figure(path.about)
    if isinstance(path, LawOfMu):
        bars = {
            "type": "scatter",
            "mode": "lines",
            "line": {"shape": "hv", "color": _COLOURS["best"], "width": 2},
            "x": [0.0, *(float(mu) for mu in path.mu)],
            "y": [0.0, *(float(share) for share in path.weight.cumsum())],
        }
        rare = int(path.weight.cumsum().searchsorted(1.0 - _RARE))
        widest = 1.1 * float(path.mu[min(rare, path.mu.size - 1)]) or 1.0
        return _figure(
            [bars],
            _axis("mu, given how the record took part", range=[0.0, widest]),
            yaxis=_axis("probability of this or less", rangemode="tozero"),
            showlegend=False,
        )
    unit = "unit of the iterate" if path.measure == "of the iterate" else "units of the noise"
    marks = {"mode": "lines+markers", "marker": {"size": 5}} if path.at.size < 60 else {}
    shift = _line("prior Renyi", "shift", path.at, path.shift, **marks)
    shift["line"] = {"color": _COLOURS["prior Renyi"], "width": 1.5}
    xaxis = _axis(path.unit)
    if path.distance is None:
        yaxis = _axis(f"shift in the step, {unit}", rangemode="tozero")
        return _figure([shift], xaxis, yaxis=yaxis, showlegend=False)
    distance = _line("best", "distance", path.at, path.distance, **marks)
    distance["line"] = {"color": _COLOURS["best"], "width": 1.5}
    shift["yaxis"] = "y2"
    exponent = {"exponentformat": "power", "nticks": 5}
    positive = [float(value) for value in path.shift if value > 0.0]
    steep = bool(positive) and max(positive) > _SPREAD * min(positive)
    scale = {"type": "log", "dtick": 1} if steep else {"rangemode": "tozero"}
    return _figure(
        [distance, shift],
        {**xaxis, "anchor": "y2"},
        yaxis=_axis("distance left", domain=[0.54, 1.0], rangemode="tozero", **exponent),
        yaxis2=_axis("shift", domain=[0.0, 0.46], **exponent, **scale),
        showlegend=False,
    )


def position_figure(positions: Mapping[int, float], why: str, delta: float) -> Figure:
    """Epsilon by the batch of the epoch that a record is in."""
    if not positions:
        return empty_figure(why)
    line = _line("best", "our bound", [*positions], [*positions.values()], mode="lines+markers")
    line["line"]["width"], line["marker"] = 1.5, {"size": 6}
    line["text"] = [f"batch {j}: epsilon = {up(eps)}" for j, eps in positions.items()]
    line["hoverinfo"] = "text"
    return _figure(
        [line],
        _axis("position of the batch in the epoch"),
        yaxis=_axis(f"epsilon at delta = {delta:g}", rangemode="tozero"),
        showlegend=False,
    )
