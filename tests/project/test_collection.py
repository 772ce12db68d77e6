"""Nothing is forgotten: neither a file under tests/ nor a Python block in README.md and docs/."""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def python_files(tests: Path) -> set[Path]:
    return {file for file in tests.rglob("*.py") if "__pycache__" not in file.parts}


def collected(root: Path, *paths: str) -> list[tuple[Path, str]]:
    """What pytest finds, slow tests included: files, and the names of the tests in them."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "", *paths]
    result = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    items = (line.split("::", 1) for line in result.stdout.splitlines() if "::" in line)
    return [(root / file, name) for file, name in items]


def imported_modules(file: Path, package: str) -> Iterator[str]:
    """Dotted names that the file imports, each also as it would read for a submodule."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            base = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
            origin = ".".join(part for part in (base, node.module) if part)
            yield origin
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def never_run(root: Path) -> set[str]:
    """The Python files under tests/ that no test run ever touches."""
    files = python_files(root / "tests")
    tests = {file for file in files if file.name.startswith("test_")}
    support = {file for file in files if file.name in ("conftest.py", "__init__.py")}
    imported = {
        name
        for file in files
        for name in imported_modules(file, ".".join(file.parent.relative_to(root).parts))
    }
    helpers = {
        file
        for file in files - tests - support
        if ".".join(file.relative_to(root).with_suffix("").parts) in imported
    }
    with_tests = {file for file, _ in collected(root, "tests")}
    lost = (tests - with_tests) | (files - tests - support - helpers)
    return {file.relative_to(root).as_posix() for file in lost}


def never_executed(root: Path) -> set[str]:
    """The Python blocks in README.md and docs/ of which pytest runs no line."""
    run = {
        (file, int(re.findall(r"line:(\d+)", name)[0]))
        for file, name in collected(root, "README.md", "docs")
    }
    lost = set()
    for page in [root / "README.md", *root.glob("docs/**/*.md")]:
        text = page.read_text()
        for block in re.finditer(r"^ *```python$.*?^ *```$", text, re.MULTILINE | re.DOTALL):
            first, last = (text.count("\n", 0, end) + 1 for end in block.span())
            if not any((page, line) in run for line in range(first, last)):
                lost.add(f"{page.relative_to(root).as_posix()}:{first}")
    return lost


def test_no_file_is_forgotten() -> None:
    assert not never_run(ROOT)


def test_no_block_is_forgotten() -> None:
    assert not never_executed(ROOT)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project with one test, one helper, and the options of this one."""
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    folder = tmp_path / "tests" / "room"
    folder.mkdir(parents=True)
    (folder / "cases.py").write_text("ONE = 1\n")
    (folder / "test_one.py").write_text(
        "from tests.room.cases import ONE\n\ndef test_one():\n    assert ONE == 1\n"
    )
    return tmp_path


def test_tests_and_helpers_are_found(project: Path) -> None:
    assert not never_run(project)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("test_empty.py", "def check_one():\n    assert True\n"),
        ("gaussian_test.py", "def test_one():\n    assert True\n"),
        ("unused.py", "TWO = 2\n"),
    ],
)
def test_a_forgotten_file_is_named(project: Path, name: str, code: str) -> None:
    (project / "tests" / "room" / name).write_text(code)
    assert never_run(project) == {f"tests/room/{name}"}


def test_blocks_are_found_at_every_depth_and_missed_ones_are_named(project: Path) -> None:
    shutil.copy(ROOT / "conftest.py", project)
    for name in ("README.md", "docs/page.md", "docs/deep/page.md"):
        page = project / name
        page.parent.mkdir(exist_ok=True)
        page.write_text("# Title\n\n```python\nx = 1\n```\n\n```python\n>>> x\n1\n\n```\n")
    assert not never_executed(project)
    spoiled = (ROOT / "conftest.py").read_text().replace('"docs/*.md"', '"nowhere/*.md"')
    (project / "conftest.py").write_text(spoiled)
    assert never_executed(project) == {"docs/page.md:3", "docs/page.md:7"}
