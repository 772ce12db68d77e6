"""The benchmark wall: no ratio of unequal things."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.wall import Claim, Here, Limit, Peer, Reads, as_accurate, environments, same, within
from benchmarks.wall.accuracy import Guarantee, Score, as_table, difference
from benchmarks.wall.clock import Timer
from benchmarks.wall.collect import HOME
from benchmarks.wall.environments import PACKAGES, PeerFailed, Server
from benchmarks.wall.print import as_csv, cells, markdown

ROOT = Path(__file__).parents[2]


def claim(ours: tuple[float, Any], theirs: tuple[float, Any], **more: Any) -> Claim:
    given: dict[str, Any] = {"name": "file/claim", "what": "a problem", "agree": within(1e-3)}
    return Claim(
        ours=Reads("ours", lambda: ours), other=Reads("a peer", lambda: theirs), **(given | more)
    )


# --- ratios, and when there are none ---


def test_equal_answers_have_a_ratio_in_the_direction_of_their_kind() -> None:
    row = claim((2.0, 1.0), (10.0, 1.0005), goal=4.0).measure()
    assert (row.ratio, row.least, row.most, row.rounds) == (5.0, 5.0, 5.0, 5)
    assert row.met is True
    floor = claim((2.0, 1.0), (10.0, 1.0), kind="floor", goal=0.1).measure()
    assert floor.ratio == pytest.approx(0.2)
    assert floor.met is False


@pytest.mark.parametrize("theirs", [1.002, 0.9, math.nan, math.inf, None, "one", [1.0, 1.0]])
def test_no_ratio_is_printed_of_answers_that_differ(theirs: object) -> None:
    """A fabricated mismatch: the peer is ten times slower, and answers something else."""
    row = claim((1.0, 1.0), (10.0, theirs), goal=2.0).measure()
    assert row.ratio is None
    assert row.least is None
    assert row.met is None
    assert row.refusal
    shown = " ".join(cells(row)) + markdown([row]) + as_csv([row], "a machine")
    assert "none: " in shown
    assert "times faster" not in shown


def test_one_round_that_differs_is_enough_to_refuse() -> None:
    answers = iter([1.0, 1.0, 1.0, 5.0, 1.0])
    one = Claim(
        name="file/claim",
        what="a problem",
        ours=Reads("ours", lambda: (1.0, 1.0)),
        other=Reads("a peer", lambda: (2.0, next(answers))),
        agree=within(1e-3),
    )
    row = one.measure()
    assert row.ratio is None
    assert row.rounds == 4


def test_a_less_accurate_answer_of_ours_has_no_ratio_and_a_more_accurate_one_has() -> None:
    agree = as_accurate(lambda found: found - 1.0, 0.1)
    assert agree(1.01, 1.02) is None
    assert "not as accurate" in str(agree(1.02, 1.01))
    assert as_accurate(lambda found: found - 1.0, 0.1, factor=3.0)(1.02, 1.01) is None
    assert "the peer's" in str(agree(1.01, 1.2))  # it did not solve the problem
    assert "ours" in str(agree(0.99, 1.01))  # below the truth: no accuracy excuses that
    assert agree(math.nan, 1.01)


def test_runs_and_sizes_have_to_be_the_same() -> None:
    agree = same("steps", "delta")
    assert agree({"steps": 3, "delta": 1e-5}, {"steps": 3, "delta": 1e-5, "more": 1}) is None
    assert "delta" in str(agree({"steps": 3, "delta": 1e-5}, {"steps": 3, "delta": 1e-6}))
    assert same()(3, 4)


@pytest.mark.parametrize("figures", [(0.0, 1.0), (1.0, 0.0), (1.0, math.inf), (math.nan, 1.0)])
def test_figures_that_have_no_quotient_have_no_ratio(figures: tuple[float, float]) -> None:
    row = claim((figures[0], 1.0), (figures[1], 1.0)).measure()
    assert row.ratio is None
    assert "no ratio" in str(row.refusal)


def test_the_spread_is_that_of_the_rounds() -> None:
    seconds = iter([1.0, 4.0, 2.0])
    one = Claim(
        name="file/claim",
        what="a problem",
        ours=Reads("ours", lambda: (1.0, 0)),
        other=Reads("a peer", lambda: (next(seconds), 0)),
        agree=same(),
        rounds=3,
    )
    row = one.measure()
    assert (row.ratio, row.least, row.most) == (2.0, 1.0, 4.0)


# --- sides ---


def test_the_clock_gives_the_time_of_one_call_and_its_answer() -> None:
    calls: list[int] = []

    def call() -> int:
        calls.append(sum(range(20_000)))
        return len(calls)

    timer = Timer(call)
    first, second = timer.read(), timer.read()
    assert 0.0 < second[0] < 0.05
    assert first[1] < second[1] <= len(calls)
    assert len(calls) > 3  # short calls are timed in batches


def test_a_side_divides_by_what_it_is_told_and_a_limit_is_a_number() -> None:
    assert Here("a step", lambda: sum(range(10**6)), warm=False, per=1e6).read().figure < 1e-6
    assert Limit("limit", 0.5, "answer").read() == (0.5, "answer")


@pytest.fixture
def peer(tmp_path: Path) -> Any:
    program = tmp_path / "peer.py"
    program.write_text(
        "def double(x):\n    print('a library that talks')\n    return 2 * x\n"
        "def fails():\n    raise ValueError('no such thing')\n"
        "def ends():\n    import os\n    os._exit(1)\n"
    )
    server = Server(Path(sys.executable), program)
    yield server
    server.close()


def test_a_peer_answers_in_json_whatever_it_prints(peer: Server) -> None:
    seconds, answer = peer.ask("double", {"x": 21}, warm=False)
    assert answer == 42
    assert seconds >= 0.0
    with pytest.raises(PeerFailed, match="ValueError: no such thing"):
        peer.ask("fails", {})
    assert peer.ask("double", {"x": 1}, warm=False)[1] == 2  # it goes on
    with pytest.raises(PeerFailed, match="has ended"):
        peer.ask("ends", {})


def test_a_peer_that_cannot_be_installed_leaves_a_row_that_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent(name: str) -> Server:
        raise PeerFailed(f"{name} could not be installed")

    monkeypatch.setattr("benchmarks.wall.sides.server", absent)
    row = Claim(
        "file/claim", "a problem", Limit("ours", 1.0), Peer("autodp", "x"), same()
    ).measure()
    assert row.ratio is None
    assert "autodp could not be installed" in str(row.refusal)
    assert row.other == f"autodp {PACKAGES['autodp'][0].removeprefix('autodp==')}"


def test_an_environment_that_is_there_is_taken_and_one_of_other_versions_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[list[str]] = []
    monkeypatch.setattr(environments, "FOLDER", tmp_path)
    monkeypatch.setattr(
        "benchmarks.wall.environments.subprocess.run", lambda words, **_: made.append(words)
    )
    (tmp_path / "autodp").mkdir()
    stamp = tmp_path / "autodp" / ".installed"
    stamp.write_text("autodp==0.1")
    assert environments.python_of("autodp") == tmp_path / "autodp" / "bin" / "python"
    assert made[-1][-1] == PACKAGES["autodp"][0]
    assert stamp.read_text() == PACKAGES["autodp"][0]
    made.clear()
    environments.python_of("autodp")
    assert not made


def test_every_peer_is_pinned_and_has_its_program() -> None:
    for name, packages in PACKAGES.items():
        assert all(re.fullmatch(r"[\w-]+(\[\w+\])?==[\w.]+", each) for each in packages)
        assert (HOME / "wall" / "peers" / f"{name}.py").is_file()
    assert len(list((HOME / "wall" / "peers").glob("*.py"))) == len(PACKAGES)


# --- accuracies ---


def test_a_difference_is_printed_of_equal_guarantees_only() -> None:
    paid = Guarantee(1.0, 1e-5, "zero_out")
    ours = Score("spam", "ours", "", paid, (90.0, 92.0))
    other = Score("spam", "theirs", "", paid, (89.0, 90.0))
    assert difference(ours, other) == "+1.5 ± 0.5"
    for less in (
        paid._replace(epsilon=2.0),
        paid._replace(delta=0.0),
        paid._replace(adjacency="replace_one"),
        None,
    ):
        unequal = Score("spam", "theirs", "", less, other.values)
        assert difference(ours, unequal).startswith("none")
    assert difference(ours, Score("spam", "theirs", "", paid, (89.0,))).startswith("none")
    table = as_table([ours, other], {"default": "ours"})
    assert "| +1.5 ± 0.5 |" in table
    assert Score.from_dict(json.loads(json.dumps(ours.to_dict()))) == ours
