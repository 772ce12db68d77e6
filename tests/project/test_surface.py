"""The public surface: every name that is promised is there, and is loaded only when used."""

import importlib
import inspect

import pytest

import shiftdp


@pytest.mark.parametrize("name", shiftdp.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(shiftdp, name) is not None
    assert name in dir(shiftdp)


def test_only_public_names_are_shown() -> None:
    shown = {name for name in dir(shiftdp) if not name.startswith("__")}
    rooms = {"fdp", "interpolation", "last_iterate", "privacy", "training", "trials"}
    assert shown == {*shiftdp.__all__, *rooms}


def test_importing_everything_brings_the_public_names_and_no_other() -> None:
    names: dict[str, object] = {}
    exec("from shiftdp import *", names)
    names.pop("__builtins__")
    assert sorted(names) == shiftdp.__all__
    assert names["certify"] is shiftdp.certify


@pytest.mark.parametrize("room", ["fdp", "interpolation", "last_iterate", "privacy"])
def test_rooms_are_attributes(room: str) -> None:
    assert getattr(shiftdp, room) is importlib.import_module(f"shiftdp.{room}")


QUESTIONS = {"epsilon", "epsilon_below", "epsilon_interval", "lower_epsilon"}
"""Asked of a guarantee: delta is all they need, and may be given without its name."""
PAIRS = {"ApproxDPTradeoff", "from_budget", "from_guarantees"}
"""Made of epsilon and delta, in this order."""
RECORDS = {"Table", "Frontier", "AuditReport", "ExactAudit"}
"""Answers that the library makes and nobody else: delta is one of their fields."""
BY_CERTIFY = {"Theorem.bound", "Theorem.for_every_length", "Theorem.prospect"}
"""Methods that theorems define and `certify` calls."""
ROOMS = ["fdp", "interpolation", "last_iterate", "privacy", "training", "trials"]


def functions_with_delta() -> dict[str, inspect.Parameter]:
    """All public functions and methods that take a delta (no exceptions), with that parameter.

    Public is what the package or a room exports.
    """
    found: dict[str, inspect.Parameter] = {}
    rooms = [shiftdp, *(importlib.import_module(f"shiftdp.{room}") for room in ROOMS)]
    for name, value in ((name, getattr(room, name)) for room in rooms for name in room.__all__):
        if inspect.isclass(value) and issubclass(value, BaseException):
            continue
        described = inspect.isclass(value) or inspect.isroutine(value)
        members = [(name, value)] if described else []
        if inspect.isclass(value):
            own = inspect.getmembers(value, callable)
            members += [(f"{name}.{key}", item) for key, item in own if not key.startswith("_")]
        for where, function in members:
            parameters = inspect.signature(function).parameters
            if "delta" in parameters:
                found[where] = parameters["delta"]
    return found


def test_delta_is_a_keyword_wherever_it_is_an_option() -> None:
    found = functions_with_delta()
    assert {"certify", "compare", "frontier", "Certificate.statement", "Ledger.epsilon"} <= {*found}
    assert {"renyi_epsilon", "zcdp_epsilon", "Theorem.bound"} <= {*found}
    for where, parameter in found.items():
        owner, _, name = where.rpartition(".")
        plain = (
            name in PAIRS | RECORDS
            or where in BY_CERTIFY
            or (name in QUESTIONS and owner not in ("", "Ledger"))
        )
        expected = parameter.POSITIONAL_OR_KEYWORD if plain else parameter.KEYWORD_ONLY
        assert parameter.kind == expected, where


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'certfy'"):
        shiftdp.certfy  # type: ignore[attr-defined]  # noqa: B018
