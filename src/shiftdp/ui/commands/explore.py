"""`shiftdp explore`: a page on this machine that answers while one changes a run."""

from __future__ import annotations

import sys
from typing import Any

import click

from shiftdp.ui.group import Command
from shiftdp.ui.options import answer_options, option_group
from shiftdp.ui.output import print_json, print_text
from shiftdp.ui.refusals import Refused
from shiftdp.ui.types import NUMBER

_GREATEST_PORT = 65_535  # of TCP


@click.command(
    "explore",
    cls=Command,
    examples=(
        "shiftdp explore",
        "shiftdp explore --port 8123 --no-browser",
        "shiftdp explore --port 0 --no-browser --json",
    ),
)
@option_group(
    "The page",
    port={
        "type": NUMBER,
        "default": 8050,
        "help": "Where it is served, on this machine only; 0 for any port that is free.",
    },
    browser={"switch": True, "default": True, "help": "Open it in a browser."},
)
@answer_options()
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Explore what a run reveals on a page of this machine, in a browser.

    Choose the algorithm, the losses, the noise and the length, and see what it costs at once: the
    tradeoff function, every accountant, the proof over time, and a sentence to be signed. A second
    tab checks a certificate. The settings are in the address of the page. Nothing leaves this
    machine. It is served until it is interrupted. Needs the extra `explore`.
    """
    port = options["port"]
    if not isinstance(port, int) or not 0 <= port <= _GREATEST_PORT:
        raise Refused(f"--port {port}: is not a whole number from 0 to {_GREATEST_PORT}", ctx)
    _require_dash()
    from shiftdp.ui.explorer.app import HOST, make_app, make_server_of

    app = make_app()
    try:
        server = make_server_of(app, port)
    except OSError as error:
        raise Refused(
            f"--port {port}: cannot be used ({error.strerror}); give another one, or 0", ctx
        ) from error
    address = f"http://{HOST}:{server.port}/"
    if options["json"]:
        print_json({"url": address, "port": server.port})
    else:
        print_text(f"shiftdp explore is at {address} (on this machine only); end it by Ctrl-C")
    sys.stdout.flush()
    if options["browser"]:
        click.launch(address)
    try:
        server.serve_forever()
    finally:
        server.server_close()


def _require_dash() -> None:
    from importlib.util import find_spec

    missing = [name for name in ("dash", "dash_mantine_components") if find_spec(name) is None]
    if missing:
        raise click.ClickException(
            f"shiftdp explore: needs {missing[0]}, which is not installed; "
            "pip install 'shiftdp[explore]'"
        )
