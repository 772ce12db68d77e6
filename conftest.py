"""Runs the Python blocks of README.md and docs/: what the pages show is what the code prints.

There is no way to skip a block: an example that cannot run does not belong on a page.
"""

from doctest import ELLIPSIS

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=ELLIPSIS)],
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
).pytest()
