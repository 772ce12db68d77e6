"""`shiftdp train` and `shiftdp demo`: models in safe files, and no word about a record."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shiftdp.privacy import Ledger
from shiftdp.sklearn import PrivacyLeakWarning, PrivateHuberRegressor, load_model, save_model
from shiftdp.training.model_file import read_model
from shiftdp.training.model_file.archive import digest_of, pack, unpack
from tests.ui.shell import prose, refused, said, shiftdp, table

COMMON = ("--epsilon", "1", "--delta", "1e-5", "--feature-bound", "1")
TRAIN = (*COMMON, "--target", "y", "--classes", "0,1", "--epochs", "20")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(table())
    frame = pd.read_csv(tmp_path / "data.csv")
    frame.to_parquet(tmp_path / "data.parquet")
    X, y = frame[["height", "weight"]].to_numpy(), frame["y"].to_numpy()
    np.savez(tmp_path / "data.npz", X=X, y=y)
    lines = [f"{b} 1:{r[0]} 2:{r[1]}" for r, b in zip(X, y, strict=True)]
    (tmp_path / "data.svm").write_text("\n".join(lines) + "\n")
    return tmp_path


def features(folder: Path) -> Any:
    return np.load(folder / "data.npz")["X"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz", "svm"])
def test_all_formats_make_the_same_model(folder: Path, ending: str) -> None:
    seeded = (*TRAIN, "--random-state", "1", "--no-centre")  # sparse rows cannot be centred
    prose("train", "data.csv", *seeded, "-o", "first.shiftdp")
    more = ("--features", "2") if ending == "svm" else ()
    prose("train", f"data.{ending}", *seeded, *more, "-o", "second.shiftdp")
    first, second = load_model("first.shiftdp"), load_model("second.shiftdp")
    np.testing.assert_allclose(first.coef_, second.coef_, atol=4 * first.plan_.plan.grid)
    assert first.classes_.tolist() == [0, 1]


def test_an_average_pays_for_each_of_its_models(folder: Path) -> None:
    prose("train", "data.csv", *TRAIN, "--average", "3", "-o", "model.shiftdp")
    model = load_model("model.shiftdp")
    assert model.certificate_.epsilon(1e-5) <= 1.0
    assert "3 released iterates together" in model.certificate_.statement()


def test_random_allocation_needs_zero_out(folder: Path) -> None:
    drawn = (*TRAIN, "--algorithm", "sgd", "--sampling", "random_allocation")
    line = refused("train", "data.csv", *drawn, "--dry-run")
    assert "replace_one" in line
    assert "zero_out" in line.split(";")[1]
    prose("train", "data.csv", *drawn, "--adjacency", "zero_out", "-o", "model.shiftdp")
    model = load_model("model.shiftdp")
    assert model.plan_.plan.run.sampling == "random_allocation"
    assert model.plan_.plan.run.epochs == 20
    assert model.certificate_.epsilon(1e-5) <= 1.0


def test_the_numbers_are_those_of_the_model(folder: Path) -> None:
    document = said(
        "train", "data.csv", *TRAIN, "-o", "model.shiftdp", "--save", "c.json", "--json"
    )
    model = load_model("model.shiftdp")
    assert document["epsilon"] == model.certificate_.epsilon(1e-5) <= 1.0
    assert document["private"] is True
    assert document["plan"]["algorithm"] == "gd"
    assert document["kind"] == "certified"
    assert json.loads((folder / "c.json").read_text())
    prose("verify", "c.json")
    assert model.feature_names_in_.tolist() == ["height", "weight"]
    frame = pd.read_csv("data.csv")
    assert model.score(frame[["height", "weight"]], frame["y"]) > 0.5


def test_the_file_is_no_pickle(folder: Path) -> None:
    prose("train", "data.csv", *TRAIN, "-o", "model.shiftdp")
    with zipfile.ZipFile("model.shiftdp") as archive:
        endings = {Path(name).suffix for name in archive.namelist()}
    assert endings == {".json", ".npy", ".txt"}


def test_a_model_file_is_verified(folder: Path) -> None:
    prose("train", "data.csv", *TRAIN, "-o", "model.shiftdp")
    prose("train", "data.csv", *TRAIN, "-o", "model.skops", "--epsilon", "2")  # a name of old
    document = said("verify", "model.shiftdp", "--json")
    found = read_model("model.shiftdp")
    assert document["verified"] is True
    assert document["digest"] == found.digest
    assert document["not_covered"] == []
    assert document["epsilon"] == found.certificate.epsilon(1e-5)
    text = prose("verify", "model.shiftdp")
    assert found.digest in text
    assert "that of the model's plan" in text
    assert said("account", "--certificate", "model.shiftdp", "--json")["epsilon"] <= 1.0
    members, others = (unpack((folder / f"model.{e}").read_bytes()) for e in ("shiftdp", "skops"))
    members["certificate.json"] = others["certificate.json"]
    (folder / "model.shiftdp").write_bytes(pack(members))
    assert "digest" in refused("verify", "model.shiftdp")
    del members["digest.txt"]
    members["digest.txt"] = f"{digest_of(members)}\n".encode()
    (folder / "model.shiftdp").write_bytes(pack(members))
    line = refused("verify", "model.shiftdp", "--json")
    assert line.startswith("FILE model.shiftdp: has the certificate of another run")


def test_a_seeded_model_file_is_not_private(folder: Path) -> None:
    prose("train", "data.csv", *TRAIN, "-o", "model.shiftdp", "--random-state", "1")
    result = shiftdp("verify", "model.shiftdp")
    assert result.exit_code == 1
    assert result.stdout == ""


def test_what_a_pipeline_learnt_is_not_covered(folder: Path) -> None:
    model = make_pipeline(StandardScaler(), PrivateHuberRegressor(epochs=2))
    X = features(folder)
    with pytest.warns(PrivacyLeakWarning):
        save_model(model.fit(X, X[:, 0]), "model.shiftdp")
    assert said("verify", "model.shiftdp", "--json")["not_covered"] == [
        "standardscaler (StandardScaler)"
    ]
    assert "not covered: what the step standardscaler" in prose("verify", "model.shiftdp")


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz", "svm"])
def test_a_dry_run_reads_the_shape_only(folder: Path, ending: str) -> None:
    """The same plan for the same shape, though every value is missing or not a number."""
    more = ("--features", "2") if ending == "svm" else ()
    before = said("train", f"data.{ending}", *TRAIN, *more, "--dry-run", "--json")
    if ending == "csv":
        (folder / "data.csv").write_text("height,weight,y\n" + "x,?,secret\n" * 200)
    elif ending == "parquet":
        pd.DataFrame({name: ["x"] * 200 for name in ("height", "weight", "y")}).to_parquet(
            "data.parquet"
        )
    elif ending == "npz":
        np.savez("data.npz", X=np.full((200, 2), np.nan), y=np.full(200, np.nan))
    else:
        (folder / "data.svm").write_text("x 1:secret\n" * 200)
    after = said("train", f"data.{ending}", *TRAIN, *more, "--dry-run", "--json")
    assert after == before
    assert after["run"]["n"] == 200
    assert after["output"] is None


def test_a_dry_run_shows_plan_and_certificate(folder: Path) -> None:
    text = prose("train", "data.csv", *TRAIN, "--dry-run")
    for word in ("noisy gradient descent", "foretold", "theorem", "epsilon", "Nothing was trained"):
        assert word in text
    assert not list(folder.glob("*.shiftdp"))


def test_classes_that_are_learnt_are_warned_of(folder: Path) -> None:
    result = shiftdp(
        "train", "data.csv", *COMMON, "--target", "y", "--epochs", "5", "-o", "m.shiftdp"
    )
    assert result.exit_code == 0
    (line,) = result.stderr.splitlines()
    assert line.startswith("warning: classes are read off the labels")
    assert line.endswith("Give --classes")
    assert "not covered: the classes were read off the labels" in result.stdout


def test_classes_that_were_learnt_are_told_by_whoever_verifies_the_model(folder: Path) -> None:
    words = ("train", "data.csv", *COMMON, "--target", "y", "--epochs", "5", "-o", "m.shiftdp")
    trained = shiftdp(*words, "--json")
    (leak,) = said("verify", "m.shiftdp", "--json")["not_covered"]
    assert leak.startswith("the classes were read off the labels")
    assert json.loads(trained.stdout)["not_covered"] == [leak]
    assert f"not covered: {leak}" in prose("verify", "m.shiftdp")


@pytest.mark.parametrize("more", [("--dry-run",), ("-o", "m.shiftdp")])
@pytest.mark.parametrize("epochs", ["1e7", "1e9", "1e300"])
def test_a_run_without_end_is_refused_before_it_is_made(
    folder: Path, epochs: str, more: tuple[str, ...]
) -> None:
    line = refused("train", "data.csv", *TRAIN, "--epochs", epochs, *more)
    assert line.startswith("--epochs 1")
    assert "longer than 1000000 steps; give fewer epochs" in line


@pytest.mark.parametrize("seed", ["-1", "1.5", "4294967296", "inf"])
def test_what_is_no_seed_is_refused_by_its_name(folder: Path, seed: str) -> None:
    line = refused("train", "data.csv", *TRAIN, "--random-state", seed, "-o", "m.shiftdp")
    assert line.startswith(f"--random-state {seed}: is no seed")
    assert not (folder / "m.shiftdp").exists()


def test_seeds_are_stamped(folder: Path) -> None:
    seeded = ("train", "data.csv", *TRAIN, "--random-state", "1")
    assert "NOT PRIVATE" in prose(*seeded, "-o", "m.shiftdp")
    assert said(*seeded, "-o", "other.shiftdp", "--json")["private"] is False


def test_a_ledger_is_charged_first(folder: Path) -> None:
    ledger = Ledger.create("study.db", epsilon=1.2, delta=1e-5)
    call = ("train", "data.csv", *TRAIN, "--ledger", "study.db", "-o", "m.shiftdp")
    prose(*call)
    assert len(ledger.entries()) == 1
    (folder / "m.shiftdp").unlink()
    result = shiftdp(*call)
    assert result.exit_code == 1
    assert "1.2" in result.stderr
    assert not (folder / "m.shiftdp").exists()


LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
from shiftdp.ui.main import main
main()
"""


