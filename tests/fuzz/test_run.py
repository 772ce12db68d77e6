"""Campaigns: they can be repeated, count what they tried, and keep what they find."""

from argparse import Namespace
from pathlib import Path

import pytest

from shiftdp import InvalidInput
from tests.fuzz import process, run, totals
from tests.fuzz.catalogue import EVERY, FILES, TARGETS, Target
from tests.fuzz.process import HEAD, Ended, Job


def job(seed: int = 3) -> Job:
    return Job("some", 60.0, 5, seed, "", "")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "OUT", tmp_path)


def test_a_seed_gives_the_same_inputs() -> None:
    seen: list[list[bytes]] = [[], [], []]
    for found, seed in zip(seen, (3, 3, 4), strict=True):
        process.draw(job(seed), 40, found.append)
    assert seen[0] == seen[1] != seen[2]
    assert len(seen[0]) == 5
    assert {len(data) for data in seen[0]} <= {10, 40}


def test_a_finding_is_kept_once_and_the_campaign_goes_on(tmp_path: Path) -> None:
    def attempt(data: bytes) -> None:
        if data > b"b":
            raise ZeroDivisionError
        if data == b"b":
            raise LookupError("not this one")
        if data == b"A":
            raise InvalidInput("data", data, "is refused", "give another")

    state = tmp_path / "state"
    state.write_bytes(bytes(HEAD.size))
    guarded = process.guarded("some", Target(attempt, 1), state, tmp_path)
    for data in (b"a", b"c", b"A", b"d", b"b", b"e"):
        guarded(data)
    assert HEAD.unpack_from(state.read_bytes())[:2] == (6, 1)
    kept = sorted(path.read_bytes() for path in tmp_path.glob("some-*.bin"))
    assert kept == [b"b", b"c"]
    assert any("LookupError: not this one" in p.read_text() for p in tmp_path.glob("some-*.txt"))


def test_the_present_input_is_on_record_before_it_is_tried(tmp_path: Path) -> None:
    """So that it is known which one ended the process."""
    state, seen = tmp_path / "state", []
    state.write_bytes(bytes(HEAD.size))

    def attempt(data: bytes) -> None:
        seen.append(state.read_bytes())

    process.guarded("some", Target(attempt, 4), state, tmp_path)(b"deadly")
    assert seen == [HEAD.pack(0, 0, 6) + b"deadly"]


def test_every_pair_is_tried_before_any_is_tried_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str, float]] = []

    class Nursery:
        def __init__(self, engine: str) -> None:
            self.engine = engine

        def run(self, job: Job) -> Ended:
            asked.append((self.engine, job.target, job.seconds))
            Path(job.state).write_bytes(HEAD.pack(7, 2, 0))
            return Ended(0, 10)

        def close(self) -> None: ...

    monkeypatch.setattr(run, "Nursery", Nursery)
    words = Namespace(target=None, inputs=0, seconds=300.0, seed=0, totals=None)
    assert run._campaign(words, ("random", "atheris")) == 0
    pairs = len(TARGETS) * 2 + len(FILES)
    first, second = asked[:pairs], asked[pairs:]
    assert len({pair[:2] for pair in first}) == pairs
    assert sum(seconds for *_, seconds in first) <= 100.0
    assert len(second) == pairs
    assert sum(int(line.inputs) for line in totals.read(tmp_path / "totals.csv")) == 14 * pairs


def test_the_page_has_what_was_counted() -> None:
    text = totals.PAGE.read_text(encoding="utf-8")
    assert totals.page(text, totals.read(totals.KEPT)) == text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "target", "inputs"),
    [("random", "json_texts", 30), ("atheris", "file_schema_toml", 50)],
)
def test_a_campaign_counts_what_its_processes_tried(
    engine: str, target: str, inputs: int, tmp_path: Path
) -> None:
    if engine == "atheris":
        pytest.importorskip("atheris", reason="needs the extra `fuzz`")
        assert EVERY[target].seeds is not None
    nursery, counted = run.Nursery(engine), tmp_path / "totals.csv"
    try:
        assert run.run_target(nursery, target, 120.0, inputs, 1, counted) >= inputs
    finally:
        nursery.close()
    (line,) = totals.read(counted)
    assert (line.target, line.engine, line.code) == (target, engine, "0")
    assert int(line.inputs) >= inputs
    assert not [*tmp_path.glob("*.txt")]
