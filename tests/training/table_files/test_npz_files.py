"""No record of an npz file changes how another is read: it is read the same, or the file is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shiftdp import InvalidInput
from shiftdp.training.table_files import npz_files
from shiftdp.training.table_files.npz_files import npz_blocks
from shiftdp.training.table_files.reading import read
from shiftdp.training.table_files.rules import Rules
from tests.training.table_files.one_record import (
    RULES,
    TYPED,
    every_rule,
    many,
    refused_or_unchanged,
    typed_rows,
)


def npz_file(path: Path, record: tuple[Any, Any, Any]) -> Path:
    rows, names = typed_rows(record)
    np.savez(path, X=np.array(rows), y=np.array(names))
    return path


@every_rule
@many
@given(record=st.tuples(*[st.sampled_from(TYPED)] * 3))
@example(record=(1.5, 2.0, "x"))
@example(record=(1.5, 2.0, 1.5))
def test_a_row_of_npz_file(tmp_path: Path, rules: str, record: Any) -> None:
    plain = read(str(npz_file(tmp_path / "plain.npz", (1.0, 1.0, 1))), RULES[rules])
    try:
        path = npz_file(tmp_path / "data.npz", record)
    except (TypeError, ValueError, OverflowError):
        return  # no such file can be written
    refused_or_unchanged(path, RULES[rules], plain)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("dtype", ["f4", "f8", ">f8", "i2", "?"])
def test_blocks_of_an_npz_file_are_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, save: Any, dtype: str
) -> None:
    monkeypatch.setattr(npz_files, "BLOCK", 200)  # some rows a block
    X = (np.arange(100 * 3).reshape(100, 3) % 7).astype(dtype)
    words = np.array(["no", "yes"])[np.arange(100) % 2]
    for order, array in (("C", X), ("F", np.asfortranarray(X))):
        save(tmp_path / "a.npz", X=array, y=words)
        found = read(str(tmp_path / "a.npz"), Rules("y", classes=["no", "yes"]))
        np.testing.assert_array_equal(found.X, X)
        assert found.y.tolist() == words.tolist()
        assert len(list(npz_blocks(str(tmp_path / "a.npz"), Rules("y")))) == (
            13 if order == "C" else 1
        )


def test_columns_one_after_the_other_are_refused_above_the_memory(tmp_path: Path) -> None:
    X = np.zeros((10_000, 10), order="F")
    np.savez(tmp_path / "a.npz", X=X, y=np.zeros(10_000))
    assert len(list(npz_blocks(str(tmp_path / "a.npz"), Rules("y"), 10**6))) == 1
    with pytest.raises(InvalidInput, match="ascontiguousarray"):
        list(npz_blocks(str(tmp_path / "a.npz"), Rules("y"), 10**5))


def test_a_damaged_or_pickled_array_is_refused_without_its_entries(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, X=np.full((100, 2), 7391.0), y=np.zeros(100))
    data = bytearray(path.read_bytes())
    data[data.index(np.float64(7391.0).tobytes()) + 16] ^= 1  # a checksum is off now
    path.write_bytes(data)
    with pytest.raises(InvalidInput, match="cannot be read") as refusal:
        read(str(path), Rules("y"))
    assert "7391" not in str(refusal.value)
    np.savez(path, X=np.zeros((3, 2)), y=np.array(["a", 1, None], dtype=object))
    with pytest.raises(InvalidInput, match="cannot be read"):
        read(str(path), Rules("y"))
