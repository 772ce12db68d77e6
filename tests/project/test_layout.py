"""The house is in order: rooms that can be seen at a glance, and tests that stand beside them."""

import ast
import types
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "shiftdp"
TESTS = ROOT / "tests"

MOST_MODULES = 15

# Folders of tests that are about everything, and have no counterpart in `src`.
ACROSS = ("cross_library", "fuzz", "paper", "project", "properties")

# Rooms whose modules are all alike, one command, plot, table or figure each: one file tests them.
ALIKE = (
    "ui/commands", "ui/commands/files", "ui/plots", "ui/reproduce/figures", "ui/reproduce/tables",
)  # fmt: skip

FOLDERS = sorted({path.parent for path in SOURCE.rglob("*.py")})
MODULES = sorted(path for path in SOURCE.rglob("*.py") if not path.name.startswith("__"))
TEST_FILES = sorted(
    path for path in TESTS.rglob("test_*.py") if path.relative_to(TESTS).parts[0] not in ACROSS
)


def named(path: Path) -> str:
    return str(path.relative_to(SOURCE))


@pytest.mark.parametrize("folder", FOLDERS, ids=named)
def test_a_room_can_be_seen_at_a_glance(folder: Path) -> None:
    modules = [path for path in folder.glob("*.py") if not path.name.startswith("__")]
    assert len(modules) <= MOST_MODULES


@pytest.mark.parametrize("folder", FOLDERS, ids=named)
def test_a_room_says_what_it_is(folder: Path) -> None:
    assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))


@pytest.mark.parametrize("folder", FOLDERS, ids=named)
def test_no_name_that_a_room_exports_hides_a_module(folder: Path) -> None:
    room = import_module(".".join(("shiftdp", *folder.relative_to(SOURCE).parts)))
    inside = {path.stem for path in folder.iterdir() if path.suffix in (".py", "")}
    hidden = [
        name
        for name in getattr(room, "__all__", ())
        if name in inside and not isinstance(getattr(room, name), types.ModuleType)
    ]
    assert not hidden


@pytest.mark.parametrize("module", MODULES, ids=named)
def test_what_modules_take_from_each_other_has_no_underscore(module: Path) -> None:
    """So the names without one are the list of what a module offers, and it needs no other."""
    taken = [
        alias.name
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("shiftdp.")
        for alias in node.names
        if alias.name.startswith("_")
    ]
    assert not taken


def only_passes_names_on(module: Path) -> bool:
    """Whether a module defines nothing: it stands where documentation said that names are."""
    body = ast.parse(module.read_text(encoding="utf-8")).body
    return not any(isinstance(node, (ast.FunctionDef, ast.ClassDef)) for node in body)


@pytest.mark.parametrize(
    "module", [module for module in MODULES if not only_passes_names_on(module)], ids=named
)
def test_a_module_has_a_file_of_tests_at_its_place(module: Path) -> None:
    """`tests/fdp/losses/test_law.py` for `src/shiftdp/fdp/losses/law.py`.

    Tests of several modules may have files of their own beside these.
    """
    place = module.relative_to(SOURCE)
    room = place.parent
    if room.as_posix() in ALIKE:
        assert (TESTS / room.parent / f"test_{room.name}.py").is_file()
    else:
        assert (TESTS / room / f"test_{place.stem.lstrip('_')}.py").is_file()


@pytest.mark.parametrize("file", TEST_FILES, ids=lambda file: str(file.relative_to(TESTS)))
def test_tests_stand_in_rooms_of_the_source(file: Path) -> None:
    assert (SOURCE / file.parent.relative_to(TESTS)) in FOLDERS
