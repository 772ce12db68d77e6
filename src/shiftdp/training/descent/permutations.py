"""Uniform permutations: the order of random keys, sorted in memory or, the same one, on disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from shiftdp.training.descent.disk import RESIDENT, blocks, let_go, on_disk, scratch_file
from shiftdp.training.descent.entropy import Stream

Places = NDArray[np.intp]

_PAIR = np.dtype([("key", np.uint64), ("place", np.int64)])
_SORTING = 64  # bytes a key that is sorted takes: pairs, their order, and copies of both


def words(size: int, stream: Stream) -> NDArray[np.uint64]:
    """Uniform whole numbers of 64 bits."""
    return np.frombuffer(stream.draw(8 * size), dtype=np.uint64)


def permutation(n: int, stream: Stream) -> Places:
    """A uniform permutation: the order of n random keys, drawn again if two are equal."""
    while True:
        keys = words(n, stream)
        order = np.argsort(keys)
        ranked = keys[order]
        if not (ranked[1:] == ranked[:-1]).any():
            return order


def permutation_on_disk(n: int, stream: Stream) -> Places:
    """The permutation that `permutation` draws, in a file and in memory that does not grow with n.

    Keys are drawn in order and written down; then each goes, with its place, to the range of keys
    that it is in; and ranges, each small enough for memory, are sorted one by one. While this
    happens there are 24 bytes a record on disk, and 8 of them stay.
    """
    bits = max(0, n * _SORTING // RESIDENT).bit_length()
    while True:
        with scratch_file(max(1, 8 * n)) as keys, scratch_file(max(1, _PAIR.itemsize * n)) as pairs:
            sizes = np.zeros(1 << bits, dtype=np.int64)
            for part in blocks(n, _SORTING):
                drawn = words(part.stop - part.start, stream)
                sizes += np.bincount(_range_of(drawn, bits), minlength=sizes.size)
                keys.write(drawn.data)
            ends = np.cumsum(sizes)
            _distribute(keys, pairs, ends - sizes, bits)
            keys.truncate(0)  # room for the order
            order = on_disk(n, np.intp)
            if _sorted_ranges(pairs, sizes, order):
                return order


def _range_of(keys: NDArray[np.uint64], bits: int) -> Places:
    """The first bits of each key, as a number."""
    if bits == 0:
        return np.zeros(keys.size, dtype=np.intp)
    return (keys >> np.uint64(64 - bits)).astype(np.intp)


def _distribute(keys: IO[bytes], pairs: IO[bytes], starts: NDArray[Any], bits: int) -> None:
    """Write each key with its place behind those of its range that came before it."""
    begin, following = 0, starts.copy()
    for block in _read(keys, np.dtype(np.uint64), RESIDENT // _SORTING):
        home = _range_of(block, bits)
        order = np.argsort(home, kind="stable")
        made = np.empty(block.size, dtype=_PAIR)
        made["key"], made["place"] = block[order], order + begin
        sizes = np.bincount(home, minlength=starts.size)
        stops = np.cumsum(sizes)
        for k in np.flatnonzero(sizes):
            pairs.seek(int(following[k]) * _PAIR.itemsize)
            pairs.write(made[stops[k] - sizes[k] : stops[k]].tobytes())
        following += sizes
        begin += block.size


def _sorted_ranges(pairs: IO[bytes], sizes: NDArray[Any], order: Places) -> bool:
    """Write the places in the order of their keys; whether no two keys are equal."""
    done, distinct = 0, True
    pairs.seek(0)
    for size in map(int, sizes):
        found = np.frombuffer(pairs.read(size * _PAIR.itemsize), dtype=_PAIR)
        ranked = np.argsort(found["key"])
        keys = found["key"][ranked]
        distinct = distinct and not (keys[1:] == keys[:-1]).any()
        part = slice(done, done + size)
        order[part] = found["place"][ranked]
        let_go(order[part])
        done += size
    return distinct


def _read(file: IO[bytes], dtype: np.dtype[Any], size: int) -> Iterator[NDArray[Any]]:
    """A file from its beginning, so many entries at a time."""
    file.seek(0)
    while block := file.read(max(1, size) * dtype.itemsize):
        yield np.frombuffer(block, dtype=dtype)
