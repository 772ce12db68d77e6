"""Small parts of the page: controls, tables, cards with a figure and its exports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from shiftdp._printed import column, percent, up
from shiftdp.privacy.comparison import Row
from shiftdp.ui.explorer.answers import Certified
from shiftdp.ui.explorer.fields import FIELDS, Field

_NAMES = {
    "composition": "composition",
    "prior Renyi": "prior Rényi",
    "paper": "paper",
    "best": "our bound",
    "lower bound": "lower bound",
}


def control(field: Field) -> Any:
    """The control of a field, with its label, and room for what is wrong with it."""
    shape: dict[str, Any] = {
        "id": f"field-{field.name}",
        "label": field.label,
        "description": field.hint or None,
        "value": field.start,
        "size": "sm",
    }
    if field.words:
        data = [{"value": value, "label": label} for value, label in field.words.items()]
        return dmc.Select(**shape, data=data, allowDeselect=False, checkIconPosition="right")
    # it counts as typed when the control is left, or after a while without a key: explorer.js
    return dmc.TextInput(
        **shape, debounce=True, spellCheck=False, autoComplete="off", inputProps={"type": "text"}
    )


def controls(section: str) -> Any:
    """All controls of a section, in a box of their own that a screen reader names."""
    inside = [
        html.Div(control(field), id=f"shown-{field.name}", className="control")
        for field in FIELDS.values()
        if field.section == section
    ]
    slug = section.lower().replace(" ", "-")
    return dmc.Fieldset(inside, legend=section, id=f"section-{slug}", className="section")


def figure_card(
    name: str, title: str, about: str, *, csv: str | None = None, figure: Any = None
) -> Any:
    """A figure with its title, what it shows in words, and what it can be taken away as."""
    takeaways: list[Any] = [
        dmc.Button(
            kind.upper(),
            id={"image": name, "format": kind},
            variant="default",
            size="compact-sm",
            **{"aria-label": f"Download {title} as {kind.upper()}"},
        )
        for kind in ("png", "svg")
    ]
    if csv is not None:
        takeaways.append(link(f"link-{csv.replace('.', '-')}", "CSV", f"Download {title} as CSV"))
    return dmc.Card(
        [
            html.Div(
                [dmc.Title(title, order=3, size="h5"), dmc.Group(takeaways, gap="xs")],
                className="card-head",
            ),
            html.P(about, id=f"about-{name}", className="about"),
            html.Div(
                dcc.Graph(
                    id=f"figure-{name}",
                    figure=figure or {},
                    config={"displayModeBar": False, "responsive": True},
                    style={"height": "380px"},
                ),
                role="img",
                **{"aria-labelledby": f"about-{name}"},
            ),
        ],
        withBorder=True,
        className="card",
    )


def link(name: str, text: str, label: str) -> Any:
    """A link that downloads a file and looks like a button."""
    return html.A(
        text, id=name, href="#", download="", className="takeaway", **{"aria-label": label}
    )


def code_card(name: str, title: str) -> Any:
    """Code with a button that copies it."""
    return dmc.Card(
        [
            html.Div(
                [
                    dmc.Title(title, order=3, size="h5"),
                    dmc.Button(
                        "Copy",
                        id=f"copy-{name}",
                        variant="default",
                        size="compact-sm",
                        **{"aria-label": f"Copy {title}"},
                    ),
                ],
                className="card-head",
            ),
            html.Pre("", id=f"code-{name}", className="code", tabIndex=0),
        ],
        withBorder=True,
        className="card",
    )


def headline(found: Certified, prefix: str = "") -> Any:
    """Epsilon, large, and what else the certificate says in one line each.

    Args:
        found: the numbers.
        prefix: of the ids, where the page has several of these.
    """
    cert = found.certificate
    mu = "not Gaussian" if cert.mu is None else up(cert.mu)
    return [
        html.Div(
            [
                html.Span(
                    ["ε ≤ ", html.Span(up(found.epsilon), id=f"{prefix}epsilon")], className="big"
                ),
                html.Span(f" at δ = {found.delta:g}", className="beside"),
                dmc.Badge(f"{cert.kind} bound", color="teal", variant="light"),
            ],
            className="headline",
        ),
        pairs(
            [
                ("Theorem", cert.bound, f"{prefix}theorem"),
                ("mu", mu, f"{prefix}mu"),
                (
                    "Advantage of an attacker, at most",
                    percent(found.advantage),
                    f"{prefix}advantage",
                ),
            ]
        ),
    ]


def estimated(value: float, source: str) -> Any:
    """What is shown until the certified number is there."""
    return [
        html.Div(
            [
                html.Span(
                    ["ε ≈ ", html.Span(f"{value:.3g}", id="estimate")], className="big faint"
                ),
                dmc.Badge("estimate, no bound", color="orange", variant="light"),
            ],
            className="headline",
        ),
        html.P(f"({source}) The certified number is being computed.", className="about"),
    ]


def pairs(rows: Sequence[tuple[str, str, str]]) -> Any:
    """Names and values, as a list of definitions."""
    inside: list[Any] = []
    for name, value, key in rows:
        inside += [html.Dt(name), html.Dd(value, id=key)]
    return html.Dl(inside, className="pairs")


def caught_table(found: Certified, name: str = "caught") -> Any:
    """What the best attacker recognises at a few rates of false alarms."""
    rows = [(f"{fpr:.1%}", percent(tpr)) for fpr, tpr in found.caught]
    return table(("False alarms", "Recognised, at most"), rows, name)


def accountant_table(rows: Sequence[Row], delta: float, name: str = "accountants") -> Any:
    """What every accountant charges; bounds are rounded up, what is attained is rounded down."""
    values = [row.epsilon for row in rows]
    above, below = column(values), column(values, "down")
    cells = []
    for i, row in enumerate(rows):
        attained = row.name == "lower bound"
        theorem = row.bound or row.note or "does not apply"
        cells.append((_NAMES.get(row.name, row.name), below[i] if attained else above[i], theorem))
    head = ("Accountant", f"ε at δ = {delta:g}", "Theorem, or why not")
    return table(head, cells, name)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], name: str) -> Any:
    """A table that scrolls by itself where it is too wide."""
    return html.Div(
        html.Table(
            [
                html.Thead(html.Tr([html.Th(cell, scope="col") for cell in head])),
                html.Tbody([html.Tr([html.Td(cell) for cell in row]) for row in rows]),
            ],
            id=f"table-{name}",
        ),
        className="scrolls",
    )


def hypotheses(found: Certified) -> Any:
    """What the certificate rests on."""
    return html.Ul(
        [
            html.Li([html.B(item.name), f": {item.statement}"])
            for item in found.certificate.assumptions
        ]
    )


def complaint(problems: Mapping[str, str]) -> Any:
    """What is wrong, where the answer would stand."""
    said = dict.fromkeys(problems.values())
    return dmc.Alert(
        html.Ul([html.Li(text) for text in said]),
        title="These settings describe no run that could be certified",
        color="red",
        id="complaint",
    )


def notice(text: str | None) -> Any:
    """What a smaller last batch costs, where it does."""
    return [] if text is None else dmc.Alert(text, color="orange", title="A smaller last batch")


def working() -> Any:
    """What is shown until a number is there, of which there is no quick estimate."""
    return html.P("Being computed ...", className="about")


def summary(found: Certified) -> str:
    """The number, for the line that is always in sight."""
    return f"ε ≤ {up(found.epsilon)} at δ = {found.delta:g}"
