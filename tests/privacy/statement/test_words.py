"""Runs in plain words."""

import pytest

from shiftdp.last_iterate import Certificate
from shiftdp.privacy.statement.words import (
    neighbours,
    parameters,
    sampling,
    secret_order,
    unit,
    what_is_released,
    what_was_run,
)
from tests.privacy.statement.examples import KINDS, certificates

RUNS = {kind: cert.run for kind, cert in certificates().items() if isinstance(cert, Certificate)}


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("gd", "12 steps, each on all 12 records"),
        ("gd without end", "any number of steps, however large"),
        ("shuffled", "after one random shuffle"),
        ("poisson", "independently with probability 4/40"),
        ("without replacement", "a random set of 4 of the 40 records"),
        ("allocation", "goes into one of them"),
        ("stream", "each record being used once"),
        ("unlearning", "Then one record is deleted"),
        ("forgotten person", "Then the records of one person are deleted"),
        ("langevin", "Langevin Monte Carlo: 30 steps"),
        ("exponential", "One draw"),
    ],
)
def test_what_was_run(kind: str, words: str) -> None:
    assert words in what_was_run(RUNS[kind])


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("gd", "last iterate alone"),
        ("releases", "3 iterates, after the steps 4, 8, 16"),
        ("all releases", "12 iterates, after all steps"),
        ("stream", "after each window"),
        ("unlearning", "stays released"),
        ("exponential", "one draw"),
    ],
)
def test_what_is_released(kind: str, words: str) -> None:
    assert words in what_is_released(RUNS[kind])


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


def test_sampling_is_that_of_the_run() -> None:
    assert "Poisson" in sampling(RUNS["poisson"])
    assert "balls and bins" in sampling(RUNS["allocation"])
    assert sampling(RUNS["unlearning"]) == sampling(RUNS["cgd"])
    assert "at random" in sampling(RUNS["shuffled stream"])


def test_an_order_that_protects_must_stay_secret() -> None:
    secret = {kind for kind in RUNS if secret_order(RUNS[kind])}
    assert secret == {
        "shuffled", "poisson", "without replacement", "allocation", "shuffled stream"
    }  # fmt: skip


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind in RUNS])
def test_parameters_are_short(kind: str) -> None:
    for name, text in parameters(RUNS[kind]):
        assert "_" not in name
        assert len(text) < 120
