"""Runs the Python blocks of README.md and docs/: what the pages show is what the code prints.

There is no way to skip a block: an example that cannot run does not belong on a page. Only what
needs a package that is optional and not installed is skipped, wherever it is, and says so.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Generator
from doctest import ELLIPSIS
from importlib.util import find_spec
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=ELLIPSIS)],
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
).pytest()

SOURCES = Path(__file__).parent / "src"
OPTIONAL = (
    "attr",
    "cryptography",
    "docutils",
    "dash",
    "dash_mantine_components",
    "dask",
    "distributed",
    "dp_accounting",
    "grimp",
    "jsonschema",
    "matplotlib",
    "opacus",
    "pandas",
    "polars",
    "pyarrow",
    "selenium",
    "sklearn",
    "sphinx",
    "threadpoolctl",
    "torch",
)
MISSING = [name for name in OPTIONAL if find_spec(name) is None]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A file that cannot be imported without such a package is skipped."""
    report = yield
    if report.failed and MISSING:
        found = re.findall(r"No module named '(\w+)", str(report.longrepr))
        if found and found[0] in MISSING:
            report.outcome = "skipped"
            report.longrepr = (str(collector.path), 0, f"Skipped: needs {found[0]}")
            if SOURCES in collector.path.parents:  # pytest leaves the broken module behind
                parts = collector.path.relative_to(SOURCES).with_suffix("").parts
                sys.modules.pop(".".join(parts), None)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """So is a test that imports one, or calls what refuses to work without it."""
    report = yield
    if report.failed and MISSING and call.excinfo is not None:
        error = call.excinfo.value
        error = getattr(error, "exc_info", (None, error))[1]  # as a doctest wraps it
        if _is_refusal(error):
            report.outcome = "skipped"
            report.longrepr = (str(item.path), 0, f"Skipped: {str(error).splitlines()[0]}")
    return report


def _is_refusal(error: BaseException) -> bool:
    """Whether it says that a package is missing, and not by taking it for granted.

    A bare error from a module of ours is a fault: users are told which extra to install.
    """
    if "pip install" in str(error) and "shiftdp[" in str(error):
        return True
    if not isinstance(error, ModuleNotFoundError) or error.name is None:
        return False
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    ours = last is not None and SOURCES in Path(last.tb_frame.f_code.co_filename).parents
    return error.name.partition(".")[0] in MISSING and not ours


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """And so is a page that imports one anywhere: its blocks build on each other."""
    pages = {item.path for item in items if MISSING and item.path.suffix == ".md"}
    needs = {page: _IMPORTS.findall(page.read_text()) for page in pages}
    for item in items:
        for name in {_ADAPTED.get(name, name) for name in needs.get(item.path, ())} & {*MISSING}:
            item.add_marker(pytest.mark.skip(reason=f"needs {name}"))


_IMPORTS = re.compile(r"^(?:>>> |\.\.\. )? *(?:from|import) (shiftdp\.[\w.]+|\w+)", re.MULTILINE)
_ADAPTED = {"shiftdp.dask": "dask", "shiftdp.sklearn": "sklearn", "shiftdp.ui.plots": "matplotlib"}
_ADAPTED |= {"shiftdp.torch": "torch"}
