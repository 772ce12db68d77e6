"""A few hundred inputs of every target, and the properties of the harness itself."""

import os
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp import InvalidInput, NoisyCGD
from tests.fuzz import tables
from tests.fuzz.catalogue import EVERY, FILES, TARGETS
from tests.fuzz.choices import Choices
from tests.fuzz.limits import (
    MEGABYTE,
    Broken,
    TooLong,
    limited,
    peak_of,
    refusals_allowed,
    require_number,
)
from tests.fuzz.texts import in_file

HUNDREDS = 200
FEW = {
    "sampled": 5, "compositions": 8, "pages": 40, "functions": 60, "calibrations": 100,
    "descents": 40, "planning": 6, "estimators": 6, "preparation": 5, "heads": 6, "audits": 100,
    "ledger_writing": 40, "sampled_calibrations": 8, "schedules": 60, "unlearning": 80,
    "frontiers": 60,
}  # fmt: skip
"""Of targets where one input takes long."""


@pytest.mark.parametrize("name", TARGETS)
def test_hundreds_of_inputs(name: str) -> None:
    target = TARGETS[name]

    @settings(max_examples=FEW.get(name, HUNDREDS))
    @given(st.binary(min_size=target.size // 4, max_size=target.size))
    def attempts(data: bytes) -> None:
        with limited(target.seconds, target.megabytes), refusals_allowed():
            target.attempt(data)

    attempts()


@pytest.mark.parametrize("name", FILES)
def test_valid_files_are_read(name: str) -> None:
    """Without which the readers could refuse everything."""
    seeds = FILES[name].seeds
    assert seeds is not None
    for content in seeds():
        with limited(60.0, 4_096.0), refusals_allowed():
            FILES[name].attempt(content)


READERS = ("json", "export", "schema_toml", "csv", "npz", "svmlight", "idx", "model")


@pytest.mark.parametrize("name", [f"file_{name}" for name in READERS])
def test_a_reader_holds_at_most_32_megabytes_for_a_small_file(name: str) -> None:
    target = EVERY[name]
    assert target.seeds is not None
    content = max(target.seeds(), key=len)

    def read() -> None:
        with refusals_allowed():
            target.attempt(content)

    read()  # what is loaded on first use is not the reader's
    assert peak_of(read) < 32 * MEGABYTE


# --- what the harness promises ---


def test_other_errors_and_warnings_are_findings_and_ours_are_not() -> None:
    with refusals_allowed():
        raise InvalidInput("mu", -1.0, "is negative", "give more")
    with pytest.raises(ZeroDivisionError), refusals_allowed():
        _ = 1 / int("0")
    with pytest.raises(RuntimeWarning), refusals_allowed():
        warnings.warn("overflow", RuntimeWarning, stacklevel=1)
    with pytest.raises(Broken):
        require_number(float("nan"), "epsilon")
    with pytest.raises(Broken):
        require_number(np.array([0.5, 1.5]), "delta", 0.0, 1.0)


def test_an_input_that_never_ends_is_stopped() -> None:
    def for_ever() -> None:
        with limited(0.05, 512.0):
            while True:
                pass

    with pytest.raises(TooLong, match=r"more than 0\.05 s"):
        for_ever()


def test_an_input_that_takes_all_memory_is_stopped() -> None:
    with pytest.raises(MemoryError), limited(10.0, 64.0):
        np.ones(200 * MEGABYTE // 8)


def test_an_entry_in_a_message_is_a_finding() -> None:
    def careless() -> None:
        raise InvalidInput("data", "table.csv", "has the entry 7.3125519", "mend it")

    with pytest.raises(Broken, match="an entry in a message"):
        tables.quietly(careless)

    def chained() -> None:
        try:
            float("kyrgyz")
        except ValueError as error:
            raise InvalidInput("data", "table.csv", "is damaged", "mend it") from error

    with pytest.raises(Broken, match="an entry in a message"):
        tables.quietly(chained)


def test_choices_are_the_bytes_and_end_with_the_first_of_each_list() -> None:
    choices = Choices(b"\x05\x01")
    assert [choices.below(4), choices.pick("ab"), choices.pick("ab"), choices.chance(3)] == [
        1, "b", "a", False
    ]  # fmt: skip
    spent = Choices(b"")
    assert spent.mostly(0.5) == 0.5
    assert spent.log_uniform(1e-3, 1.0) == pytest.approx(1e-3)
    run = NoisyCGD(n=10, batch_size=5, epochs=1, learning_rate=0.1, noise=1.0)
    assert Choices(bytes(8)).mostly(run) is run


def test_an_input_becomes_a_file_of_its_name() -> None:
    path = in_file("note.txt", b"x")
    assert os.path.basename(path) == "note.txt"
    with open(path, "rb") as file:
        assert file.read() == b"x"
