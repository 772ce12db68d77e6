"""The other commands say what the library says."""

import csv
import json
import math
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

import shiftdp as sdp
from shiftdp.privacy import Ledger, compare, frontier, risk
from shiftdp.privacy import calibration as library
from shiftdp.training import Logistic, Plan
from shiftdp.training.descent.entropy import Entropy, Seeded, System
from tests.ui.shell import MNIST, prose, refused, said, shiftdp

GEOMETRY = sdp.Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
RUN = sdp.NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)
SMALL = (
    "gd --n 100 --steps 1000 --learning-rate 0.1 --noise 0.1 --strong-convexity 0 "
    "--smoothness 10 --sensitivity 1"
)
LOSSES = sdp.Geometry(strong_convexity=0.0, smoothness=10.0, sensitivity=1.0)
DESCENT = sdp.NoisyGD(n=100, steps=1000, learning_rate=0.1, noise=0.1)


# --- compare ---


def test_compare_has_the_rows_of_the_library() -> None:
    found = said(f"compare {MNIST} --delta 1e-6 --json")
    rows = compare(RUN, GEOMETRY, delta=1e-6)
    assert found["rows"] == [vars(row) for row in rows]
    assert found["delta"] == 1e-6


def test_compare_rounds_bounds_up_and_what_is_attained_down() -> None:
    lines = prose(f"compare {MNIST}").splitlines()
    cells = {line[:11].strip(): line[11:].split() for line in lines[2:]}
    for row in compare(RUN, GEOMETRY, delta=1e-5):
        shown = float(cells[row.name][0])
        assert row.epsilon is not None
        gap = shown - row.epsilon
        assert -1e-4 < gap <= 0 if row.kind == "attained" else 0 <= gap < 1e-4


def test_tables_align() -> None:
    lines = prose(f"compare {MNIST}").splitlines()
    ends = [line.index("  ", 12 + len(line[12:]) - len(line[12:].lstrip())) for line in lines[2:]]
    assert len(set(ends)) == 1


# --- calibrate ---


def test_calibrate_noise() -> None:
    found = said(f"calibrate noise {MNIST} --epsilon 1 --delta 1e-5 --json")
    noise = library.calibrate_noise(RUN, GEOMETRY, epsilon=1.0, delta=1e-5).noise
    assert found["parameter"] == "noise"
    assert found["value"] == pytest.approx(noise, rel=1e-6)  # the search began elsewhere
    assert found["epsilon"] <= 1.0
    again = said(f"account {MNIST} --json".replace("0.01 ", f"{found['value']!r} "))
    assert again["epsilon"] == found["epsilon"]


def test_calibrate_placed_noise(tmp_path: Path) -> None:
    saved = tmp_path / "placed.json"
    found = said(f"calibrate noise {MNIST} --epsilon 1 --placed --save {saved} --json")
    placed = sdp.placed_noise(RUN, GEOMETRY, epsilon=1.0, delta=1e-5)
    assert found["value"] == pytest.approx(list(placed.noise), rel=1e-12)  # type: ignore[arg-type]
    assert found["value"][0] == 0.0
    assert 1.0 - 1e-9 < found["epsilon"] <= 1.0
    sdp.Certificate.from_json(saved.read_text()).verify()
    one_pass = MNIST.replace("--epochs 50", "--epochs 1")
    assert one_pass != MNIST
    assert "0.0 in 39 steps, then" in prose(f"calibrate noise {one_pass} --epsilon 1 --placed")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (f"calibrate epochs {MNIST} --epsilon 1 --placed", "is for noise, and epochs"),
        (f"calibrate noise {MNIST} --epsilon 1 --placed --bounds paper", "rests on Theorem B1"),
    ],
)
def test_only_noise_is_placed(line: str, problem: str) -> None:
    assert problem in refused(line)


def test_the_value_in_print_has_all_its_digits() -> None:
    text = prose(f"calibrate noise {MNIST} --epsilon 1")
    value = next(line.split()[1] for line in text.splitlines() if line.startswith("  noise"))
    found = said(f"calibrate noise {MNIST} --epsilon 1 --json")
    assert float(value) == found["value"]


def test_calibrate_epochs_may_be_endless(tmp_path: Path) -> None:
    saved = tmp_path / "endless.json"
    found = said(f"calibrate epochs {MNIST} --epsilon 13 --save {saved} --json")
    assert found["value"] == "inf"
    assert said(f"verify {saved} --json")["run"]["epochs"] == "inf"
    assert said(f"calibrate epochs {MNIST} --epsilon 8 --json")["value"] == 225


