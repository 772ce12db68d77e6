"""`import shiftdp` is light: NumPy, perhaps the root of SciPy, and nothing that is slow to load."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import shiftdp

ROOT = Path(__file__).parents[2]
# What `import scipy` itself brings: parts of its compiled modules, and of the standard library.
RUNTIME = ("_cython_", "_cyutility", "cython_runtime", "_sysconfigdata_")
HEAVY = {"scipy.special", "scipy.optimize", "scipy.stats", "scipy.linalg", "scipy.sparse"}


def added(module: str) -> set[str]:
    """The modules that importing one adds to a fresh interpreter."""
    program = (
        f"import json, sys; before = set(sys.modules); import {module}; "
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout
    return set(json.loads(output))


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    return added("shiftdp")


def test_no_third_party_package_but_numpy_and_scipy(loaded: set[str]) -> None:
    packages = {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names
    foreign = {name for name in packages if not name.startswith(RUNTIME)}
    assert foreign - {"numpy", "scipy"} == {"shiftdp"}


def test_slow_parts_of_scipy_wait_until_they_are_used(loaded: set[str]) -> None:
    assert not loaded & HEAVY


def test_adapters_wait_until_they_are_asked_for() -> None:
    packages = {name.partition(".")[0] for name in added("shiftdp.privacy")}
    assert not packages & {"attr", "dp_accounting", "opacus", "torch"}


@pytest.mark.parametrize(
    ("adapter", "library", "extra"),
    [
        ("opacus", "opacus", "opacus"),
        ("opacus", "torch", "opacus"),
        ("dp_accounting", "dp_accounting", "dp-accounting"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(adapter: str, library: str, extra: str) -> None:
    program = f"import sys; sys.modules[{library!r}] = None; import shiftdp.privacy.{adapter}"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 1
    assert f"pip install shiftdp[{extra}]" in result.stderr.splitlines()[-1]


def test_private_heads_name_the_extra_that_they_need() -> None:
    program = "import sys; sys.modules['torch'] = None; import shiftdp.training, shiftdp.torch"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 1
    assert "pip install 'shiftdp[torch]'" in result.stderr.splitlines()[-1]


def test_the_tests_test_this_checkout() -> None:
    assert Path(shiftdp.__file__).is_relative_to(ROOT / "src")
