"""Tables from files: CSV, Parquet, npz and svmlight; or only their shape, without their values.

Every record is read by itself, by rules that are public (`Rules`): nothing is guessed from the
records, so that none changes how another is read. docs/threat_model.md goes through the formats.

A refusal names the file, a column or a type, never an entry, nor which record it is about.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import click
import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.ui.labels import BadLabels, labels

Answer = TypeVar("Answer")

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


def shape_of(path: str, rules: Rules) -> Shape:
    """The shape of a table; the values are not looked at."""
    shape = quietly_read(lambda name: _SHAPES[format_of(path)](name, rules), path)
    require_records(path, shape.n)
    _require_features(path, shape.features, rules)
    return shape


def read(path: str, rules: Rules) -> Table:
    """The table itself."""
    table = quietly_read(lambda name: _READERS[format_of(path)](name, rules), path)
    require_records(path, table.X.shape[0])
    _require_features(path, table.X.shape[1], rules)
    stored = table.X if isinstance(table.X, np.ndarray) else table.X.data
    if not np.isfinite(stored).all():
        raise _refused(
            path, "has missing or infinite entries", "fill or leave them out by a public rule"
        )
    return table


def require_records(path: str, n: int) -> None:
    if n == 0:
        raise _refused(path, "has no records", "give a table with one or more")


def _require_features(path: str, found: int, rules: Rules) -> None:
    if rules.features is not None and found != rules.features:
        raise InvalidInput(
            "features", rules.features, f"is not what {path} has, {found}", "give that, or nothing"
        )


def _labels(path: str, entries: Iterable[Any], rules: Rules) -> NDArray[Any]:
    try:
        return labels(entries, rules.classes, numbers=rules.numbers)
    except BadLabels as error:
        problem = str(error)
    remedy = "give all labels in classes" if "classes" in problem else "mend them by a public rule"
    raise _refused(path, problem, remedy)


def format_of(path: str) -> str:
    ending = os.path.splitext(path)[1].lower()
    if ending not in _ENDINGS:
        raise _refused(
            path, "has an ending that is no known format", f"give one of {', '.join(_ENDINGS)}"
        )
    return _ENDINGS[ending]


def _refused(path: str, problem: str, remedy: str) -> InvalidInput:
    return InvalidInput("data", path, problem, remedy)


def quietly_read(reader: Callable[[str], Answer], path: str) -> Answer:
    """Whatever a reader complains of is not repeated: it may quote an entry."""
    try:
        return reader(path)
    except (InvalidInput, click.ClickException):
        raise
    except Exception as error:
        kind = type(error).__name__
    # outside of the handler, so that the new exception does not lead to the old one
    raise _refused(path, f"cannot be read ({kind})", "give a table in the format it names")


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
                raise _refused(
                    path, "has a carriage return inside of a line", "end lines in LF or CR LF"
                )
            if not text.strip():
                raise _refused(path, "has a blank line", "take it out: each line is a record")
            if '"' in text:
                (fields,) = csv.reader([text], strict=True)
                yield fields
            else:
                yield text.split(",")


def _csv_names(path: str, lines: Iterator[list[str]], target: str | None) -> list[str]:
    names = [name.strip() for name in next(lines, [])]
    if not names or len(set(names)) < len(names):
        raise _refused(path, "does not begin with a line of different names", "add one")
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


def _csv_shape(path: str, rules: Rules) -> Shape:
    lines = csv_lines(path)
    names = _csv_names(path, lines, rules.target)
    return Shape(sum(1 for _ in lines), len(names) - 1)


def _csv(path: str, rules: Rules) -> Table:
    lines = csv_lines(path)
    names = _csv_names(path, lines, rules.target)
    rows = list(lines)
    if any(len(row) != len(names) for row in rows):
        raise _refused(path, "has lines of different length", f"give {len(names)} entries a line")
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    place = names.index(str(rules.target))
    kept = [name for i, name in enumerate(names) if i != place]
    # a first line of numbers is a record that was taken for names, and stays unknown
    known = None if any(set(name) <= _DECIMAL for name in kept) else tuple(kept)
    shown = [f"{i + 1}" if known is None else f"{i + 1} ({names[i]})" for i in range(len(names))]
    numbers = [_numbers(path, shown[i], column) for i, column in enumerate(columns) if i != place]
    X = np.stack(numbers, axis=1) if numbers else np.empty((len(rows), 0))
    return Table(X, _labels(path, columns[place], rules), known)


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
    raise _refused(
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
    return pyarrow.parquet.ParquetFile(path)


def _parquet_shape(path: str, rules: Rules) -> Shape:
    found = parquet_file(path)
    names = list(found.schema_arrow.names)
    _place(path, names, rules.target)
    return Shape(found.metadata.num_rows, len(names) - 1)


def _parquet(path: str, rules: Rules) -> Table:
    table = parquet_file(path).read()
    names = list(table.column_names)
    place = _place(path, names, rules.target)
    # a column with missing entries becomes one of another type
    if any(table.column(i).null_count for i in range(len(names))):
        raise _refused(path, "has missing entries", "fill or leave them out by a public rule")
    columns = []
    for i, name in enumerate(names):
        if i == place:
            continue
        values = np.asarray(table.column(i).to_numpy())
        if values.dtype.kind not in "fiub":
            raise _refused(
                path,
                f"has entries in the column {name} that are not numbers",
                _ENCODE,
            )
        columns.append(values.astype(np.float64))
    y = _labels(path, table.column(place).to_pylist(), rules)
    X = np.stack(columns, axis=1) if columns else np.empty((len(y), 0))
    return Table(X, y, tuple(name for i, name in enumerate(names) if i != place))


# --- npz: one matrix, and the target by name; types are those of the arrays ---


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


def _npz_shape(path: str, rules: Rules) -> Shape:
    shapes = _npz_arrays(path, rules.target)
    return Shape(*shapes[_matrix(path, shapes, rules.target)])


def _npz(path: str, rules: Rules) -> Table:
    shapes = _npz_arrays(path, rules.target)
    with np.load(path, allow_pickle=False) as arrays:
        X, y = arrays[_matrix(path, shapes, rules.target)], arrays[str(rules.target)]
    if X.dtype.kind not in "fiub":
        raise _refused(path, "has features that are not numbers", "give a matrix of numbers")
    if y.ndim != 1 or y.dtype.kind not in "fiubU":
        raise _refused(
            path, "has a target that is no vector of numbers or words", "give one label a record"
        )
    kept = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    return Table(kept, _labels(path, y, rules))


# --- svmlight: where indices begin and how many there are is given, never read off the data ---


def _known_features(rules: Rules) -> int:
    if rules.features is None:
        raise InvalidInput(
            "features", None, "is missing: this format does not say it", "give their number"
        )
    return rules.features


def _svmlight_shape(path: str, rules: Rules) -> Shape:
    features = _known_features(rules)
    return Shape(_svmlight_lines(path), features)


def _svmlight_lines(path: str) -> int:
    """How many lines there are, each a record: one without a label would vanish."""
    n = 0
    with open(path, "rb") as file:
        for n, line in enumerate(file, 1):  # noqa: B007
            if not line.partition(b"#")[0].strip():
                raise _refused(
                    path, "has a line without a label", "take blank lines and comments out"
                )
    return n


def _svmlight(path: str, rules: Rules) -> Table:
    from sklearn.datasets import load_svmlight_file

    features = _known_features(rules)
    _svmlight_lines(path)
    try:
        X, y = load_svmlight_file(path, n_features=features, zero_based=rules.first_index == 0)
    except (ValueError, OverflowError):
        X = None
    if X is None:  # outside of the handler: what it says quotes the line
        last = rules.first_index + features - 1
        raise _refused(
            path,
            f"has a line that is not a label and pairs of an index from {rules.first_index} to "
            f"{last}, in rising order, and a number",
            "mend it, or give first_index=0 where indices begin at 0",
        )
    return Table(X, _labels(path, y, rules))


_SHAPES: dict[str, Callable[[str, Rules], Shape]] = {
    "csv": _csv_shape,
    "parquet": _parquet_shape,
    "npz": _npz_shape,
    "svmlight": _svmlight_shape,
}
_READERS: dict[str, Callable[[str, Rules], Table]] = {
    "csv": _csv,
    "parquet": _parquet,
    "npz": _npz,
    "svmlight": _svmlight,
}
