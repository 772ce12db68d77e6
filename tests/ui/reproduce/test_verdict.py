"""What agrees, and what does not; what the paper printed, against formulas written out here."""

from __future__ import annotations

from math import exp, sqrt

import pytest
from scipy.optimize import brentq
from scipy.special import ndtr

from shiftdp.ui.reproduce.verdict import (
    DELTA,
    claimed,
    corrected,
    measured,
    printed,
    published,
    spread,
)


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


EPOCHS = (50, 100, 200)


def delta_of(mu: float, epsilon: float) -> float:
    return float(ndtr(mu / 2 - epsilon / mu) - exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))


def test_composition_on_mnist_is_the_root_of_the_epochs() -> None:
    """A record is used once an epoch, with sensitivity 10/1500 and noise 0.01."""
    mus = [2 / 3 * sqrt(epochs) for epochs in EPOCHS]
    assert published("mnist_setting")["epochs"] == list(EPOCHS)
    assert [round(mu, 2) for mu in mus] == published("mnist_mu")["composition_cgd"]
    epsilons = [brentq(lambda e, mu=mu: delta_of(mu, e) - DELTA, 0.0, 200.0) for mu in mus]
    assert [round(e, 2) for e in epsilons] == published("mnist_epsilon")["composition_cgd"]


def test_a_bound_of_the_paper_is_below_what_it_improves_on() -> None:
    mu, epsilon = published("mnist_mu"), published("mnist_epsilon")
    for ours, others in (
        (mu["ours_cgd_0.002"], mu["composition_cgd"]),
        (epsilon["rdp_cgd_0.002"], epsilon["composition_cgd"]),
    ):
        assert all(x < y for x, y in zip(ours, others, strict=True))


def test_other_names_are_no_tables() -> None:
    with pytest.raises(KeyError):
        published("table 1")


def test_one_run_has_no_standard_error() -> None:
    near = measured("50 epochs", "train", (89.36, 0.03), (89.49,))
    assert near.verdict == "agrees"
    assert "±" not in near.here
    assert near.note == "one run: by the published deviation"
    assert measured("50 epochs", "train", (89.36, 0.03), (89.6,)).verdict == "differs"
    assert measured("50 epochs", "train", (89.36, 0.03), (89.4, 89.3)).note == ""
