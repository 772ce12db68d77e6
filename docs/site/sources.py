"""Links from the pages into the repository: on the site, each leads to a page with that file.

The Markdown links to files by their path (`../src/shiftdp/...`), which works for readers of the
files. On the site the same link leads to a page on which the file is shown; a link to a
folder leads to a list of what is in it, and a link to CONTRIBUTING.md or CHANGELOG.md to the page
that the site has of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_LINK = re.compile(r"(?<=\]\()([\w.-][\w./-]*?)/?(#[\w-]*)?(?=\))")
_LAST_LINE = re.compile(r"^\n(?=```$)", re.MULTILINE)
"""The empty line with which an example in Python ends, for the tests' sake."""

_PAGES = {"CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changelog", "README.md": "index"}
_SHOWN = {name: ROOT / path for path, name in _PAGES.items() if name != "index"}
_LONGEST = 200_000
"""Longer files are cut: they are data, not code."""


def on_the_site(text: str, docname: str) -> tuple[str, set[str]]:
    """The text of a page with its links into the repository turned round, and what they lead to.

    A link that leads nowhere is left as it is, so that the build warns of it.
    """
    page = _SHOWN.get(docname, DOCS / f"{docname}.md")
    up = "../" * docname.count("/")
    found: set[str] = set()

    def turned(match: re.Match[str]) -> str:
        path = (page.parent / match[1]).resolve()
        if not path.exists() or not path.is_relative_to(ROOT):
            return match[0]
        target, anchor = path.relative_to(ROOT).as_posix(), match[2] or ""
        if target in _PAGES:
            return f"{up}{_PAGES[target]}.md{anchor}"
        if path.is_relative_to(DOCS) and (path.suffix == ".md" or page.parent != ROOT):
            return f"{up}{path.relative_to(DOCS).as_posix()}{anchor}"
        found.add(target)
        return f"repository:{up}{page_of(target)}.html"

    return _LINK.sub(turned, text), found


def page_of(path: str) -> str:
    """The name of the page that shows a file or a folder."""
    return f"files/{path}"


def shown(path: str) -> str:
    """A file, or the names in a folder, as HTML."""
    place = ROOT / path
    if place.is_dir():
        names = sorted(each.name for each in place.iterdir() if each.suffix in (".py", ".md"))
        return "<ul>" + "".join(f"<li><code>{escape(name)}</code></li>" for name in names) + "</ul>"
    text = place.read_text()[:_LONGEST]
    try:
        lexer = get_lexer_for_filename(place.name)
    except ClassNotFound:
        lexer = TextLexer()
    return str(highlight(text, lexer, HtmlFormatter(cssclass="highlight", nowrap=False)))


def _read(app: Sphinx, docname: str, source: list[str]) -> None:
    text = _SHOWN[docname].read_text() if docname in _SHOWN else source[0]
    text, found = on_the_site(text, docname)
    source[0] = _LAST_LINE.sub("", text)
    wanted(app.env).setdefault(docname, set()).update(found)


def wanted(env: BuildEnvironment) -> dict[str, set[str]]:
    """Which files each page links to; kept with what Sphinx knows of the pages."""
    if not hasattr(env, "shiftdp_files"):
        env.shiftdp_files = {}  # type: ignore[attr-defined]
    return env.shiftdp_files  # type: ignore[attr-defined,no-any-return]


def _pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    for path in sorted(set().union(*wanted(app.env).values())):
        body = f'<h1 class="file">{escape(path)}</h1>\n{shown(path)}'
        yield page_of(path), {"title": path, "body": body, "pageurl": None}, "page.html"


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _read)
    app.connect("html-collect-pages", _pages)
    return {"parallel_read_safe": False}
