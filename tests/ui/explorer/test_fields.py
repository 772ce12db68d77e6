"""The controls are those of the runs: nothing is missing, and nothing foreign is shown."""

from __future__ import annotations

import pytest

from shiftdp.ui.explorer.fields import (
    FIELDS,
    ORDERS,
    SECTIONS,
    UNSAID,
    fields_of,
    moved_to,
    needed_of,
    start_of,
)
from shiftdp.ui.options import GEOMETRY, KINDS

LEFT_OUT = {
    "cgd": {"steps", "gradient_bound"},  # epochs say the same
    "gd": {"gradient_bound"},
    "stream": {"gradient_bound", "prox_convexity"},
    "langevin": {"gradient_bound", "prox_convexity"},
    "exponential": {"gradient_bound", "prox_convexity", "smoothness"},
}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "sgd"])
def test_a_run_has_the_controls_of_its_options(kind: str) -> None:
    options = {*KINDS[kind].fields, *GEOMETRY.fields} - LEFT_OUT[kind]
    more = {"kind", "delta", "bounds"}
    if kind in ("gd", "cgd"):
        more |= {"further_steps", "records"}
    assert set(fields_of(kind)) == options | more


def test_the_length_of_random_batches_is_asked_in_their_own_terms() -> None:
    assert "steps" in fields_of("sgd", "poisson")
    assert "epochs" not in fields_of("sgd", "poisson")
    assert "epochs" in fields_of("sgd", "random_allocation")
    assert "batch_cap" not in fields_of("sgd", "without_replacement")


def test_every_control_belongs_to_some_run_and_stands_in_a_section() -> None:
    shown = {name for kind in KINDS for name in fields_of(kind, "poisson")}
    assert shown == set(FIELDS)
    assert {field.section for field in FIELDS.values()} == set(SECTIONS)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_needed_has_something_to_start_with(kind: str) -> None:
    for name in needed_of(kind, "without_replacement"):
        assert name in fields_of(kind)
        assert start_of(name, kind)


def test_defaults_are_words_that_can_be_chosen() -> None:
    for name, text in UNSAID.items():
        assert not FIELDS[name].words or text in FIELDS[name].words
    assert all("fixed" in orders for orders in ORDERS.values())


def test_only_untouched_controls_follow_the_kind() -> None:
    texts: dict[str, str | None] = {"steps": "2000", "learning_rate": "0.3", "smoothness": "32.502"}
    assert moved_to("langevin", texts) == {"steps": "100", "smoothness": "10"}
    assert moved_to("gd", {"steps": "100"}) == {"steps": "2000"}
