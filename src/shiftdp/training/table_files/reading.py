"""Tables from files: CSV, Parquet, npz and svmlight; or only their shape, without their values.

Every record is read by itself, by rules that are public (`Rules`): nothing is guessed from the
records, so that none changes how another is read. docs/threat_model.md goes through the formats.

A refusal names the file, a column or a type, never an entry, nor which record it is about.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.training.descent.disk import let_go, may_read_ahead, on_disk
from shiftdp.training.table_files.csv_files import csv_blocks, csv_quick, csv_shape
from shiftdp.training.table_files.labels import BadLabels, Labels
from shiftdp.training.table_files.npz_files import npz_blocks, npz_head
from shiftdp.training.table_files.parquet_files import parquet_blocks, parquet_head
from shiftdp.training.table_files.parquet_pages import require_small_footer
from shiftdp.training.table_files.parts import (
    Paths,
    files_of,
    format_of,
    quietly_read,
    refused,
    require_alike,
    require_records,
    shown,
)
from shiftdp.training.table_files.rules import PER_RECORD, WORKING, Block, Head, Rules, Shape, Table
from shiftdp.training.table_files.svmlight_files import svmlight_block, svmlight_head

_PER_CHARACTER = (
    8  # bytes in memory for one of an svmlight file: "1:1 " becomes a float and an index
)


def shape_of(paths: Paths, rules: Rules) -> Shape:
    """The shape of a table; the values are not looked at."""
    heads = _heads(paths, rules, lambda path: _SHAPES[format_of(path)](path, rules))
    n = sum(head.n for head in heads)
    require_records(shown(paths), n)
    return Shape(n, heads[0].features)


def is_sparse(paths: Paths) -> bool:
    """Whether a table becomes a sparse matrix, and not an array."""
    return format_of(files_of(paths)[0]) == "svmlight"


def read(paths: Paths, rules: Rules, memory: float = np.inf) -> Table:
    """The table itself: the records of the first part, then those of the second, and so on.

    Args:
        paths: of one file, or of all parts.
        rules: how they are read.
        memory: how many bytes reading and training may add to the process. If the table would take
            more, with what is made of it, it is in files: see `on_disk`. What cannot be read within
            it is refused.
    """
    files = files_of(paths)
    if is_sparse(files):
        return _whole(files, rules, memory)
    for path in files if format_of(files[0]) == "parquet" else ():
        quietly_read(lambda path: require_small_footer(path, memory - WORKING), path)
    heads = _heads(paths, rules, lambda path: _HEADS[format_of(path)](path, rules))
    n, features = sum(head.n for head in heads), heads[0].features
    require_records(shown(paths), n)
    dtype = np.result_type(*(head.dtype for head in heads))
    large = n * (2 * features * dtype.itemsize + PER_RECORD) + WORKING > memory
    try:  # n is what the file says of itself
        X = on_disk((n, features), dtype) if large else np.empty((n, features), dtype)
        every = Labels(n, rules.classes, numbers=rules.numbers, disk=large)
    except InvalidInput:
        raise
    except (MemoryError, ValueError):
        raise refused(
            shown(paths), "says that it has more records than there is memory for", "give --memory"
        ) from None
    may_read_ahead(X, (memory - WORKING) // 4)
    done, finite = 0, True
    for path, head in zip(files, heads, strict=True):
        order = _order(heads[0], head)

        def fill(path: str, order: list[int] | None = order, start: int = done) -> tuple[int, bool]:
            good, following = True, start
            for block in _BLOCKS[format_of(path)](path, rules, memory - WORKING):
                begin = following if block.first is None else start + block.first
                part = slice(begin, begin + len(block.X))
                if block.columns is not None:
                    places = (
                        block.columns if order is None else list(map(order.index, block.columns))
                    )
                    X[part, places] = block.X
                else:
                    X[part] = block.X if order is None else block.X[:, order]
                good = good and bool(np.isfinite(block.X).all())
                if block.targets is not None:
                    every.add(block.targets)
                let_go(X[part])
                following = part.stop
            return following, good

        done, good = quietly_read(fill, path)
        finite = finite and good
    if done != n:
        raise refused(
            shown(paths),
            "was changed while it was read",
            "leave its files as they are until the end",
        )
    if not finite:
        raise _not_finite(shown(paths))
    return Table(X, _result(shown(paths), every), heads[0].names)


def _heads(paths: Paths, rules: Rules, head_of: Callable[[str], Head]) -> list[Head]:
    """What is known of each part; they have the same features."""
    files = files_of(paths)
    heads = [quietly_read(head_of, path) for path in files]
    first = heads[0]
    for path, head in zip(files, heads, strict=True):
        _require_features(path, head.features, rules)
        if first.names is not None and head.names is not None:
            require_alike(path, head.names, first.names, files[0])
        elif head.features != first.features or head.names != first.names:
            raise refused(
                path, f"has other columns than {files[0]}", "give parts with the same columns"
            )
    return heads


def _order(first: Head, head: Head) -> list[int] | None:
    """Where the features of the first part are in another one, if it is not the same place."""
    if first.names is None or head.names is None or first.names == head.names:
        return None
    return [head.names.index(name) for name in first.names]


def _whole(files: Sequence[str], rules: Rules, memory: float) -> Table:
    """Sparse features, which are read at once and stay in memory."""
    from scipy.sparse import vstack

    size = sum(map(os.path.getsize, files))
    if _PER_CHARACTER * size + WORKING > memory:
        raise InvalidInput(
            "memory",
            memory,
            f"is less than {shown(files)} may take, as sparse features are not read in blocks",
            f"give {_PER_CHARACTER * size + WORKING} bytes, or a table in another format",
        )
    found = [quietly_read(lambda name: svmlight_block(name, rules), path) for path in files]
    X = found[0].X if len(found) == 1 else vstack([block.X for block in found], format="csr")
    require_records(files[0], X.shape[0])
    if not np.isfinite(X.data).all():
        raise _not_finite(shown(files))
    every = Labels(X.shape[0], rules.classes, numbers=rules.numbers)
    for block in found:
        every.add(block.targets)
    return Table(X, _result(shown(files), every))


def _not_finite(table: str) -> InvalidInput:
    return refused(
        table, "has missing or infinite entries", "fill or leave them out by a public rule"
    )


def _require_features(path: str, found: int, rules: Rules) -> None:
    if rules.features is not None and found != rules.features:
        raise InvalidInput(
            "features", rules.features, f"is not what {path} has, {found}", "give that, or nothing"
        )


def _result(table: str, every: Labels) -> NDArray[Any]:
    try:
        return every.result()
    except BadLabels as error:
        problem = str(error)
    remedy = (
        "give all labels by classes=..." if "classes" in problem else "mend them by a public rule"
    )
    raise refused(table, problem, remedy)


_SHAPES: dict[str, Callable[[str, Rules], Head]] = {
    "csv": csv_shape,
    "parquet": parquet_head,
    "npz": npz_head,
    "svmlight": svmlight_head,
}
_HEADS = {**_SHAPES, "csv": csv_quick}
_BLOCKS: dict[str, Callable[[str, Rules, float], Iterator[Block]]] = {
    "csv": csv_blocks,
    "parquet": parquet_blocks,
    "npz": npz_blocks,
}