def test_a_model_is_written_over_only_where_it_is_told_to(folder: Path) -> None:
    (folder / "m.shiftdp").write_bytes(b"a model")
    line = refused("train", "data.csv", *TRAIN, "-o", "m.shiftdp")
    assert line.startswith("-o m.shiftdp: is there already")
    assert line.endswith("give another name, or --force")
    assert (folder / "m.shiftdp").read_bytes() == b"a model"
    assert "Nothing was trained" in prose(
        "train", "data.csv", *TRAIN, "-o", "m.shiftdp", "--dry-run"
    )
    result = shiftdp("train", "data.csv", *TRAIN, "-o", "m.shiftdp", "--force")
    assert result.exit_code == 0
    assert "this is a second release" in result.stderr


def test_a_model_that_cannot_be_written_is_charged_and_not_completed(folder: Path) -> None:
    """Its 60,000 weights are too long a file, though the ledger is not."""
    rng = np.random.default_rng(0)
    np.savez("wide.npz", X=rng.normal(size=(20, 60_000)) / 300, y=np.arange(20) % 2)
    ledger = Ledger.create("study.db", epsilon=5.0, delta=1e-5)
    (folder / "m.shiftdp").write_bytes(b"a good model")
    before = set(folder.iterdir())
    account = ("--ledger", "study.db", "-o", "m.shiftdp", "--force")
    words = ("train", "wide.npz", *TRAIN, "--anyway", *account)
    command = [sys.executable, "-c", LIMITED, *words]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    _, line = result.stderr.splitlines()  # the first one warns of the signal
    for part in ("m.shiftdp could not be written", "File too large", "study.db keeps the charge"):
        assert part in line
    assert (folder / "m.shiftdp").read_bytes() == b"a good model"
    assert set(folder.iterdir()) == before
    (entry,) = ledger.entries()
    assert not entry.completed
    assert ledger.epsilon() == pytest.approx(1.0, rel=1e-3)
    assert shiftdp(*words).exit_code == 0
    assert [entry.completed for entry in ledger.entries()] == [False, True]


