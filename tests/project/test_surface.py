"""The public surface: every name that is promised is there, and is loaded only when used."""

import importlib

import pytest

import shiftdp


@pytest.mark.parametrize("name", shiftdp.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(shiftdp, name) is not None
    assert name in dir(shiftdp)


def test_importing_everything_brings_the_public_names_and_no_other() -> None:
    names: dict[str, object] = {}
    exec("from shiftdp import *", names)
    names.pop("__builtins__")
    assert sorted(names) == shiftdp.__all__
    assert names["certify"] is shiftdp.certify


@pytest.mark.parametrize("room", ["fdp", "interpolation", "last_iterate", "privacy"])
def test_rooms_are_attributes(room: str) -> None:
    assert getattr(shiftdp, room) is importlib.import_module(f"shiftdp.{room}")


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'certfy'"):
        shiftdp.certfy  # type: ignore[attr-defined]  # noqa: B018
