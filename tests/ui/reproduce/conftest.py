"""The tables and figures, made once; the folder that `shiftdp reproduce --no-training` writes of
them; and where MNIST may be."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.ui.shell import said

if TYPE_CHECKING:
    from shiftdp.ui.reproduce.figures.picture import Picture
    from shiftdp.ui.reproduce.grid import Table

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def tables() -> dict[int, Table]:
    """Those that need no data, by their numbers in the paper."""
    from shiftdp.ui.reproduce.contents import all_tables

    return {table.number: table for table in all_tables() if table.number is not None}


@pytest.fixture(scope="session")
def pictures() -> list[Picture]:
    from shiftdp.ui.plots.style import loaded
    from shiftdp.ui.reproduce.contents import FIGURES

    with loaded():
        return [draw() for draw in FIGURES]


@pytest.fixture(scope="session")
def folder(pictures: list[Picture], tmp_path_factory: pytest.TempPathFactory) -> Path:
    from shiftdp.ui.reproduce import contents

    out = tmp_path_factory.mktemp("reproduction")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contents, "FIGURES", tuple(partial(_given, picture) for picture in pictures))
        document = said("reproduce", "--no-training", "--out", str(out), "--json")
    assert document["index"] == str(out / "index.html")
    return out


def _given(picture: Picture) -> Picture:
    return picture


@pytest.fixture(scope="session")
def mnist() -> Path:
    found = Path(os.environ.get("SHIFTDP_MNIST", ROOT.parent / "shared" / "data" / "mnist"))
    if not found.is_dir():
        pytest.skip("MNIST is not there: set SHIFTDP_MNIST to the folder with its IDX files")
    return found
