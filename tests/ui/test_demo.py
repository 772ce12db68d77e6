"""The demonstration: what it writes, and what it says of the accountants."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftdp._printed import trimmed
from shiftdp.privacy import compare
from shiftdp.sklearn import PrivateLogisticRegression
from shiftdp.ui.demo import Demonstration, Fitted
from tests.ui.shell import process, prose, refused

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("output", ["data.csv", "data.csv/inside"])
def test_the_demonstration_is_not_written_into_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("y\n")
    line = refused("demo", "-o", output)
    assert line.startswith(f"--output {output}: ")
    assert "is no folder" in line


def test_the_demonstration(tmp_path: Path) -> None:
    result = process("demo", "--epsilon", "1", "--json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    rows = {row["name"]: row["epsilon"] for row in document["rows"]}
    assert rows["best"] <= 1.0 < rows["prior Renyi"] < rows["composition"]
    assert rows["Poisson"] > rows["best"]
    # the noise is fresh: the test set and the noise move it by a few points
    assert document["accuracy"]["planner"] > 0.8
    assert document["accuracy"]["not private"] > 0.94
    for name in ("demo.png", "demo.svg"):
        assert (tmp_path / "out" / name).stat().st_size > 10_000
    # README shows the figure that `make demo` draws
    drawn, kept = (
        re.findall(r"<!-- (.*?) -->", path.read_text())
        for path in (tmp_path / "out" / "demo.svg", ROOT / "docs" / "images" / "demo.svg")
    )
    assert drawn == kept
    charged = [rows[name] for name in ("composition", "Poisson", "prior Renyi", "best")]
    for page in ("README.md", "docs/index.md", "docs/gallery.md"):
        said = " ".join((ROOT / page).read_text().split()).partition("![Epsilon against epochs for")
        found = re.findall(r"\d+\.\d", said[2].partition("](")[0])
        assert [float(number) for number in found] == [round(one, 1) for one in charged]


def small(epsilon: float, delta: float) -> Demonstration:
    """The same with a model of 60 records."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    shape: dict[str, Any] = {"algorithm": "cgd", "batch_size": 20, "epochs": 4, "classes": [0, 1]}
    model = PrivateLogisticRegression(epsilon, delta, 1.0, order="shuffled_once", **shape)
    fitted = Fitted(0.5, model.fit(X, y).plan_)
    rows = [dict(vars(row)) for row in compare(fitted.plan.run, fitted.plan.geometry, delta=delta)]
    return Demonstration(fitted, fitted, 0.9, rows)


def test_the_demonstration_without_matplotlib(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from shiftdp.ui import demo
    from shiftdp.ui.commands import demo as command

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "find_spec", lambda name: None if name == "matplotlib" else name)
    monkeypatch.setattr(demo, "demonstrate", small)
    text = prose("demo")
    lines = text.splitlines()
    assert lines[0].startswith("One run: 60 records in 3 batches, shuffled once, 4 epochs")
    assert lines[2].startswith("  what others charge")
    assert lines[3].startswith("  what is true")
    told = lines[3].split()[7]
    (best,) = [line for line in lines if line.startswith("best ")]
    assert trimmed(best.split()[1]) == trimmed(told), "the same number as in the table"
    assert f": ({trimmed(told)}, 1e-05)-diff" in text, "and in the certificate"
    assert "There is no figure, as matplotlib is not installed" in text
    assert not (tmp_path / "out").exists()
    assert text.index("what is true") < text.index("planner's choice")


def test_making_the_demonstration_shows_nothing_of_pip() -> None:
    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
    assert "export PIP_ROOT_USER_ACTION := ignore" in makefile
    (pip,) = [line for line in makefile.splitlines() if line.startswith("PIP ")]
    assert pip.count("--quiet") == 2  # errors only
