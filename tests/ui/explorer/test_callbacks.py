"""What happens on the page: controls and address agree, and answers are those of the settings."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest

pytest.importorskip("dash_mantine_components", reason="needs the extra `explore`")

from dash import no_update

from shiftdp.ui.explorer import callbacks
from shiftdp.ui.explorer.answers import certified
from shiftdp.ui.explorer.background import BackgroundAnswers
from shiftdp.ui.explorer.callbacks import Callbacks, Changes
from shiftdp.ui.explorer.code import as_command, as_python
from shiftdp.ui.explorer.fields import FIELDS
from shiftdp.ui.explorer.parts import summary
from shiftdp.ui.explorer.settings import Settings
from tests.ui.explorer.examples import RUNS, SAMPLED, STARTS, settings
from tests.ui.explorer.test_parts import written

LONG = 60.0


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callbacks]:
    """Callbacks that wait until everything is there."""
    monkeypatch.setattr(callbacks, "PATIENCE", LONG)
    background = BackgroundAnswers()
    yield Callbacks(background)
    background.close()


def changed(found: Changes) -> dict[str, Any]:
    return {name: value for name, value in found["values"].items() if value is not no_update}


def test_a_fresh_page_shows_the_first_settings(own: Callbacks) -> None:
    found = own.synced(set(), None, "run", STARTS)
    assert changed(found) == {}
    assert found["query"] == Settings.first().query
    assert found["search"] is no_update
    assert [name for name, style in found["shown"].items() if not style] == list(
        Settings.first().shown
    )


def test_an_address_fills_the_controls(own: Callbacks) -> None:
    found = own.synced({"url"}, f"?{RUNS['langevin'].query}&tab=file", "run", STARTS)
    assert changed(found)["steps"] == "100"
    assert changed(found)["kind"] == "langevin"
    assert found["tab"] == "file"
    strange = own.synced({"url"}, f"?{RUNS['langevin'].query}&tab=%3Cb%3E", "file", STARTS)
    assert strange["tab"] == "run"
    assert found["search"] is no_update
    assert found["sections"]["Who is protected"] == {"display": "none"}


def test_controls_fill_the_address(own: Callbacks) -> None:
    found = own.synced({"field-noise"}, "", "run", {**STARTS, "noise": "0.02"})
    assert found["search"] == f"?{settings(noise='0.02').query}"
    assert found["query"] == settings(noise="0.02").query
    assert changed(found) == {}
    other = own.synced({"tabs"}, "", "file", STARTS)
    assert other["search"] == f"?{settings().query}&tab=file"
    assert other["query"] == settings().query


def test_a_control_that_the_address_has_set_makes_no_new_place_to_go_back_to(
    own: Callbacks,
) -> None:
    values = {**STARTS, "noise": "0.02"}
    address = f"?{settings(noise='0.02').query}"
    assert own.synced({"field-noise"}, address, "run", values)["search"] is no_update
    assert own.synced({"field-noise"}, "", "run", STARTS)["search"] is no_update
    assert own.synced({"tabs"}, address, "file", values)["search"] == f"{address}&tab=file"
    assert own.synced({"tabs"}, f"{address}&tab=file", "run", values)["search"] == address


def test_another_kind_brings_its_examples_and_its_orders(own: Callbacks) -> None:
    found = own.synced({"field-kind"}, "", "run", {**STARTS, "kind": "langevin"})
    assert changed(found)["learning_rate"] == "0.02"
    assert found["query"] == RUNS["langevin"].query
    texts = {**STARTS, "kind": "stream", "order": "reshuffled"}
    found = own.synced({"field-kind"}, "", "run", texts)
    assert changed(found)["order"] == "shuffled"
    assert [one["value"] for one in found["orders"]] == ["fixed", "shuffled"]


@pytest.mark.parametrize("name", RUNS)
def test_the_answer_is_that_of_certify(own: Callbacks, name: str) -> None:
    query = RUNS[name].query
    found = own.answer(query, False)
    assert found is not None
    numbers = certified(RUNS[name].asked())
    assert found["summary"] == summary(numbers)
    assert found["sentence"] == numbers.sentence
    assert found["hidden"] is False
    assert found["asleep"] is True
    assert not any(found["errors"].values())
    assert found["python"] == as_python(RUNS[name])
    assert found["command"] == as_command(RUNS[name])
    assert found["links"]["link-certificate-json"] == f"/certificate.json?{query}"


@pytest.mark.parametrize(
    ("texts", "at"),
    [({"n": "many"}, "n"), ({"learning_rate": "0.1"}, "learning_rate"), ({"delta": "2"}, "delta")],
)
def test_what_is_refused_is_said_at_its_control(
    own: Callbacks, texts: dict[str, str], at: str
) -> None:
    query = settings(**texts).query
    found = own.answer(query, False)
    assert found is not None
    assert [name for name, text in found["errors"].items() if text] == [at]
    assert found["errors"][at] in written(found["problems"]).replace('\\"', '"')
    assert found["hidden"] is True
    for other in (own.drawn(query, False), own.accounts(query, False)):
        assert other is not None
        assert other.pop("asleep") is True
        assert set(other.values()) == {no_update}


@pytest.mark.parametrize("name", RUNS)
def test_figures_and_tables_are_there_for_every_run(own: Callbacks, name: str) -> None:
    query = RUNS[name].query
    drawn, accounts = own.drawn(query, False), own.accounts(query, False)
    assert drawn is not None
    assert accounts is not None
    assert drawn["asleep"] is accounts["asleep"] is True
    assert drawn["about"]
    for figure in (drawn["tradeoff"], drawn["shifts"], drawn["positions"], accounts["epochs"]):
        assert figure["data"] or figure["layout"]["annotations"][0]["text"]
    assert "our bound" in written(accounts["accounts"])


def test_until_it_is_certified_an_estimate_is_shown_that_says_so() -> None:
    """The background is kept busy, so that the page has to ask again."""
    go, background = Event(), BackgroundAnswers()
    query, own = settings(**SAMPLED).query, Callbacks(background)
    background.ask(query, "busy", lambda: go.wait(LONG), 0.0)
    first = own.answer(query, False)
    assert first is not None
    assert "estimate, no bound" in written(first["headline"])
    assert "≤" not in written(first["headline"]) + first["summary"]
    assert first["asleep"] is False
    figures = own.drawn(query, False)
    assert figures is not None
    assert figures["asleep"] is False
    accounts = own.accounts(query, False)
    assert accounts is not None
    assert accounts["asleep"] is False
    assert own.answer(query, True) is None
    assert own.drawn(query, True) is None
    go.set()
    background.ask(query, "last", lambda: True, LONG)
    last = own.answer(query, True)
    assert last is not None
    assert last["summary"] == summary(certified(settings(**SAMPLED).asked()))
    assert last["asleep"] is True
    whole = own.accounts(query, True)
    assert whole is not None
    assert whole["asleep"] is True
    assert set(FIELDS) == set(last["errors"])
    background.close()
