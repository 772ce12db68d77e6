"""Tables from files: CSV, Parquet, npz and svmlight; or only their shape, without their values.

A refusal names the file, a column or a type, never an entry.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput

__all__ = ["Shape", "Table", "read", "shape_of"]

_ENDINGS = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
}


class Shape(NamedTuple):
    """How many records and features there are, and what these are called."""

    n: int
    features: int
    names: tuple[str, ...] | None = None


class Table(NamedTuple):
    """Features and targets."""

    X: Any
    y: NDArray[Any]
    names: tuple[str, ...] | None = None


def shape_of(path: str, target: str | None, features: int | None = None) -> Shape:
    """The shape of a table; the values are not looked at."""
    with _readable(path):
        return _SHAPES[_format(path)](path, target, features)


def read(path: str, target: str | None, features: int | None = None) -> Table:
    """The table itself."""
    with _readable(path):
        table = _READERS[_format(path)](path, target, features)
    stored = table.X if isinstance(table.X, np.ndarray) else table.X.data
    if not np.isfinite(stored).all():
        raise _refused(
            path, "has missing or infinite entries", "fill or leave them out by a public rule"
        )
    return table


def _format(path: str) -> str:
    ending = os.path.splitext(path)[1].lower()
    if ending not in _ENDINGS:
        raise _refused(
            path, "has an ending that is no known format", f"give one of {', '.join(_ENDINGS)}"
        )
    return _ENDINGS[ending]


def _refused(path: str, problem: str, remedy: str) -> InvalidInput:
    return InvalidInput("data", path, problem, remedy)


@contextmanager
def _readable(path: str) -> Iterator[None]:
    """Whatever a reader complains of is not repeated: it may quote an entry."""
    problem = None
    try:
        yield
    except (InvalidInput, click.ClickException):
        raise
    except Exception as error:
        problem = _refused(
            path, f"cannot be read ({type(error).__name__})", "give a table in the format it names"
        )
    if problem is not None:
        raise problem


# --- CSV: a line of names, then numbers ---


def _csv_names(path: str, lines: Iterator[list[str]], target: str | None) -> list[str]:
    names = [name.strip() for name in next(lines, [])]
    if not names or len(set(names)) < len(names):
        raise _refused(path, "does not begin with a line of different names", "add one")
    _place(path, names, target)
    return names


def _place(path: str, names: list[str], target: str | None) -> int:
    if target is None:
        raise InvalidInput("target", None, "is missing", f"name a column of {path}")
    if target not in names:
        shown = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
        raise InvalidInput("target", target, f"is no column of {path}", f"there are {shown}")
    return names.index(target)


def _csv_shape(path: str, target: str | None, features: int | None) -> Shape:
    with open(path, newline="", encoding="utf-8-sig") as file:
        lines = csv.reader(file)
        names = _csv_names(path, lines, target)
        n = sum(1 for line in lines if line)
    return Shape(n, len(names) - 1, tuple(name for name in names if name != target))


def _csv(path: str, target: str | None, features: int | None) -> Table:
    with open(path, newline="", encoding="utf-8-sig") as file:
        lines = csv.reader(file)
        names = _csv_names(path, lines, target)
        rows = [line for line in lines if line]
    if any(len(row) != len(names) for row in rows):
        raise _refused(path, "has lines of different length", f"give {len(names)} entries a line")
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    place = _place(path, names, target)
    numbers = [_numbers(path, name, columns[i]) for i, name in enumerate(names) if i != place]
    X = np.stack(numbers, axis=1) if numbers else np.empty((len(rows), 0))
    kept = tuple(name for name in names if name != target)
    return Table(X, _labels(list(columns[place])), kept)


def _numbers(path: str, name: str, entries: Any) -> NDArray[Any]:
    try:
        return np.array([float(entry) if entry.strip() else np.nan for entry in entries])
    except ValueError:
        pass
    raise _refused(
        path,
        f"has entries in the column {name} that are not numbers",
        "encode them by a rule that does not depend on the data",
    )


def _labels(entries: list[str]) -> NDArray[Any]:
    """Whole numbers, numbers, or words."""
    for kind in (int, float):
        try:
            return np.array([kind(entry) for entry in entries])
        except ValueError:
            continue
    return np.array([entry.strip() for entry in entries])


# --- Parquet ---


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise click.ClickException(
            "DATA: a Parquet file needs pyarrow, which is not installed; "
            "pip install 'shiftdp[parquet]'"
        ) from None
    return pyarrow.parquet


def _parquet_shape(path: str, target: str | None, features: int | None) -> Shape:
    found = _parquet().ParquetFile(path)
    names = list(found.schema_arrow.names)
    _place(path, names, target)
    kept = tuple(name for name in names if name != target)
    return Shape(found.metadata.num_rows, len(kept), kept)


def _read_parquet(path: str, target: str | None, features: int | None) -> Table:
    table = _parquet().read_table(path)
    names = list(table.column_names)
    _place(path, names, target)
    kept = tuple(name for name in names if name != target)
    columns = []
    for name in kept:
        values = np.asarray(table.column(name).to_numpy())
        if values.dtype.kind not in "fiub":
            raise _refused(
                path,
                f"has entries in the column {name} that are not numbers",
                "encode them by a rule that does not depend on the data",
            )
        columns.append(values.astype(np.float64))
    y = np.asarray(table.column(target).to_numpy())
    X = np.stack(columns, axis=1) if columns else np.empty((len(y), 0))
    return Table(X, y.astype(str) if y.dtype.kind == "O" else y, kept)


# --- npz: one matrix, and the target by name ---


def _npz_arrays(path: str, target: str | None) -> dict[str, tuple[Any, ...]]:
    """Names and shapes, from the headers alone."""
    import zipfile

    found: dict[str, tuple[Any, ...]] = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            with archive.open(name) as file:
                version = np.lib.format.read_magic(file)
                header = (
                    np.lib.format.read_array_header_1_0
                    if version == (1, 0)
                    else np.lib.format.read_array_header_2_0
                )
                found[name.removesuffix(".npy")] = header(file)[0]
    _place(path, list(found), target)
    return found


def _matrix(path: str, shapes: dict[str, tuple[Any, ...]], target: str | None) -> str:
    matrices = [name for name, shape in shapes.items() if len(shape) == 2 and name != target]
    if len(matrices) != 1:
        raise _refused(path, f"has {len(matrices)} matrices beside the target", "give it one")
    return matrices[0]


def _npz_shape(path: str, target: str | None, features: int | None) -> Shape:
    shapes = _npz_arrays(path, target)
    return Shape(*shapes[_matrix(path, shapes, target)])


def _npz(path: str, target: str | None, features: int | None) -> Table:
    shapes = _npz_arrays(path, target)
    with np.load(path, allow_pickle=False) as arrays:
        X, y = arrays[_matrix(path, shapes, target)], arrays[str(target)]
    if X.dtype.kind not in "fiub":
        raise _refused(path, "has features that are not numbers", "give a matrix of numbers")
    return Table(X if X.dtype.kind == "f" else X.astype(np.float64), y)


# --- svmlight ---


def _svmlight_shape(path: str, target: str | None, features: int | None) -> Shape:
    if features is None:
        raise InvalidInput(
            "features", None, "is missing: this format does not say it", "give their number"
        )
    with open(path, encoding="utf-8") as file:
        n = sum(1 for line in file if line.split("#")[0].strip())
    return Shape(n, features)


def _svmlight(path: str, target: str | None, features: int | None) -> Table:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(path, n_features=features)
    return Table(X, y.astype(np.int64) if (y == np.floor(y)).all() else y)


_SHAPES: dict[str, Callable[[str, str | None, int | None], Shape]] = {
    "csv": _csv_shape,
    "parquet": _parquet_shape,
    "npz": _npz_shape,
    "svmlight": _svmlight_shape,
}
_READERS: dict[str, Callable[[str, str | None, int | None], Table]] = {
    "csv": _csv,
    "parquet": _read_parquet,
    "npz": _npz,
    "svmlight": _svmlight,
}
