"""Features and labels as they are given to an estimator: every entry is read by itself.

What one record holds must not change how another is read, or a model depends on a record in ways
that no certificate covers. NumPy does let it: a list becomes text if one entry is text, and whole
numbers beyond 2^53 lose digits if one entry is a fraction. So a type is taken from an array or a
data frame, which has one whatever its entries are, and a list is float64, entry by entry. Where
entries disagree about what they are, the data are refused.

A refusal tells shapes and types, never an entry, nor how long an entry is. What scikit-learn, NumPy
or pandas complain of may quote entries, and is repeated only where it is known not to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from shiftdp._errors import InvalidInput, ShiftdpError
from shiftdp._rounding import LARGEST_WHOLE
from shiftdp.training.descent.disk import blocks, is_mapped, let_go, on_disk
from shiftdp.training.descent.records import is_collection
from shiftdp.training.descent.sparse import wide_if_summed
from shiftdp.training.losses.base import described

Answer = TypeVar("Answer")

_NUMBERS = "fiub"
_KNOWN = [
    re.compile(pattern)
    for pattern in (
        r"Found array with \d+ (?:sample|feature)\(s\) \(shape=\([\d, ]*\)\) while a minimum of "
        r"\d+ is required(?: by \w+)?\.",
        r"Found input variables with inconsistent numbers of samples: \[[\d, ]*\]",
        r"Expected 2D (?:array|input), got (?:1D|scalar) (?:array|input) instead",
        r"Input [Xy] contains NaN\.",
        r"Input [Xy] contains infinity or a value too large for dtype\('float\d+'\)\.",
        r"X has \d+ features, but \w+ is expecting \d+ features as input\.?",
        r"X is missing feature names|X has feature names, but \w+ was fitted without feature names",
        r"[\w ]*requires y to be passed, but the target y is None\.?",
        r"y should be a 1d array, got an array of shape \([\d, ]*\) instead\.",
        r"Unknown label type: [\w-]+\.(?: Maybe you are trying to fit a classifier, which expects "
        r"discrete classes on a regression target with continuous values\.)?",
        r"(?:float|int)\(\) argument must be a string or a (?:real )?number, not '\w+'",
        r"setting an array element with a sequence\.",
        # names of columns: public, like their number
        r"(?s)The feature names should match those that were passed during fit\..*",
        r"Feature names are only supported if all input features have string names.*",
    )
]


def quietly(check: Callable[[], Answer], X: Any, y: Any = None) -> Answer:
    """Call a check of scikit-learn, NumPy or pandas so that its errors quote no entry of the data.

    Sums and conversions in it may overflow, which is no fault of finite data: nothing warns.
    """
    try:
        with np.errstate(all="ignore"):
            return check()
    except (ShiftdpError, Warning):
        raise
    except Exception as error:
        problem = _without_entries(error, X, y)
    # outside of the handler, so that the new exception does not lead to the old one
    raise problem


def _without_entries(error: Exception, X: Any, y: Any) -> Exception:
    text = str(error)
    for pattern in _KNOWN:
        found = pattern.match(text)
        if found:
            if "contains" in found[0]:
                name = found[0][len("Input ")]
                given = described(X if name == "X" else y)
                problem = found[0].split(" ", 2)[2].rstrip(".")
                return InvalidInput(name, given, problem, "give numbers that are finite in float64")
            kind = TypeError if isinstance(error, TypeError) else ValueError
            reshape = ". Reshape your data: one row a record" if "2D" in found[0] else ""
            return kind(found[0] + reshape)
    return InvalidInput(
        "X" if y is None else "X, y",
        described(X) if y is None else (described(X), described(y)),
        f"cannot be read as numbers and labels ({type(error).__name__})",
        "give a matrix of finite numbers, one row a record, and a label for each",
    )


def readable(X: Any) -> Any:
    """Features in a form that scikit-learn converts without overflow: see `wide_if_summed`.

    Whole numbers in a mapped file become floats in another one, and not in memory.
    """
    if is_mapped(X) and X.ndim == 2 and X.dtype.kind in "iub":
        made = on_disk(X.shape)
        for part in blocks(len(X), X.shape[1] * 8):
            made[part] = X[part]
            let_go(X[part])
            let_go(made[part])
        return made
    return wide_if_summed(X) if _is_sparse(X) else X


def require_one_a_record(X: Any, y: NDArray[Any]) -> None:
    """What scikit-learn would ask of labels in a file, had it not to read all of them at once.

    Numbers that are not finite are refused where a loss is told them, block by block.
    """
    n = X.shape[0]
    if y.shape != (n,):
        raise InvalidInput("y", described(y), f"does not have {n} entries", "give one a record")


def validated(model: Any, X: Any, *labels: Any, **more: Any) -> Any:
    """Features, and labels if there are some, as scikit-learn checks and converts them.

    float32 stays only where it is the type of an array. Of a mapped file scikit-learn would read
    everything at once to find entries that are not finite: they are refused where lengths of rows
    are computed.

    Args:
        model: the estimator, which keeps the number and the names of the features on `reset`.
        X: features.
        labels: those that were read by `labels_of`, if any.
        more: what else scikit-learn is told.
    """
    require_numbers(X)
    table = readable(X)
    kept = isinstance(table, np.ndarray) or _is_sparse(table)
    types: Any = [np.float64, np.float32] if kept else np.float64
    if is_mapped(table):
        more["ensure_all_finite"] = False

    def check() -> Any:
        return validate_data(model, table, *labels, accept_sparse="csr", dtype=types, **more)

    return quietly(check, table, *labels)


def require_here(**given: Any) -> None:
    """Refuse a collection of Dask: all of it would be read into the memory of this process."""
    for name, value in given.items():
        if is_collection(value):
            raise InvalidInput(
                name,
                f"<{type(value).__name__}>",
                "is a Dask collection, which only fit takes, for X and y together",
                "compute it, or give its blocks one by one: X.map_partitions(model.predict)",
            )


def require_numbers(X: Any) -> None:
    """Refuse features that are not real numbers, before anything is made of them."""
    columns = getattr(X, "columns", None)
    if _is_sparse(X):
        _require_kind("X", X, X.dtype)
    elif columns is not None and hasattr(X, "dtypes"):
        types = np.asarray(list(X.dtypes), dtype=object)
        for place, dtype in enumerate(types):
            if getattr(dtype, "kind", "O") not in _NUMBERS:
                one = X.iloc[:, place] if hasattr(X, "iloc") else X[columns[place]]
                _require_entries("X", X, np.asarray(one))
    elif X is not None and not isinstance(X, str):
        _require_entries("X", X, quietly(lambda: np.asarray(X), X))


def _require_entries(name: str, given: Any, array: NDArray[Any]) -> None:
    if array.dtype.kind != "O":
        _require_kind(name, given, array.dtype)
    elif any(isinstance(entry, (str, bytes, complex)) for entry in array.flat):
        raise _not_numbers(name, given)


def _require_kind(name: str, given: Any, dtype: np.dtype[Any]) -> None:
    if dtype.kind == "c":
        raise InvalidInput(
            name, described(given), "is complex. Complex data not supported", "give real numbers"
        )
    if dtype.kind not in _NUMBERS:
        raise _not_numbers(name, given)


def _not_numbers(name: str, given: Any) -> InvalidInput:
    return InvalidInput(
        name,
        described(given),
        "has entries that are not numbers",
        "encode them by a rule that does not depend on the data",
    )


def labels_of(y: Any, *, numbers: bool = False) -> Any:
    """Labels of one type, which no single label decides.

    Args:
        y: an array, a column of a data frame, or a list.
        numbers: whether they have to be numbers.

    >>> labels_of(["no", "yes"]).dtype.kind, labels_of([0, 1.0]).dtype
    ('O', dtype('float64'))
    >>> labels_of(["no", 1])
    Traceback (most recent call last):
    ...
    shiftdp._errors.InvalidInput: y='<list>' has labels of several types, or none; give numbers \
