"""The page as an application of Dash, and the server of it, which listens on this machine only."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from dash import Dash
from flask import Response, request
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from shiftdp.ui.explorer.callbacks import connect
from shiftdp.ui.explorer.desk import Desk
from shiftdp.ui.explorer.downloads import FILES, download
from shiftdp.ui.explorer.layout import page

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
    """The application, with a desk of its own at `app.desk`."""
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
    connect(app, Desk())
    server: Any = app.server
    for name in FILES:
        server.add_url_rule(f"/{name}", name, _file_of(name))
    server.before_request(_refuse_strangers)
    server.after_request(_with_policy)
    return app


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
