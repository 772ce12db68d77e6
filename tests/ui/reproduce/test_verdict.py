"""What agrees, and what does not."""

from __future__ import annotations

import pytest

from shiftdp.ui.reproduce.verdict import claimed, corrected, measured, printed, spread


@pytest.mark.parametrize(
    ("here", "verdict"), [(4.335001, "agrees"), (4.3449, "agrees"), (4.3349, "differs")]
)
def test_printed_digits_decide(here: float, verdict: str) -> None:
    assert printed("", "", 4.34, here, 2).verdict == verdict


def test_an_interval_agrees_if_a_point_in_it_does() -> None:
    assert printed("", "", 4.44, 4.4451, 2, low=4.4449).verdict == "agrees"
    assert printed("", "", 4.44, 4.4471, 2, low=4.4459).verdict == "differs"


def test_a_correction_that_is_not_explained_is_a_failure() -> None:
    assert corrected("", "E*", 31, 41, "", explained=True).verdict == "corrected"
    assert corrected("", "E*", 31, 41, "", explained=False).verdict == "differs"
    assert corrected("", "E*", 31, 41, "", explained=True).difference == "+10"


def test_a_claim_holds_or_fails() -> None:
    assert claimed("", "", True).verdict == "agrees"
    assert claimed("", "", False).verdict == "differs"


def test_accuracies_have_three_standard_errors_and_a_twentieth() -> None:
    # deviation 0.1, so a standard error of 0.05 over 4 runs
    samples = [90.0 - 0.0866025, 90.0 - 0.0866025, 90.0 + 0.0866025, 90.0 + 0.0866025]
    assert spread(samples) == "90.00 ± 0.10"
    assert measured("", "", (90.199, 0.1), samples).verdict == "agrees"
    assert measured("", "", (90.201, 0.1), samples).verdict == "differs"
    other = measured("", "", (95.0, 0.1), samples, comparable=False)
    assert (other.verdict, other.published, other.difference) == ("not compared", "", "")
