"""A certificate file is verified before anything of it is shown."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

pytest.importorskip("dash_mantine_components", reason="needs the extra `explore`")

from dash import no_update

from shiftdp._printed import up
from shiftdp.ui.explorer.answers import certified
from shiftdp.ui.explorer.file_tab import Unreadable, certificate_of, read, show_file
from tests.privacy.selection.examples import score, search
from tests.ui.explorer.examples import RUNS, settings
from tests.ui.explorer.test_parts import written


def sent(text: str | bytes) -> str:
    """A file as a browser sends it."""
    raw = text.encode() if isinstance(text, str) else text
    return f"data:application/json;base64,{base64.b64encode(raw).decode()}"


def json_of(name: str) -> str:
    return certified(RUNS[name].asked()).certificate.to_json()


@pytest.mark.parametrize("name", RUNS)
def test_every_certificate_is_read_and_verified(name: str) -> None:
    found = read("run.json", sent(json_of(name)), 1e-5)
    assert found.epsilon == certified(RUNS[name].asked()).epsilon
    assert found.rows[0].epsilon == found.epsilon
    assert found.numbers is not None


def test_a_file_is_shown_beside_the_run_of_the_first_tab() -> None:
    shown = show_file(sent(json_of("fixed")), "run.json", settings().query, True)
    text = written(shown)
    own, other = certified(RUNS["fixed"].asked()), certified(settings().asked())
    assert "run.json: verified" in text
    assert f"ε ≤ {up(own.epsilon)}" in text
    assert up(other.epsilon) in text
    assert own.certificate.assumptions[0].statement in text
    assert '"name": "run.json"' in text
    assert '"name": "the run of the first tab"' in text


def test_a_first_tab_that_describes_no_run_does_not_matter() -> None:
    shown = show_file(sent(json_of("fixed")), "run.json", settings(n="many").query, True)
    assert "run.json: verified" in written(shown)
    assert "the run of the first tab" not in written(shown)


def forged() -> str:
    document: dict[str, Any] = json.loads(json_of("fixed"))
    document["run"]["noise"] = 0.2
    return json.dumps(document)


def of_an_author() -> str:
    document: dict[str, Any] = json.loads(json_of("fixed"))
    return json.dumps({**document, "kind": "conditional", "bound": "Mine"})


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        (sent(forged()), "the proof in the file does NOT hold"),
        (sent(of_an_author()), "it rests on a theorem of its author's, 'Mine', which can be"),
        (sent("{}"), "is not a certificate"),
        (sent('{"format": {}}'), "is not a certificate"),
        (sent("no JSON"), "is not a certificate"),
        (sent(b"\xff\xfe"), "is not text"),
        (sent(b"PK\x03\x04"), "is an archive"),
        ("data:,not base64!", "could not be read"),
    ],
)
def test_what_is_no_certificate_is_refused_with_its_name(contents: str, said: str) -> None:
    with pytest.raises(Unreadable, match=f"run.json: .*{said}|run.json: {said}"):
        certificate_of("run.json", contents)
    shown = show_file(contents, "run.json", "", True)
    assert "Not verified" in written(shown)
    assert "ε" not in written(shown)


@pytest.mark.parametrize("whole", [search(), score()], ids=["search", "score"])
def test_a_certificate_of_several_runs_or_of_none_is_verified_as_a_whole(whole: Any) -> None:
    shown = written(show_file(sent(whole.to_json()), "best.json", "", True))
    assert "best.json: verified" in shown
    assert f"holds: ε ≤ {up(whole.epsilon(1e-5))}" in shown


def test_nothing_happens_before_there_is_a_file() -> None:
    assert show_file(None, None, "", True) is no_update
    assert show_file(sent(json_of("fixed")), "a", "", False) is no_update
