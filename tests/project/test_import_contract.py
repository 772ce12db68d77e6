"""The rooms: the contract in pyproject.toml holds, and it fails when it is broken."""

import shutil
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]
MATHEMATICS = ("fdp", "interpolation", "last_iterate", "privacy")
ALLOWED = {"numpy", "scipy"}
ADAPTERS = {
    "shiftdp.privacy.dp_accounting.accountant": {"attr", "dp_accounting"},
    "shiftdp.privacy.dp_accounting.export": {"dp_accounting"},
    "shiftdp.privacy.opacus.accountant": {"opacus"},
    "shiftdp.privacy.opacus.inputs": {"torch"},
    "shiftdp.privacy.opacus.parameters": {"torch"},
    "shiftdp.privacy.opacus.watch": set(),
    "shiftdp.privacy.opacus.reading": {"opacus", "torch"},
    "shiftdp.privacy.opacus.residuals": {"torch"},
    "shiftdp.privacy.opacus.softmax": {"torch"},
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package and its contract that a test may spoil."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    """Runs the linter on the package in `root`, and on no other that is installed."""
    program = (
        "import sys; sys.path.insert(0, 'src'); "
        "from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    )
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


def add(root: Path, module: str, code: str) -> None:
    """Writes a module into the copy, and makes packages of the folders that lead to it."""
    file = root.joinpath("src", "shiftdp", module)
    file.parent.mkdir(exist_ok=True)
    (file.parent / "__init__.py").touch()
    file.write_text(code + "\n")


def test_the_package_keeps_its_contract(copy: Path) -> None:
    result = lint(copy)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("interpolation/spare.py", "import shiftdp.fdp"),
        ("last_iterate/spare.py", "from shiftdp import fdp, interpolation"),
        ("privacy/spare.py", "import numpy, scipy.special, shiftdp.last_iterate"),
        ("training/spare.py", "import torch, shiftdp.privacy"),
        ("ui/spare.py", "import click, rich, shiftdp.training.spare"),
    ],
)
def test_what_is_allowed_passes(copy: Path, module: str, code: str) -> None:
    add(copy, "training/spare.py", "import sklearn")
    add(copy, module, code)
    result = lint(copy)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("module", "code", "complaint"),
    [
        ("fdp/bad.py", "import shiftdp.interpolation", "shiftdp.fdp.bad -> shiftdp.interpolation"),
        ("fdp/bad.py", "from shiftdp import last_iterate", "shiftdp.fdp.bad -> shiftdp.last_it"),
        ("fdp/bad.py", "import click", "shiftdp.fdp.bad -> click"),
        ("fdp/bad.py", "def lazy():\n    import matplotlib", "shiftdp.fdp.bad -> matplotlib"),
        ("interpolation/bad.py", "import shiftdp.last_iterate", "shiftdp.interpolation.bad -> "),
        ("last_iterate/bad.py", "import shiftdp.privacy", "shiftdp.last_iterate.bad -> "),
        ("privacy/bad.py", "import shiftdp.ui", "shiftdp.privacy.bad -> shiftdp.ui"),
        ("privacy/bad.py", "import sklearn", "shiftdp.privacy.bad -> sklearn"),
        ("privacy/bad.py", "import opacus", "shiftdp.privacy.bad -> opacus"),
        ("privacy/bad.py", "import dp_accounting", "shiftdp.privacy.bad -> dp_accounting"),
        ("training/bad.py", "import shiftdp.ui", "shiftdp.training.bad -> shiftdp.ui"),
        ("_errors.py", "import shiftdp.fdp", "shiftdp._errors -> shiftdp.fdp"),
        ("another_room/bad.py", "", "another_room"),
    ],
)
def test_what_is_not_allowed_fails(copy: Path, module: str, code: str, complaint: str) -> None:
    for room in ("privacy", "training", "ui"):
        add(copy, f"{room}/spare.py", "")
    assert lint(copy).returncode == 0
    add(copy, module, code)
    result = lint(copy)
    assert result.returncode == 1, result.stdout + result.stderr
    assert complaint in result.stdout


def test_the_mathematics_imports_numpy_and_scipy_only() -> None:
    graph = grimp.build_graph("shiftdp", include_external_packages=True, cache_dir=None)
    rooms = tuple(f"shiftdp.{room}" for room in MATHEMATICS)
    strangers = {
        (module, imported)
        for module in graph.modules
        if module.startswith((*rooms, "shiftdp._"))
        for imported in graph.find_modules_directly_imported_by(module)
        if not imported.startswith("shiftdp.")
        and imported not in ALLOWED | sys.stdlib_module_names | {"shiftdp"}
        and imported not in ADAPTERS.get(module, set())
    }
    assert not strangers


def test_adapters_are_imported_by_adapters_alone() -> None:
    graph = grimp.build_graph("shiftdp", include_external_packages=True, cache_dir=None)
    rooms = ("shiftdp.ui", "shiftdp.privacy.dp_accounting", "shiftdp.privacy.opacus")
    for adapter in ADAPTERS:
        importers = graph.find_modules_that_directly_import(adapter)
        assert {name for name in importers if not name.startswith(rooms)} == set()