def test_steps_where_there_are_no_epochs() -> None:
    found = said(f"calibrate epochs {SMALL} --mu 1 --json")
    run = library.calibrate_epochs(DESCENT, LOSSES, mu=1.0)
    assert (found["parameter"], found["value"]) == ("steps", run.steps)


@pytest.mark.parametrize("parameter", ["learning_rate", "strong_convexity", "diameter"])
@pytest.mark.parametrize(
    ("options", "budget"),
    [
        ("--epsilon 3 --delta 1e-5", {"epsilon": 3.0, "delta": 1e-5}),
        ("--tpr 0.2 --fpr 0.01", {"tpr": 0.2, "fpr": 0.01}),
        ("--renyi 0.5 --renyi-order 2", {"renyi": 0.5, "order": 2.0}),
        ("--advantage 0.3", {"advantage": 0.3}),
    ],
)
def test_other_parameters_and_budgets(
    parameter: str, options: str, budget: dict[str, float]
) -> None:
    ridge = sdp.Geometry(strong_convexity=2.0, smoothness=10.0, sensitivity=1.0)
    losses = ridge if parameter == "learning_rate" else LOSSES
    line = SMALL.replace("--strong-convexity 0 ", f"--strong-convexity {losses.strong_convexity} ")
    solved = getattr(library, f"calibrate_{parameter}")(DESCENT, losses, **budget)
    found = said(f"calibrate {parameter} {line} {options} --json")
    assert found["value"] == getattr(solved, parameter)
    assert found["budget"] == budget


def test_the_parameter_itself_need_not_be_given() -> None:
    line = "cgd --n 200 --epochs 10 --learning-rate 0.1 --noise 0.1 --strong-convexity 0.1"
    found = said(f"calibrate batch-size {line} --smoothness 10 --sensitivity 1 --epsilon 3 --json")
    assert found["value"] == 20


# --- frontier ---


