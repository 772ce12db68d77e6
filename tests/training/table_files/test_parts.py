"""Tables in several files and in folders, larger than the memory that is allowed for them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from shiftdp import InvalidInput
from shiftdp.sklearn import load_model
from shiftdp.training.descent.disk import is_mapped
from shiftdp.training.descent.entropy import MissingPackage
from shiftdp.training.preparation.schema import read_schema
from shiftdp.training.table_files import csv_files
from shiftdp.training.table_files.parts import parts_of, quietly_read
from shiftdp.training.table_files.raw_files import columns_of, read_raw, records_in
from shiftdp.training.table_files.reading import read, shape_of
from shiftdp.training.table_files.rules import Rules
from shiftdp.ui.table_training import read_table
from shiftdp.ui.types import BYTES
from tests.ui.shell import PEOPLE, people, prose, refused, shiftdp, table

NUMBERS = ("--target", "y", "--classes", "0,1", "--epsilon", "1", "--feature-bound", "1.5")
SEED = ("--epochs", "5", "--random-state", "1")
RULES = Rules("y", classes=[0, 1])


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("data", table()), ("people", people())):
        Path(f"{name}.csv").write_text(text)
        head, *lines = text.splitlines()
        for i, some in enumerate((lines[:70], lines[70:71], lines[71:])):
            Path(f"{name}{i}.csv").write_text("\n".join([head, *some]) + "\n")
    Path("people.toml").write_text(PEOPLE)


def parquet(path: str, columns: dict[str, Any]) -> None:
    pa.parquet.write_table(pa.table(columns), path, row_group_size=20_000)


def weights(*words: str) -> Any:
    prose("train", *words, *SEED, "-o", "m.shiftdp")
    model = load_model("m.shiftdp")
    Path("m.shiftdp").unlink()
    return getattr(model, "steps", [("", model)])[-1][1].coef_


def test_several_files_make_the_model_of_one() -> None:
    whole = weights("data.csv", *NUMBERS)
    parts = weights("data0.csv", "data1.csv", "data2.csv", *NUMBERS)
    np.testing.assert_array_equal(parts, whole)
    raw = ("--schema", "people.toml", "--classes", "no,yes", "--epsilon", "1")
    parts = weights("people0.csv", "people1.csv", "people2.csv", *raw)
    np.testing.assert_array_equal(parts, weights("people.csv", *raw))


def test_a_folder_is_read_in_the_order_of_names() -> None:
    os.mkdir("folder")
    for name, rows in (("b", [2.0, 3.0]), ("a", [0.0, 1.0])):
        parquet(f"folder/part-{name}.parquet", {"x": rows, "y": [0, 1]})
    for name in ("_SUCCESS", ".hidden.parquet", "notes.txt"):
        Path("folder", name).write_text("")
    files = parts_of(["folder"])
    assert [os.path.basename(file) for file in files] == ["part-a.parquet", "part-b.parquet"]
    assert read(files, RULES).X[:, 0].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert shape_of(files, RULES) == (4, 1)
    assert (records_in(files), [c.name for c in columns_of(files)]) == (4, ["x", "y"])
    assert read_raw(files, ["x"]).columns["x"].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert "x" in prose("schema", "folder", "--target", "y")


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        ({"u": [1.0], "y": [0]}, "has no column 'v', which a.parquet has"),
        ({"u": [1.0], "v": [1.0], "w": [7391.0], "y": [0]}, "has a column 'w'"),
    ],
)
def test_parts_of_different_tables_are_refused(other: dict[str, Any], problem: str) -> None:
    parquet("a.parquet", {"u": [1.0], "v": [2.0], "y": [0]})
    parquet("b.parquet", other)
    for ask in (lambda: read(("a.parquet", "b.parquet"), RULES),
                lambda: columns_of(("a.parquet", "b.parquet"))):  # fmt: skip
        with pytest.raises(InvalidInput, match=problem) as refusal:
            ask()
        assert "b.parquet" in str(refusal.value)
        assert "7391" not in str(refusal.value)


def test_files_of_different_formats_and_empty_folders_are_refused() -> None:
    parquet("a.parquet", {"u": [1.0], "y": [0]})
    assert "another format" in refused(
        "train", "a.parquet", "data.csv", *NUMBERS, "-o", "m.shiftdp"
    )
    os.mkdir("empty")
    assert "without tables" in refused("train", "empty", *NUMBERS, "-o", "m.shiftdp")


def test_a_table_that_is_too_large_is_on_disk_and_gives_the_same_weights(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(csv_files, "ENTRIES", 64)  # many blocks
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = os.listdir(tmp_path)
    memory, disk = (read("data.csv", RULES, limit) for limit in (10**9, 100))
    assert (is_mapped(memory.X), is_mapped(disk.X)) == (False, True)
    np.testing.assert_array_equal(memory.X, disk.X)
    schema, rules = read_schema("people.toml"), Rules("bought", classes=["no", "yes"])
    (one, y), (two, z) = (read_table("people.csv", schema, rules, m) for m in (10**9, 100))
    assert (is_mapped(one.values["age"]), is_mapped(two.values["age"])) == (False, True)
    np.testing.assert_array_equal(one.values["age"], two.values["age"])
    everything = slice(0, two.n)
    assert two.values["city"][everything].tolist() == one.values["city"][everything].tolist()
    assert y.tolist() == z.tolist()
    assert os.listdir(tmp_path) == before  # no file has a name


def test_a_model_of_a_table_on_disk_is_that_of_one_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw = ("--schema", "people.toml", "--classes", "no,yes", "--epsilon", "1")
    cases = (("data.csv", *NUMBERS), ("people.csv", *raw))
    memory = [weights(*case) for case in cases]
    monkeypatch.setattr(BYTES, "convert", lambda *_: 100)
    for case, expected in zip(cases, memory, strict=True):
        np.testing.assert_array_equal(weights(*case), expected)


@pytest.mark.parametrize("given", ["10", "x", "-5GB", "inf", "63MB"])
def test_a_memory_that_is_none_is_refused(given: str) -> None:
    assert f"--memory {given}" in refused(
        "train", "data.csv", *NUMBERS, "--memory", given, "-o", "m.shiftdp"
    )


def test_units_of_memory() -> None:
    assert BYTES.convert("512MB", None, None) == 512 * 10**6
    assert BYTES.convert("1.5g", None, None) == 1_500_000_000
    assert BYTES.convert("100000000", None, None) == 10**8


def test_a_hopeless_plan_is_refused_unless_it_is_wanted_anyway() -> None:
    words = ("data.csv", *NUMBERS[:-4], "--epsilon", "0.001", "--feature-bound", "1.5")
    line = refused("train", *words, "-o", "m.shiftdp")
    assert "no better than a constant" in line
    assert "--anyway" in line
    assert not Path("m.shiftdp").exists()
    result = shiftdp("train", *words, "-o", "m.shiftdp", "--anyway")
    assert result.exit_code == 0
    assert "no better than a constant" in result.stderr


def test_a_file_that_is_given_twice_is_refused_by_any_of_its_names() -> None:
    os.mkdir("folder")
    os.link("data0.csv", "folder/other.csv")
    for again in ("data0.csv", "./data0.csv", "folder"):
        words = refused("train", "data0.csv", again, *NUMBERS, "-o", "m.shiftdp")
        assert "is given twice" in words


def test_what_may_be_an_entry_is_not_shown_as_the_name_of_a_column() -> None:
    Path("headless.csv").write_text("Xanthippe,7391,y\n")
    Path("named.csv").write_text("who,age,y\nA,1,0\n")
    for files in (("headless.csv", "named.csv"), ("named.csv", "headless.csv")):
        for ask in (lambda files=files: read(files, RULES), lambda files=files: columns_of(files)):
            with pytest.raises(InvalidInput) as refusal:
                ask()
            assert "Xanthippe" not in str(refusal.value)
            assert "7391" not in str(refusal.value)


@pytest.mark.parametrize("more", [("--tune",), ("--private-score", "1")], ids=lambda more: more[0])
def test_searches_and_scores_of_tables_above_memory_are_refused(
    monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    monkeypatch.setattr("shiftdp.training.table_files.rules.LEAST_MEMORY", 1)
    raw = ("--schema", "people.toml", "--classes", "no,yes", "--epsilon", "1")
    for words in (("data.csv", *NUMBERS), ("people.csv", *raw)):
        line = refused("train", *words, *more, "--anyway", "--memory", "100", "-o", "m.shiftdp")
        assert "--memory 100" in line
        assert "is not read in blocks" in line


def test_a_score_of_several_files_is_that_of_one() -> None:
    raw = ("--schema", "people.toml", "--classes", "no,yes", "--epsilon", "1", "--anyway")
    for name, words in (("data", (*NUMBERS, "--anyway")), ("people", raw)):
        parts = [f"{name}{i}.csv" for i in range(3)]
        whole = weights(f"{name}.csv", *words, "--private-score", "1")
        np.testing.assert_array_equal(weights(*parts, *words, "--private-score", "1"), whole)


def test_a_package_that_is_missing_is_named() -> None:
    def read(path: str) -> None:
        raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")

    with pytest.raises(MissingPackage, match="needs pyarrow, which is not installed; pip install"):
        quietly_read(read, "table.parquet")
