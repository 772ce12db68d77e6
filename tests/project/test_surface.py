"""The public surface: every name that is promised is there, and is loaded only when used."""

import importlib

import pytest

import shiftdp


@pytest.mark.parametrize("name", shiftdp.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(shiftdp, name) is not None
    assert name in dir(shiftdp)


def test_homes_and_promises_agree() -> None:
    named = [name for names in shiftdp._HOMES.values() for name in names]
    assert sorted(named) == sorted(shiftdp.__all__)


@pytest.mark.parametrize("room", ["fdp", "interpolation", "last_iterate", "privacy"])
def test_rooms_are_attributes(room: str) -> None:
    assert getattr(shiftdp, room) is importlib.import_module(f"shiftdp.{room}")


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'certfy'"):
        shiftdp.certfy  # type: ignore[attr-defined]  # noqa: B018
