"""Settings: what stands in the address is what is run, and what is wrong is said at its control."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp import NoisyCGD, NoisyStream, Unlearning
from shiftdp.ui.explorer.fields import FIELDS
from shiftdp.ui.explorer.settings import Settings, Unclear
from tests.ui.explorer.examples import RUNS, SMALL, STARTS, settings


@given(st.dictionaries(st.sampled_from(sorted(FIELDS)), st.text(max_size=8)))
def test_an_address_holds_everything(texts: dict[str, str]) -> None:
    made = Settings.of({**STARTS, **texts, "kind": "cgd", "order": "fixed"})
    assert Settings.from_query(made.query) == made
    assert Settings.from_query("?" + made.query) == made


@given(st.text(max_size=40))
def test_any_address_is_settings_or_says_what_is_wrong(query: str) -> None:
    found = Settings.from_query(query)
    problems = {}
    try:
        found.asked()
    except Unclear as unclear:
        problems = unclear.problems
    assert bool(problems) == (found != Settings.first())
    assert all(problems.values())


def test_an_empty_address_is_a_fresh_page() -> None:
    assert Settings.from_query("") == Settings.from_query("?") == Settings.first()
    run = Settings.first().asked().run
    assert run == NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)


def test_what_an_address_does_not_say_is_the_default() -> None:
    short = "kind=cgd&n=10&batch_size=5&epochs=2&learning_rate=0.1&noise=1"
    losses = "&strong_convexity=0&smoothness=1&sensitivity=1&delta=1e-5"
    found = Settings.from_query(short + losses)
    assert found.by_name["order"] == "fixed"
    assert found.asked().run == NoisyCGD(n=10, batch_size=5, epochs=2, learning_rate=0.1, noise=1.0)


@pytest.mark.parametrize("name", RUNS)
def test_settings_describe_runs(name: str) -> None:
    asked = RUNS[name].asked()
    assert asked.delta == 1e-5
    assert (name in ("a deletion", "two deletions")) == isinstance(asked.run, Unlearning)


def test_the_order_of_one_kind_becomes_that_of_another() -> None:
    run = settings(kind="stream", order="reshuffled").asked().run
    assert isinstance(run, NoisyStream)
    assert run.order == "shuffled"
    assert settings(order="shuffled").by_name["order"] == "shuffled_once"


@pytest.mark.parametrize(
    ("texts", "at", "said"),
    [
        ({"n": "many"}, {"n"}, "n=many is not a number"),
        ({"n": ""}, {"n"}, "n is missing"),
        ({"n": "many", "noise": "-"}, {"n", "noise"}, "noise=- is not a number"),
        ({"batch_size": "70000"}, {"batch_size"}, "batch_size=70000 exceeds n=60000"),
        ({"epochs": "1.01"}, {"epochs"}, "is not a whole number of steps"),
        ({"strong_convexity": "40"}, {"strong_convexity"}, "exceeds smoothness=32.502"),
        ({"releases": "often"}, {"releases"}, "give epochs, all or steps"),
        ({"releases": "epochs", "further_steps": "5"}, {"further_steps"}, "deletion is not proved"),
        ({"adjacency": "other"}, {"adjacency"}, "is unknown; give one of replace_one, zero_out"),
        ({"delta": ""}, {"delta"}, "delta is missing"),
    ],
)
def test_what_is_wrong_is_said_at_its_control(
    texts: dict[str, str], at: set[str], said: str
) -> None:
    with pytest.raises(Unclear) as caught:
        settings(**texts).asked()
    assert set(caught.value.problems) == at
    assert said in str(caught.value)


def test_what_the_run_does_not_have_is_refused_and_not_ignored() -> None:
    query = f"{settings(**SMALL).query}&sampling=poisson&colour=red"
    with pytest.raises(Unclear) as caught:
        Settings.from_query(query).asked()
    assert set(caught.value.problems) == {"sampling", "colour"}


def test_an_error_about_nothing_on_the_page_is_said_at_the_algorithm() -> None:
    assert settings().problems_of(ValueError("odd")) == {"kind": "odd"}
