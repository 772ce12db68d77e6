"""`shiftdp schema`, and what `train --schema` and `predict` refuse, in one line with the cure."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from shiftdp.sklearn import load_model
from shiftdp.training.preparation.schema import Schema, read_schema
from tests.ui.shell import PEOPLE, people, prose, refused, said, shiftdp

TRAIN = (
    *("--schema", "people.toml", "--classes", "no,yes", "--epsilon", "1"),
    *("--epochs", "5", "--algorithm", "gd"),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(people())
    Path("people.toml").write_text(PEOPLE)
    return tmp_path


def test_a_template_is_made_of_names_alone(folder: Path) -> None:
    words = ("--target", "bought", "--categories", "city", "--true-false", "member")
    text = prose("schema", "people.csv", *words)
    Path("other.csv").write_text("age,city,member,bought\nsecret,1,2,3\n")
    assert prose("schema", "other.csv", *words) == text
    assert "# low = 0" in text
    assert '# scale = "range"' in text
    prose("schema", "people.csv", *words, "-o", "made.toml")
    assert [c.kind for c in read_schema("made.toml").columns.values()] == [
        "number",
        "category",
        "true_false",
    ]
    document = said("schema", "people.csv", *words, "--json")
    assert Schema.from_dict(document["schema"]) == read_schema("made.toml")


def test_names_may_be_given_in_several_options(folder: Path) -> None:
    words = ("--target", "bought", "--categories", "city", "--categories", "age,member")
    document = said("schema", "people.csv", *words, "--json")
    kinds = {name: one["kind"] for name, one in document["schema"]["columns"].items()}
    assert kinds == dict.fromkeys(("age", "city", "member"), "category")


def test_everything_that_a_template_offers_is_read(folder: Path) -> None:
    """Its hints with their marks of a comment taken away, but for the prose."""
    words = ("--target", "bought", "--categories", "city", "--true-false", "member")
    text = prose("schema", "people.csv", *words)
    Path("full.toml").write_text(re.sub(r"^# (?=\w+ = )", "", text, flags=re.MULTILINE))
    schema = read_schema("full.toml")
    age, city, member = (schema.columns[name].to_dict() for name in ("age", "city", "member"))
    assert schema.missing == ("NA", "?")
    assert (age["low"], age["high"], city["categories"]) == (0, 100, ["a", "b"])
    assert (member["true"], member["false"]) == (["on"], ["off"])


def test_a_template_of_parquet_has_the_types_of_the_file(folder: Path) -> None:
    pd.read_csv("people.csv").to_parquet("people.parquet")
    words = ("--target", "bought", "--ignore", "age")
    document = said("schema", "people.parquet", *words, "--json")
    kinds = {name: one["kind"] for name, one in document["schema"]["columns"].items()}
    assert kinds == {"city": "category", "member": "true_false"}


def test_a_name_that_is_not_there_is_refused(folder: Path) -> None:
    assert "--categories town: is no column" in refused(
        "schema", "people.csv", "--categories", "town"
    )


def test_ranges_that_noise_would_hide_are_refused_with_the_cure(folder: Path) -> None:
    learnt = PEOPLE.replace("low = 18\nhigh = 100\n", "")
    Path("learnt.toml").write_text(learnt)
    options = ("--classes", "no,yes", "--epsilon", "0.5", "-o", "m.shiftdp")
    words = refused("train", "people.csv", "--schema", "learnt.toml", *options)
    assert "--epsilon 0.5: hides the ranges" in words
    assert "declare the ranges of numbers in a schema" in words
    assert "--anyway" in words
    assert not Path("m.shiftdp").exists()
    prose("train", "people.csv", "--schema", "people.toml", *options)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--feature-bound", "1"), "--feature-bound: is not for --schema"),
        (("--target", "nothing"), "--target nothing: is no column of people.csv"),
        (("--target", "age"), "--target age: is among the columns of the schema"),
        (("--target", "age", "--dry-run"), "--target age: is among the columns of the schema"),
    ],
)
def test_what_does_not_fit_a_schema_is_refused(
    folder: Path, words: tuple[str, ...], line: str
) -> None:
    assert line in refused("train", "people.csv", *TRAIN, *words, "-o", "m.shiftdp")


def test_a_bad_entry_is_refused_by_its_column_and_not_quoted(folder: Path) -> None:
    Path("people.csv").write_text(people() + "secret,Berlin,True,yes\n")
    line = refused("train", "people.csv", *TRAIN, "-o", "m.shiftdp")
    assert "age" in line
    assert "secret" not in line


def test_a_table_without_records_is_refused_in_one_line(folder: Path) -> None:
    prose("train", "people.csv", *TRAIN, "-o", "m.shiftdp")
    Path("empty.csv").write_text(people().splitlines()[0] + "\n")
    plain = ("--target", "bought", "--classes", "no,yes", "--epsilon", "1", "--feature-bound", "1")
    for words in (
        ("predict", "m.shiftdp", "empty.csv", "-o", "out.csv"),
        ("train", "empty.csv", *TRAIN, "-o", "n.shiftdp"),
        ("train", "empty.csv", *TRAIN, "--dry-run"),
        ("train", "empty.csv", *plain, "-o", "n.shiftdp"),
        ("train", "empty.csv", *plain, "--dry-run"),
    ):
        assert refused(*words).startswith("DATA empty.csv: has no records; ")


def test_words_in_a_table_of_numbers_are_refused_with_the_cure(folder: Path) -> None:
    plain = ("--target", "bought", "--classes", "no,yes", "--epsilon", "1", "--feature-bound", "1")
    Path("words.csv").write_text("age,city,bought\n1,Berlin,no\n2,Cairo,yes\n")
    line = refused("train", "words.csv", *plain, "-o", "m.shiftdp")
    for word in ("column 2 (city)", "shiftdp schema", "--schema"):
        assert word in line


def test_a_template_of_guesses_says_so_and_replaces_no_file(folder: Path) -> None:
    result = shiftdp("schema", "people.csv", "-o", "made.toml")
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: A CSV file has no types")
    assert Path("made.toml").read_text().startswith("# A CSV file has no types")
    assert len(read_schema("made.toml").columns) == 4
    words = ("--categories", "city")
    line = refused("schema", "people.csv", *words, "-o", "made.toml")
    assert "made.toml: is there already; give another name, or --force" in line
    prose("schema", "people.csv", *words, "-o", "made.toml", "--force")
    assert read_schema("made.toml").columns["city"].kind == "category"
    line = refused("schema", "people.csv", *words, "--true-false", "city")
    assert line.startswith("--true-false city: is named by --categories too")


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('"number"', '"numbr"', "columns.age.kind numbr is no known kind; give one of number"),
        ("low = 18", "low = 101", "columns.age.low, high 101.0,100.0 is no range"),
        ("columns.city", "columns.town", "DATA people.csv: has no column 'town'; give a table"),
    ],
)
def test_a_schema_with_a_slip_is_refused_with_what_it_says(
    folder: Path, old: str, new: str, line: str
) -> None:
    Path("people.toml").write_text(PEOPLE.replace(old, new))
    said_of = refused("train", "people.csv", *TRAIN, "-o", "m.shiftdp")
    assert line in said_of
    assert ("mend the schema" in said_of) == (old == "columns.city")


def test_a_table_in_place_of_a_model_is_named_as_the_model(folder: Path) -> None:
    line = refused("predict", "people.csv", "people.csv", "-o", "out.csv")
    assert line.startswith("MODEL people.csv: is no model file")


def test_a_bound_that_most_rows_exceed_is_refused_with_the_cure(folder: Path) -> None:
    lines = ["height,weight,y", *(f"{150 + i},{60 + i},{i % 2}" for i in range(40))]
    Path("data.csv").write_text("\n".join(lines) + "\n")
    words = ("--target", "y", "--classes", "0,1", "--epsilon", "1")
    line = refused("train", "data.csv", *words, "--feature-bound", "1", "-o", "m.shiftdp")
    assert line.startswith("--feature-bound 1: is less than the length of most rows")
    assert "--schema" in line
    assert not Path("m.shiftdp").exists()
    line = refused("train", "data.csv", *words, "-o", "m.shiftdp")
    assert line.startswith("--feature-bound: is missing")


def test_names_with_commas_stand_in_quotes(folder: Path) -> None:
    Path("odd.csv").write_text('"city, town","say ""hi""",age\n')
    words = ("--categories", '"city, town", say "hi"')
    columns = said("schema", "odd.csv", *words, "--json")["schema"]["columns"]
    assert [one["kind"] for one in columns.values()] == ["category", "category", "number"]


