"""What runs answer of themselves: in words, and by the questions that stand for their classes."""

import pytest

from shiftdp.last_iterate import Certificate
from shiftdp.last_iterate.runs import (
    ExponentialMechanism,
    LangevinMC,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    NoisyStream,
    Unlearning,
)
from tests.privacy.statement.examples import certificates

RUNS = {kind: cert.run for kind, cert in certificates().items() if isinstance(cert, Certificate)}

ANSWERS: dict[str, set[type]] = {
    "sampled": {NoisySGD},
    "in_turn": {NoisyGD, NoisyCGD},
    "cyclic": {NoisyCGD},
    "full_batches": {NoisyGD},
    "trainable": {NoisyGD, NoisyCGD, NoisySGD},
    "streams": {NoisyStream},
    "one_draw": {ExponentialMechanism},
    "deletes": {Unlearning},
}


def test_there_is_a_run_of_each_kind() -> None:
    assert {type(run) for run in RUNS.values()} == {*set().union(*ANSWERS.values()), LangevinMC}


@pytest.mark.parametrize("question", ANSWERS)
def test_each_question_is_answered_by_the_runs_it_is_about(question: str) -> None:
    for kind, run in RUNS.items():
        assert getattr(run, question) == (type(run) in ANSWERS[question]), kind


def test_parts_are_asked_of_the_run() -> None:
    for run in RUNS.values():
        assert run.with_records == (run.training if isinstance(run, Unlearning) else run)
        assert isinstance(run.window, NoisyCGD if isinstance(run, NoisyStream) else type(run))


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
    assert words in RUNS[kind].in_words


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
    assert words in RUNS[kind].release_in_words


def test_sampling_is_that_of_the_run() -> None:
    assert "Poisson" in RUNS["poisson"].batches_in_words
    assert "balls and bins" in RUNS["allocation"].batches_in_words
    assert RUNS["unlearning"].batches_in_words == RUNS["cgd"].batches_in_words
    assert "at random" in RUNS["shuffled stream"].batches_in_words


def test_an_order_that_protects_must_stay_secret() -> None:
    secret = {kind for kind in RUNS if RUNS[kind].secret_batches}
    assert secret == {
        "shuffled", "poisson", "without replacement", "allocation", "shuffled stream"
    }  # fmt: skip
