"""Which collections of Dask are tables; the others are refused by their types."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from shiftdp import InvalidInput
from shiftdp.training.cluster.collection import table_of
from shiftdp.training.descent.records import is_collection
from tests.training.cluster.tables import as_arrays, numbers


def test_collections_are_known_by_their_graph() -> None:
    X, y = numbers()
    assert all(is_collection(one) for one in as_arrays(X, y))
    assert not any(is_collection(one) for one in (X, y.tolist(), pd.DataFrame(X)))


@pytest.mark.parametrize(
    ("dtype", "kept"), [("f4", "float32"), ("f8", "float64"), ("i4", "float64")]
)
def test_the_type_is_that_of_the_collection(dtype: str, kept: str) -> None:
    X = da.ones((6, 4), chunks=(2, 2), dtype=dtype)
    found = table_of(X, da.ones(6, chunks=2))
    assert (len(found.blocks), found.columns, found.dtype, found.names) == (3, 4, kept, None)


def test_frames_have_names_and_the_partitions_that_the_user_sees(tmp_path: Any) -> None:
    """Dask joins partitions of Parquet where few columns are read: not those of y alone."""
    frame = pd.DataFrame(np.ones((40, 9)), columns=list("abcdefghi"))
    dd.from_pandas(frame, npartitions=8).to_parquet(tmp_path)
    read = dd.read_parquet(tmp_path)
    found = table_of(read[list("abcdefg")], read["i"])
    assert len(found.blocks) == 8
    assert found.names == tuple("abcdefg")
    x, y = found.blocks[3]
    assert (x.compute(scheduler="sync").shape, len(y.compute(scheduler="sync"))) == ((5, 7), 5)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (da.ones((6, 2), chunks=2), np.ones(6), "is no Dask collection"),
        (da.ones((6, 2), chunks=2), da.ones(6, chunks=3), "does not have the 3 blocks of X"),
        (da.ones(6, chunks=2), da.ones(6, chunks=2), "is no table"),
        (da.ones((6, 2), chunks=2), da.ones((6, 1), chunks=2), "is no column"),
    ],
)
def test_others_are_refused(X: Any, y: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        table_of(X, y)


def test_without_dask_the_package_imports_and_names_the_extra() -> None:
    program = (
        "import sys; sys.modules['dask'] = None; sys.modules['distributed'] = None\n"
        "import shiftdp.dask, shiftdp.sklearn\n"
        "from shiftdp.training.cluster import collection\n"
        "collection.find_spec = lambda name: None\n"
        "shiftdp.dask.read_folder('folder', target='y')\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 1
    assert "pip install 'shiftdp[dask]'" in result.stderr.splitlines()[-1]
