"""Log-likelihood ratios of mixtures with many means: right in 60 digits, and inverted."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from shiftdp.fdp.pairs.mean_law import MeanLaw
from shiftdp.fdp.pairs.mean_ratio import MeanRatio
from tests.fdp.hidden_laws import capped_integrand
from tests.fdp.mixtures import log_ratio
from tests.fdp.pairs.test_mean_thresholds import in_digits

LAWS = {
    "a step": MeanLaw.of((0.0, 1.0), (0.99, 0.01)),
    "half a step": MeanLaw.of((0.0, 1.0), (0.5, 0.5)),
    "a small step": MeanLaw.of((0.02, 0.07), (1.0 - 1e-4, 1e-4)),
    "a large step": MeanLaw.of((1.0, 7.0), (0.1, 0.9)),
    "rare": MeanLaw.of((0.0, 0.3, 6.0), (0.999, 0.001 - 1e-9, 1e-9)),
    "never nothing": MeanLaw.of((0.02, 0.5, 3.0, 9.0), (0.4, 0.3, 0.2, 0.1)),
}
KINDS = ("one-sided", "two-sided", "capped")
POINTS = np.array([-9.0, -1.0, -0.1, 0.05, 0.3, 1.0, 4.0, 30.0])
every_law = pytest.mark.parametrize("name", LAWS)
every_kind = pytest.mark.parametrize("kind", KINDS)


def points(kind: str) -> np.ndarray:
    return POINTS[POINTS > 0.0] if kind == "capped" else POINTS


def true_ratio(law: MeanLaw, kind: str, x: Any) -> Any:
    digits = in_digits(law)
    if kind == "capped":
        return mpmath.log(capped_integrand(digits, x))
    below = [(w, -m) for w, m in digits] if kind == "two-sided" else [(mpf(1), mpf(0))]
    return log_ratio(digits, below, x)


@every_law
@every_kind
def test_it_is_the_logarithm_of_the_quotient(name: str, kind: Any) -> None:
    law, x = LAWS[name], points(kind)
    with mpmath.workdps(60):
        true = [float(true_ratio(law, kind, mpf(at))) for at in x.tolist()]
    np.testing.assert_allclose(MeanRatio(law, kind)(x), true, rtol=1e-12, atol=1e-15)


@every_law
@every_kind
def test_its_slope_is_its_derivative(name: str, kind: Any) -> None:
    law, x, ratio = LAWS[name], points(kind), MeanRatio(LAWS[name], kind)
    with mpmath.workdps(60):
        h = mpf(10) ** -20
        true = [
            float((true_ratio(law, kind, mpf(at) + h) - true_ratio(law, kind, mpf(at) - h)) / h / 2)
            for at in x.tolist()
        ]
    keep = ~np.isin(x, law.mean)  # where the capped ratio has a second derivative
    np.testing.assert_allclose(ratio.slope(x)[keep], np.array(true)[keep], rtol=1e-11)
    np.testing.assert_allclose(np.exp(ratio.log_slope(x)), ratio.slope(x), rtol=1e-15)


@every_law
@every_kind
def test_a_loss_leads_back_to_its_point(name: str, kind: Any) -> None:
    ratio, x = MeanRatio(LAWS[name], kind), points(kind)
    losses = ratio(x)
    again = ratio(ratio.at(losses))
    np.testing.assert_allclose(again, losses, rtol=1e-13, atol=3e-13)


def test_a_loss_that_is_never_so_small_has_no_point() -> None:
    ratio = MeanRatio(LAWS["a step"], "one-sided")
    assert ratio.at(np.array([math.log(0.99) - 1e-9, -5.0])).tolist() == [-math.inf, -math.inf]


def test_many_points_are_cut_into_blocks() -> None:
    law = MeanLaw.of(np.linspace(0.0, 5.0, 300).tolist(), [1.0 / 300] * 300)
    z = np.linspace(-3.0, 8.0, 1000)
    ratio = MeanRatio(law, "one-sided")
    np.testing.assert_allclose(ratio(z)[::100], [float(ratio(z[i : i + 1])[0]) for i in range(0, 1000, 100)], rtol=1e-13)  # fmt: skip  # noqa: E501
    assert np.all(np.diff(ratio(z)) > 0.0)
