"""Every certificate can be explained, also those that only composition proves."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from shiftdp import (
    Certificate,
    Geometry,
    LangevinMC,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    certify,
)
from shiftdp.ui.report import document_of, print_document
from tests.last_iterate.every_kind import CERTIFICATES, CONVEX, STRONG, WEAK
from tests.ui.shell import MNIST, prose, said, shiftdp

# the last batches are small here on purpose
pytestmark = pytest.mark.filterwarnings("ignore::shiftdp.last_iterate.last_batch.SmallLastBatch")

ROUGH = {"strong_convexity": -math.inf, "smoothness": math.inf, "sensitivity": 2.0}
LONG: dict[str, Any] = {"learning_rate": 1.4, "noise": 0.7}  # above 2/smoothness
BATCHES: dict[str, Any] = {"n": 11, "batch_size": 3, "steps": 8, **LONG}
RUNS: dict[str, Any] = {
    "gd": NoisyGD(n=9, steps=12, **LONG),
    "some steps": NoisyGD(n=9, steps=3, learning_rate=[0.1, 1.4, 0.2], noise=0.7),
    "cgd": NoisyCGD(**BATCHES),
    "reshuffled": NoisyCGD(**BATCHES, order="reshuffled"),
    "sgd": NoisySGD(**BATCHES),
    "poisson": NoisySGD(**BATCHES, sampling="poisson"),
    "langevin": LangevinMC(steps=30, learning_rate=1.4),
}
GEOMETRIES = {"strong": STRONG, "convex": CONVEX, "weak": WEAK, "rough": ROUGH}
FOREVER: Any = math.inf
ENDLESS: dict[str, Any] = {
    "gd": NoisyGD(n=9, steps=FOREVER, learning_rate=0.4, noise=0.7),
    "cgd": NoisyCGD(n=11, batch_size=3, epochs=FOREVER, learning_rate=0.4, noise=0.7),
    "sgd": NoisySGD(n=11, batch_size=3, steps=FOREVER, learning_rate=0.4, noise=0.7),
}


def explained(certificate: Certificate, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    document = document_of(certificate, 1e-5, explain=True)
    print_document(document, json=False)
    assert f"{certificate.bound} proves it" in capsys.readouterr().out
    print_document(document, json=True)
    assert json.loads(capsys.readouterr().out)["bound"] == certificate.bound
    assert certificate.bound in certificate.statement()
    rows = {row["name"]: row["epsilon"] for row in document["others"]}
    assert rows["best"] <= document["epsilon"] * (1 + 1e-9)
    return document


@pytest.mark.parametrize("kind", CERTIFICATES)
def test_every_kind_is_explained(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    explained(CERTIFICATES[kind], capsys)


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("run", RUNS)
def test_what_only_composition_proves_is_explained(
    run: str, geometry: str, capsys: pytest.CaptureFixture[str]
) -> None:
    adjacency: Any = "zero_out" if run == "poisson" else "replace_one"
    losses = Geometry(**GEOMETRIES[geometry], adjacency=adjacency)
    document = explained(certify(RUNS[run], losses, bounds="composition"), capsys)
    if geometry in ("strong", "convex"):
        assert "exceeds 2/smoothness" in " ".join(row["why"] for row in document["refused"])


@pytest.mark.parametrize("run", ENDLESS)
def test_a_run_without_end_is_explained(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    explained(certify(ENDLESS[run], Geometry(**STRONG, diameter=0.5)), capsys)


def test_the_commands_explain_what_only_composition_proves(tmp_path: Path) -> None:
    run = "--n 100 --steps 10 --learning-rate 3 --noise 0.5 --strong-convexity 0 --smoothness 1"
    path = tmp_path / "run.json"
    composed = f"gd {run} --sensitivity 1 --bounds composition"
    text = prose(f"account {composed} --explain --save {path}")
    assert text.endswith(f"The certificate is in {path}.\n")
    assert "--learning-rate" not in text
    again = said(f"account --certificate {path} --explain --json")
    assert again["bound"] == "Thm gd (composition)"
    rows = said(f"compare gd {run} --sensitivity 1 --json")["rows"]
    assert {row["epsilon"] for row in rows if row["name"] in ("best", "composition")} == {
        again["epsilon"]
    }


def test_long_notes_stand_below_the_table() -> None:
    ragged = (
        "account cgd --n 1000 --batch-size 300 --epochs 5 --learning-rate 0.05 --noise 0.5 "
        "--strong-convexity 1 --smoothness 10 --sensitivity 2 --explain"
    )
    text = shiftdp(ragged).stdout
    table = text.partition("What the others would say:")[2].partition("What does not apply")[0]
    assert "NoisyCGD(" not in table
    assert "prior Renyi: batch_size=300 does not make whole epochs of equal batches" in table
    assert max(map(len, table.splitlines()[:9])) < 100
    text = prose(f"compare {MNIST} --releases 400,1000")
    assert max(map(len, text.splitlines()[:7])) < 100
    assert "prior Renyi: releases='<3 steps>' are several" in text
