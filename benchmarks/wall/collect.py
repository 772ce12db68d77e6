"""The claims of benchmarks/: every file that has a function `claims`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from .claim import Claim

HOME = Path(__file__).parents[1]


def has_claims(path: Path) -> bool:
    """Whether a file defines `claims`; read and not imported, as some need large packages."""
    body = ast.parse(path.read_text()).body
    return any(isinstance(node, ast.FunctionDef) and node.name == "claims" for node in body)


def files() -> list[str]:
    """The names of the files with claims, in the order of the alphabet."""
    return [path.stem for path in sorted(HOME.glob("[!_]*.py")) if has_claims(path)]


def claims_of(name: str, full: bool) -> Iterator[Claim]:
    """The claims of one file; `benchmarks/` has to be on the path."""
    found: Iterator[Claim] = import_module(name).claims(full)
    yield from found


def is_timing(claim: Claim) -> bool:
    """Whether the figures of a claim are times, so that it matters what else the machine does."""
    return claim.unit == "s"
