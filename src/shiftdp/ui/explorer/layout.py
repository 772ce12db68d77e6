"""The page: controls on the left, the answer on the right; below one another on a phone."""

from __future__ import annotations

from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from shiftdp.ui.explorer.fields import SECTIONS
from shiftdp.ui.explorer.parts import code_card, controls, figure_card, link

POLL = 120
"""Milliseconds after which the page asks again for what was not ready."""

RUN, FILE = "run", "file"
"""The tabs."""


def page() -> Any:
    """Everything, without any answer in it yet."""
    return dmc.MantineProvider(
        [
            dcc.Location(id="url", refresh=False),
            dcc.Store(id="query"),
            *(
                dcc.Interval(id=f"again-{name}", interval=POLL, disabled=True)
                for name in ("answer", "curves", "accounts")
            ),
            html.A("Skip to the answer", href="#answer", className="skip"),
            html.Header(
                [
                    dmc.Title("shiftdp", order=1, size="h3"),
                    html.A("", href="#answer", id="summary", className="subtitle"),
                    dmc.ColorSchemeToggle(
                        lightIcon="☀",
                        darkIcon="☾",
                        size="lg",
                        variant="default",
                        id="scheme",
                        **{"aria-label": "Light or dark"},
                    ),
                ]
            ),
            dmc.Tabs(
                [
                    dmc.TabsList(
                        [
                            dmc.TabsTab("A run", value=RUN),
                            dmc.TabsTab("A certificate file", value=FILE),
                        ]
                    ),
                    dmc.TabsPanel(_run(), value=RUN),
                    dmc.TabsPanel(_file(), value=FILE),
                ],
                id="tabs",
                value=RUN,
                keepMounted=True,
            ),
            html.Div("", id="said", role="status", className="unseen"),
        ],
        defaultColorScheme="auto",
        theme={"primaryColor": "blue", "fontFamily": "system-ui, sans-serif"},
    )


def _run() -> Any:
    return html.Div(
        [
            html.Section(
                [controls(section) for section in SECTIONS],
                id="controls",
                **{"aria-label": "The run"},
            ),
            html.Main(_answer(), id="answer", tabIndex=-1),
        ],
        className="columns",
    )


def _answer() -> list[Any]:
    return [
        html.Div([], id="problems", role="alert"),
        html.Div(
            [
                dmc.Card(
                    [
                        html.Div([], id="headline", **{"aria-live": "polite"}),
                        html.Div([], id="notice"),
                        html.Div(
                            [
                                dmc.Title("To be signed", order=2, size="h5"),
                                html.Blockquote("", id="sentence"),
                                html.Details(
                                    [html.Summary("The hypotheses"), html.Div([], id="hypotheses")]
                                ),
                            ]
                        ),
                        html.Div([], id="caught"),
                        link(
                            "link-certificate-json",
                            "Certificate (JSON)",
                            "Download the certificate as JSON",
                        ),
                    ],
                    withBorder=True,
                    className="card first",
                ),
                html.Div(
                    [
                        figure_card(
                            "tradeoff",
                            "Tradeoff curve",
                            "Whoever has few false alarms misses many: no attacker is below the "
                            "curve of this run.",
                            csv="tradeoff.csv",
                        ),
                        figure_card(
                            "epochs",
                            "Longer runs",
                            "Epsilon against the length of the run, by every accountant.",
                            csv="epochs.csv",
                        ),
                    ],
                    className="pair",
                ),
                dmc.Card(
                    [
                        dmc.Title("What others would charge", order=3, size="h5"),
                        html.P(
                            "Composition lets every iterate be seen; prior Rényi is [YS22], the "
                            "paper [BSA24]. Some losses attain the lower bound, so that no "
                            "accountant can promise less.",
                            className="about",
                        ),
                        html.Div([], id="accounts"),
                    ],
                    withBorder=True,
                    className="card",
                ),
                html.Div(
                    [
                        figure_card("shifts", "The proof over time", "", csv="shifts.csv"),
                        figure_card(
                            "positions",
                            "By position in the epoch",
                            "A record in an early batch is better protected: more noise follows.",
                            csv="positions.csv",
                        ),
                    ],
                    className="pair",
                ),
                html.Div(
                    [code_card("python", "As Python"), code_card("command", "As a command")],
                    className="pair",
                ),
            ],
            id="results",
        ),
    ]


def _file() -> Any:
    return html.Main(
        [
            dmc.Card(
                [
                    dmc.Title("Check a certificate", order=2, size="h4"),
                    html.P(
                        "The proof in the file is checked step by step, without the solver that "
                        "found it, on this machine. What the file assumes of the losses is not "
                        "known to be true: read it.",
                        className="about",
                    ),
                    html.Span("Certificate file (JSON)", id="choose"),
                    html.Div(
                        dcc.Upload(
                            html.Span("Choose a file, or drop it here"),
                            id="upload",
                            className="drop",
                            accept=".json,application/json",
                            multiple=False,
                        ),
                        role="group",
                        **{"aria-labelledby": "choose"},
                    ),
                    html.P("Epsilon is read at the delta of the first tab.", className="about"),
                ],
                withBorder=True,
                className="card",
            ),
            html.Div([], id="verdict", **{"aria-live": "polite"}),
        ],
        className="single",
    )
