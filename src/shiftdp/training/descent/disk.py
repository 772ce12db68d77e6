"""Arrays that stay on disk: mapped from a file, and let go of once they have been read.

What a process has read of a mapped file counts as its memory until the system wants it back. Here
it is given back at once, so that a pass over an array takes a constant amount of memory, however
long the array is. The system may keep the file in its cache, from which it is read again.

Arrays that are made here are in files without a name, which other users cannot open and which end
with the process, whatever it ends by. Records and orders of batches are in them; noise and iterates
never are.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from shiftdp._errors import ShiftdpError

RESIDENT = 1 << 22
"""How many bytes of a mapped array are read before they are let go of."""
_AROUND = 1 << 21  # bytes on each side that may be mapped with one that is read
_SPAN = 1 << 23  # bytes between the first and the last of rows that are taken together
_MOST_AHEAD = 1 << 25  # bytes that are read ahead of a large file
_PASSES = 256  # over a file in an epoch of random batches, where this is not more than that
_FEW = 4  # rows that are taken together however far apart they are
_SHARED = ("r", "r+", "w+")  # modes in which what is let go of is still in the file


class DiskFull(ShiftdpError):
    """There is no room for the records in the folder for temporary files."""


def on_disk(shape: int | tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """An array of zeros in a file of its own, in the folder of TMPDIR."""
    kind = np.dtype(dtype)
    size = max(1, int(np.prod(shape, dtype=np.int64)) * kind.itemsize)
    with scratch_file(size) as file:
        return np.memmap(file, dtype=kind, mode="r+", shape=shape)


def scratch_file(size: int) -> IO[bytes]:
    """A file without a name, in the folder of TMPDIR, that has room for so many bytes."""
    file = tempfile.TemporaryFile(prefix="shiftdp-")  # noqa: SIM115  # closed by the caller
    try:
        # all of it now: a mapped file that finds the disk full later ends the process
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)
        return file
    except OSError as error:
        file.close()
        problem = error.strerror or type(error).__name__
    raise DiskFull(
        f"{tempfile.gettempdir()}: {problem}; {size} bytes are needed there: make room, set "
        "TMPDIR to a folder that has it, or hold the table in memory"
    )


def may_read_ahead(array: NDArray[Any], size: float) -> None:
    """Say how many bytes of an array on disk may be read before they are needed."""
    owner = _owner(array)
    if owner is not None:
        owner.read_ahead = int(size)


def read_ahead(array: Any) -> int:
    """How many bytes of an array on disk may be read before they are needed: what was said of it,
    or a small part of it."""
    owner = _owner(array)
    if owner is None:
        return 0
    usual = min(_MOST_AHEAD, max(RESIDENT, owner.nbytes // _PASSES))
    return int(getattr(owner, "read_ahead", usual))


def is_mapped(array: Any) -> bool:
    """Whether an array is a file, of which pages can be let go of without loss."""
    return _map(array) is not None


def _map(array: Any) -> Any:
    """The file under an array; None for other arrays, and for those with changes of their own."""
    owner = _owner(array)
    return None if owner is None else owner._mmap


def _owner(array: Any) -> Any:
    """The array that the file under another one was mapped to."""
    while isinstance(array, np.ndarray):
        file: Any = getattr(array, "_mmap", None)
        if isinstance(array, np.memmap) and file is not None:
            if isinstance(array.base, np.memmap):
                array = array.base
                continue
            return array if array.mode in _SHARED and hasattr(file, "madvise") else None
        array = array.base
    return None


def let_go(array: NDArray[Any]) -> None:
    """Give back the memory of an array on disk, or of some consecutive rows of one.

    They can be read again at any time, by other threads too. Other arrays stay as they are.
    """
    file = _map(array)
    if file is None or array.size == 0:
        return
    low, high = np.lib.array_utils.byte_bounds(array)
    begin, _ = np.lib.array_utils.byte_bounds(np.frombuffer(file, dtype=np.uint8))
    first = max(0, (low - begin - _AROUND) // mmap.PAGESIZE * mmap.PAGESIZE)
    last = min(len(file), high - begin + _AROUND)
    file.madvise(mmap.MADV_DONTNEED, first, last - first)


def _let_go_behind(array: NDArray[Any], rows: slice) -> None:
    """Give back what was read up to these rows, where a part of the file ends in them.

    To do so after every few rows would map again and again what was mapped together.
    """
    width = array.strides[0]
    if width < max(array.strides):  # columns lie one after the other: rows are all over the file
        let_go(array[rows])
        return
    part = rows.start * width // _AROUND
    if rows.stop * width // _AROUND != part or rows.stop == len(array):
        let_go(array[min(rows.start, part * _AROUND // width) : rows.stop])


def blocks(n: int, row_bytes: int) -> Iterator[slice]:
    """Slices of n rows, each of about `RESIDENT` bytes."""
    rows = max(1, RESIDENT // max(1, row_bytes))
    for start in range(0, n, rows):
        yield slice(start, min(start + rows, n))


def taken(array: NDArray[Any], rows: slice | NDArray[np.intp], out: NDArray[Any]) -> None:
    """Copy rows of an array on disk, given in rising order where they are not a slice."""
    if isinstance(rows, slice):
        np.copyto(out, array[rows])
        _let_go_behind(array, rows)
        return
    start, near = 0, max(1, _SPAN // max(1, array.nbytes // len(array)))
    while start < rows.size:
        stop = max(start + _FEW, int(np.searchsorted(rows, rows[start] + near)))
        some = rows[start:stop]
        np.copyto(out[start:stop], array[some])
        let_go(array[some[0] : some[-1] + 1])
        start = stop