def test_frontier_has_the_curves_of_the_library(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    found = said(f"frontier epochs {MNIST} --values 1,10,inf --csv {path} --json")
    want = frontier(RUN, GEOMETRY, parameter="epochs", values=[1, 10, math.inf], delta=1e-5)
    assert found == json.loads(json.dumps(want.to_dict()).replace("Infinity", '"inf"'))
    with path.open() as file:
        rows = list(csv.reader(file))
    assert rows[0][0] == "epochs"
    assert float(rows[2][4]) == want["best"].epsilon[1]


def test_a_value_of_a_frontier_is_taken_as_it_is_typed() -> None:
    best = said(f"frontier epochs {MNIST} --values 2.5,2:3:3 --curves best --json")
    assert best["values"] == [2.5, 2, 3]
    line = refused(f"frontier epochs {MNIST} --values 2.51")
    assert line.startswith("--values 2.51: is not a whole number of steps")
    line = refused(f"frontier batch_size {MNIST} --values 1500.5")
    assert line.startswith("--values 1500.5: is not a whole number")


def test_a_frontier_of_random_batches_is_joined_from_its_values() -> None:
    line = (
        "sgd --n 100 --batch-size 10 --steps 20 --learning-rate 0.05 --noise 1 "
        "--strong-convexity 1 --smoothness 10 --sensitivity 1"
    )
    found = said(
        f"frontier noise {line} --values 0.5:1:3 --curves best --curves composition --json"
    )
    run = sdp.NoisySGD(n=100, batch_size=10, steps=20, learning_rate=0.05, noise=1.0)
    losses = sdp.Geometry(strong_convexity=1.0, smoothness=10.0, sensitivity=1.0)
    want = frontier(
        run,
        losses,
        parameter="noise",
        values=[0.5, 0.75, 1.0],
        delta=1e-5,
        curves=["best", "composition"],
    )
    assert found == json.loads(json.dumps(want.to_dict()))


def test_ranges_and_defaults() -> None:
    found = said(f"frontier noise {MNIST} --values 0.01:0.04:3:log --curves best --json")
    assert found["values"] == pytest.approx([0.01, 0.02, 0.04], rel=1e-15)
    assert said(f"frontier epochs {MNIST} --values 1:10:4 --curves best --json")["values"] == [
        1,
        4,
        7,
        10,
    ]
    assert len(said(f"frontier noise {MNIST} --curves best --json")["values"]) == 7
    rates = said(f"frontier learning-rate {MNIST} --curves best --json")["values"]
    assert max(rates) <= 2 / 32.502


# --- risk ---


def test_risk_of_a_run_a_certificate_and_a_mu(tmp_path: Path) -> None:
    saved = tmp_path / "run.json"
    prose(f"account {MNIST} --save {saved}")
    certificate = sdp.certify(RUN, GEOMETRY)
    want = risk(certificate, prior=0.2, fpr=[0.01], candidates=50)
    options = "--prior 0.2 --fpr 0.01 --candidates 50"
    for source in (MNIST, f"--certificate {saved}", f"--mu {certificate.mu!r}"):
        assert prose(f"risk {source} {options}") == want.statement() + "\n"
        found = said(f"risk {source} {options} --json")
        assert found["membership"] == want.membership
        assert found["statement"] == want.statement()


def test_risk_without_anything_says_what_is_missing() -> None:
    result = shiftdp("risk")
    assert result.exit_code == 2
    assert "shiftdp risk cgd --n 60000" in result.stderr


# --- ledger ---


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.db"
    prose(f"ledger create {path} --epsilon 10 --delta 1e-5")
    prose(f"account {MNIST} --order reshuffled --save {tmp_path / 'run.json'}")
    return path


def test_a_ledger_from_the_command_line_is_one(study: Path) -> None:
    run = study.with_name("run.json")
    charged = said(
        "ledger", "charge", str(study), "--certificate", str(run), "--label", "a b", "--json"
    )
    ledger = Ledger(study)
    (entry,) = ledger.entries()
    assert (entry.label, entry.completed) == ("a b", False)
    assert charged["entry"]["digest"] == entry.digest
    assert charged["spent"] == ledger.epsilon()
    prose(f"ledger complete {study} {entry.number}")
    assert ledger.entries()[0].completed
    shown = said(f"ledger show {study} --json")
    assert shown["entries"][0]["label"] == "a b"
    assert (shown["budget"], shown["head"]) == (10.0, ledger.head)
    assert said(f"risk --ledger {study} --json")["membership"] == risk(ledger).membership


def test_a_dry_run_writes_nothing(study: Path) -> None:
    run = study.with_name("run.json")
    head = Ledger(study).head
    found = said(f"ledger charge {study} --certificate {run} --times 2 --dry-run --json")
    assert found["fits"] is True
    assert "it fits: " in prose(
        f"ledger charge {study} --mu 0.5 --dry-run --description x --adjacency replace_one"
    )
    assert shiftdp(f"ledger charge {study} --certificate {run} --times 99 --dry-run").exit_code == 1
    assert Ledger(study).head == head


def test_declared_releases(study: Path) -> None:
    prose(
        "ledger",
        "charge",
        str(study),
        "--mu",
        "0.5",
        "--description",
        "noisy counts",
        "--adjacency",
        "replace_one",
        "--times",
        "2",
    )
    (entry,) = Ledger(study).entries()
    assert (entry.source, entry.times, entry.mu) == ("declared", 2, 0.5)
    assert "noisy counts (declared)" in prose(f"ledger show {study}")
    assert refused(f"ledger charge {study} --mu 0.5").startswith("--description: is needed")
    assert refused(f"ledger charge {study}").startswith("--certificate, --mu: give one")
    assert refused(f"ledger complete {study} 9").startswith("NUMBER 9: is no release of")


def test_a_key_charges_once(study: Path) -> None:
    line = f"ledger charge {study} --certificate {study.with_name('run.json')} --key night/1 --json"
    assert said(line)["entry"]["digest"] == said(line)["entry"]["digest"]
    assert len(Ledger(study).entries()) == 1


def test_verify_and_export(study: Path, tmp_path: Path) -> None:
    prose(f"ledger charge {study} --certificate {study.with_name('run.json')}")
    head = Ledger(study).head
    assert said(f"ledger verify {study} --head {head} --json")["verified"] is True
    assert shiftdp(f"ledger verify {study} --head 00ff").exit_code == 1
    exported = said(f"ledger export {study}")
    assert exported["head"] == head
    copy = tmp_path / "copy.json"
    prose(f"ledger export {study} --output {copy}")
    assert json.loads(copy.read_text()) == exported
    prose(f"ledger verify {copy}")
    copy.write_text(copy.read_text().replace('\\"times\\": 1', '\\"times\\": 2'))
    assert json.loads(copy.read_text()) != exported
    assert shiftdp(f"ledger verify {copy}").exit_code == 1


def test_a_ledger_is_not_made_twice_and_no_other_file_is_one(study: Path, tmp_path: Path) -> None:
    line = refused(f"ledger create {study} --epsilon 1 --delta 1e-5")
    assert line.startswith(f"FILE {study}: is there already")
    other = tmp_path / "other.db"
    other.write_text("no ledger")
    result = shiftdp(f"ledger show {other}")
    assert result.exit_code in (1, 2)
    assert len(result.stderr.splitlines()) == 1


# --- verify ---


def trained(entropy: Entropy) -> str:
    run = sdp.NoisyGD(n=9, steps=12, learning_rate=0.4, noise=0.7)
    plan = Plan(run=run, loss=Logistic(), feature_bound=1.25, entropy=entropy)
    return plan.certificate.to_json()


def test_verify_refuses_a_seeded_run_as_not_private(tmp_path: Path) -> None:
    path = tmp_path / "seeded.json"
    path.write_text(trained(Seeded(3)), encoding="utf-8")
    result = shiftdp(f"verify {path}")
    assert result.exit_code == 1
    assert "NOT PRIVATE" in result.stderr


def test_verify_says_what_was_trained_by_which_version_and_when(tmp_path: Path) -> None:
    path = tmp_path / "private.json"
    path.write_text(trained(System()), encoding="utf-8")
    text = " ".join(prose(f"verify {path}").split())
    for part in ("Logistic()", "1.25", f"shiftdp {sdp.__version__} on 20"):
        assert part in text
    assert "Logistic()" in said(f"verify {path} --json")["training"]["trained"]


# --- explore ---


def test_explore_refuses_a_port_that_is_none() -> None:
    assert refused("explore --port 70000").startswith("--port 70000: is not a whole number from 0")
    assert refused("explore --port 0.5").startswith("--port 0.5: is not a whole number")


def test_explore_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = shiftdp("explore --no-browser")
    assert result.exit_code == 1
    assert result.output == (
        "shiftdp explore: needs dash, which is not installed; pip install 'shiftdp[explore]'\n"
    )


def test_explore_says_where_it_is_taken() -> None:
    pytest.importorskip("dash_mantine_components", reason="needs the extra `explore`")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "give another one, or 0" in refused(f"explore --no-browser --port {port}")


@pytest.mark.parametrize("ending", [("--json",), ()])
def test_explore_serves_until_it_is_interrupted(ending: tuple[str, ...]) -> None:
    pytest.importorskip("dash_mantine_components", reason="needs the extra `explore`")
    words = [sys.executable, "-m", "shiftdp", "explore", "--port", "0", "--no-browser", *ending]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        try:
            assert running.stdout is not None
            if ending:
                text = b"".join(iter(running.stdout.readline, b"}\n")) + b"}"
                address = json.loads(text)["url"]
            else:
                address = running.stdout.readline().decode().split()[4]
            assert address.startswith("http://127.0.0.1:")
            direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with direct.open(address) as page:
                assert b"shiftdp explore" in page.read()
            running.send_signal(signal.SIGINT)
            rest, complaints = running.communicate(timeout=60)
        finally:
            running.kill()
    assert (rest, complaints) == (b"", b"")
    assert running.returncode == 0  # that is how it ends


def test_an_export_that_is_no_text_and_a_name_that_is_too_long(tmp_path: Path) -> None:
    """Found by fuzzing: UnicodeDecodeError and OSError came through."""
    export = tmp_path / "study.json"
    export.write_bytes(b'{"entries": \xff}')
    assert "is not text; give what export wrote" in refused("ledger", "verify", str(export))
    name = str(tmp_path / ("x" * 300))
    result = shiftdp("ledger", "create", name, "--epsilon", "1", "--delta", "1e-5")
    assert result.exit_code == 1
    assert "cannot be used" in result.stderr


def test_steps_are_calibrated_as_epochs_are() -> None:
    words = "--n 100 --learning-rate 0.1 --noise 1 --strong-convexity 0 --smoothness 1"
    for kind, name in (("gd", "steps"), ("cgd --batch-size 10", "epochs")):
        asked = f"{kind} {words} --sensitivity 1 --epsilon 1 --json"
        found = said(f"calibrate steps {asked}")
        assert found["parameter"] == name
        assert found == said(f"calibrate epochs {asked}")
