"""What can be taken away as a file: the certificate, and the numbers behind the figures.

Each is an address of its own, with the settings behind `?`, so that a link is all it takes.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from shiftdp._errors import ShiftdpError
from shiftdp.ui.explorer.answers import certified, curves
from shiftdp.ui.explorer.paths import LawOfMu, NoPath
from shiftdp.ui.explorer.settings import CertifyArguments, Settings, Unclear
from shiftdp.ui.explorer.sweep import lengths_of, sweep, why_no_sweep


def certificate_json(asked: CertifyArguments) -> str:
    """What `shiftdp account --save` writes."""
    return certified(asked).certificate.to_json() + "\n"


def tradeoff_csv(asked: CertifyArguments) -> str:
    """The tradeoff functions of the figure: a column each, where all of them are known."""
    found = curves(asked, certified(asked).certificate).tradeoffs
    columns = [dict(zip(one.alpha.tolist(), one.beta.tolist(), strict=True)) for one in found]
    alphas = sorted(set.intersection(*map(set, columns)))
    head = ["false positive rate", *(f"false negative rate: {one.label}" for one in found)]
    rows = ([alpha, *(column[alpha] for column in columns)] for alpha in alphas)
    return _csv(head, rows)


def epochs_csv(asked: CertifyArguments) -> str:
    """Epsilon along the length of the run: a column for each accountant."""
    why = why_no_sweep(asked.run)
    if why is not None:
        raise Unclear({"kind": why})
    certified(asked)  # refuses what the page would refuse
    found = sweep(asked, lengths_of(asked.run))
    head = [found.parameter, *(f"epsilon {name}" for name in found.curves)]
    rows = (
        [value, *(curve[i] for curve in found.curves.values())]
        for i, value in enumerate(found.values)
    )
    return _csv(head, rows)


def shifts_csv(asked: CertifyArguments) -> str:
    """Shifts and distances over time, or the law of mu."""
    path = curves(asked, certified(asked).certificate).path
    if isinstance(path, NoPath):
        raise Unclear({"kind": path.about})
    if isinstance(path, LawOfMu):
        return _csv(["mu", "probability"], zip(path.mu.tolist(), path.weight.tolist(), strict=True))
    left: Iterable[Any] = [None] * path.at.size if path.distance is None else path.distance.tolist()
    rows = zip(path.at.tolist(), path.shift.tolist(), left, strict=True)
    return _csv([path.unit, "shift", "distance left"], rows)


def positions_csv(asked: CertifyArguments) -> str:
    """Epsilon for a record in each batch of the epoch."""
    found = curves(asked, certified(asked).certificate)
    if not found.positions:
        raise Unclear({"kind": found.why_no_positions})
    return _csv(["batch", "epsilon"], found.positions.items())


FILES: Mapping[str, tuple[str, Callable[[CertifyArguments], str]]] = {
    "certificate.json": ("application/json", certificate_json),
    "tradeoff.csv": ("text/csv", tradeoff_csv),
    "epochs.csv": ("text/csv", epochs_csv),
    "shifts.csv": ("text/csv", shifts_csv),
    "positions.csv": ("text/csv", positions_csv),
}
"""By the name of the file: its type, and what writes it."""


def download(name: str, query: str) -> tuple[str, int, dict[str, str]]:
    """The file of this name for some settings, as a web server answers: body, status, headers."""
    kind, write = FILES[name]
    settings = Settings.from_query(query)
    try:
        body = write(settings.asked())
    except (ShiftdpError, Unclear) as error:
        return f"{error}\n", 400, {"Content-Type": "text/plain; charset=utf-8"}
    return (
        body,
        200,
        {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Disposition": f'attachment; filename="shiftdp-{name}"',
        },
    )


def _csv(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Numbers at full precision; nothing where there is none."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(head)
    table.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return repr(value)
