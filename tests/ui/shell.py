"""How the tests call the program: in this process, or in one of its own."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from shiftdp.ui.main import program

__all__ = [
    "CONFIG",
    "MNIST",
    "PEOPLE",
    "people",
    "process",
    "prose",
    "put_files",
    "refused",
    "said",
    "shiftdp",
    "table",
]

MNIST = (
    "cgd --n 60000 --batch-size 1500 --epochs 50 --learning-rate 0.05 --noise 0.01 "
    "--strong-convexity 0.002 --smoothness 32.502 --sensitivity 10"
)
CONFIG = """\
kind = "cgd"
n = 60_000
batch_size = 1_500
epochs = 50
learning_rate = 0.05
noise = 0.01
strong_convexity = 0.002
smoothness = 32.502
sensitivity = 10.0
"""


def shiftdp(*arguments: str) -> Result:
    """One call in this process; a single argument may be a whole line."""
    words = arguments[0].split() if len(arguments) == 1 else list(arguments)
    return CliRunner().invoke(program, words, prog_name="shiftdp")


def prose(*arguments: str) -> str:
    """What a call that must succeed prints."""
    result = shiftdp(*arguments)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def said(*arguments: str) -> dict[str, Any]:
    """The JSON object that a call with --json prints."""
    document = json.loads(prose(*arguments))
    assert isinstance(document, dict)
    return document


def refused(*arguments: str) -> str:
    """The one line that bad input gets."""
    result = shiftdp(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return str(line)


def process(
    *arguments: str, cwd: Path | None = None, text: bool = True
) -> subprocess.CompletedProcess[str]:
    """One call in a process of its own."""
    command = [sys.executable, "-m", "shiftdp", *arguments]
    return subprocess.run(command, capture_output=True, text=text, cwd=cwd, check=False)


def table(n: int = 200) -> str:
    """A CSV file with two features and a label."""
    rng = random.Random(0)
    lines = ["height,weight,y"]
    for _ in range(n):
        height, weight = rng.uniform(-1, 1), rng.uniform(-1, 1)
        lines.append(f"{height:.6f},{weight:.6f},{int(height > weight)}")
    return "\n".join(lines) + "\n"


PEOPLE = """\
target = "bought"

[columns.age]
kind = "number"
low = 18
high = 100

[columns.city]
kind = "category"

[columns.member]
kind = "true_false"
"""


def people(n: int = 300) -> str:
    """A CSV file with a number, a category, true and false, missing entries, and a label."""
    rng = random.Random(0)
    lines = ["age,city,member,bought"]
    for _ in range(n):
        age, city = rng.randint(18, 90), rng.choice(["Berlin", '"Cairo, old"', "Delhi"])
        member = rng.random() < 0.4
        bought = "yes" if age + 20 * member + rng.gauss(0, 5) > 60 else "no"
        shown = "" if rng.random() < 0.1 else str(age)
        lines.append(f"{shown},{city},{member},{bought}")
    return "\n".join(lines) + "\n"


def put_files(folder: Path) -> None:
    """The files that the examples in the help speak of."""
    (folder / "run.toml").write_text(CONFIG)
    (folder / "data.csv").write_text(table())
    prose("account", *MNIST.split(), "--save", str(folder / "run.json"))
    words = ("--target", "y", "--classes", "0,1", "--epsilon", "1", "--feature-bound", "1")
    output = ("--epochs", "5", "-o", str(folder / "model.shiftdp"))
    prose("train", str(folder / "data.csv"), *words, *output)
    (folder / "people.csv").write_text(people())
    (folder / "people.toml").write_text(PEOPLE)
    schema = ("--schema", str(folder / "people.toml"), "--classes", "no,yes", "--epsilon", "1")
    output = ("--epochs", "5", "-o", str(folder / "people.shiftdp"))
    prose("train", str(folder / "people.csv"), *schema, *output)
    page = ("--date", "2026-01-31", "-o", str(folder / "statement.html"))
    prose("statement", str(folder / "run.json"), *page)
    study = str(folder / "study.db")
    prose("ledger", "create", study, "--epsilon", "20", "--delta", "1e-5")
    prose("ledger", "charge", study, "--certificate", str(folder / "run.json"))
    prose("ledger", "export", study, "--output", str(folder / "study.json"))