@pytest.mark.parametrize("option", ["--save", "-o"])
def test_closed_folders_are_refused_before_the_run(folder: Path, option: str) -> None:
    given = {"-o": "m.shiftdp", option: "none/there.shiftdp"}
    words = [word for pair in given.items() for word in pair]
    line = refused("train", "data.csv", *TRAIN, *words)
    assert "there is no folder" in line


def test_numbers_are_learnt_by_huber(folder: Path) -> None:
    call = ("train", "data.csv", *COMMON, "--target", "weight", "--model", "huber", "--width", "2")
    prose(*call, "--epochs", "5", "-o", "m.shiftdp")
    model = load_model("m.shiftdp")
    assert isinstance(model, PrivateHuberRegressor)
    assert model.width == 2


@pytest.mark.parametrize(
    ("content", "arguments", "words"),
    [
        ("a,y\n1,0\nqqsecret,1\n", (), ("data.csv", "column 1", "not finite numbers")),
        ("a,y\n1,0\n,1\n", (), ("data.csv", "missing")),
        ("a,y\n1,0\ninf,1\n", (), ("data.csv", "not finite")),
        ("a,y\n1,0\n2,3,1\n", (), ("data.csv", "different length")),
        ("a,a,y\n1,0,1\n", (), ("data.csv", "names")),
        ("", (), ("data.csv", "names")),
        ("a,y\n", (), ("data.csv", "has no records")),
        ("a,b\n1,0\n", (), ("--target y", "no column")),
        ("a,y\n1,0\n2,qqsecret\n", (), ("not in classes",)),
        ("a,y\n1,0\n2,1\n", ("--batch-size", "5", "--algorithm", "cgd"), ("--batch-size 5",)),
        ("a,y\n1,0\n200,1\n", ("--oversized", "refuse", "--anyway"), ("DATA data.csv", "-bound 1")),
        ("a,y\n1,0\n2,1\n", ("--epsilon", "-1"), ("--epsilon",)),
    ],
    ids=[
        "words",
        "missing",
        "infinite",
        "ragged",
        "names",
        "nothing",
        "empty",
        "no target",
        "label",
        "large batch",
        "long row",
        "epsilon",
    ],
)
def test_bad_tables_get_one_line(
    folder: Path, content: str, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    (folder / "data.csv").write_text(content)
    line = refused("train", "data.csv", *TRAIN, *arguments, "-o", "m.shiftdp")
    for word in words:
        assert word in line
    assert "qqsecret" not in line
    assert not (folder / "m.shiftdp").exists()


def test_one_class_alone(folder: Path) -> None:
    (folder / "data.csv").write_text("a,y\n1,7\n2,7\n")
    line = refused("train", "data.csv", *COMMON, "--target", "y", "-o", "m.shiftdp")
    assert "one class" in line


def test_files_that_cannot_be(folder: Path) -> None:
    (folder / "data.txt").write_text("1 2 3")
    assert "known format" in refused("train", "data.txt", *TRAIN, "-o", "m.shiftdp")
    (folder / "data.parquet").write_text("nothing")
    assert "cannot be read" in refused("train", "data.parquet", *TRAIN, "-o", "m.shiftdp")
    assert "one of .shiftdp, .skops" in refused("train", "data.csv", *TRAIN, "-o", "model.pkl")
    assert "-o" in refused("train", "data.csv", *TRAIN)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            "--private-score auc",
            "is not a number; give the epsilon that held-out records pay for the score, such as "
            "0.5",
        ),
        (
            "--class-weights no=1",
            "is not a number, or several with commas between them; give one for each of --classes, "
            "in their order, such as 1,9",
        ),
    ],
)
def test_what_is_taken_for_something_else_is_told_what_it_is(given: str, line: str) -> None:
    shape = "--target y --classes 0,1 --epsilon 1 --feature-bound 1 -o m.shiftdp"
    assert refused(f"train {__file__} {shape} {given}") == f"{given}: {line}"


def test_a_model_that_is_written_over_counts_all_the_same(folder: Path) -> None:
    words = "train data.csv --target y --classes 0,1 --epsilon 1 --feature-bound 1 --epochs 3"
    prose(f"{words} -o again.shiftdp")
    second = shiftdp(f"{words} -o again.shiftdp --force --json")
    assert second.exit_code == 0
    assert "a second release, and what both cost adds up: --ledger keeps" in second.stderr
    json.loads(second.stdout)
    prose("ledger create book.db --epsilon 9 --delta 1e-5")
    prose(f"{words} -o again.shiftdp --force --ledger book.db")
