"""Campaigns: they can be repeated, count what they tried, and keep what they find."""

import argparse
import csv
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz import run
from tests.fuzz.catalogue import EVERY, Target


def given(**words: Any) -> argparse.Namespace:
    return argparse.Namespace(**{"seed": 3, "seconds": 60.0, "inputs": 5, **words})


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "OUT", tmp_path)


def test_a_seed_gives_the_same_inputs() -> None:
    seen: list[list[bytes]] = [[], [], []]
    for found, seed in zip(seen, (3, 3, 4), strict=True):
        run._draw(given(seed=seed), 40, found.append)
    assert seen[0] == seen[1] != seen[2]
    assert len(seen[0]) == 5
    assert {len(data) for data in seen[0]} <= {10, 40}


def test_a_finding_is_kept_once_and_the_campaign_goes_on(tmp_path: Path) -> None:
    def attempt(data: bytes) -> None:
        if data > b"b":
            raise ZeroDivisionError
        if data == b"b":
            raise LookupError("not this one")

    state = tmp_path / "state"
    state.write_bytes(bytes(16))
    guarded = run._guarded("some", Target(attempt, 1), state)
    for data in (b"a", b"c", b"d", b"b", b"e"):
        guarded(data)
    assert run._HEAD.unpack_from(state.read_bytes())[0] == 5
    kept = sorted(path.read_bytes() for path in tmp_path.glob("some-*.bin"))
    assert kept == [b"b", b"c"]
    assert any("LookupError: not this one" in p.read_text() for p in tmp_path.glob("some-*.txt"))


def test_the_present_input_is_on_record_before_it_is_tried(tmp_path: Path) -> None:
    """So that it is known which one ended the process."""
    state, seen = tmp_path / "state", []
    state.write_bytes(bytes(16))

    def attempt(data: bytes) -> None:
        seen.append(state.read_bytes())

    run._guarded("some", Target(attempt, 4), state)(b"deadly")
    assert seen == [run._HEAD.pack(0, 6) + b"deadly"]


@pytest.mark.slow
def test_a_campaign_counts_what_its_processes_tried(tmp_path: Path) -> None:
    assert run._run("random", "json_texts", 120.0, 30, 1) == 30
    (row,) = csv.DictReader((tmp_path / "totals.csv").read_text().splitlines())
    assert (row["target"], row["engine"], row["inputs"], row["code"]) == (
        "json_texts", "random", "30", "0"
    )  # fmt: skip
    assert not [*tmp_path.glob("*.txt")]


@pytest.mark.slow
def test_libfuzzer_counts_too(tmp_path: Path) -> None:
    pytest.importorskip("atheris", reason="needs the extra `fuzz`")
    assert run._run("atheris", "file_schema_toml", 120.0, 50, 1) >= 50
    assert EVERY["file_schema_toml"].seeds is not None
