"""The server: on this machine only, with nothing from elsewhere in the page."""

from __future__ import annotations

import json
import re
import socket
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("dash_mantine_components", reason="needs the extra `explore`")

from shiftdp import Certificate
from shiftdp.ui.explorer.app import HOST, make_app, make_server_of
from tests.ui.explorer.examples import RUNS


@pytest.fixture(scope="module")
def client() -> Any:
    return make_app().server.test_client()


def get(client: Any, path: str, host: str = "127.0.0.1:8050") -> Any:
    return client.get(path, headers={"Host": host})


def test_everything_in_the_page_comes_from_here(client: Any) -> None:
    page = get(client, "/").get_data(as_text=True)
    for address in re.findall(r'(?:src|href)="([^"]+)"', page):
        assert urlsplit(address).netloc == ""
    assert "explorer.css" in page
    assert "explorer.js" in page
    assert 'name="viewport"' in page


def test_the_browser_is_told_to_ask_nobody_else(client: Any) -> None:
    policy = get(client, "/").headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "http" not in policy.replace("https", "http")
    assert "*" not in policy


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1.example.org:8050", "attacker:8050"])
def test_other_names_of_this_machine_are_refused(client: Any, host: str) -> None:
    assert get(client, "/", host).status_code == 403
    assert get(client, "/certificate.json", host).status_code == 403


def test_localhost_is_a_name_of_this_machine(client: Any) -> None:
    assert get(client, "/", "localhost:8050").status_code == 200


def test_files_are_served(client: Any) -> None:
    answer = get(client, f"/certificate.json?{RUNS['fixed'].query}")
    Certificate.from_json(answer.get_data(as_text=True)).verify()
    assert get(client, "/epochs.csv?kind=cgd&n=many").status_code == 400


def test_a_callback_answers_over_the_wire(client: Any) -> None:
    """As the page asks: by its own description of the callbacks."""
    known = json.loads(get(client, "/_dash-dependencies").get_data(as_text=True))
    one = next(one for one in known if "again-curves.disabled" in one["output"])
    outputs = [
        {"id": name.rpartition(".")[0], "property": name.rpartition(".")[2]}
        for name in one["output"].strip(".").split("...")
    ]
    request = {
        "output": one["output"],
        "outputs": outputs,
        "inputs": [
            {"id": "query", "property": "data", "value": RUNS["fixed"].query},
            {"id": "again-curves", "property": "n_intervals", "value": None},
        ],
        "changedPropIds": ["query.data"],
    }
    answer = client.post(
        "/_dash-update-component", json=request, headers={"Host": "127.0.0.1:8050"}
    )
    assert answer.status_code == 200
    assert "figure-tradeoff" in answer.get_json()["response"]


def test_it_listens_on_this_machine_only() -> None:
    server = make_server_of(make_app(), 0)
    try:
        assert server.socket.getsockname()[0] == HOST == "127.0.0.1"
        assert server.port == server.socket.getsockname()[1] > 0
    finally:
        server.server_close()


def test_a_port_that_is_taken_is_an_error() -> None:
    with socket.create_server((HOST, 0)) as taken, pytest.raises(OSError, match="in use"):
        make_server_of(make_app(), taken.getsockname()[1])
