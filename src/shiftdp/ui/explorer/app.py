"""The page as an application of Dash, and the server of it, which listens on this machine only."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dash import ALL, ClientsideFunction, Dash, Input, Output, State, ctx
from dash.exceptions import PreventUpdate
from flask import Response, request
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from shiftdp.ui.explorer.background import BackgroundAnswers
from shiftdp.ui.explorer.callbacks import LINKS, Callbacks, Changes
from shiftdp.ui.explorer.downloads import FILES, download
from shiftdp.ui.explorer.fields import FIELDS, SECTIONS
from shiftdp.ui.explorer.file_tab import show_file
from shiftdp.ui.explorer.layout import FILE, page

HOST = "127.0.0.1"

_OWN_NAMES = (HOST, "localhost")
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self' data: blob:; frame-ancestors 'none'; form-action 'self'; base-uri 'self'"
)
"""What the page may load, and whom it may talk to: this server. Dash writes scripts into the page
and Plotly compiles some, hence the two words after its own scripts."""


def make_app() -> Dash:
    """The application, with a background worker of its own."""
    app = Dash(
        "shiftdp",
        assets_folder=str(Path(__file__).parent / "assets"),
        title="shiftdp explore",
        update_title="",
        serve_locally=True,
        enable_mcp=False,
        add_log_handler=False,
        meta_tags=[
            {"name": "viewport", "content": "width=device-width, initial-scale=1"},
            {"name": "description", "content": "What a run of noisy gradient descent reveals"},
        ],
    )
    app.layout = page()
    connect(app, BackgroundAnswers())
    server: Any = app.server
    for name in FILES:
        server.add_url_rule(f"/{name}", name, _file_of(name))
    server.before_request(_refuse_strangers)
    server.after_request(_with_policy)
    return app


def _changed() -> set[str]:
    """The ids of what set off a callback."""
    return {name.rpartition(".")[0] for name in ctx.triggered_prop_ids}


def _asked_again() -> bool:
    return any(name.startswith("again-") for name in _changed())


def connect(app: Dash, background: BackgroundAnswers) -> Callbacks:
    """Tie the callbacks to the page."""
    own = Callbacks(background)

    def field(prop: str, kind: Any) -> dict[str, Any]:
        return {name: kind(f"field-{name}", prop) for name in FIELDS}

    slugs = {name: f"section-{name.lower().replace(' ', '-')}" for name in SECTIONS}
    app.callback(
        output={
            "search": Output("url", "search"),
            "tab": Output("tabs", "value"),
            "query": Output("query", "data"),
            "values": field("value", Output),
            "shown": {name: Output(f"shown-{name}", "style") for name in FIELDS},
            "sections": {name: Output(slug, "style") for name, slug in slugs.items()},
            "orders": Output("field-order", "data"),
        },
        inputs={
            "search": Input("url", "search"),
            "tab": Input("tabs", "value"),
            "values": field("value", Input),
        },
    )(lambda search, tab, values: own.synced(_changed(), search, tab, values))

    def on_query(
        name: str, output: dict[str, Any], act: Callable[[str, bool], Changes | None]
    ) -> None:
        def changed(query: str, ticks: int) -> Changes:
            found = act(query, _asked_again())
            if found is None:
                raise PreventUpdate
            return found

        app.callback(
            output={**output, "asleep": Output(f"again-{name}", "disabled")},
            inputs={
                "query": Input("query", "data"),
                "ticks": Input(f"again-{name}", "n_intervals"),
            },
            prevent_initial_call=True,
        )(changed)

    on_query(
        "answer",
        {
            "problems": Output("problems", "children"),
            "hidden": Output("results", "hidden"),
            "errors": field("error", Output),
            "summary": Output("summary", "children"),
            "headline": Output("headline", "children"),
            "notice": Output("notice", "children"),
            "sentence": Output("sentence", "children"),
            "hypotheses": Output("hypotheses", "children"),
            "caught": Output("caught", "children"),
            "python": Output("code-python", "children"),
            "command": Output("code-command", "children"),
            "links": {name: Output(name, "href") for name in LINKS},
        },
        own.answer,
    )
    on_query(
        "curves",
        {
            "tradeoff": Output("figure-tradeoff", "figure"),
            "about": Output("about-shifts", "children"),
            "shifts": Output("figure-shifts", "figure"),
            "positions": Output("figure-positions", "figure"),
        },
        own.drawn,
    )
    on_query(
        "accounts",
        {"accounts": Output("accounts", "children"), "epochs": Output("figure-epochs", "figure")},
        own.accounts,
    )
    app.callback(
        output=Output("verdict", "children"),
        inputs={
            "contents": Input("upload", "contents"),
            "tab": Input("tabs", "value"),
            "name": State("upload", "filename"),
            "query": State("query", "data"),
        },
        prevent_initial_call=True,
    )(lambda contents, tab, name, query: show_file(contents, name, query or "", tab == FILE))
    app.clientside_callback(
        ClientsideFunction("explorer", "image"),
        Output("said", "children"),
        Input({"image": ALL, "format": ALL}, "n_clicks"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("explorer", "copy"),
        Output("said", "children", allow_duplicate=True),
        Input("copy-python", "n_clicks"),
        Input("copy-command", "n_clicks"),
        State("code-python", "children"),
        State("code-command", "children"),
        prevent_initial_call=True,
    )
    return own


def _file_of(name: str) -> Any:
    def answer() -> tuple[str, int, dict[str, str]]:
        return download(name, request.query_string.decode())

    return answer


def _refuse_strangers() -> Response | None:
    """Only this machine's own names: a page elsewhere must not reach this one by a name that
    somebody made point here."""
    if request.host.partition(":")[0] in _OWN_NAMES:
        return None
    return Response("this page is for this machine only\n", 403, content_type="text/plain")


def _with_policy(response: Response) -> Response:
    response.headers["Content-Security-Policy"] = _POLICY
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


class _Quiet(WSGIRequestHandler):
    """Requests are not printed."""

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 - werkzeug's name
        pass


def make_server_of(app: Dash, port: int) -> BaseWSGIServer:
    """A server that is ready to listen at this port, or at any free one for 0.

    Raises `OSError` where the port is taken.
    """
    listening = socket.create_server((HOST, port))
    server = make_server(
        HOST,
        listening.getsockname()[1],
        app.server,
        threaded=True,
        request_handler=_Quiet,
        fd=listening.fileno(),
    )
    listening.close()  # the server has a copy
    return server
