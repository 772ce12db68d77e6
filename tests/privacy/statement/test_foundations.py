"""What a statement rests on: hypotheses, what voids it, other releases."""

from pathlib import Path

import pytest

from shiftdp.last_iterate import Certificate
from shiftdp.privacy import Ledger
from shiftdp.privacy.statement import ModelFacts
from shiftdp.privacy.statement.blocks import Grid, plain_line
from shiftdp.privacy.statement.foundations import foundations_level
from tests.privacy.statement.examples import KINDS, certificates, html, stated


@pytest.mark.parametrize("kind", KINDS)
def test_every_hypothesis_is_listed_with_its_evidence(kind: str) -> None:
    statement = stated(kind)
    (section,) = [
        section
        for section in foundations_level(statement).sections
        if section.heading == "Theorem and hypotheses"
    ]
    core = statement.core
    if core is None:
        expected = {"search": "S3 to S5", "score": "S1 and S4"}.get(kind.split()[0], "S1 and S2")
        assert f"Theorems {expected}" in html(kind)
        return
    (grid,) = [block for block in section.blocks if isinstance(block, Grid)]
    assert [plain_line(row[1]) for row in grid.rows] == [
        item.statement for item in core.assumptions
    ]
    assert all(plain_line(row[2]) for row in grid.rows)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("shuffled", "order or the sampling was chosen, predicted or published"),
        ("people", "A person has more than 3 records"),
        ("gd", "more than one record: then it holds for each record alone"),
        ("stream", "A record is used again later"),
        ("unlearning", "a checkpoint or a backup"),
        ("opacus", "a loop of the user"),
        ("releases", "all iterates but those that are released"),
    ],
)
def test_what_would_void_it(kind: str, words: str) -> None:
    assert words in html(kind)
    if kind == "shuffled":
        assert words not in html("gd")


def test_what_a_model_says_of_itself_is_shown() -> None:
    facts = ModelFacts("M", not_covered=("the classes were read off",), reasons=("epochs: few",))
    text = stated(model=facts).html()
    assert "Not covered here: the classes were read off." in text
    assert "The plan was made from public numbers" in text
    assert "epochs: few" in text


def test_other_releases_come_from_the_ledger(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study.db", epsilon=50.0, delta=1e-5)
    own, other = certificates()["gd"], certificates()["cgd"]
    assert isinstance(own, Certificate)
    assert isinstance(other, Certificate)
    ledger.reserve(other, label="<first>")
    alone = stated(ledger=ledger).html()
    assert "not among the entries below" in alone
    assert "&lt;first&gt;" in alone
    ledger.reserve(own, label="this")
    text = stated(ledger=tmp_path / "study.db").html()
    assert "2 (this one)" in text
    assert "not among the entries below" not in text
    assert f'<data value="{ledger.epsilon()!r}">' in text
    assert "No ledger was given" in html()


def test_declared_ranges_that_were_standardised_are_told() -> None:
    words = "standardised by a mean and a deviation"
    assert words in html("pipeline")
    assert words not in html("gd")
