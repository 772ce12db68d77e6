"""What stands around the code agrees with it and with itself."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import shiftdp

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
EXTRAS = {
    "sklearn", "parquet", "plot", "reproduce", "opacus", "torch", "dp-accounting", "explore",
    "dask",
}  # fmt: skip


@pytest.fixture(scope="module")
def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_version_has_one_home(pyproject: dict[str, Any]) -> None:
    assert "version" not in pyproject["project"]
    assert pyproject["tool"]["hatch"]["version"]["path"] == "src/shiftdp/_version.py"
    assert re.fullmatch(r"\d+\.\d+\.\d+", shiftdp.__version__)
    assert f"\nversion: {shiftdp.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert shiftdp.__version__ in (ROOT / "CHANGELOG.md").read_text()


def test_extras(pyproject: dict[str, Any]) -> None:
    extras = pyproject["project"]["optional-dependencies"]
    assert set(extras) == EXTRAS | {"all", "test", "test-peers", "docs", "dev", "fuzz"}
    (everything,) = extras["all"]
    assert set(everything.removeprefix("shiftdp[").removesuffix("]").split(",")) == EXTRAS


def test_licence(pyproject: dict[str, Any]) -> None:
    assert pyproject["project"]["license"] == "Apache-2.0"
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License\n" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_changelog_has_a_heading_for_privacy_numbers() -> None:
    for section in (ROOT / "CHANGELOG.md").read_text().split("\n## [")[1:]:
        assert "\n### Privacy numbers\n" in section


def test_readme_has_its_parts() -> None:
    readme = (ROOT / "README.md").read_text()
    for part in ("make demo", "make test", "```python", "| theorem |", "## Limits", "## Citation"):
        assert part in readme


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_targets_that_a_page_names_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^\$ |`|^)make ([a-z-]+)", page.read_text(), re.MULTILINE))
    assert named <= targets


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text())
    local = [link for link in links if "://" not in link and not link.startswith("mailto:")]
    assert [link for link in local if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_word_python_is_spelled_so_that_blocks_are_executed(page: Path) -> None:
    """A block marked `py` or `pycon` would be shown, but not run."""
    languages = set(re.findall(r"^```(\w+)", page.read_text(), re.MULTILINE))
    assert not languages & {"py", "python3", "pycon", "Python"}
