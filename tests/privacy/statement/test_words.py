"""Runs in plain words."""

import pytest

from shiftdp.last_iterate import Certificate
from shiftdp.privacy.statement.words import (
    neighbours,
    parameters,
    unit,
)
from tests.privacy.statement.examples import KINDS, certificates

RUNS = {kind: cert.run for kind, cert in certificates().items() if isinstance(cert, Certificate)}


@pytest.mark.parametrize(
    ("kind", "short", "cap"),
    [
        ("gd", "one record", "cap per person is 1"),
        ("people", "one person with at most 3 records", "3 records"),
        ("stream", "one record of the stream", "cap per person is 1"),
        ("unlearning", "the deleted record", "were deleted"),
        ("forgotten person", "the deleted person", "were deleted"),
    ],
)
def test_who_is_protected(kind: str, short: str, cap: str) -> None:
    few, sentence = unit(RUNS[kind])
    assert few == short
    assert cap in sentence


def test_a_preparation_alone_protects_a_record() -> None:
    assert unit(None)[0] == "one record"


def test_neighbours_name_the_adjacency_and_what_is_public() -> None:
    assert neighbours("zero_out", RUNS["poisson"]).startswith("zero_out: one record taken out")
    assert "all records of one person" in neighbours("replace_one", RUNS["people"])
    assert "How many records arrive" in neighbours("replace_one", RUNS["stream"])
    assert "others stood in their place" in neighbours("replace_one", RUNS["unlearning"])
    assert "their places were empty" in neighbours("zero_out", RUNS["unlearning"])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind in RUNS])
def test_parameters_are_short(kind: str) -> None:
    for name, text in parameters(RUNS[kind]):
        assert "_" not in name
        assert len(text) < 120
