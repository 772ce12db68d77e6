"""npz: one matrix, and the target by name; types are those of the arrays.

Both arrays are read side by side, some records at a time. An array in which columns lie one after
the other has no records that could be read so; it is read as a whole, where that is allowed.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftdp.training.table_files.parts import refused
from shiftdp.training.table_files.rules import BLOCK, Block, Head, Rules, place_of


class _Array(NamedTuple):
    """What the header of an array says of it."""

    member: str
    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]


def _header(file: IO[bytes], member: str) -> _Array:
    version = np.lib.format.read_magic(file)
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    return _Array(member, *read(file))


def _arrays(path: str, target: str | None) -> dict[str, _Array]:
    """All arrays by name, from their headers alone."""
    found: dict[str, _Array] = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            with archive.open(member) as file:
                found[member.removesuffix(".npy")] = _header(file, member)
    place_of(path, list(found), target)
    return found


def _matrix(path: str, arrays: dict[str, _Array], target: str | None) -> _Array:
    matrices = [array for name, array in arrays.items() if len(array.shape) == 2 and name != target]
    if len(matrices) != 1:
        raise refused(path, f"has {len(matrices)} matrices beside the target", "give it one")
    return matrices[0]


def npz_head(path: str, rules: Rules) -> Head:
    matrix = _matrix(path, _arrays(path, rules.target), rules.target)
    n, features = matrix.shape
    return Head(n, features, None, np.float32 if matrix.dtype == np.float32 else np.float64)


def npz_blocks(path: str, rules: Rules, memory: float = np.inf) -> Iterator[Block]:
    """Some records at a time."""
    arrays = _arrays(path, rules.target)
    matrix, labels = _matrix(path, arrays, rules.target), arrays[str(rules.target)]
    (n, features), kind = matrix.shape, matrix.dtype.kind
    if matrix.dtype.hasobject or labels.dtype.hasobject:
        raise ValueError  # they would have to be unpickled
    if kind not in "fiub":
        raise refused(path, "has features that are not numbers", "give a matrix of numbers")
    if labels.shape != (n,) or labels.dtype.kind not in "fiubU":
        raise refused(
            path, "has a target that is no vector of numbers or words", "give one label a record"
        )
    by_columns = matrix.by_columns and n > 1 and features > 1
    if by_columns and n * features * matrix.dtype.itemsize > memory:
        raise refused(
            path,
            "has a matrix that is larger than the memory, and stored column by column, so that no "
            "record can be read without all of it",
            "store it row by row (np.ascontiguousarray), or give more memory",
        )
    rows = n if by_columns else max(1, BLOCK // max(1, features * max(8, matrix.dtype.itemsize)))
    with (
        zipfile.ZipFile(path) as archive,
        archive.open(matrix.member) as X,
        archive.open(labels.member) as y,
    ):
        for file, array in ((X, matrix), (y, labels)):
            _header(file, array.member)
        for start in range(0, n, max(1, rows)):
            number = min(rows, n - start)
            block = _entries(X, number * features, matrix.dtype)
            shape = (number, features)
            some = block.reshape(shape, order="F" if by_columns else "C")
            if some.dtype not in (np.float32, np.float64):
                some = some.astype(np.float64)
            yield Block(some, _entries(y, number, labels.dtype))
        for file in (X, y):
            file.read(1)  # its end, where what was read is compared with its checksum


def _entries(file: IO[bytes], number: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    if number == 0:
        return np.empty(0, dtype)
    found = np.frombuffer(file.read(number * dtype.itemsize), dtype=dtype)
    if found.size != number:
        raise ValueError  # it ends before its array does
    return found
