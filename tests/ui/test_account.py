"""`shiftdp account`: the numbers of `certify`, for every kind of run."""

import json
import math

import pytest

import shiftdp as sdp
from shiftdp.last_iterate.certification import Bounds
from tests.ui.shell import MNIST, prose, refused, said, shiftdp

GEOMETRY = sdp.Geometry(strong_convexity=1.0, smoothness=10.0, sensitivity=1.0)
LOSSES = "--strong-convexity 1 --smoothness 10 --sensitivity 1"


def test_the_promised_keys() -> None:
    found = said(f"account {MNIST} --delta 1e-5 --json")
    assert found["epsilon"] == pytest.approx(4.339158572297, rel=1e-12)
    assert found["mu"] == pytest.approx(0.992491396898, rel=1e-12)
    assert (found["bound"], found["kind"]) == ("Theorem B1", "certified")
    assert found["geometry"]["diameter"] == "inf"


@pytest.mark.parametrize(
    ("releases", "epsilon"), [("1000", 5.3687), ("epochs", 30.5063), ("2000", 4.3392)]
)
def test_releases_are_charged_together(releases: str, epsilon: float) -> None:
    found = said(f"account {MNIST} --releases {releases} --json")
    assert found["epsilon"] == pytest.approx(epsilon, abs=5.1e-5)


def test_releases_that_are_no_steps_are_refused_by_name() -> None:
    for word in ("weekly", "epoch", "2.5", "nan"):
        line = refused(f"account {MNIST} --releases {word}")
        assert line.startswith(f"--releases {word}: is unknown; give epochs, all or steps")
    assert "beyond the last step" in refused(f"account {MNIST} --releases 400,5000")
    assert "is no option of stream" in refused(f"account stream --releases all {LOSSES}")


@pytest.mark.parametrize(
    ("line", "run"),
    [
        (
            "gd --n 50 --steps 20 --learning-rate 0.1 --noise 0.3 --releases 5,10",
            sdp.NoisyGD(n=50, steps=20, learning_rate=0.1, noise=0.3, releases=[5, 10]),
        ),
        (
            "stream --batch-size 50 --batches-per-release 4 --learning-rate 0.1 --noise 0.3 "
            "--order shuffled",
            sdp.NoisyStream(
                batch_size=50, batches_per_release=4, learning_rate=0.1, noise=0.3, order="shuffled"
            ),
        ),
        (
            "gd --n 50 --steps 20 --learning-rate 0.1 --noise 0.3",
            sdp.NoisyGD(n=50, steps=20, learning_rate=0.1, noise=0.3),
        ),
        (
            "gd --n 50 --steps 3 --learning-rate 0.1,0.05,0.02 --noise 0.3,0.2,0.1",
            sdp.NoisyGD(n=50, steps=3, learning_rate=[0.1, 0.05, 0.02], noise=[0.3, 0.2, 0.1]),
        ),
        (
            "gd --n 50 --steps inf --learning-rate 0.1 --noise 0.3",
            sdp.NoisyGD(n=50, steps=math.inf, learning_rate=0.1, noise=0.3),
        ),
        (
            "cgd --n 59 --batch-size 20 --steps 7 --learning-rate 0.1 --noise 0.3",
            sdp.NoisyCGD(n=59, batch_size=20, steps=7, learning_rate=0.1, noise=0.3),
        ),
        (
            "cgd --n 50 --batch-size 20 --steps 7 --learning-rate 0.1 --noise 0.3 "
            "--last-batch divide-by-b",
            sdp.NoisyCGD(
                n=50,
                batch_size=20,
                steps=7,
                learning_rate=0.1,
                noise=0.3,
                last_batch="divide_by_b",
            ),
        ),
        (
            "cgd --n 50 --batch-size 10 --epochs 2 --learning-rate 0.1 --noise 0.3 "
            "--order shuffled-once",
            sdp.NoisyCGD(
                n=50, batch_size=10, epochs=2, learning_rate=0.1, noise=0.3, order="shuffled_once"
            ),
        ),
        (
            "cgd --n 50 --batch-size 10 --epochs 2 --learning-rate 0.1 --noise 0.3 "
            "--order reshuffled",
            sdp.NoisyCGD(
                n=50, batch_size=10, epochs=2, learning_rate=0.1, noise=0.3, order="reshuffled"
            ),
        ),
        (
            "sgd --n 50 --batch-size 10 --steps 20 --learning-rate 0.1 --noise 0.3",
            sdp.NoisySGD(n=50, batch_size=10, steps=20, learning_rate=0.1, noise=0.3),
        ),
        (
            "langevin --steps 30 --learning-rate 0.02",
            sdp.LangevinMC(steps=30, learning_rate=0.02),
        ),
        ("exponential", sdp.ExponentialMechanism()),
    ],
)
def test_every_kind_says_what_certify_says(line: str, run: sdp.NoisyGD) -> None:
    found = said(f"account {line} {LOSSES} --delta 1e-6 --json")
    certificate = sdp.certify(run, GEOMETRY, delta=1e-6)
    assert found["epsilon"] == certificate.epsilon(1e-6)
    assert (found["mu"], found["bound"]) == (certificate.mu, certificate.bound)
    assert found["run"]["type"] == type(run).__name__