def test_a_table_without_records_is_refused_by_predict(folder: Path) -> None:
    prose("train", "people.csv", *TRAIN, "-o", "m.shiftdp")
    Path("none.csv").write_text(people().splitlines()[0] + "\n")
    assert "has no records" in refused("predict", "m.shiftdp", "none.csv", "-o", "p.csv")


def test_classes_of_a_schema_may_have_commas(folder: Path) -> None:
    text = people().replace(",no\n", ',"no, never"\n')
    assert "never" in text
    Path("people.csv").write_text(text)
    Path("people.toml").write_text('classes = ["no, never", "yes"]\n' + PEOPLE)
    prose(
        *("train", "people.csv", "--schema", "people.toml", "--epsilon", "1", "--epochs", "5"),
        *("--algorithm", "gd", "-o", "m.shiftdp"),
    )
    assert load_model("m.shiftdp").classes_.tolist() == ["no, never", "yes"]


def test_a_mistyped_target_beside_a_schema_is_guessed(folder: Path) -> None:
    """In words that repeat nothing of the first line of a CSV file, which may be a record."""
    words = ("--schema", "people.toml", "--target", "boughtt", "--classes", "no,yes")
    line = refused("train", "people.csv", *words, "--epsilon", "1", "-o", "m.shiftdp")
    assert line.startswith("--target boughtt: is no column of people.csv")
    assert "is nearly this one" in line


def test_entries_that_do_not_fit_the_schema_are_said_of_the_table(folder: Path) -> None:
    Path("wrong.toml").write_text(PEOPLE.replace('kind = "category"', 'kind = "true_false"'))
    words = ("--schema", "wrong.toml", "--classes", "no,yes", "--epsilon", "1", "-o", "m.shiftdp")
    line = refused("train", "people.csv", *words)
    assert line == (
        "DATA people.csv: column city has entries that are not true or false; in wrong.toml, "
        "declare its words, as true=['on'] and false=['off'], or it as a category"
    )
    for city in ("Berlin", "Delhi"):
        assert city not in line
