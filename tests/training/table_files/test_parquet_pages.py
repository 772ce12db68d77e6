"""The pages of a Parquet file: what reading it takes is known before, and refused if it is much."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from shiftdp import InvalidInput
from shiftdp.training.descent.disk import is_mapped
from shiftdp.training.table_files.parquet_files import ENTRIES, parquet_blocks, parquet_file
from shiftdp.training.table_files.parquet_pages import (
    groups_of_columns,
    require_small_pages,
)
from shiftdp.training.table_files.reading import read
from shiftdp.training.table_files.rules import WORKING, Rules

ROWS = 200_000


def written(path: Path, **options: Any) -> str:
    X = np.random.default_rng(0).standard_normal((ROWS, 4))
    columns = {**{f"x{j}": X[:, j] for j in range(4)}, "y": np.arange(ROWS) % 2}
    pa.parquet.write_table(pa.table(columns), path, row_group_size=ROWS, **options)
    return str(path)


LARGE_PAGES = {"data_page_size": 1 << 30, "write_batch_size": ROWS, "max_rows_per_page": ROWS}


@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_large_pages_are_refused_and_small_ones_are_not(
    tmp_path: Path, dictionary: bool, version: str, compression: str
) -> None:
    options = {
        "use_dictionary": dictionary,
        "data_page_version": version,
        "compression": compression,
    }
    small = written(
        tmp_path / "small.parquet",
        data_page_size=1 << 13,
        dictionary_pagesize_limit=1 << 13,
        **options,
    )
    require_small_pages(small, parquet_file(small), 6e6)
    large = written(tmp_path / "large.parquet", **LARGE_PAGES, **options)
    with pytest.raises(InvalidInput, match="smaller row groups or pages"):
        require_small_pages(large, parquet_file(large), 6e6)
    require_small_pages(large, parquet_file(large), 60e6)


def test_a_table_is_refused_before_it_is_read(tmp_path: Path) -> None:
    large = written(tmp_path / "large.parquet", use_dictionary=False, **LARGE_PAGES)
    with pytest.raises(InvalidInput, match=r"as their pages are that large"):
        read(large, Rules("y", classes=[0, 1]), WORKING + 1_000_000)
    assert read(large, Rules("y", classes=[0, 1])).X.shape == (ROWS, 4)


def test_columns_that_do_not_fit_at_once_are_read_one_after_the_other(tmp_path: Path) -> None:
    large = written(tmp_path / "large.parquet", use_dictionary=False, **LARGE_PAGES)
    for memory in (5e6, 10e6, 15e6):
        groups = groups_of_columns(large, parquet_file(large), memory)
        assert [name for group in groups for name in group] == ["x0", "x1", "x2", "x3", "y"]
        assert len(groups) == {5e6: 5, 10e6: 3, 15e6: 2}[memory]
    other = pa.parquet.read_table(large).select(["y", "x3", "x1", "x0", "x2"])
    pa.parquet.write_table(other, tmp_path / "other.parquet")  # the same columns in another order
    files = (large, str(tmp_path / "other.parquet"))
    whole = read(files, Rules("y", classes=[0, 1]))
    parts = read(files, Rules("y", classes=[0, 1]), WORKING + 10_000_000)
    assert is_mapped(parts.X)
    np.testing.assert_array_equal(parts.X, whole.X)
    np.testing.assert_array_equal(parts.y, whole.y)


def test_what_is_no_header_counts_as_the_whole_column(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", data_page_size=1 << 13, use_dictionary=False)
    found = parquet_file(path)
    metadata = found.metadata
    data = bytearray(Path(path).read_bytes())
    for i in range(metadata.row_group(0).num_columns):
        data[metadata.row_group(0).column(i).data_page_offset] = 0xFF
    Path(path).write_bytes(data)
    with pytest.raises(InvalidInput, match="smaller row groups"):
        require_small_pages(path, found, 6e6)


def test_a_large_page_behind_small_ones_is_found(tmp_path: Path) -> None:
    """When a dictionary is full, the page of what was in it is followed by one of all the rest."""
    options = {"data_page_size": 1 << 30, "max_rows_per_page": ROWS}
    path = written(tmp_path / "a.parquet", dictionary_pagesize_limit=1 << 13, **options)
    with pytest.raises(InvalidInput, match="smaller row groups or pages"):
        require_small_pages(path, parquet_file(path), 4e6)


def test_many_row_groups_are_refused_before_the_list_of_them_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    many = pa.table({f"x{j}": np.zeros(300) for j in range(20)} | {"y": np.arange(300) % 2})
    pa.parquet.write_table(many, path, row_group_size=1)
    with pytest.raises(InvalidInput, match="has so many row groups"):
        read(str(path), Rules("y", classes=[0, 1]), WORKING + 1_000_000)
    assert read(str(path), Rules("y", classes=[0, 1])).X.shape == (300, 20)


def test_few_columns_of_a_wide_table_are_read_in_few_rows(tmp_path: Path) -> None:
    """They are written to rows of all columns, whose pages are all in memory meanwhile."""
    path, width = str(tmp_path / "a.parquet"), 300
    columns = {f"x{j}": np.random.default_rng(j).standard_normal(4_000) for j in range(width - 1)}
    pa.parquet.write_table(pa.table({**columns, "y": np.arange(4_000) % 2}), path)
    found = list(parquet_blocks(path, Rules("y", classes=[0, 1]), 2e6))
    assert len({block.first for block in found}) < len(found)  # several groups of columns
    assert max(len(block.X) for block in found) <= ENTRIES // width
