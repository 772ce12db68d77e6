"""`shiftdp unlearn`: several requests at different times."""

from pathlib import Path

import pytest

from shiftdp import Geometry, NoisyCGD, Unlearning, certify
from shiftdp.privacy import calibrate_unlearning
from tests.ui.shell import CONFIG, MNIST, refused, said

GEOMETRY = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
RUN = NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)
UNLEARN = ("unlearn", *MNIST.split(), "--json")


def test_later_requests_are_those_of_the_library() -> None:
    more = ("--later-requests", "200:1", "--later-requests", "300:2")
    document = said(*UNLEARN, "--further-steps", "400", *more)
    deletion = Unlearning(training=RUN, further_steps=400, later_requests=[(200, 1), (300, 2)])
    assert document["epsilon"] == certify(deletion, GEOMETRY).epsilon(1e-5)
    assert document["epsilon"] > said(*UNLEARN, "--further-steps", "400")["epsilon"]


def test_the_steps_for_an_epsilon_count_from_the_first_request() -> None:
    document = said(*UNLEARN, "--epsilon", "3", "--later-requests", "200:1")
    steps = calibrate_unlearning(RUN, GEOMETRY, epsilon=3.0, delta=1e-5, later_requests=[(200, 1)])
    assert document["further_steps"] == steps > 200
    assert document["epsilon"] <= 3.0


def test_a_file_gives_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    requests = 'further_steps = 400\nlater_requests = ["200:1"]\n'
    (tmp_path / "run.toml").write_text(CONFIG + requests)
    written = said("unlearn", "--config", "run.toml", "--json")
    typed = said(*UNLEARN, "--further-steps", "400", "--later-requests", "200:1")
    assert written["epsilon"] == typed["epsilon"]


def test_requests_that_come_too_late_are_refused() -> None:
    line = refused("unlearn", *MNIST.split(), "--further-steps", "100", "--later-requests", "200:1")
    assert "after the 100 further steps" in line
    assert "STEPS:RECORDS" in refused("unlearn", *MNIST.split(), "--later-requests", "200")
