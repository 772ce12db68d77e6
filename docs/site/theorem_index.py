"""The theorem index: for each theorem of the registry, where it is stated, coded, tested and tried.

Nothing is kept by hand: names, citations and anchors are those of `shiftdp.last_iterate.THEOREMS`,
files those of their classes, tests the mirror of the files, examples those of the conformance
suite.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from textwrap import wrap

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from docs.site.sources import on_the_site, wanted
from shiftdp.last_iterate import THEOREMS, Theorem
from tests.last_iterate.theorems.catalogue import CATALOGUE

ROOT = Path(__file__).parents[2]
_NAME = re.compile(r"\bTheorem [A-Z]\d+\b")
_HEADING = re.compile(r"^#+ (Theorem [A-Z]\d+)\b(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """A theorem of the registry, and where to find what belongs to it.

    Args:
        name: as it stands in certificates.
        citation: where it is proved.
        anchor: of its statement in docs/theory.md.
        file: its code, from the root of the repository.
        test: the tests of that code.
        example: a certificate by it, as a Python expression.
        base: the theorem that it is derived from, if it is.
    """

    name: str
    citation: str
    anchor: str
    file: str
    test: str
    example: str
    base: str | None


def entries() -> list[Entry]:
    """The registry, in its order."""
    return [_entry(theorem) for theorem in THEOREMS]


def _entry(theorem: Theorem) -> Entry:
    file = Path(inspect.getfile(type(theorem))).resolve().relative_to(ROOT)
    test = Path("tests", *file.parts[2:-1], f"test_{file.name}")
    run, geometry = CATALOGUE[theorem.name]
    base = getattr(theorem, "base", None)
    return Entry(
        theorem.name,
        theorem.citation,
        theorem.anchor or "",
        file.as_posix(),
        test.as_posix(),
        f"certify({written(run)}, {written(geometry)})",
        base.name if base is not None else None,
    )


def written(value: object) -> str:
    """A run or a geometry as one would type it: without what is the default anyway.

    >>> from shiftdp import Geometry
    >>> written(Geometry(strong_convexity=0.5, smoothness=4.0, sensitivity=3.0))
    'Geometry(strong_convexity=0.5, smoothness=4.0, sensitivity=3.0)'
    """
    if not is_dataclass(value):
        return repr(value)
    said = ((each, getattr(value, each.name)) for each in fields(value) if each.init)
    given = (f"{each.name}={written(is_)}" for each, is_ in said if is_ != each.default)
    return f"{type(value).__name__}({', '.join(given)})"


@dataclass(frozen=True)
class Statement:
    """A theorem that the pages state, whether or not it is one on runs.

    Args:
        name: such as `Theorem B1`.
        title: the rest of its heading.
        page: the page, from the folder of the documentation.
        anchor: of the heading.
        files: the code that cites it, from the root of the repository.
        tests: the tests that do.
    """

    name: str
    title: str
    page: str
    anchor: str
    files: tuple[str, ...]
    tests: tuple[str, ...]


def statements() -> list[Statement]:
    """All headings of theorems, by name."""
    code, tests = _cited_in("src"), _cited_in("tests")
    found = []
    for page in sorted((ROOT / "docs").glob("*.md")):
        for name, rest in _HEADING.findall(page.read_text()):
            found.append(
                Statement(
                    name,
                    rest.strip(" :()"),
                    page.name,
                    anchor_of(name + rest),
                    code.get(name, ()),
                    tests.get(name, ()),
                )
            )
    return sorted(found, key=lambda each: each.name)


def anchor_of(heading: str) -> str:
    """The anchor of a heading, as file viewers and the site make it.

    >>> anchor_of("Theorem B4: random order for free")
    'theorem-b4-random-order-for-free'
    """
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def _cited_in(folder: str) -> dict[str, tuple[str, ...]]:
    """For each theorem, the files that name it."""
    found: dict[str, tuple[str, ...]] = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        for name in set(_NAME.findall(path.read_text())):
            found[name] = (*found.get(name, ()), path.relative_to(ROOT).as_posix())
    return found


# --- what Sphinx makes of it ---


class RegistryTable(SphinxDirective):
    """A table of the registry: theorems of their own, then those derived from others."""

    def run(self) -> list[nodes.Node]:
        own = [each for each in entries() if each.base is None]
        derived = [each for each in entries() if each.base is not None]
        text = ["| theorem | proved in | code | tests |", "| --- | --- | --- | --- |"]
        text += [_row(each) for each in own]
        text += ["", "```python"]
        for each in own:
            text += [f"# {each.name}", *_wrapped(each.example), ""]
        text += ["```", "", "### Derived from these", ""]
        text += ["| theorem | from | code | tests |", "| --- | --- | --- | --- |"]
        text += [_row(each) for each in derived]
        return _parsed(self, text)


class StatementTable(SphinxDirective):
    """A table of all theorems that the pages state."""

    def run(self) -> list[nodes.Node]:
        text = [
            "| theorem | what it is about | cited by | tested in |",
            "| --- | --- | --- | --- |",
        ]
        for each in statements():
            name = f"[{each.name}]({each.page}#{each.anchor})"
            files, tests = (", ".join(map(_link, found[:4])) for found in (each.files, each.tests))
            text.append(f"| {name} | {each.title} | {files} | {tests} |")
        return _parsed(self, text)


def _row(each: Entry) -> str:
    source = each.citation if each.base is None else each.base
    source = source.replace("[", r"\[")
    name = f"[{each.name}](theory.md#{each.anchor})"
    return f"| {name} | {source} | {_link(each.file)} | {_link(each.test)} |"


def _link(path: str) -> str:
    return f"[{Path(path).name}](../{path})"


def _wrapped(example: str) -> list[str]:
    run, _, geometry = example.removeprefix("certify(").removesuffix(")").rpartition(", Geometry(")
    indented = {"width": 72, "initial_indent": " " * 4, "subsequent_indent": " " * 8}
    arguments = (f"sdp.{run},", f"sdp.Geometry({geometry},")
    lines = [line for each in arguments for line in wrap(each, **indented)]  # type: ignore[arg-type]
    return ["sdp.certify(", *lines, ")"]


def _parsed(directive: SphinxDirective, text: list[str]) -> list[nodes.Node]:
    turned, found = on_the_site("\n".join(text), directive.env.docname)
    wanted(directive.env).setdefault(directive.env.docname, set()).update(found)
    node = nodes.container()
    directive.state.nested_parse(StringList(turned.splitlines(), "theorem index"), 0, node)
    children: list[nodes.Node] = node.children
    return children


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("theorem-registry", RegistryTable)
    app.add_directive("theorem-statements", StatementTable)
    return {"parallel_read_safe": False}
