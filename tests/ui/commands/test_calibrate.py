"""Schedules of noise on the command line: found, written to a file, and read again."""

from pathlib import Path

import pytest

from tests.ui.shell import MNIST, prose, refused, said

SAMPLED = (
    "sgd --n 500 --batch-size 10 --steps 50 --learning-rate 0.1 "
    "--strong-convexity 0 --smoothness 1 --sensitivity 2"
)


def test_a_cooldown_is_found_and_its_file_describes_the_same_run(tmp_path: Path) -> None:
    path = tmp_path / "cooled.toml"
    found = said(f"calibrate cooldown {SAMPLED} --epsilon 1 --most 4 -o {path} --json")
    block, noise = found["cooldown"], found["value"]
    assert block["factor"] == pytest.approx(4)
    assert noise[-block["last"] - 1] == noise[0] < noise[-1]
    equal = said(f"calibrate noise {SAMPLED} --epsilon 1 --json")["value"]
    assert sum(x * x for x in noise) < 50 * equal**2
    assert found["epsilon"] <= 1.0
    assert said(f"account --config {path} --json")["epsilon"] == found["epsilon"]
    typed = f"--noise {noise[0]!r} --cooldown {block['last']}:4"
    assert said(f"account {SAMPLED} {typed} --json")["epsilon"] == found["epsilon"]


def test_placed_noise_goes_through_a_table(tmp_path: Path) -> None:
    path = tmp_path / "placed.csv"
    line = MNIST.replace(" --noise 0.01", "")
    text = prose(f"calibrate placed_noise {line} --epsilon 1 -o {path}")
    assert "in 50 of 2000 steps, and none in the others" in text
    assert text.endswith(f"The run is in {path}.\n")
    again = said(f"account {line} --noise {path} --json".replace("0.05", str(path)))
    same = said(f"calibrate noise {line} --epsilon 1 --placed --json")
    assert again["run"]["noise"] == same["value"]
    assert again["run"]["learning_rate"] == [0.05] * 2000
    assert again["epsilon"] == same["epsilon"]


def test_what_is_expected_of_the_losses_moves_noise_forward() -> None:
    line = f"calibrate placed_noise {MNIST.replace('--epochs 50', '--epochs 2')} --mu 1 --json"
    usual, early = said(line)["value"], said(f"{line} --expected-curvature 5")["value"]
    assert early[39] > usual[39] > 0.0
    assert early[79] < usual[79]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (f"cooldown {MNIST} --epsilon 1", "KIND cgd: is not for cooldown"),
        (f"placed_noise {SAMPLED} --epsilon 1", "KIND sgd: is not for placed_noise"),
        (f"cooldown {SAMPLED} --mu 1", "--mu 1: is no budget that cool-downs are sought for"),
        (f"cooldown {SAMPLED} --epsilon 1 --cooldown 3:3", "--cooldown 3:3: is a schedule already"),
        (f"cooldown {SAMPLED} --epsilon 1 --noise 1,2", "--noise 1,2: is one a step"),
        (f"noise {SAMPLED} --epsilon 1 --most 3", "--most 3: is for cooldown"),
        (f"cooldown {SAMPLED} --epsilon 1 --expected-curvature 1", "is for placed_noise"),
        (f"cooldown {SAMPLED} --epsilon 1 --placed", "--placed: is for noise"),
        (f"placed_noise {MNIST} --epsilon 1 --bounds paper", "--bounds paper: placed noise rests"),
        (f"placed_noise {MNIST} --mu 1 --releases epochs", "--releases epochs: placed_noise is"),
        (f"placed_noise {MNIST} --mu 1 --epochs inf", "--epochs inf: placed_noise needs a last"),
        (f"cooldown {SAMPLED} --epsilon 1 --steps inf", "--steps inf: cooldown needs a last step"),
        (f"epochs {MNIST} --epochs inf --epsilon 13 -o x.csv", "-o x.csv: a table has a line for"),
        (f"noise {MNIST} --epsilon 13 -o x.txt", "known by its ending"),
    ],
)
def test_what_does_not_belong_together_is_refused(line: str, problem: str) -> None:
    assert problem in refused(f"calibrate {line}")


def test_a_kind_in_place_of_the_parameter_is_told_the_shapes_of_its_noise() -> None:
    assert "noise, placed_noise, epochs" in refused("calibrate cgd")
    assert "noise, cooldown, epochs" in refused("calibrate sgd")