only, or text only
    """
    if y is None or _is_sparse(y):
        return y  # scikit-learn has words for these
    array = quietly(lambda: y if isinstance(y, np.ndarray) else np.asarray(y), y)
    own = getattr(getattr(y, "dtype", None), "kind", None)
    if array.dtype.kind == "c":
        _require_kind("y", y, array.dtype)
    if own in (*_NUMBERS, "U") and array.dtype.kind in (*_NUMBERS, "U"):
        if numbers and array.dtype.kind == "U":
            raise _not_numbers("y", y)
        return y  # the type is that of the array or the column
    if array.ndim == 0:
        return y
    entries = quietly(lambda: np.asarray(y, dtype=object), y)
    kinds = {_kind(entry) for entry in entries.flat}
    if kinds <= {"text"} and not numbers:
        return entries
    if kinds == {"number"}:
        made = quietly(lambda: np.asarray(entries.tolist()), y)
        if made.dtype.kind in _NUMBERS and not (made.dtype.kind == "f" and _rounded(entries.flat)):
            return made
        raise InvalidInput(
            "y",
            described(y),
            "has labels that no one type of numbers holds exactly",
            "give whole numbers below 2^53, or text",
        )
    if numbers:
        raise _not_numbers("y", y)
    raise InvalidInput(
        "y",
        described(y),
        "has labels of several types, or none",
        "give numbers only, or text only",
    )


def given_classes(classes: Any, y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The classes in order, and the place of each label among them."""
    try:
        known = np.unique(np.asarray(classes))
    except TypeError:
        known = np.empty(0)
    if known.ndim != 1 or known.size < 2 or known.size != np.size(classes):
        raise InvalidInput(
            "classes", classes, "are not two or more different labels", "give all labels, once each"
        )
    comparable = _alike(known, y)
    # as few bytes as the number of classes needs, and no long copies on the way
    inside = _room_for(y, np.min_scalar_type(-known.size))
    found = comparable
    for part in blocks(len(y), 8) if comparable else ():
        places = np.minimum(np.searchsorted(known, y[part]), known.size - 1)
        found = bool((known[places] == y[part]).all()) and found
        inside[part] = places
        let_go(inside[part])
        let_go(y[part])
    if not found:
        raise InvalidInput(
            "y", described(y), "has labels that are not in classes", "give all labels in classes"
        )
    return known, inside


