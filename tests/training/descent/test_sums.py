"""Theorem F1: one record changes the computed sum by no more than the certified sensitivity."""

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from shiftdp import NoisyCGD, NoisyGD, NoisySGD
from shiftdp.last_iterate.sum_rounding import ENVELOPE_ACCURACY, sum_error
from shiftdp.training import (
    ClippedSquared,
    Huber,
    Logistic,
    Loss,
    Plan,
    Seeded,
    SmoothedHinge,
    Softmax,
    Weighted,
    descend,
)
from shiftdp.training.descent.batches import TrainingRun

D = 4
Data = tuple[NDArray[Any], NDArray[np.intp]]


def constant(n: int) -> Data:
    """All records alike: the sum is as long as it can be."""
    return np.tile(np.array([0.1, 0.3, 0.7, 0.0]), (n, 1)), np.ones(n, dtype=np.intp)


def cancelling(n: int) -> Data:
    """Half of the records, then the other half against them."""
    X, y = constant(n)
    y[n // 2 :] = 0
    return X, y


def alternating(n: int) -> Data:
    X, y = constant(n)
    y[::2] = 0
    return X, y


def sorted_by_size(n: int) -> Data:
    X, y = constant(n)
    return X * np.linspace(0.0, 1.0, n)[:, None] ** 8, y


def subnormal(n: int) -> Data:
    X, y = constant(n)
    X[: n // 2] *= 1e-40  # below the normal numbers of float32
    X[: n // 4] *= 1e-275
    return X, y


def huge(n: int) -> Data:
    """Rows far beyond the bound."""
    X, y = constant(n)
    return X * 1e38, y


def positive(n: int) -> Data:
    rng = np.random.default_rng(0)
    return rng.random((n, D)), np.ones(n, dtype=np.intp)


def drifting(n: int, digits: int, apart: int) -> Data:
    """The first half adds up to n/8, next to which contributions of the second half are ties.

    Above n/8 a number of so many binary digits has neighbours at twice the distance that it has
    below. Of four contributions 3, -1, -1 and -1, in units of half that distance, the first is
    rounded up and the others are lost; below n/8 all are exact, and their sum is 0.
    """
    X, y = np.zeros((n, D)), np.zeros(n, dtype=np.intp)
    X[: n // 2, 0] = 0.5
    unit = (n / 8) * 2.0**-digits
    places = np.arange(n // 2, n, apart)
    X[places, 0], y[places] = 2.0 * unit, 1
    X[places[::4], 0], y[places[::4]] = 6.0 * unit, 0
    return X, y


DATA = [constant, cancelling, alternating, sorted_by_size, subnormal, huge, positive]


def difference(plan: Plan, X: Any, y: Any, other: Any, label: int, form: Any) -> float:
    """How far apart the sums of two neighbours are, as one step without noise shows it."""
    moved, labels = X.copy(), y.copy()
    moved[-1], labels[-1] = other, label
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, two = (descend(plan, form(a), b) for a, b in ((X, y), (moved, labels)))
    eta = plan.run.learning_rate
    assert isinstance(eta, float)
    # what is released is on a grid
    seen = math.sqrt(math.fsum(((one - two) ** 2).ravel())) - plan.grid * math.sqrt(one.size)
    return seen * plan.run.n / eta


def one_step(n: int, loss: Loss) -> Plan:
    """One step on all records from 0, with noise too small to be seen."""
    run = NoisyGD(n=n, steps=1, learning_rate=1.0, noise=1e-13)
    return Plan(run=run, loss=loss, feature_bound=1.0, intercept=False, entropy=Seeded(1))


FORMS = {
    "float32": lambda X: X.astype(np.float32),
    "float64": lambda X: X,
    "by columns": lambda X: np.asfortranarray(X.astype(np.float32)),
    "csr": lambda X: sp.csr_array(X.astype(np.float32)),
    "csc": lambda X: sp.csc_array(X.astype(np.float32)),
    "coo": lambda X: sp.coo_array(X.astype(np.float32)),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("records", DATA, ids=lambda data: data.__name__)
@pytest.mark.parametrize(
    "n", [2**14, *(pytest.param(2**k, marks=pytest.mark.slow) for k in (18, 20))]
)
def test_one_record_changes_the_sum_by_the_certified_sensitivity(
    n: int, records: Any, form: Any
) -> None:
    plan = one_step(n, Logistic())
    X, y = records(n)
    opposite = -X[-1] / np.linalg.norm(X[-1])
    for other, label in ((opposite, int(y[-1])), (np.zeros(D), 1), (np.full(D, 3e38), 0)):
        assert difference(plan, X, y, other, label, form) <= plan.sensitivity


@pytest.mark.parametrize("apart", [1, 8])
@pytest.mark.parametrize("digits", [24, 53])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("n", [2**18, pytest.param(2**20, marks=pytest.mark.slow)])
def test_ties_do_not_drift(n: int, form: Any, digits: int, apart: int) -> None:
    """In sums of 24 digits the first record decides whether all later ties are rounded up: sparse
    sums were 128 L apart at 2^18 and 2,048 L at 2^20, dense ones 16 L at 2^18."""
    X, y = drifting(n, digits, apart)
    plan = one_step(n, Logistic())
    sums = []
    for first in (-0.9, 0.9):
        X[0, 0] = first
        sums.append(descend(plan, form(X), y) * n)
    seen = float(np.linalg.norm(sums[0] - sums[1])) - n * plan.grid * math.sqrt(D)
    assert seen <= plan.sensitivity <= 2.0 * plan.gradient_bound * 1.001


def test_the_certificate_has_the_sensitivity_of_the_loop() -> None:
    n = 1_000_000
    run: TrainingRun
    for run in (
        NoisyGD(n=n, steps=3, learning_rate=0.1, noise=1.0),
        NoisySGD(n=n, batch_size=10, steps=3, learning_rate=0.1, noise=1.0, sampling="poisson"),
    ):
        plan = Plan(run=run, loss=Logistic(), feature_bound=1.0, adjacency="zero_out")
        G = plan.gradient_bound
        # a Poisson batch may have all records
        assert plan.geometry.sensitivity >= G * (1.0 + 2.0 * sum_error(n))
        assert plan.geometry.sensitivity <= 1.001 * G
    short = NoisyCGD(n=n, batch_size=10, epochs=1, learning_rate=0.1, noise=1.0)
    plan = Plan(run=short, loss=Logistic(), feature_bound=1.0)
    assert 2.0 * plan.gradient_bound < plan.sensitivity < 2.0 * plan.gradient_bound * (1 + 1e-12)
    solved = replace(plan, loss=Softmax(classes=3), clipping="envelope", clip=0.5)
    excess = solved.sensitivity / (2.0 * solved.gradient_bound) - 1.0
    assert 10 * ENVELOPE_ACCURACY < excess < 11 * ENVELOPE_ACCURACY
    assert "float64" in plan.arithmetic


ANY = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, 3.4e38, -3.4e38, 1.7e308, -1.7e308, 5e-324, 1e154, 1e-160, 1.0]),
)
LOSSES: list[Loss] = [
    Logistic(),
    SmoothedHinge(width=1e-3),
    Huber(width=2.0),
    ClippedSquared(),
    Softmax(classes=2),
    Softmax(classes=4),
    Weighted(Softmax(classes=2), (1e-9, 1.0)),
]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("width", [32, 64])
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_for_any_data_the_model_is_finite_and_nothing_warns(
    loss: Loss, width: int, data: Any
) -> None:
    n = 5
    kind = np.float32 if width == 32 else np.float64
    most = float(np.finfo(kind).max)
    entry = ANY.map(lambda x: float(np.clip(x, -most, most)))
    X = data.draw(arrays(np.float64, (n, 3), elements=entry)).astype(kind)
    real = isinstance(loss, (Huber, ClippedSquared))
    y = data.draw(arrays(np.float64, n, elements=ANY)) if real else np.array([0, 1, 0, 1, 1])
    run = NoisyCGD(n=n, batch_size=2, epochs=3, learning_rate=0.5, noise=0.1)
    plan = Plan(
        run=run,
        loss=loss,
        feature_bound=1.0,
        clipping="envelope",
        clip=0.4,
        bounds="composition",
        entropy=Seeded(2),
    )
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        for form in (X, sp.csr_array(X)):
            assert np.isfinite(descend(plan, form, y)).all()
