"""The folder that `shiftdp reproduce --no-training` writes, made once; and where MNIST may be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.ui.shell import said

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("reproduction")
    document = said("reproduce", "--no-training", "--out", str(out), "--json")
    assert document["index"] == str(out / "index.html")
    return out


@pytest.fixture(scope="session")
def mnist() -> Path:
    found = Path(os.environ.get("SHIFTDP_MNIST", ROOT.parent / "shared" / "data" / "mnist"))
    if not found.is_dir():
        pytest.skip("MNIST is not there: set SHIFTDP_MNIST to the folder with its IDX files")
    return found
