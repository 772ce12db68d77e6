"""What the paper printed, against formulas that are written out here."""

from math import exp, sqrt

import pytest
from scipy.optimize import brentq
from scipy.special import ndtr

from shiftdp.ui.reproduce.published import DELTA, published

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
