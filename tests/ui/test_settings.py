"""From options to a run or a saved certificate: the same guarantee, and nothing that is ignored."""

import json
from pathlib import Path

import pytest

from tests.ui.shell import MNIST, prose, refused, said, shiftdp


def test_a_saved_certificate_is_the_same_certificate(tmp_path: Path) -> None:
    path = str(tmp_path / "run.json")
    first = said(f"account {MNIST} --order reshuffled --save {path} --json")
    assert said(f"account --certificate {path} --json") == first
    verified = said(f"verify {path} --json")
    assert verified["verified"] is True
    assert verified["epsilon"] == first["epsilon"]
    assert "provided that\n  - losses: " in prose(f"verify {path}")


@pytest.mark.parametrize("command", ["account --certificate", "verify"])
def test_a_forged_certificate_fails(command: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    prose(f"account {MNIST} --save {path}")
    document = json.loads(path.read_text())
    document["run"]["noise"] *= 1.01
    path.write_text(json.dumps(document))
    result = shiftdp(f"{command} {path}")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1


def test_what_would_be_ignored_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    prose(f"account {MNIST} --save {path}")
    line = refused(f"account --certificate {path} --noise 1")
    assert line.startswith("--noise 1: is not used with --certificate")
    line = refused(f"account --certificate {path} --bounds paper")
    assert line.startswith("--bounds paper: is not used")
    assert refused(f"account cgd --certificate {path}").startswith("KIND cgd: is not used")


def test_the_first_try_is_answered_with_what_is_missing_and_an_example() -> None:
    for arguments, first in (("account", "KIND"), ("account gd", "--n")):
        result = shiftdp(arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        lines = result.stderr.partition("for example")[0].splitlines()
        assert lines[1].split()[0] == first
        for name in ("--n", "--learning-rate", "--noise", "--smoothness", "--sensitivity"):
            assert sum(line.split()[:1] == [name] for line in lines) == 1
        assert "  shiftdp account cgd --n 60000" in result.stderr


MNIST_GD = (
    "--n 60 --learning-rate 0.1 --noise 1 --strong-convexity 1 --smoothness 2 --sensitivity 1"
)
SAMPLED = (
    "--n 400 --batch-size 20 --learning-rate 0.1 --noise 0.5 --strong-convexity 1 --smoothness 10 "
    "--sensitivity 4 --adjacency zero_out"
)


def test_random_allocation_is_counted_in_epochs() -> None:
    found = said(f"account sgd {SAMPLED} --sampling random-allocation --epochs 3 --json")
    assert (found["run"]["steps"], found["run"]["epochs"]) == (60, 3)
    same = said(f"account sgd {SAMPLED} --sampling random-allocation --steps 60 --json")
    assert same == found
    line = refused(f"account sgd {SAMPLED} --sampling random-allocation --steps 61")
    assert line.startswith("--steps 61: is not a whole number of epochs")
    assert refused(f"account sgd {SAMPLED} --epochs 3").startswith("--epochs 3: is for random")
    missing = refused(f"account sgd {SAMPLED} --sampling poisson")
    assert missing.startswith("--steps: is missing")


@pytest.mark.parametrize("kind", ["sgd --steps 10 --sampling poisson", "cgd --steps 10"])
def test_a_cool_down_raises_the_noise_of_the_last_steps(kind: str) -> None:
    found = said(f"account {kind} {SAMPLED} --cooldown 2:3 --json")
    assert found["run"]["noise"] == [0.5] * 8 + [1.5] * 2
    listed = said(f"account {kind} {SAMPLED} --noise {'0.5,' * 8}1.5,1.5 --json")
    assert found == listed
    assert found["epsilon"] < said(f"account {kind} {SAMPLED} --json")["epsilon"]
    line = refused(f"account {kind} {SAMPLED} --cooldown 11:3")
    assert line == "--cooldown 11:3: the run has 10 steps; give a part of a number of steps"


def test_a_cool_down_needs_noise_and_an_end(tmp_path: Path) -> None:
    line = refused("account langevin --steps 5 --learning-rate 0.1 --strong-convexity 1 "
                   "--smoothness 2 --sensitivity 1 --cooldown 2:3")  # fmt: skip
    assert line.startswith("--cooldown 2:3: langevin has no noise of its own")
    assert "no last step" in refused(f"account gd {MNIST_GD} --steps inf --cooldown 2:3")
    path = tmp_path / "run.json"
    prose(f"account {MNIST} --save {path}")
    line = refused(f"account --certificate {path} --cooldown 2:3")
    assert line.startswith("--cooldown 2:3: is not used with --certificate")


def test_calibrated_noise_is_that_of_the_whole_schedule() -> None:
    line = f"calibrate noise cgd {SAMPLED} --steps 10 --cooldown 2:3 --epsilon 1"
    found = said(f"{line} --json")
    noise = found["value"]
    assert noise[-1] == pytest.approx(3 * noise[0])
    assert f"{noise[0]} in 8 steps, then {noise[-1]} in 2 steps" in prose(line)


# --- a noise multiplier ---

CLIPPED = "account gd --n 100 --steps 10 --learning-rate 0.1 --strong-convexity 0 --smoothness 1"


def test_a_noise_multiplier_is_never_more_noise_than_it_says() -> None:
    from fractions import Fraction

    from shiftdp.ui.settings import noise_of_multiplier

    for size in range(1, 60):
        noise = noise_of_multiplier(1.1, 0.7, size)
        exact = Fraction(1.1) * Fraction(0.7) / size
        assert Fraction(noise) <= exact < Fraction(noise) * (1 + Fraction(1, 2**51))


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("--noise-multiplier 1 --sensitivity 1", "is in units of the clip, which is not given"),
        ("--noise-multiplier 1 --noise 1 --sensitivity 1", "--noise is given too"),
        ("--noise-multiplier -1 --sensitivity 1 --adjacency zero_out", "--noise -1"),
    ],
)
def test_a_noise_multiplier_that_says_nothing_is_refused(more: str, problem: str) -> None:
    assert problem in refused(f"{CLIPPED} {more}")


@pytest.mark.parametrize(("adjacency", "times"), [("replace_one", 2), ("zero_out", 1)])
def test_the_clip_is_enough(adjacency: str, times: int) -> None:
    words = f"{CLIPPED} --noise-multiplier 2 --gradient-bound 0.7 --adjacency {adjacency} --json"
    found = said(words)
    assert found["geometry"]["sensitivity"] == times * 0.7
    assert found == said(f"{words} --sensitivity {times * 0.7}")


def test_langevin_has_no_noise_multiplier() -> None:
    words = "account langevin --steps 9 --learning-rate 0.1 --strong-convexity 1 --smoothness 2"
    line = refused(f"{words} --sensitivity 1 --noise-multiplier 1")
    assert line == "--noise-multiplier 1: langevin has no noise of its own; leave it out"


def test_one_multiplier_a_step() -> None:
    words = f"{CLIPPED} --sensitivity 1 --adjacency zero_out --json".replace(
        "--steps 10", "--steps 2"
    )
    found = said(f"{words} --noise-multiplier 2,4")
    assert found["run"]["noise"] == pytest.approx([0.02, 0.04])
