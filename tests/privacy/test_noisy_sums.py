"""Sums with noise: sensitivities are attained and never exceeded, and costs are exact."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp import GaussianTradeoff, Identity, InvalidInput
from shiftdp.fdp.functions.failure import WithFailure
from shiftdp.privacy.noisy_sums import (
    SECOND,
    NoisySum,
    noise_for,
    squared_sensitivity,
    sums_tradeoff,
    threshold_for,
)

BOTH = ("replace_one", "zero_out")
ENTRIES = st.one_of(st.none(), st.floats(-1.0, 1.0))


def moments_vector(t: float | None) -> list[Fraction]:
    if t is None:
        return [Fraction(0)] * 3
    x = Fraction(round(t * 2**20), 2**20)
    return [x, Fraction(SECOND) * x * x, Fraction(1)]


@given(ENTRIES, ENTRIES)
def test_no_two_records_move_the_moments_further_than_is_proved(
    a: float | None, b: float | None
) -> None:
    pairs = zip(moments_vector(a), moments_vector(b), strict=True)
    assert sum((x - y) ** 2 for x, y in pairs) <= 4


def test_opposite_ends_attain_the_sensitivity_of_moments() -> None:
    pairs = zip(moments_vector(1.0), moments_vector(-1.0), strict=True)
    assert sum((x - y) ** 2 for x, y in pairs) == 4
    assert squared_sensitivity("moments", 10, "replace_one") > 4


@pytest.mark.parametrize("kind", ["histogram", "categories"])
def test_a_record_that_moves_from_one_place_to_another_moves_counts_by_the_root_of_two(
    kind: str,
) -> None:
    before, after = np.array([1, 0, 0]), np.array([0, 0, 1])
    assert ((before - after) ** 2).sum() == squared_sensitivity(kind, 9, "replace_one")  # type: ignore[arg-type]
    assert (before**2).sum() == squared_sensitivity(kind, 9, "zero_out")  # type: ignore[arg-type]


@given(st.floats(1e-3, 10.0), st.integers(1, 10**9), st.sampled_from(BOTH))
def test_noise_for_a_mu_costs_at_most_that_mu(mu: float, n: int, adjacency: str) -> None:
    for kind in ("histogram", "moments"):
        noise = noise_for(kind, n, adjacency, mu)  # type: ignore[arg-type]
        made = NoisySum(kind=kind, column="a", noise=noise)
        assert made.square(n, adjacency) <= Fraction(mu) ** 2  # type: ignore[arg-type]
        assert made.square(n, adjacency) >= Fraction(mu * (1 - 1e-14)) ** 2  # type: ignore[arg-type]


@given(st.floats(0.5, 1e4), st.floats(1e-12, 1e-3))
def test_a_threshold_fails_at_most_as_often_as_is_allowed(noise: float, failure: float) -> None:
    made = NoisySum(
        kind="categories", column="a", noise=noise, threshold=threshold_for(noise, failure)
    )
    assert 0.99 * failure < made.failure <= failure
    with mpmath.workdps(40):
        exact = mpmath.ncdf(-(mpmath.mpf(made.threshold) - 1) / mpmath.mpf(noise))
        assert exact <= made.failure


def test_costs_compose_as_gaussians_and_failures_add_up() -> None:
    sums = [
        NoisySum(kind="histogram", column="a", noise=10.0),
        NoisySum(kind="moments", column="a", noise=10.0),
        NoisySum(kind="categories", column="b", noise=10.0, threshold=60.0),
    ]
    f = sums_tradeoff(sums, n=1000, adjacency="replace_one")
    assert isinstance(f, WithFailure)
    assert isinstance(f.base, GaussianTradeoff)
    assert f.base.mu == pytest.approx(math.sqrt(2 + 4 + 2) / 10, rel=1e-12)
    assert f.failure == pytest.approx(sums[-1].failure)
    assert sums_tradeoff([], n=1, adjacency="zero_out") == Identity()


def test_names_of_one_person_are_covered_by_the_exact_law_of_two_neighbours() -> None:
    """One record alone has the category: released names and their law, against the bound.

    The release of {c: 1} is the name with probability q; of {} it is nothing. The tradeoff function
    of the two is that of a failure of probability q.
    """
    made = NoisySum(kind="categories", column="a", noise=3.0, threshold=8.0)
    f = sums_tradeoff([made], n=1, adjacency="zero_out")
    with mpmath.workdps(30):
        q = mpmath.ncdf(-mpmath.mpf(7) / 3)
    for alpha in np.linspace(0.0, 1.0, 21):
        assert f(alpha) <= max(0.0, float(1 - q) - alpha) + 1e-12
    assert f.delta(50.0) == pytest.approx(float(q), rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"kind": "median", "noise": 1.0}, "kind"),
        ({"kind": "histogram", "noise": 0.0}, "noise"),
        ({"kind": "histogram", "noise": 1.0, "threshold": 5.0}, "threshold"),
        ({"kind": "categories", "noise": 1.0}, "threshold"),
        ({"kind": "categories", "noise": 1.0, "threshold": 0.5}, "threshold"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, object], named: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{named}="):
        NoisySum(column="a", **arguments)  # type: ignore[arg-type]