def test_poisson_with_a_cap_and_zero_out() -> None:
    line = (
        "account sgd --n 100 --batch-size 10 --steps 20 --learning-rate 0.05 --noise 1 "
        f"--sampling poisson --batch-cap 40 --adjacency zero-out {LOSSES} --json"
    )
    found = said(line)
    run = sdp.NoisySGD(
        n=100,
        batch_size=10,
        steps=20,
        learning_rate=0.05,
        noise=1.0,
        sampling="poisson",
        batch_cap=40,
    )
    geometry = sdp.Geometry(
        strong_convexity=1.0, smoothness=10.0, sensitivity=1.0, adjacency="zero_out"
    )
    assert found["epsilon"] == sdp.certify(run, geometry).epsilon(1e-5)
    assert found["run"]["batch_cap"] == 40


@pytest.mark.parametrize("bounds", ["best", "paper", "composition"])
def test_bounds(bounds: Bounds) -> None:
    found = said(f"account {MNIST} --bounds {bounds} --json")
    run = sdp.NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)
    geometry = sdp.Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
    assert found["bound"] == sdp.certify(run, geometry, bounds=bounds).bound


def test_what_is_printed_is_rounded_up() -> None:
    text = prose(f"account {MNIST}")
    assert "epsilon   4.3392  at delta = 1e-05" in text  # 4.339158...
    assert "mu        0.99250\n" in text  # 0.9924913...


def test_explain_names_hypotheses_theorem_and_others() -> None:
    text = prose(f"account {MNIST} --explain")
    for part in (
        "Theorem B1 proves it, provided that",
        "hidden iterates:",
        "lies between epsilon = 4.3391585 and 4.3391586",
        "composition                   30.5063",
        "[YS22, Thm 3.3]",
        "Thm mgd-proj: diameter=inf is infinite",
    ):
        assert part in text
    found = said(f"account {MNIST} --explain --json")
    assert found["others"][0]["name"] == "composition"
    low, high = found["epsilon_interval"]
    assert low <= found["epsilon"] == high
    assert found["refused"][0]["rule"] == "Thm mgd-proj"


@pytest.mark.parametrize(
    "command",
    ["account", "account --explain", "compare", "risk", "frontier noise", "calibrate epochs"],
)
@pytest.mark.filterwarnings("error::shiftdp.last_iterate.last_batch.SmallLastBatch")
def test_a_last_batch_that_costs_too_much_is_told_with_the_cure(command: str) -> None:
    """Once, as a line of the command: Python's own warnings stay inside."""
    line = f"{command} cgd --n 1000 --batch-size 333 --epochs 10 --learning-rate 0.05 --noise 0.05"
    line += " --epsilon 1000" if command.startswith("calibrate") else ""
    done = shiftdp(f"{line} {LOSSES} --json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)
    assert done.stderr.startswith("warning: --batch-size 333 does not divide --n 1000: ")
    cure = "if your loop divides every sum by b, also the last, say --last-batch divide_by_b, and"
    assert f"{cure} it is 0." in done.stderr
    assert "takes the mean over the last batch's own size" in done.stderr
    assert shiftdp(f"{line} {LOSSES} --last-batch divide_by_b --json").stderr == ""


def test_poisson_batches_with_replace_one_ask_for_the_norm_of_a_gradient() -> None:
    line = (
        "account sgd --n 100 --batch-size 10 --steps 5 --learning-rate 0.1 --noise 0.5 "
        f"--sampling poisson {LOSSES}"
    )
    assert "give --gradient-bound 0.5 if no gradient is longer" in refused(line)
    run = sdp.NoisySGD(
        n=100, batch_size=10, steps=5, learning_rate=0.1, noise=0.5, sampling="poisson"
    )
    geometry = sdp.Geometry(**{**vars(GEOMETRY), "gradient_bound": 0.75})
    found = said(f"{line} --gradient-bound 0.75 --json")
    assert found["epsilon"] == sdp.certify(run, geometry).epsilon(1e-5)
