"""The supply chain: locks that fit pyproject.toml, bills that fit the locks, releases that are the
same bytes each time."""

from __future__ import annotations

import hashlib
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
LOCKS = ROOT / "requirements"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CORE = ("numpy", "scipy", "click", "rich")
UNDECLARED = {"dp-accounting", "partd", "pysocks"}
"""Packages for development whose metadata name no licence, and whose bills therefore have none."""


def pinned(name: str) -> dict[str, list[tuple[Requirement, int]]]:
    """The packages of a lock, each with its requirements and how many hashes each has."""
    found: dict[str, list[tuple[Requirement, int]]] = {}
    text = re.sub(r"^#.*\n", "", (LOCKS / name).read_text(), flags=re.MULTILINE)
    for entry in text.replace("\\\n", " ").splitlines():
        words, *hashes = entry.split("--hash=sha256:")
        requirement = Requirement(words.strip())
        assert all(re.fullmatch(r"[0-9a-f]{64}", each.strip()) for each in hashes)
        found.setdefault(canonicalize_name(requirement.name), []).append((requirement, len(hashes)))
    return found


def wanted(extra: str | None) -> list[Requirement]:
    """What pyproject.toml asks for itself, extras of its own followed."""
    extras = PROJECT["optional-dependencies"]
    texts = PROJECT["dependencies"] if extra is None else extras[extra]
    found = []
    for requirement in map(Requirement, texts):
        if requirement.name == "shiftdp":
            found += [one for each in requirement.extras for one in wanted(each)]
        else:
            found.append(requirement)
    return found


@pytest.mark.parametrize("name", ["runtime.txt", "dev.txt", "torch.txt", "release.txt"])
def test_a_lock_pins_every_package_with_hashes_and_names_no_place(name: str) -> None:
    for requirements in pinned(name).values():
        for requirement, hashes in requirements:
            (only,) = requirement.specifier
            assert only.operator == "=="
            assert hashes > 0
    text = (LOCKS / name).read_text()
    assert not re.search(r"://|file:|--(extra-)?index|find-links|/\w+/", text)


@pytest.mark.parametrize(("name", "extras"), [("runtime.txt", (None,)), ("dev.txt", (None, "dev"))])
def test_a_lock_has_all_that_pyproject_asks_for(name: str, extras: tuple[str | None, ...]) -> None:
    locked = pinned(name) | (pinned("torch.txt") if name == "dev.txt" else {})
    for requirement in (one for extra in extras for one in wanted(extra)):
        for found, _ in locked[canonicalize_name(requirement.name)]:
            (only,) = found.specifier
            assert requirement.specifier.contains(only.version), requirement


def test_pytorch_is_pinned_as_in_pyproject_and_in_several_builds() -> None:
    ((requirement, hashes),) = pinned("torch.txt")["torch"]
    assert str(requirement) in PROJECT["optional-dependencies"]["dev"]
    assert hashes > 1
    assert "torch" not in pinned("dev.txt")


def bill(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((LOCKS / f"bom-{name}.json").read_text())
    return found


@pytest.mark.parametrize("name", ["runtime", "dev"])
def test_a_bill_lists_what_its_lock_pins(name: str) -> None:
    locked = pinned(f"{name}.txt") | (pinned("torch.txt") if name == "dev" else {})
    listed = {canonicalize_name(one["name"]): one["version"] for one in bill(name)["components"]}
    for package, version in listed.items():
        versions = [next(iter(one.specifier)).version for one, _ in locked[package]]
        assert Version(version).public in versions, package  # a build is the same version
    everywhere = {key for key, ones in locked.items() if any(one.marker is None for one, _ in ones)}
    assert everywhere <= set(listed)


@pytest.mark.parametrize("name", ["runtime", "dev"])
def test_a_bill_has_the_core_with_licences_and_versions(name: str) -> None:
    found = bill(name)
    assert found["bomFormat"] == "CycloneDX"
    main = found["metadata"]["component"]
    assert main["name"] == "shiftdp"
    assert f'"{main["version"]}"' in (ROOT / "src" / "shiftdp" / "_version.py").read_text()
    components = {str(canonicalize_name(one["name"])): one for one in found["components"]}
    for package in CORE:
        assert components[package]["licenses"]
        assert Version(components[package]["version"]).release
        assert components[package]["purl"].startswith(f"pkg:pypi/{package}@")
    assert {key for key, one in components.items() if not one.get("licenses")} <= UNDECLARED


def test_a_bill_names_no_place() -> None:
    for path in LOCKS.glob("bom-*.json"):
        assert not re.search(r'file:|"/|pythonhosted|pypi\.org', path.read_text())


def build(source: Path, target: Path, umask: int) -> dict[str, str]:
    """An sdist and a wheel, as `make dist` builds them, with the digests of both."""
    program = (
        f"import os, hatchling.build as b; os.umask({umask})\n"
        f"print(b.build_sdist({str(target)!r}), b.build_wheel({str(target)!r}))"
    )
    target.mkdir()
    words = [sys.executable, "-c", program]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run(words, cwd=source, check=True, capture_output=True, env=environment)
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in target.iterdir()}


@pytest.mark.slow
def test_two_builds_of_a_release_are_the_same_bytes(tmp_path: Path) -> None:
    """Made in two places, with files of other ages, written in another order, and other umasks."""
    pytest.importorskip("hatchling")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a repository of git")
    names = [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    found = []
    for number, order in enumerate((names, names[::-1])):
        source = tmp_path / f"source {number}"
        for name in order:
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, source / name)
            os.utime(source / name, (10**9 + number * 10**6,) * 2)
            (source / name).chmod(0o600 if number else 0o644)
        found.append(build(source, tmp_path / f"dist {number}", 0o077 if number else 0o022))
    assert len(found[0]) == 2
    assert found[0] == found[1]


def test_bills_say_what_they_are_waiting_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An installation takes a minute, in which pip is silent."""
    bills = runpy.run_path(str(ROOT / "requirements" / "bills.py"))
    ran: list[Any] = []
    monkeypatch.setattr(subprocess, "run", lambda words, **_: ran.append(words))
    bills["installed"]("runtime", ("runtime.txt",))
    assert len(ran) == 2
    lines = capsys.readouterr().out.splitlines()
    assert [line.startswith("runtime: ") for line in lines] == [True, True]
    assert "runtime.txt" in lines[1]