def _alike(known: NDArray[Any], y: NDArray[Any]) -> bool:
    """Whether labels of these two types can be compared at all, and exactly."""
    words = {"U", "S", "O"}
    if known.dtype.kind in words or y.dtype.kind in words:
        return known.dtype.kind in words and y.dtype.kind in words
    # beyond, several whole numbers have the same float
    same = (known.dtype.kind == "f") == (y.dtype.kind == "f")
    return same or bool((np.abs(known.astype(np.float64)) < LARGEST_WHOLE).all())


def learnt_classes(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The classes that occur, in order, and the place of each label among them."""
    known = different(y)
    if known.size < 2:
        raise InvalidInput(
            "y", described(y), "has one class only", "give records of two classes, or classes=..."
        )
    places = _room_for(y, np.dtype(np.intp))
    for part in blocks(len(y), 8):
        places[part] = np.searchsorted(known, y[part])
        let_go(places[part])
        let_go(y[part])
    return known, places


def different(y: NDArray[Any]) -> NDArray[Any]:
    """The labels that occur, in order; a file of labels is read block by block."""
    if not is_mapped(y):
        return np.asarray(np.unique(y))
    found = y[:0]
    for part in blocks(len(y), 8):
        found = np.unique(np.concatenate([found, np.unique(y[part])]))
        let_go(y[part])
    return np.asarray(found)


def _room_for(y: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """One number for each label, where the labels are: in memory, or on disk."""
    return on_disk(len(y), dtype) if is_mapped(y) else np.zeros(len(y), dtype)


def outputs_of(model: Any, y: Any, n: int) -> int:
    """How many scores a record has, and whether the labels are as many as the records."""
    from sklearn.base import is_classifier

    labels = np.asarray(labels_of(y, numbers=not is_classifier(model)))
    labels = labels[:, 0] if labels.shape == (n, 1) else labels
    if labels.shape != (n,):
        raise InvalidInput("y", described(y), f"does not have {n} entries", "give one a record")
    if not is_classifier(model):
        return 1
    known, _ = learnt_classes(labels) if model.classes is None else given_classes(
        model.classes, labels
    )  # fmt: skip
    return 1 if known.size == 2 else int(known.size)


def _kind(entry: Any) -> str:
    if isinstance(entry, str):
        return "text"
    return "number" if isinstance(entry, (Real, np.bool_)) else "neither"


def _rounded(entries: Iterable[Any]) -> bool:
    """Whether a whole number among them has no float64 of its own."""
    return any(isinstance(e, (int, np.integer)) and abs(int(e)) > LARGEST_WHOLE for e in entries)


def _is_sparse(X: Any) -> bool:
    from scipy.sparse import issparse

    return bool(issparse(X))
