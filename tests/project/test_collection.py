"""Nothing is forgotten: neither a file under tests/ nor a Python block in README.md and docs/."""

import ast
import os
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


def run_pytest(root: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Without the plugins that are installed: loading them takes twice as long as all the rest."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=root,
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTEST_ADDOPTS": "",
            **variables,
        },
    )


def collected(root: Path, *paths: str) -> list[tuple[Path, str]]:
    """What pytest finds, slow tests included: files, and the names of the tests in them.

    A file that needs an optional package which is not installed is found, without names.
    """
    result = run_pytest(root, "--collect-only", "-q", "-rs", "-m", "", *paths)
    assert result.returncode == 0, result.stdout + result.stderr
    items = [line.split("::", 1) for line in result.stdout.splitlines() if "::" in line]
    skipped = re.findall(r"^SKIPPED \[\d+\] (.*?):\d+: ", result.stdout, re.MULTILINE)
    return [(root / file, name) for file, name in [*items, *((file, "") for file in skipped)]]


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
        if file.suffix == ".md"  # what makes the site has doctests of its own
    }
    lost = set()
    for page in [root / "README.md", *root.glob("docs/**/*.md")]:
        text = page.read_text()
        for block in re.finditer(r"^ *```python$.*?^ *```$", text, re.MULTILINE | re.DOTALL):
            first, last = (text.count("\n", 0, end) + 1 for end in block.span())
            if not any((page, line) in run for line in range(first, last)):
                lost.add(f"{page.relative_to(root).as_posix()}:{first}")
    return lost


@pytest.mark.slow  # everything is imported once more
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


def outcomes(project: Path, code: str, *, library: str) -> dict[str, int]:
    """How the tests of a file end, in a project whose library is said to want `absent_package`."""
    named = (
        (ROOT / "conftest.py").read_text().replace('"torch",', '"torch",\n    "absent_package",')
    )
    (project / "conftest.py").write_text(named)
    (project / "tests" / "room" / "test_one.py").write_text(code)
    (project / "src").mkdir()
    (project / "src" / "library.py").write_text(library)
    path = os.pathsep.join([str(project / "src"), os.environ.get("PYTHONPATH", "")])
    result = run_pytest(project, "-q", "tests", "src", PYTHONPATH=path)
    last = result.stdout.splitlines()[-1]
    return {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", last.split(" in ")[0])}


REFUSING = """
def work():
    try:
        import absent_package
    except ImportError as error:
        raise ImportError("pip install 'shiftdp[extra]'") from error
"""


def test_what_needs_a_package_that_is_optional_and_missing_is_skipped(project: Path) -> None:
    code = (
        "import library\n"
        "def test_import(): import absent_package.part\n"
        "def test_refusal(): library.work()\n"
        "def test_one(): pass\n"
    )
    assert outcomes(project, code, library=REFUSING) == {"passed": 1, "skipped": 2}


def test_so_is_a_file_of_tests_or_of_the_library_that_needs_it_throughout(project: Path) -> None:
    code = "import library\ndef test_one(): pass\n"
    # both files, each as a module of its own
    assert outcomes(project, code, library="import absent_package\n")["skipped"] >= 2


def test_a_library_that_takes_it_for_granted_fails(project: Path) -> None:
    code = "import library\ndef test_one(): library.work()\n"
    careless = "def work():\n    import absent_package\n"
    assert outcomes(project, code, library=careless) == {"failed": 1}


def test_a_package_that_is_not_optional_is_missed(project: Path) -> None:
    code = "def test_one(): import another_absent_package\n"
    assert outcomes(project, code, library="") == {"failed": 1}
