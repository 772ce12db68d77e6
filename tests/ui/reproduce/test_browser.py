"""The page in a real browser, without network: it shows its figures."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest

pytestmark = pytest.mark.slow

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
# the lines of composition, of the best bound and of the prior one, as they are in the figures
COLOURS = {"blue": (0, 114, 178), "orange": (213, 94, 0), "green": (0, 158, 115)}


@pytest.fixture(scope="module")
def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    return found


def screenshot(browser: str, page: Path, folder: Path, height: int = 5_000) -> Any:
    """What the browser shows, as an array of bytes."""
    image, profile = folder / "shot.png", folder / "profile"
    subprocess.run(
        [
            browser,
            *FLAGS,
            f"--user-data-dir={profile}",
            f"--window-size=1100,{height}",
            f"--screenshot={image}",
            page.as_uri(),
        ],
        check=True,
        capture_output=True,
    )
    return np.round(matplotlib.image.imread(image)[:, :, :3] * 255).astype(int)


def pixels(shot: Any, colour: tuple[int, int, int]) -> int:
    return int((np.abs(shot - np.array(colour)).max(axis=2) <= 2).sum())


def test_the_page_shows_its_figures(chromium: str, folder: Path, tmp_path: Path) -> None:
    shot = screenshot(chromium, folder / "index.html", tmp_path)
    for name, colour in COLOURS.items():
        assert pixels(shot, colour) > 2_000, name
    # and they are the figures: without the files they are gone
    bare = tmp_path / "bare"
    bare.mkdir()
    shutil.copy(folder / "index.html", bare)
    without = screenshot(chromium, bare / "index.html", tmp_path / "bare")
    for name, colour in COLOURS.items():
        assert pixels(without, colour) < 200, name


def test_every_figure_shows_as_a_picture_alone(chromium: str, folder: Path, tmp_path: Path) -> None:
    """All SVG files on one page, a row each: every row has ink of its own."""
    files = sorted((folder / "figures").glob("*.svg"))
    rows = [f'<div style="height:400px"><img src="{f.as_uri()}" height="400"></div>' for f in files]
    page = tmp_path / "all.html"
    page.write_text(f'<body style="margin:0">{"".join(rows)}')
    shot = screenshot(chromium, page, tmp_path, 400 * len(files))
    assert len(files) == 12
    for i, file in enumerate(files):
        part = shot[400 * i : 400 * (i + 1)]
        coloured = part.max(axis=2) - part.min(axis=2) > 60
        assert coloured.sum() > 500, file.name


def test_on_a_phone_no_verdict_is_cut_off(chromium: str, folder: Path, tmp_path: Path) -> None:
    """The page in a frame as wide as a phone: verdicts are green, and inside of it."""
    frame = tmp_path / "phone.html"
    page = (folder / "index.html").as_uri()
    size = "width:390px;height:4900px;border:0"
    frame.write_text(f'<body style="margin:0"><iframe src="{page}" style="{size}"></iframe>')
    shot = screenshot(chromium, frame, tmp_path)
    assert pixels(shot[:, :390], (0, 113, 79)) > 300
    assert pixels(shot[:, :390], COLOURS["blue"]) > 500
