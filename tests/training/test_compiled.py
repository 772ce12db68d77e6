"""What numba compiles, against NumPy, SciPy and the loss's own formula."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import erfinv

from shiftdp.training import compiled
from shiftdp.training.entropy import _DEPTH, _OUTER, _body, _by_numpy, normals_of
from shiftdp.training.softmax import _residuals


def exponential(x: Any) -> Any:
    """e^x by way of the only formula that shows it: the logistic residual 1/(1 + e^-z) - 1."""
    out = np.empty(1, x.dtype)
    none = np.empty(0, x.dtype)
    one = np.ones((1, 1), x.dtype)
    p = [
        compiled.one_score_sum(
            one, np.zeros(1, x.dtype), none, none, np.array([z]), 0.0, out, compiled.LOGISTIC, 0.0
        )
        for z in -x
    ]
    return 1.0 / np.array(p) - 1.0


def test_exponentials_of_single_precision() -> None:
    x = np.linspace(2.0, 80.0, 501).astype(np.float32)  # where 1 + e^x keeps the digits of e^x
    # 1e-7 of its own, and three roundings in 1/(1 + e^x)
    assert np.abs(exponential(x) / np.exp(x.astype(np.float64)) - 1.0).max() < 4e-7


def test_normals_are_those_of_numpy() -> None:
    words = np.arange(-(2**31), 2**31, 9_973, dtype=np.int64).astype(np.int32)

    def more(tails: Any) -> bytes:
        return bytes(4 * tails.size)

    fast, slow = (normals_of(words, more, how) for how in (compiled, None))
    exact = math.sqrt(2.0) * erfinv((words + 0.5) * 2.0**-31)
    body = np.abs((words + 0.5) * 2.0**-31) < 1 - 2**-8
    assert np.abs(fast / exact - 1.0)[body].max() < 4e-7
    assert (fast == slow)[~body].all()
    out = np.empty(words.size, np.float32)
    tails = compiled.normals_body(words, _body(), _DEPTH, _OUTER, out)
    assert (tails == _by_numpy(words)[1]).all()


@given(
    models=st.integers(1, 9),
    classes=st.integers(2, 12),
    n=st.integers(1, 300),
    size=st.sampled_from([1e-3, 1.0, 20.0, 1e3]),
    clipped=st.booleans(),
    scaled=st.booleans(),
    single=st.booleans(),
    seed=st.integers(0, 99),
)
def test_softmax(
    models: int,
    classes: int,
    n: int,
    size: float,
    clipped: bool,
    scaled: bool,
    single: bool,
    seed: int,
) -> None:
    """Both layouts, against the formula in double precision; and no residual is above its limit."""
    rng = np.random.default_rng(seed)
    dtype: np.dtype[Any] = np.dtype("f4" if single else "f8")
    products = (size * rng.normal(size=(models, classes, n))).astype(dtype)
    y = rng.integers(0, classes, n)
    limits = rng.uniform(0.01, 1.5, n).astype(dtype) if clipped else np.empty(0, dtype)
    scales = rng.uniform(0.2, 1.0, n).astype(dtype) if scaled else np.empty(0, dtype)
    constants = rng.normal(size=(models, classes)).astype(dtype)
    lost = 2 * classes * float(np.finfo(dtype).tiny)

    # (records, classes * models), with two columns more that are left alone
    rows = np.zeros((n, classes * models + 2), dtype)
    rows[:, :-2] = products.transpose(2, 1, 0).reshape(n, -1)
    by_class = np.ascontiguousarray(constants.T).reshape(-1)
    sums = np.zeros_like(by_class)
    compiled.softmax_rows(rows, y, limits, scales, by_class, sums, models, lost)
    assert not rows[:, -2:].any()
    found = rows[:, :-2].reshape(n, classes, models).transpose(2, 1, 0)
    handed = sums.reshape(classes, models).T

    scores = products.astype(np.float64)
    factors = scales.astype(np.float64) if scaled else np.ones(n)
    scores = scores * factors + constants[:, :, None]
    expected = scores.copy()
    _residuals(expected, y, limits.astype(np.float64) if clipped else None)
    # scores of any size are known to their own rounding
    unit = float(np.finfo(dtype).eps)
    slack = 8 * unit * (classes + np.abs(scores).max())
    assert np.abs(found - expected * factors).max() <= slack
    assert np.abs(handed - expected.sum(axis=2)).max() <= n * slack
    if clipped:
        norms = np.linalg.norm((found / factors).astype(np.float64), axis=1)
        # the room that `records` leaves
        assert (norms <= limits * (1.0 + (8 + classes) * unit)).all()
    for m in range(models):
        alone, own = products[m].copy(), np.empty(classes, dtype)
        compiled.softmax_classes(alone, y, limits, scales, constants[m], own, lost)
        assert np.abs(alone - expected[m] * factors).max() <= slack
        assert np.abs(own - expected[m].sum(axis=1)).max() <= n * slack


@given(
    n=st.integers(0, 40),
    d=st.integers(1, 30),
    columns=st.integers(1, 40),
    density=st.sampled_from([0.0, 0.1, 0.6, 1.0]),
    seed=st.integers(0, 99),
)
def test_products_without_zeros(n: int, d: int, columns: int, density: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    rows = compiled.compressed(X)
    turned = compiled.turned(*rows, d)
    assert rows[2].size == turned[2].size == np.count_nonzero(X)
    for entries, matrix in ((rows, X), (turned, X.T)):
        right, out = rng.normal(size=(matrix.shape[1], columns)), rng.normal(size=(len(matrix), 1))
        out = np.repeat(out, columns, axis=1)
        expected = out + matrix @ right
        compiled.add_product(*entries, right, out)
        assert np.abs(out - expected).max(initial=0.0) < 1e-12


@pytest.mark.parametrize("extra", [0, 3])
def test_models_as_rows_and_as_columns(extra: int) -> None:
    rows = np.arange(2 * 3 * 37, dtype=np.float64).reshape(6, 37)  # two models, three classes
    columns = np.full((37, 6 + extra), -1.0)
    compiled.turn_models(rows, 2, columns, False)
    expected = rows.reshape(2, 3, 37).transpose(2, 1, 0).reshape(37, 6)
    assert (columns[:, :6] == expected).all()
    assert (columns[:, 6:] == -1.0).all()
    back = np.empty_like(rows)
    compiled.turn_models(back, 2, columns, True)
    assert (back == rows).all()
