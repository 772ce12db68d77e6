"""Runs in files: what is written is read again, and what cannot be read says why."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shiftdp as sdp
from shiftdp.ui.refusals import Refused
from shiftdp.ui.schedule_files import PER_STEP, _toml, has_steps, write_run
from tests.ui.shell import MNIST, refused

GEOMETRY = sdp.Geometry(strong_convexity=0.5, smoothness=2.0, sensitivity=1.0)
RUN = sdp.NoisyCGD(
    n=10, batch_size=4, epochs=2, learning_rate=0.1, noise=[0.1 + 0.2, 1.0, 0.0, 0.3, 1e-9, 2.0]
)


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=11))
def test_numbers_survive_toml(numbers: list[float]) -> None:
    assert tomllib.loads(f"x = {_toml(tuple(numbers))}")["x"] == numbers


def test_a_table_has_a_line_for_each_step(tmp_path: Path) -> None:
    path = tmp_path / "steps.csv"
    write_run(str(path), "cgd", RUN, GEOMETRY)
    head, *rows = path.read_text().splitlines()
    assert (head, rows[2], len(rows)) == ("step,learning_rate,noise", "3,0.1,0.0", 6)
    assert PER_STEP.convert(str(path), None, None) == RUN.noise


def test_a_run_is_described_in_full(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    write_run(str(path), "cgd", RUN, GEOMETRY)
    found = tomllib.loads(path.read_text())
    assert tuple(found["noise"]) == RUN.noise
    assert (found["kind"], found["steps"], found["order"]) == ("cgd", 6, "fixed")
    assert (found["diameter"], found["adjacency"]) == (float("inf"), "replace_one")


def test_which_runs_have_steps_to_list() -> None:
    assert has_steps(RUN)
    assert not has_steps(sdp.NoisyGD(n=10, steps=float("inf"), learning_rate=0.1, noise=1.0))
    assert not has_steps(sdp.ExponentialMechanism())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ("step,rate\n1,2\n", "has no column noise"),
        ("step,noise\n1,0.5\n2,much\n", "has no number for step 2"),
        ("step,noise\n1,0.5\n2\n", "has no number for step 2"),
        ("0.5\nnan\n", "has no number for step 2"),
    ],
)
def test_a_file_that_is_no_schedule(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "noise.csv"
    path.write_text(text)
    with pytest.raises(Refused, match=problem):
        PER_STEP.convert(str(path), None, None)


def test_one_number_a_line_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "noise.csv"
    path.write_text("0.5\n\n0.25\n")
    assert PER_STEP.convert(str(path), None, None) == (0.5, 0.25)
    path.write_bytes(b"\xff\xfe0\x00")
    with pytest.raises(Refused, match="is not a table of numbers"):
        PER_STEP.convert(str(path), None, None)


def test_a_file_that_is_not_there() -> None:
    assert refused("account gd --noise none.csv") == "--noise none.csv: there is no such file"


def test_a_file_with_too_few_steps_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("n.csv").write_text("noise\n" + "0.01\n" * 3)
    line = refused(f"account {MNIST.replace('--noise 0.01', '--noise n.csv')}")
    assert line.startswith("--noise n.csv (3 entries): does not have one entry a step (2000); ")
