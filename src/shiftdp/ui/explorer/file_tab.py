"""The second tab: a certificate that somebody else may have written, verified and explained.

It is compared with what other accountants say of its run, and with the run of the first tab.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Any

import dash_mantine_components as dmc
from dash import html, no_update

from shiftdp._errors import ShiftdpError
from shiftdp._printed import percent, up
from shiftdp.last_iterate import Certificate
from shiftdp.privacy.comparison import Row
from shiftdp.privacy.selection.kinds import WHOLE, AnyCertificate, certificate_in, only_in_python
from shiftdp.ui.explorer import parts
from shiftdp.ui.explorer.answers import Certified, certified, curve_of, numbers_of
from shiftdp.ui.explorer.figures import tradeoff_figure
from shiftdp.ui.explorer.settings import CertifyArguments, Settings, Unclear
from shiftdp.ui.explorer.sweep import accountants

_DELTA = 1e-5  # where the first tab has none that could be used
_LARGEST = 50_000_000  # bytes of a file that is read


class Unreadable(Exception):
    """A file that is no certificate, or whose proof does not hold."""


@dataclass(frozen=True, eq=False)
class Read:
    """What a file says, after its proof was checked."""

    name: str
    whole: AnyCertificate
    numbers: Certified | None  # None for what has several parts
    epsilon: float  # of everything in the file
    delta: float
    rows: tuple[Row, ...]


def certificate_of(name: str, contents: str) -> AnyCertificate:
    """The certificate in a file that a browser sent, whose proof holds; `Unreadable` otherwise.

    Args:
        name: of the file, for messages.
        contents: as a browser encodes it: `data:...;base64,...`.
    """
    try:
        raw = base64.b64decode(contents.partition(",")[2], validate=True)
    except binascii.Error:
        raise Unreadable(f"{name}: could not be read; choose it again") from None
    if len(raw) > _LARGEST:
        raise Unreadable(f"{name}: is too large for a certificate; give what --save wrote")
    if raw[:2] == b"PK":
        raise Unreadable(
            f"{name}: is an archive, perhaps a model file; check that by `shiftdp verify FILE`"
        )
    try:
        text = raw.decode("utf-8")
        unknown = only_in_python(text)
        if unknown is not None:
            raise Unreadable(f"{name}: {unknown}")
        found = certificate_in(text)
    except UnicodeDecodeError:
        raise Unreadable(f"{name}: is not text; give what --save wrote") from None
    except ShiftdpError as error:
        raise Unreadable(f"{name}: is not a certificate: {error}") from error
    try:
        found.verify()
    except ShiftdpError as error:
        raise Unreadable(f"{name}: the proof in the file does NOT hold: {error}") from error
    return found


def read(name: str, contents: str, delta: float) -> Read:
    """A file, verified, with its numbers at delta and what other accountants say of its run."""
    whole = certificate_of(name, contents)
    epsilon = whole.epsilon(delta)
    if not isinstance(whole, Certificate):  # of several parts: the cost of one would mislead
        return Read(name, whole, None, epsilon, delta, ())
    asked = CertifyArguments(whole.run, whole.geometry, delta, "best")
    rows = [row for row in accountants(asked, whole) if row.name != "best"]
    own = Row("this file", whole.bound, epsilon, whole.mu, whole.kind)
    return Read(
        name,
        whole,
        numbers_of(whole, delta),
        epsilon,
        delta,
        (own, *rows),
    )


def show_file(contents: str | None, name: str | None, query: str, shown: bool) -> Any:
    """What the second tab shows of a file.

    Args:
        contents: of the file, as a browser encodes it; None if there is none yet.
        name: of the file.
        query: the settings of the first tab.
        shown: whether the second tab is.
    """
    if not contents or not shown:
        return no_update
    delta, own = _first_tab(query)
    try:
        found = read(name or "the file", contents, delta)
    except Unreadable as error:
        return dmc.Alert(str(error), title="Not verified", color="red", id="unverified")
    except ShiftdpError as error:
        return dmc.Alert(str(error), title="Verified, but not shown", color="orange")
    numbers = found.numbers
    curves = [curve_of("best", found.name, found.whole.f)]
    if own is not None:
        curves.append(curve_of("run", "the run of the first tab", own.certificate.f))
    caught = [] if numbers is None else numbers.caught
    figure = parts.figure_card(
        "file",
        "Tradeoff curves",
        "The lower curve reveals more.",
        figure=tradeoff_figure(curves, caught, found.name),
    )
    return [*_verdict(found, own), figure]


def _first_tab(query: str) -> tuple[float, Certified | None]:
    """Delta and the numbers of the first tab, as far as there are any."""
    settings = Settings.from_query(query)
    try:
        asked = settings.asked()
        found = certified(asked)
    except (Unclear, ShiftdpError):
        return _DELTA, None
    return asked.delta, found


_KINDS: dict[type, str] = {kind: name for name, kind in WHOLE.items()}
"""What is certified as a whole, in a word."""


def _verdict(found: Read, own: Certified | None) -> list[Any]:
    whole, numbers = found.whole, found.numbers
    of_all = "" if isinstance(whole, Certificate) else f" of the whole {_KINDS[type(whole)]}"
    shown: list[Any] = [
        dmc.Alert(
            f"The proof{of_all} holds: ε ≤ {up(found.epsilon)} at δ = {found.delta:g}.",
            title=f"{found.name}: verified",
            color="teal",
            id="verified",
        )
    ]
    if numbers is None:
        text = whole.statement(delta=found.delta)
        statement = html.Pre(text, className="code", tabIndex=0)
        return [*shown, dmc.Card([statement], withBorder=True, className="card")]
    shown.append(
        dmc.Card(
            [
                *parts.headline(numbers, "file-"),
                html.Blockquote(numbers.sentence),
                parts.caught_table(numbers, "file-caught"),
                html.Details(
                    [html.Summary("The hypotheses"), parts.hypotheses(numbers)], open=True
                ),
                html.Details(
                    [
                        html.Summary("The whole statement"),
                        html.Pre(
                            numbers.certificate.statement(delta=found.delta),
                            className="code",
                            tabIndex=0,
                        ),
                    ]
                ),
            ],
            withBorder=True,
            className="card",
        )
    )
    shown.append(
        dmc.Card(
            [
                dmc.Title("What others would charge for the run in the file", order=3, size="h5"),
                parts.accountant_table(found.rows, found.delta, "file-accountants"),
            ],
            withBorder=True,
            className="card",
        )
    )
    if own is not None:
        shown.append(_beside(found, numbers, own))
    return shown


def _beside(found: Read, numbers: Certified, own: Certified) -> Any:
    """The file and the run of the first tab, number by number."""
    rows = [
        ("ε", up(found.epsilon), up(own.epsilon)),
        ("Theorem", numbers.certificate.bound, own.certificate.bound),
        ("Advantage, at most", percent(numbers.advantage), percent(own.advantage)),
    ]
    for (fpr, file_tpr), (_, own_tpr) in zip(numbers.caught, own.caught, strict=True):
        rows.append(
            (f"Recognised with {fpr:.1%} false alarms", percent(file_tpr), percent(own_tpr))
        )
    return dmc.Card(
        [
            dmc.Title("Beside the run of the first tab", order=3, size="h5"),
            parts.table(("", found.name, "The run of the first tab"), rows, "file-beside"),
        ],
        withBorder=True,
        className="card",
    )
