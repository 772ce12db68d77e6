"""Tables from files: CSV, Parquet, npz and svmlight; or only their shape, without their values.

Every record is read by itself, by rules that are public (`Rules`): nothing is guessed from the
records, so that none changes how another is read. docs/threat_model.md goes through the formats.

A refusal names the file, a column or a type, never an entry, nor which record it is about.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.training.descent.disk import let_go, on_disk
from shiftdp.ui.labels import BadLabels, Labels
from shiftdp.ui.parts import (
    Paths,
    files_of,
    format_of,
    quietly_read,
    refused,
    require_alike,
    require_records,
    shown,
)

_ENTRIES = 1 << 18  # of a block: as text they take some 20 MB


class Shape(NamedTuple):
    """How many records and features there are."""

    n: int
    features: int


class Table(NamedTuple):
    """Features and targets, and the names of the features where the file has some.

    `people` says whose record each is, where a column was named that does.
    """

    X: Any
    y: NDArray[Any]
    names: tuple[str, ...] | None = None
    people: Any = None


class Rules(NamedTuple):
    """How a file is read: all of it public, none of it guessed from the records.

    Args:
        target: the name of the column, or array, to predict (not svmlight).
        features: how many there are; needed for svmlight, which does not say it.
        first_index: the index of the first feature in svmlight.
        classes: all labels, if they are known.
        numbers: whether the target is a number, and not the name of a class.
    """

    target: str | None
    features: int | None = None
    first_index: int = 1
    classes: Sequence[Any] | None = None
    numbers: bool = False


class Head(NamedTuple):
    """What is known of a file before its records are read.

    Args:
        n: how many records it has.
        features: how many features.
        names: of the features, if it has some.
        dtype: in which the features are kept: float32 where that is the type of all of them.
    """

    n: int
    features: int
    names: tuple[str, ...] | None = None
    dtype: type[np.floating[Any]] = np.float64


class Block(NamedTuple):
    """The features and the targets of some records."""

    X: Any
    targets: Any


def shape_of(paths: Paths, rules: Rules) -> Shape:
    """The shape of a table; the values are not looked at."""
    heads = _heads(paths, rules, lambda path: _SHAPES[format_of(path)](path, rules))
    n = sum(head.n for head in heads)
    require_records(shown(paths), n)
    return Shape(n, heads[0].features)


def read(paths: Paths, rules: Rules, memory: float = np.inf) -> Table:
    """The table itself: the records of the first part, then those of the second, and so on.

    Args:
        paths: of one file, or of all parts.
        rules: how they are read.
        memory: how many bytes the table may take, with what is made of it. If it would take more,
            its features are in a file: see `on_disk`.
    """
    files = files_of(paths)
    if format_of(files[0]) == "svmlight":
        return _whole(files, rules)
    heads = _heads(paths, rules, lambda path: _HEADS[format_of(path)](path, rules))
    n, features = sum(head.n for head in heads), heads[0].features
    require_records(shown(paths), n)
    dtype = np.result_type(*(head.dtype for head in heads))
    large = 2 * n * features * dtype.itemsize > memory
    try:  # n is what the file says of itself
        X = on_disk((n, features), dtype) if large else np.empty((n, features), dtype)
        every = Labels(n, rules.classes, numbers=rules.numbers)
    except InvalidInput:
        raise
    except (MemoryError, ValueError):
        raise refused(
            shown(paths), "says that it has more records than there is memory for", "give --memory"
        ) from None
    done, finite = 0, True
    for path, head in zip(files, heads, strict=True):
        order = _order(heads[0], head)

        def fill(path: str, order: list[int] | None = order, start: int = done) -> tuple[int, bool]:
            good = True
            for block in _BLOCKS[format_of(path)](path, rules):
                part = slice(start, start + len(block.X))
                X[part] = block.X if order is None else block.X[:, order]
                good = good and bool(np.isfinite(block.X).all())
                every.add(block.targets)
                let_go(X[part])
                start = part.stop
            return start, good

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


def _whole(files: Sequence[str], rules: Rules) -> Table:
    """Sparse features, which are read at once and stay in memory."""
    from scipy.sparse import vstack

    found = [quietly_read(lambda name: _svmlight(name, rules), path) for path in files]
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
    remedy = "give all labels in classes" if "classes" in problem else "mend them by a public rule"
    raise refused(table, problem, remedy)


# --- CSV: a line of names, then a line a record ---
#
# Every line is read by itself: a quotation mark that is not closed ends with its line and does not
# swallow the next. A record is one line and a line is one record: lines end in LF or CR LF, a CR
# elsewhere does not make two of one, and a blank line does not vanish; both are refused. The first
# line holds the names; if it does not, it is a record, so that what stands there is never shown.


def csv_lines(path: str) -> Iterator[list[str]]:
    """The fields of each line."""
    with open(path, newline="\n", encoding="utf-8-sig") as file:
        for line in file:
            text = line.removesuffix("\n").removesuffix("\r")
            if "\r" in text:
                raise refused(
                    path, "has a carriage return inside of a line", "end lines in LF or CR LF"
                )
            if not text.strip():
                raise refused(path, "has a blank line", "take it out: each line is a record")
            if '"' in text:
                (fields,) = csv.reader([text], strict=True)
                yield fields
            else:
                yield text.split(",")


def _csv_names(path: str, lines: Iterator[list[str]], target: str | None) -> list[str]:
    names = [name.strip() for name in next(lines, [])]
    if not names or len(set(names)) < len(names):
        raise refused(path, "does not begin with a line of different names", "add one")
    if target is None:
        raise InvalidInput("target", None, "is missing", f"name a column of {path}")
    if target not in names:
        raise InvalidInput(
            "target", target, f"is no column of {path}", "give one of the names in its first line"
        )
    return names


def _place(path: str, names: list[str], target: str | None) -> int:
    """Where the target is, among names that cannot be those of records."""
    if target is None:
        raise InvalidInput("target", None, "is missing", f"name a column of {path}")
    if target not in names:
        shown = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
        raise InvalidInput("target", target, f"is no column of {path}", f"there are {shown}")
    return names.index(target)


def _csv_shape(path: str, rules: Rules) -> Head:
    lines = csv_lines(path)
    names = _csv_names(path, lines, rules.target)
    return _csv_head(names, rules, sum(1 for _ in lines))


def _csv_quick(path: str, rules: Rules) -> Head:
    """The same, by ends of lines: what is wrong with a line is found when it is read."""
    return _csv_head(_csv_names(path, csv_lines(path), rules.target), rules, count_lines(path) - 1)


def count_lines(path: str) -> int:
    with open(path, "rb") as file:
        return sum(1 for _ in file)


def _csv_head(names: list[str], rules: Rules, n: int) -> Head:
    kept = tuple(name for name in names if name != rules.target)
    # a first line of numbers is a record that was taken for names, and stays unknown
    unknown = any(set(name) <= _DECIMAL for name in kept)
    return Head(n, len(kept), None if unknown else kept)


def _csv(path: str, rules: Rules) -> Iterator[Block]:
    lines = csv_lines(path)
    names = _csv_names(path, lines, rules.target)
    place = names.index(str(rules.target))
    known = _csv_head(names, rules, 0).names is not None
    shown = [f"{i + 1} ({names[i]})" if known else f"{i + 1}" for i in range(len(names))]
    for columns in csv_columns(path, lines, len(names)):
        numbers = [
            _numbers(path, shown[i], column) for i, column in enumerate(columns) if i != place
        ]
        n = len(columns[place])
        yield Block(np.stack(numbers, axis=1) if numbers else np.empty((n, 0)), columns[place])


def csv_columns(
    path: str, lines: Iterator[list[str]], width: int
) -> Iterator[list[tuple[str, ...]]]:
    """The entries of each column, some lines at a time."""
    while rows := list(islice(lines, max(1, _ENTRIES // width))):
        if any(len(row) != width for row in rows):
            raise refused(path, "has lines of different length", f"give {width} entries a line")
        yield list(zip(*rows, strict=True))


_ENCODE = (
    "describe the columns in a schema (shiftdp schema writes a template) and give --schema, or "
    "encode them by a rule that does not depend on the data"
)
_DECIMAL = frozenset("0123456789+-.eE \t\n")


def _numbers(path: str, place: str, entries: Sequence[str]) -> NDArray[np.float64]:
    """A column of decimal numbers: what `float` understands of these characters, entry by entry."""
    try:
        if set("\n".join(entries)) <= _DECIMAL:
            return np.array([float(entry) for entry in entries], dtype=np.float64)
    except ValueError:
        pass
    missing = any(not entry.strip() for entry in entries)
    raise refused(
        path,
        f"has entries in column {place} that are {'missing' if missing else 'not finite numbers'}",
        _ENCODE,
    )


# --- Parquet: types are those of the file's schema ---


def parquet_file(path: str) -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise click.ClickException(
            "DATA: a Parquet file needs pyarrow, which is not installed; "
            "pip install 'shiftdp[parquet]'"
        ) from None
    # pages are read as they are needed, and not all of a row group ahead of them
    return pyarrow.parquet.ParquetFile(path, buffer_size=1 << 16, pre_buffer=False)


def parquet_blocks(path: str, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """Some records at a time."""
    found = parquet_file(path)
    rows = max(1, _ENTRIES // max(1, len(columns or found.schema_arrow.names)))
    yield from found.iter_batches(batch_size=rows, columns=None if columns is None else [*columns])


def _parquet_head(path: str, rules: Rules) -> Head:
    import pyarrow.types

    found = parquet_file(path)
    names = list(found.schema_arrow.names)
    place = _place(path, names, rules.target)
    kept = [i for i in range(len(names)) if i != place]
    short = all(pyarrow.types.is_float32(found.schema_arrow.field(i).type) for i in kept)
    dtype = np.float32 if short else np.float64
    return Head(found.metadata.num_rows, len(kept), tuple(names[i] for i in kept), dtype)


def _parquet(path: str, rules: Rules) -> Iterator[Block]:
    head = _parquet_head(path, rules)
    for batch in parquet_blocks(path):
        names = list(batch.schema.names)
        place = _place(path, names, rules.target)
        # a column with missing entries becomes one of another type
        if any(batch.column(i).null_count for i in range(len(names))):
            raise refused(path, "has missing entries", "fill or leave them out by a public rule")
        X = np.empty((batch.num_rows, head.features), head.dtype)
        for k, i in enumerate(i for i in range(len(names)) if i != place):
            values = np.asarray(batch.column(i).to_numpy(zero_copy_only=False))
            if values.dtype.kind not in "fiub":
                raise refused(
                    path, f"has entries in the column {names[i]} that are not numbers", _ENCODE
                )
            X[:, k] = values
        yield Block(X, arrow_entries(batch.column(place)))


def arrow_entries(column: Any) -> Any:
    """Entries that a file holds: an array where all are numbers by their type, else a list."""
    import pyarrow

    kind = column.type
    number = pyarrow.types.is_integer(kind) or kind in (pyarrow.float32(), pyarrow.float64())
    if number and not column.null_count:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    return column.to_pylist()


# --- npz: one matrix, and the target by name; types are those of the arrays ---


def _npz_arrays(
    path: str, target: str | None
) -> tuple[dict[str, tuple[Any, ...]], dict[str, np.dtype[Any]]]:
    """Shapes and types by name, from the headers alone."""
    import zipfile

    found: dict[str, tuple[Any, ...]] = {}
    types: dict[str, np.dtype[Any]] = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            with archive.open(name) as file:
                version = np.lib.format.read_magic(file)
                header = (
                    np.lib.format.read_array_header_1_0
                    if version == (1, 0)
                    else np.lib.format.read_array_header_2_0
                )
                known = name.removesuffix(".npy")
                found[known], _, types[known] = header(file)
    _place(path, list(found), target)
    return found, types


def _matrix(path: str, shapes: dict[str, tuple[Any, ...]], target: str | None) -> str:
    matrices = [name for name, shape in shapes.items() if len(shape) == 2 and name != target]
    if len(matrices) != 1:
        raise refused(path, f"has {len(matrices)} matrices beside the target", "give it one")
    return matrices[0]


def _npz_head(path: str, rules: Rules) -> Head:
    shapes, types = _npz_arrays(path, rules.target)
    name = _matrix(path, shapes, rules.target)
    n, features = shapes[name]
    return Head(n, features, None, np.float32 if types[name] == np.float32 else np.float64)


def _npz(path: str, rules: Rules) -> Iterator[Block]:
    """The file as one block."""
    shapes, _ = _npz_arrays(path, rules.target)
    with np.load(path, allow_pickle=False) as arrays:
        X, y = arrays[_matrix(path, shapes, rules.target)], arrays[str(rules.target)]
    if X.dtype.kind not in "fiub":
        raise refused(path, "has features that are not numbers", "give a matrix of numbers")
    if y.shape != X.shape[:1] or y.dtype.kind not in "fiubU":
        raise refused(
            path, "has a target that is no vector of numbers or words", "give one label a record"
        )
    yield Block(X if X.dtype in (np.float32, np.float64) else X.astype(np.float64), y)


# --- svmlight: where indices begin and how many there are is given, never read off the data ---


def _known_features(rules: Rules) -> int:
    if rules.features is None:
        raise InvalidInput(
            "features", None, "is missing: this format does not say it", "give their number"
        )
    return rules.features


def _svmlight_head(path: str, rules: Rules) -> Head:
    features = _known_features(rules)
    return Head(_svmlight_lines(path), features)


def _svmlight_lines(path: str) -> int:
    """How many lines there are, each a record: one without a label would vanish."""
    n = 0
    with open(path, "rb") as file:
        for n, line in enumerate(file, 1):  # noqa: B007
            if not line.partition(b"#")[0].strip():
                raise refused(
                    path, "has a line without a label", "take blank lines and comments out"
                )
    return n


def _svmlight(path: str, rules: Rules) -> Block:
    from sklearn.datasets import load_svmlight_file

    features = _known_features(rules)
    _svmlight_lines(path)
    try:
        X, y = load_svmlight_file(path, n_features=features, zero_based=rules.first_index == 0)
    except (ValueError, OverflowError):
        X = None
    if X is None:  # outside of the handler: what it says quotes the line
        last = rules.first_index + features - 1
        raise refused(
            path,
            f"has a line that is not a label and pairs of an index from {rules.first_index} to "
            f"{last}, in rising order, and a number",
            "mend it, or give first_index=0 where indices begin at 0",
        )
    return Block(X, y)


_SHAPES: dict[str, Callable[[str, Rules], Head]] = {
    "csv": _csv_shape,
    "parquet": _parquet_head,
    "npz": _npz_head,
    "svmlight": _svmlight_head,
}
_HEADS = {**_SHAPES, "csv": _csv_quick}
_BLOCKS: dict[str, Callable[[str, Rules], Iterator[Block]]] = {
    "csv": _csv,
    "parquet": _parquet,
    "npz": _npz,
}
