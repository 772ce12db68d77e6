"""Which records each step uses: a slice where their order is fixed, indices where it is drawn.

All draws are exactly uniform given uniform bytes: integers and keys by rejection, participation by
comparing with a 64-bit fraction that is never above b/n.

Where the records are on disk, so is the order in which they are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp.last_iterate import NoisyCGD, NoisyGD, NoisySGD
from shiftdp.training.descent.disk import blocks, let_go
from shiftdp.training.descent.entropy import Stream
from shiftdp.training.descent.permutations import Places, permutation, permutation_on_disk, words
from shiftdp.training.descent.records import Indices

TrainingRun = NoisyGD | NoisyCGD | NoisySGD


@dataclass(frozen=True)
class Batch:
    """The records of one step, and what the sum of their gradients is divided by."""

    rows: Indices
    divisor: int


def batches(run: TrainingRun, stream: Stream, *, mapped: bool = False) -> Iterator[Batch]:
    """One batch a step, as the run describes them.

    Args:
        run: which batches there are.
        stream: of what is drawn.
        mapped: whether the order of all records is kept on disk; it is the same order.

    >>> from shiftdp.training.descent.entropy import System
    >>> run = NoisyCGD(n=5, batch_size=2, epochs=1, learning_rate=0.1, noise=1.0)
    >>> [(b.rows.start, b.rows.stop, b.divisor) for b in batches(run, System().open("batches"))]
    [(0, 2, 2), (2, 4, 2), (4, 5, 1)]
    >>> equal = NoisyCGD(**{**vars(run), "last_batch": "divide_by_b"})
    >>> [b.divisor for b in batches(equal, System().open("batches"))]
    [2, 2, 2]
    """
    if run.full_batches:
        return _full(run)
    if run.in_turn:
        return _cyclic(run, stream, permutation_on_disk if mapped else permutation)
    return _random(run, stream)


def _full(run: NoisyGD) -> Iterator[Batch]:
    everything = Batch(slice(0, run.n), run.n)
    for _ in range(run.steps):
        yield everything


def _cyclic(
    run: NoisyCGD, stream: Stream, permuted: Callable[[int, Stream], Places]
) -> Iterator[Batch]:
    if run.order != "fixed" and run.arrangement == "one_per_batch":
        yield from _whole_batches(run, stream)
        return
    order: Places | None = None
    number, b = run.batches, run.batch_size
    size, divisor = run.size_of(number), run.divisor_of(number)  # of the last batch
    for step in range(run.steps):
        position = step % number
        if position == 0 and (
            run.order == "reshuffled" or (run.order == "shuffled_once" and step == 0)
        ):
            order = permuted(run.n, stream)
        last = position == number - 1
        begin = position * b
        rows = slice(begin, begin + (size if last else b))
        if order is None:
            yield Batch(rows, divisor if last else b)
        else:
            # a batch is a set: sorted, it is read from front to back
            yield Batch(np.sort(order[rows]), divisor if last else b)
            let_go(order[rows])


def _whole_batches(run: NoisyCGD, stream: Stream) -> Iterator[Batch]:
    """Batches stay as they are, and their order is drawn; they have all the same size."""
    b = run.batch_size
    order = np.arange(run.batches)
    for step in range(run.steps):
        position = step % run.batches
        if position == 0 and (run.order == "reshuffled" or step == 0):
            order = permutation(run.batches, stream)
        begin = int(order[position]) * b
        yield Batch(slice(begin, begin + b), b)


def _random(run: NoisySGD, stream: Stream) -> Iterator[Batch]:
    n, b = run.n, run.batch_size
    if run.in_epochs:
        for _ in range(run.steps // run.batches):
            yield from (Batch(rows, b) for rows in allocation(n, run.batches, stream))
        return
    drawn = bernoulli if run.has_random_sizes else subset
    for _ in range(run.steps):
        yield Batch(drawn(n, b, stream), b)


def subset(n: int, b: int, stream: Stream) -> Places:
    """A uniform set of b of n records, sorted: uniform records until b different ones are there."""
    if 2 * b > n:
        missing = subset(n, n - b, stream)
        return np.delete(np.arange(n), missing)
    drawn = np.empty(0, dtype=np.intp)
    while True:
        drawn = np.concatenate([drawn, _integers(n, b - min(b, drawn.size) + 16, stream)])
        values, first = np.unique(drawn, return_index=True)
        if values.size >= b:
            # the b that came first
            return np.sort(drawn[np.sort(first)[:b]])


def bernoulli(n: int, b: int, stream: Stream) -> Places:
    """Each of n records independently with probability floor(2^64 b/n) / 2^64.

    One byte a record decides for nearly all; where it equals the first byte of the fraction, the
    other seven are drawn. What is held at a time is a block of bytes, and the records that are in.
    """
    if b >= n:
        return np.arange(n)
    fraction = (b << 64) // n
    lead, rest = fraction >> 56, fraction & ((1 << 56) - 1)
    inside, ties = [], []
    for part in blocks(n, 8):
        first = np.frombuffer(stream.draw(part.stop - part.start), dtype=np.uint8)
        inside.append(np.flatnonzero(first < lead) + part.start)
        ties.append(np.flatnonzero(first == lead) + part.start)
    unsure = np.concatenate(ties)
    more = unsure[(words(unsure.size, stream) >> np.uint64(8)) < np.uint64(rest)]
    return np.sort(np.concatenate([*inside, more]))


def allocation(n: int, parts: int, stream: Stream) -> list[Places]:
    """Each of n records independently in one of so many parts, all equally likely; each sorted."""
    part = _integers(parts, n, stream)
    order = np.argsort(part, kind="stable")
    return np.split(order, np.searchsorted(part[order], np.arange(1, parts)))


def _integers(n: int, size: int, stream: Stream) -> Places:
    """Uniform integers below n: the low bits of random words, refused where they are too large."""
    mask = np.uint64((1 << (n - 1).bit_length()) - 1) if n > 1 else np.uint64(0)
    found: list[NDArray[Any]] = []
    missing = size
    while missing > 0:
        values = words(2 * missing, stream) & mask
        kept = values[values < n][:missing]
        found.append(kept)
        missing -= kept.size
    return np.concatenate(found).astype(np.intp)
