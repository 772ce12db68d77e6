"""Every number in the code that is not plain arithmetic has a name, and a word on why it is so."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import shiftdp

SOURCE = Path(shiftdp.__file__).parent
CLEAN = (
    "*.py", "fdp", "interpolation", "last_iterate", "privacy", "training/*.py", "training/cluster",
    "training/descent", "training/estimators", "training/heads", "training/losses",
    "training/model_file", "training/preparation", "training/selection", "training/table_files",
    "trials",
)  # fmt: skip
"""Where it is so. The planner lists candidates, which are tables of numbers, and `ui` has the sizes
and places of what it draws."""

ARITHMETIC = {*map(float, range(11)), 0.25, 0.5, 1.5}
"""Numbers of formulas: whole ones up to ten, halves and a quarter."""

LARGEST_PLAIN = 10
"""Larger whole numbers want a word where they have a name, at the top of a module: they limit how
much work is done, or belong to a format."""


def value_of(node: ast.AST) -> float | None:
    """The float that is written here: `4e-16`, or `2.0**-52`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, float):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        try:
            power = ast.literal_eval(node.left) ** ast.literal_eval(node.right)
        except (ValueError, TypeError, OverflowError):
            return None  # of something that is not written out
        return power if isinstance(power, float) else None
    return None


def has_a_word(statement: ast.stmt, following: ast.stmt | None, lines: list[str]) -> bool:
    """Whether an assignment has a comment, beside or above, or a string below it."""
    own = lines[statement.lineno - 1 : statement.end_lineno]
    above = lines[max(statement.lineno - 2, 0)]
    if any("#" in line for line in own) or above.startswith("#"):
        return True
    value = following.value if isinstance(following, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def large_wholes(statement: ast.stmt) -> Iterator[tuple[int, float]]:
    """Line and value of the large whole numbers that are written in a statement."""
    for node in ast.walk(statement):
        value = node.value if isinstance(node, ast.Constant) else None
        if type(value) is int and value > LARGEST_PLAIN:
            yield getattr(node, "lineno", 0), float(value)


def unexplained(source: str) -> Iterator[tuple[int, float]]:
    """Line and value of every number that is neither arithmetic nor named with a word.

    That is every float, and every large whole number that a name at the top of a module stands for.
    """
    lines, module = source.splitlines(), ast.parse(source)
    explained: set[ast.AST] = set()
    for statement, following in zip(module.body, [*module.body[1:], None], strict=True):
        named = isinstance(statement, (ast.Assign, ast.AnnAssign))
        if not named:
            continue
        if has_a_word(statement, following, lines):
            explained.update(ast.walk(statement))
        else:
            yield from large_wholes(statement)
    for node in ast.walk(module):
        value = value_of(node)
        if value is not None and value not in ARITHMETIC and node not in explained:
            yield getattr(node, "lineno", 0), value


def modules(place: str) -> list[Path]:
    pattern = place if place.endswith(".py") else f"{place}/**/*.py"
    return sorted(SOURCE.glob(pattern))


@pytest.mark.parametrize("place", CLEAN)
def test_every_constant_has_a_name_and_a_word(place: str) -> None:
    found = modules(place)
    assert found, f"{place} is empty"
    bare = [
        f"{path.relative_to(SOURCE)}:{line}: {value!r}"
        for path in found
        for line, value in unexplained(path.read_text(encoding="utf-8"))
    ]
    assert not bare, "name these, and say why they are so large:\n" + "\n".join(bare)


@pytest.mark.parametrize(
    "source",
    [
        "def f(x):\n    return x * (1 + 1e-15)\n",
        "MARGIN = 1e-15\n",
        "MOST_STEPS = 1000\n",
        "LARGEST = 1 << 62\n",
        "def f(x):\n    return x * (1.0 + 2.0**-50)\n",
        "def f(x, tolerance=1e-9):\n    return x\n",
        "def f(x):\n    # a local name\n    slack = 1e-9\n    return x + slack\n",
    ],
)
def test_a_bare_constant_is_found(source: str) -> None:
    assert list(unexplained(source))


@pytest.mark.parametrize(
    "source",
    [
        "MARGIN = 1e-15  # nine roundings\n",
        "# nine roundings\nMARGIN = 1e-15\n",
        'MARGIN = 1e-15\n"""Nine roundings."""\n',
        "def f(x):\n    return 0.5 * x + 2.0**x - 1.0\n",
        "MOST_STEPS = 1000  # a second's work\n",
        "FIRST = 1\n",
        "def f(x):\n    return 100 * x\n",
    ],
)
def test_a_constant_with_a_word_is_not_found(source: str) -> None:
    assert not list(unexplained(source))
