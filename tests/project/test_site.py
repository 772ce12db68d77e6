"""The site: made without a warning, no dead links, a theorem index that is complete."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import shiftdp
from docs.site.docstrings import as_restructured_text
from docs.site.sources import on_the_site
from docs.site.theorem_index import anchor_of, entries, statements
from shiftdp.last_iterate import (
    THEOREMS,
    ExponentialMechanism,
    Geometry,
    LangevinMC,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    NoisyStream,
    Unlearning,
)
from shiftdp.last_iterate.attained import DESCENT_LEAKS, MECHANISM_LEAKS
from shiftdp.last_iterate.attained_sampled import RANDOM_BATCHES_LEAK, LowerBound
from shiftdp.last_iterate.certification import bound_by
from shiftdp.last_iterate.theorems.theorem import DELTA
from tests.last_iterate.theorems.catalogue import CATALOGUE

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
VENDORED = DOCS / "site" / "static" / "mathjax"


# --- the pages as files ---


def anchors(page: Path) -> set[str]:
    """Of the headings of a Markdown file; those inside of code are none."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return {anchor_of(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_between_files_lead_somewhere(page: Path) -> None:
    """To a file or a folder of the repository and, where they name one, to a heading of it."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        if urlsplit(link).scheme:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_a_link_into_the_repository_leads_to_a_page_on_the_site() -> None:
    text = "[a](../src/shiftdp/fdp/clt.py), [b](theory.md#rounding), [c](../CHANGELOG.md), [d](#e)"
    turned, found = on_the_site(text, "index")
    assert turned == (
        "[a](repository:files/src/shiftdp/fdp/clt.py.html), [b](theory.md#rounding), "
        "[c](changelog.md), [d](#e)"
    )
    assert found == {"src/shiftdp/fdp/clt.py"}
    assert on_the_site("[a](../../README.md)", "api/index")[0] == "[a](../index.md)"
    assert on_the_site("[a](../nowhere.py)", "index") == ("[a](../nowhere.py)", set())


# --- the theorem index ---


def test_the_index_has_every_theorem_of_the_registry() -> None:
    assert [each.name for each in entries()] == [theorem.name for theorem in THEOREMS]
    derived = {each.base for each in entries()} - {None}
    assert derived <= {each.name for each in entries()}


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: str(entry.name))
def test_an_entry_of_the_index_leads_to_statement_code_and_tests(entry: object) -> None:
    (each,) = (one for one in entries() if one is entry or one == entry)
    assert each.anchor in theory_anchors()
    assert (ROOT / each.file).is_file()
    assert (ROOT / each.test).is_file()


@cache
def theory_anchors() -> set[str]:
    return anchors(DOCS / "theory.md")


@pytest.mark.parametrize("bound", [DESCENT_LEAKS, MECHANISM_LEAKS, RANDOM_BATCHES_LEAK])
def test_a_lower_bound_leads_to_its_statement(bound: LowerBound) -> None:
    assert bound.anchor in theory_anchors()


RUNS = (ExponentialMechanism, LangevinMC, NoisyCGD, NoisyGD, NoisySGD, NoisyStream, Unlearning)


def test_an_example_of_the_index_is_one_that_the_theorem_is_about() -> None:
    """The text is Python, and the theorem gives a bound for what it says."""
    names = {each.__name__: each for each in (*RUNS, Geometry)} | {"inf": float("inf")}
    asked = {
        each.name: eval(each.example, {**names, "certify": lambda *of: of}) for each in entries()
    }
    cheap = (
        "Thm gd (composition)",
        "Thm mgd-sc",
        "Theorem B1",
        "Theorem V1",
        "Theorem V4",
        "Theorem V3",
    )
    for theorem in THEOREMS:
        run, geometry = asked[theorem.name]
        assert (run, geometry) == CATALOGUE[theorem.name]
        assert theorem.applies_to(run)
        if theorem.name in cheap:
            assert bound_by(theorem, run, geometry, DELTA).f.epsilon(DELTA) > 0.0


def test_every_statement_is_cited_by_code_or_tests() -> None:
    found = statements()
    assert {"Theorem B1", "Theorem B5", "Theorem P1", "Theorem V5"} <= {each.name for each in found}
    for each in found:
        assert each.anchor in anchors(DOCS / each.page)
        assert each.files or each.tests, each.name


# --- the API ---


def test_every_public_name_has_a_place_on_the_pages_of_the_api() -> None:
    pages = [page.read_text() for page in (DOCS / "api").glob("*.md")]
    rooms = {room for page in pages for room in re.findall(r"automodule:: (\S+)", page)}
    alone = set(re.findall(r"auto\w+:: shiftdp\.(\w+)$", "".join(pages), re.MULTILINE))
    assert set(shiftdp.__all__) <= alone.union(*map(exported, rooms))


def exported(room: str) -> set[str]:
    """Its `__all__`, read and not imported: some rooms need large packages."""
    place = ROOT / "src" / room.replace(".", "/")
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    (found,) = re.findall(r"^__all__ = (\[.*?\])", file.read_text(), re.MULTILINE | re.DOTALL)
    return set(ast.literal_eval(found))


def test_code_in_a_docstring_stays_code_and_the_rest_is_no_markup() -> None:
    lines = [
        "With `a_b *c`s and x_ or",
        "`over",
        "two lines`.",
        "",
        ">>> f(*`x`)",
        "`1`",
        "",
        "*x*",
    ]
    assert as_restructured_text(lines) == [
        r"With ``a_b *c``\ s and x\_ or",
        "``over",
        "two lines``.",
        "",
        ">>> f(*`x`)",
        "`1`",
        "",
        r"\*x\*",
    ]


# --- the site ---


class Links(HTMLParser):
    """What a page links to and loads, and what can be linked to on it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.loaded: list[str] = []
        self.names: set[str] = set()
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = {name: value or "" for name, value in attrs}
        self.names |= {of[name] for name in ("id", "name") if name in of}
        if tag == "a" and "href" in of:
            self.targets.append(of["href"])
        if tag in ("script", "img") and "src" in of:
            self.loaded.append(of["src"])
        if tag == "link" and of.get("rel") in ("stylesheet", "preload"):
            self.loaded.append(of["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `make docs` makes it: a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    words = ["--quiet", "--fail-on-warning", "--keep-going", "--conf-dir", "docs/site", "docs"]
    result = subprocess.run(
        [sys.executable, "-m", "sphinx", *words, str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return folder


def test_the_site_has_no_dead_link_and_asks_nothing_of_the_network(site: Path) -> None:
    found = [page for page in site.rglob("*.html") if site / "_static" not in page.parents]
    pages = {page: Links(page) for page in found}
    assert {site / "index.html", site / "api" / "fdp.html", site / "gallery.html"} <= set(pages)
    for page, links in pages.items():
        for link in links.targets + links.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                assert link not in links.loaded, f"{page.name} loads {link}"
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            assert target.exists(), f"{page.name}: {link}"
            if parts.fragment and target in pages and link in links.targets:
                assert unquote(parts.fragment) in pages[target].names, f"{page.name}: {link}"


def test_formulas_are_set_by_the_copy_of_mathjax(site: Path) -> None:
    page = (site / "choosing_a_bound.html").read_text()
    assert 'src="_static/mathjax/tex-chtml.js' in page
    assert r"\mu" in page
    assert (site / "_static" / "mathjax" / "tex-chtml.js").is_file()


def test_the_copy_of_mathjax_is_small_and_has_its_licence() -> None:
    assert sum(file.stat().st_size for file in VENDORED.rglob("*") if file.is_file()) < 2_000_000
    assert "Apache License" in (VENDORED / "LICENSE").read_text()
