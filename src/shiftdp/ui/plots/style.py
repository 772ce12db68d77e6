"""How figures look: size, fonts, colours that the colour-blind can tell apart, and files."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from shiftdp._errors import InvalidInput
from shiftdp._files import write_file
from shiftdp.ui.types import FORMATS


class Line(NamedTuple):
    """The colour (of Okabe and Ito), dashes and width of one accountant, the same everywhere.

    Where lines coincide all of them show: the best is wide and below, the others thin and above.
    """

    colour: str
    dashes: Any
    width: float
    marker: str
    order: float = 3.0

    @property
    def look(self) -> dict[str, Any]:
        """The line as keyword arguments of matplotlib's `plot`."""
        return {
            "color": self.colour,
            "linestyle": self.dashes,
            "linewidth": self.width,
            "zorder": self.order,
        }


LINES: Mapping[str, Line] = {
    "identity": Line("#9a9a9a", (0, (1, 2)), 1.2, ""),
    "composition": Line("#000000", "-", 1.3, "s"),
    "prior Renyi": Line("#D55E00", (0, (5, 2)), 1.5, "^"),
    "paper": Line("#009E73", (0, (4, 1.5, 1, 1.5)), 1.5, "D"),
    "best": Line("#0072B2", "-", 2.5, "o", 2.5),
    "lower bound": Line("#CC79A7", (0, (1, 2)), 1.5, "v", 3.5),
}

OTHER_LINES = (
    Line("#E69F00", (0, (3, 1.5)), 1.5, "P"),
    Line("#56B4E9", (0, (6, 1.5, 1, 1.5)), 1.5, "X"),
    Line("#8C6D31", (0, (2, 1)), 1.5, "*"),
)
"""For the theorems of a user, in turn."""

_SETTINGS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.labelsize": 9.0,
    "axes.titlesize": 9.0,
    "legend.fontsize": 8.0,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "mathtext.fontset": "dejavusans",
    "savefig.dpi": 200,
    "pdf.fonttype": 42,  # text stays text in a PDF: TrueType, embedded
    "svg.fonttype": "none",  # and in an SVG
    "svg.hashsalt": "shiftdp",  # the same figure is the same file
}


@contextmanager
def loaded(*, outlines: bool = False) -> Iterator[None]:
    """matplotlib with the settings of these figures; an error that names the extra without it."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib, which is not installed: pip install 'shiftdp[plot]'"
        ) from error
    with mpl.rc_context(_SETTINGS), mpl.rc_context({"svg.fonttype": "path"} if outlines else {}):
        yield


def new_figure(
    columns: int = 1, rows: int = 1, size: tuple[float, float] | None = None, **options: Any
) -> tuple[Any, list[Any]]:
    """A figure and its panels; as wide as one column of a page, or as the page, unless sized."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size = size or ((4.4, 3.4) if columns == 1 else (7.2, 3.5))
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, list(figure.subplots(rows, columns, squeeze=False, **options).ravel())


def labelled(name: str, theorems: Iterable[str]) -> str:
    """A name and its theorems for a legend, such as `paper: Thm mgd-sc`.

    >>> labelled("composition", ["Thm mgd (composition)"]), labelled("lower bound", [])
    ('composition: Thm mgd', 'lower bound')
    """
    others = (one.removesuffix(f" ({name})") for one in theorems if one != name)
    used = dict.fromkeys(one for one in others if one)
    title = name.replace("Renyi", "Rényi")
    return f"{title}: {', '.join(used)}" if used else title


def power(value: float) -> str:
    """A number as mathtext.

    >>> power(1e-5), power(2.5e-7), power(0.01)
    ('10^{-5}', '2.5 \\\\cdot 10^{-7}', '0.01')
    """
    mantissa, _, exponent = f"{value:.3g}".partition("e")
    if not exponent:
        return mantissa
    tens = f"10^{{{int(exponent)}}}"
    return tens if mantissa == "1" else rf"{mantissa} \cdot {tens}"


def by_magnitude(axes: Any, which: str, low: float, high: float) -> None:
    """Make an axis logarithmic, with plain numbers on it unless they are very small or large."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set(**{f"{which}scale": "log"})
    axis = getattr(axes, f"{which}axis")
    if low > 1e-4 and high < 1e6:
        wide = high >= 200.0 * low
        axis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def tidy(axes: Any, title: str = "") -> None:
    axes.tick_params(length=3)
    if title:
        axes.set_title(title, loc="left")


def write(figure: Any, path: str | os.PathLike[str], *, outlines: bool = False) -> None:
    """The figure in a file, whose ending says the format: .png, .svg or .pdf.

    Args:
        outlines: whether the letters of an SVG are drawn, so that a browser needs no fonts.
    """
    name = os.fspath(path)
    suffix = os.path.splitext(name)[1].removeprefix(".").lower()
    if suffix not in FORMATS:
        endings = ", ".join(f".{known}" for known in FORMATS)
        raise InvalidInput("path", name, "has an ending that is no format", f"give {endings}")
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
    drawn = io.BytesIO()
    with loaded(outlines=outlines):
        figure.savefig(drawn, format=suffix, metadata=undated[suffix])
    write_file(name, drawn.getvalue())
