"""Sparse matrices: what one says of itself is not believed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from shiftdp import InvalidInput
from shiftdp.training.descent.records import bounded_rows


def taken(X: Any, bound: float) -> Any:
    rows = bounded_rows(X, bound)
    return rows.take(slice(0, rows.shape[0])).toarray()


def duplicated(kind: Any) -> Any:
    """A row whose entry 0.9 is given four times, in a matrix that says that nothing is."""
    clean = sp.csr_array(np.array([[0.9, 0.0], [0.1, 0.2]]))
    assert clean.has_canonical_format
    assert clean.has_sorted_indices
    clean.data = np.array([0.9, 0.9, 0.9, 0.9, 0.1, 0.2])
    clean.indices = np.array([0, 0, 0, 0, 0, 1], dtype=clean.indices.dtype)
    clean.indptr = np.array([0, 4, 6], dtype=clean.indptr.dtype)
    clean.has_canonical_format = True
    stale = kind(clean)
    if hasattr(stale, "has_canonical_format"):
        stale.has_canonical_format = True
    return stale


@pytest.mark.parametrize("kind", [lambda X: X, sp.csr_matrix, sp.csc_array, sp.coo_array])
def test_what_a_sparse_matrix_says_of_itself_is_not_believed(kind: Any) -> None:
    stale = duplicated(kind)
    row = taken(stale, 1.0)[0]
    # the products see 3.6, which is above the bound
    assert row == pytest.approx([1.0, 0.0], abs=1e-12)


def test_entries_that_are_given_twice_do_not_overflow_single_precision() -> None:
    data = np.array([3e38, 3e38], dtype=np.float32)
    twice = sp.coo_array((data, (np.array([0, 0]), np.array([1, 1]))), shape=(1, 2))
    for form in (twice, twice.tocsr(copy=True)):
        if np.isfinite(form.data).all():
            assert taken(form, 1.0)[0] == pytest.approx([0.0, 1.0])


def test_places_beyond_the_matrix_are_refused() -> None:
    wrong = sp.csr_array(np.eye(3))
    wrong.indices[1] = 77
    with pytest.raises(InvalidInput, match="damaged"):
        bounded_rows(wrong, 1.0)
