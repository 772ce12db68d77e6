"""The demonstration: what it writes, and what it says of the accountants."""

import json
from pathlib import Path

import pytest

from tests.ui.shell import process, refused


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
