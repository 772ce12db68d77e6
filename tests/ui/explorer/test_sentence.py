"""The sentence to be signed names the unit, the guarantee and the theorem."""

from __future__ import annotations

import pytest

from shiftdp._printed import percent, trimmed, up
from shiftdp.ui.explorer.answers import certified
from tests.ui.explorer.examples import RUNS


@pytest.mark.parametrize("name", RUNS)
def test_it_states_the_certified_numbers(name: str) -> None:
    found = certified(RUNS[name].asked())
    assert f"({trimmed(up(found.epsilon))}, 1e-05)-differential" in found.sentence
    assert percent(found.certificate.tpr(0.01)) in found.sentence
    assert found.certificate.bound in found.sentence
    assert found.sentence.endswith("if the hypotheses below hold).")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fixed", "The last iterate of this run is"),
        ("fixed", "for every record, whatever stands in its place"),
        ("sampled", "for every record, whether it is used or left out"),
        ("people", "for every person with up to 2 records"),
        ("releases", "All 3 released iterates of this run together are"),
        ("a stream", "All releases of the stream together, however long it is, are"),
        ("exponential", "The outcome of this run is"),
        ("a deletion", "After 8 further steps without the deleted record,"),
        ("two deletions", "After 8 further steps without the 2 deleted records,"),
    ],
)
def test_it_says_what_is_released_and_who_is_protected(name: str, words: str) -> None:
    assert words in certified(RUNS[name].asked()).sentence
