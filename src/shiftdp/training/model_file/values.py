"""Plain data as JSON and arrays: what parameters and fitted attributes may be made of.

JSON has null, truth values, whole numbers, finite numbers, text and lists. Everything else is an
object with one key that says what it is: `{"tuple": [...]}`, `{"array": 3}` for the array in the
member `arrays/0003.npy`. The kinds are the branches of `Writer.write` and the methods of
`Reader`, and there are no others: no name of a class or a function in a file is ever looked up
outside the lists of this package.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.training.model_file.archive import Damaged, dtype_named, is_plain, read_npy, write_npy

_DEEPEST = 60  # objects inside objects
_WHOLE = 2**64  # whole numbers beyond it are no parameters
_LONGEST = 10**6  # numbers in a range
_WORDS = {"nan": np.nan, "inf": math.inf, "-inf": -math.inf}
_TYPES: dict[str, type] = {
    **{f"numpy.{kind.__name__}": kind for kind in (
        np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
        np.float16, np.float32, np.float64, np.str_, np.object_, np.number, np.integer, np.floating,
    )},
    **{kind.__name__: kind for kind in (bool, int, float, str, object)},
}  # fmt: skip
_TYPE_NAMES = {kind: name for name, kind in _TYPES.items()}

Special = Callable[["Writer", Any, str], Any]
"""Writes what is no plain data, or returns None."""


class Writer:
    """Turns values into JSON and collects their arrays.

    Args:
        special: knows more kinds of values, such as the transformers of scikit-learn.
    """

    def __init__(self, special: Special | None = None) -> None:
        self.arrays: list[bytes] = []
        self._special = special
        self._depth = 0

    def write(self, value: Any, where: str) -> Any:
        """The value as JSON; refused where it cannot be held.

        Args:
            value: of one of the known kinds.
            where: its place in the model, for messages.
        """
        self._depth += 1
        try:
            if self._depth > _DEEPEST:
                raise _refusal(value, where, "is nested too deeply")
            return self._write(value, where)
        finally:
            self._depth -= 1

    def _write(self, value: Any, where: str) -> Any:
        kind = type(value)
        if value is None or kind in (bool, str):
            return value
        if kind is int and abs(value) < _WHOLE:
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind is list:
            return [self.write(item, where) for item in value]
        if kind is tuple:
            named = len(value) > 1 and type(value[0]) is str  # a step of a pipeline
            inside = f"{where}[{value[0]!r}]" if named else where
            return {"tuple": [self.write(item, inside) for item in value]}
        if kind is dict:
            pairs = [(self._key(key, where), item) for key, item in value.items()]
            return {"dict": [[key, self.write(item, f"{where}[{key!r}]")] for key, item in pairs]}
        if kind in (slice, range):
            parts = [value.start, value.stop, value.step]
            return {kind.__name__: [self.write(part, where) for part in parts]}
        if kind is np.ndarray:
            return self._array(value, where)
        if isinstance(value, np.generic) and is_plain(value.dtype):
            return {"scalar": self._kept(np.asarray(value))}
        if isinstance(value, np.dtype) and (is_plain(value) or value.kind == "O"):
            return {"dtype": value.newbyteorder("<").str}
        if isinstance(value, type) and value in _TYPE_NAMES:
            return {"type": _TYPE_NAMES[value]}
        if kind.__module__.startswith("scipy.sparse") and value.format in ("csr", "csc"):
            return {"sparse": self._sparse(value, where)}
        found = None if self._special is None else self._special(self, value, where)
        if found is None:
            raise _refusal(value, where, "cannot be held in a model file")
        return found

    def _key(self, key: Any, where: str) -> Any:
        if key is None or type(key) in (bool, str, int):
            return self.write(key, where)
        raise _refusal(key, where, "is the key of a dictionary and neither text nor a whole number")

    def _array(self, array: NDArray[Any], where: str) -> Any:
        if is_plain(array.dtype):
            return {"array": self._kept(array)}
        if array.dtype.kind != "O":
            raise _refusal(
                array.dtype, where, "is the type of an array of neither numbers nor text"
            )
        items = [self.write(item, where) for item in array.ravel(order="C").tolist()]
        return {"objects": [list(array.shape), items]}

    def _sparse(self, matrix: Any, where: str) -> Any:
        name = type(matrix).__name__
        if name not in _SPARSE:
            raise _refusal(matrix, where, "cannot be held in a model file")
        arrays = [self._array(part, where) for part in (matrix.data, matrix.indices, matrix.indptr)]
        return [name, [int(size) for size in matrix.shape], *arrays]

    def _kept(self, array: NDArray[Any]) -> int:
        self.arrays.append(write_npy(array))
        return len(self.arrays) - 1


_SPARSE = ("csr_matrix", "csc_matrix", "csr_array", "csc_array")


class ArrayReader:
    """The arrays of a file, each of which is referred to once, in order.

    Args:
        arrays: the contents of the members, by their numbers.
    """

    def __init__(self, arrays: Sequence[bytes]) -> None:
        self._arrays = arrays
        self._next = 0

    def take(self, number: Any) -> NDArray[Any]:
        if type(number) is not int or number != self._next or number >= len(self._arrays):
            raise Damaged("refers to an array that is not there, or not in turn")
        self._next += 1
        return read_npy(self._arrays[number])

    def require_all_used(self) -> None:
        if self._next != len(self._arrays):
            raise Damaged("has arrays that nothing refers to")


class Reader:
    """The inverse of `Writer`.

    Args:
        arrays: those of the file.
        special: reads more kinds, by their key.
    """

    def __init__(
        self,
        arrays: ArrayReader,
        special: Mapping[str, Callable[[Reader, Any], Any]] | None = None,
    ) -> None:
        self._arrays = arrays
        self._depth = 0
        self._kinds: dict[str, Callable[[Reader, Any], Any]] = {
            "float": Reader._float,
            "tuple": Reader._tuple,
            "dict": Reader._dict,
            "slice": Reader._slice,
            "range": Reader._range,
            "array": Reader._array,
            "scalar": Reader._scalar,
            "objects": Reader._objects,
            "dtype": Reader._dtype,
            "type": Reader._type,
            "sparse": Reader._sparse,
            **(special or {}),
        }

    def read(self, value: Any) -> Any:
        """The value that a JSON value stands for."""
        self._depth += 1
        try:
            if self._depth > _DEEPEST:
                raise Damaged("is nested too deeply")
            if isinstance(value, list):
                return [self.read(item) for item in value]
            if not isinstance(value, dict):
                return value
            kind, content = only_key(value)
            if kind not in self._kinds:
                raise Damaged("has a value of a kind that is not known")
            return self._kinds[kind](self, content)
        finally:
            self._depth -= 1

    def _float(self, word: Any) -> float:
        return float(_known(_WORDS, word)) if word != "nan" else np.nan

    def _tuple(self, items: Any) -> tuple[Any, ...]:
        return tuple(self.read(item) for item in _list(items))

    def _dict(self, pairs: Any) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for pair in _list(pairs):
            key, item = _list(pair, 2)
            if isinstance(key, (list, dict, float)) or key in found:
                raise Damaged("has a dictionary whose keys are not as they were written")
            found[key] = self.read(item)
        return found

    def _slice(self, parts: Any) -> slice:
        start, stop, step = (self.read(part) for part in _list(parts, 3))
        return slice(start, stop, step)

    def _range(self, parts: Any) -> range:
        found = range(*_list(parts, 3))
        # len() of what is beyond counting raises
        if max(map(abs, (found.start, found.stop, found.step))) >= _WHOLE or len(found) > _LONGEST:
            raise Damaged("has a range that is too long")
        return found

    def _array(self, number: Any) -> NDArray[Any]:
        return self._arrays.take(number)

    def _scalar(self, number: Any) -> Any:
        array = self._arrays.take(number)
        if array.ndim != 0:
            raise Damaged("has an array in the place of a number")
        return array[()]

    def _objects(self, content: Any) -> NDArray[Any]:
        shape, items = (_list(part) for part in _list(content, 2))
        if any(type(size) is not int or size < 0 for size in shape) or len(shape) > 8:
            raise Damaged("has an array of no shape")
        if math.prod(shape) != len(items):
            raise Damaged("has an array of another size than it says")
        flat = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):
            flat[i] = self.read(item)
        return flat.reshape(shape)

    def _dtype(self, name: Any) -> np.dtype[Any]:
        return np.dtype(object) if name == "|O" else dtype_named(name).newbyteorder("=")

    def _type(self, name: Any) -> type:
        kind: type = _known(_TYPES, name)
        return kind

    def _sparse(self, content: Any) -> Any:
        from scipy import sparse

        name, shape, *parts = _list(content, 5)
        kind = getattr(sparse, _known({known: known for known in _SPARSE}, name))
        data, indices, indptr = (self.read(part) for part in parts)
        if any(type(size) is not int for size in _list(shape, 2)):
            raise Damaged("has a matrix of no shape")
        matrix = kind((data, indices, indptr), shape=tuple(shape))
        matrix.check_format(full_check=True)  # compiled code believes these indices
        return matrix


def only_key(value: Any) -> tuple[str, Any]:
    """The key and the content of an object with one key."""
    if not isinstance(value, dict) or len(value) != 1:
        raise Damaged("has a value of a kind that is not known")
    return next(iter(value.items()))


def fields_of(value: Any, names: Sequence[str]) -> list[Any]:
    """The fields of an object that has exactly these, in this order."""
    if not isinstance(value, dict) or list(value) != list(names):
        raise Damaged("has fields that are missing, or not expected")
    return list(value.values())


def _list(value: Any, length: int | None = None) -> list[Any]:
    if not isinstance(value, list) or (length is not None and len(value) != length):
        raise Damaged("has a list of another length")
    return value


def _known(table: Mapping[str, Any], name: Any) -> Any:
    if not isinstance(name, str) or name not in table:
        raise Damaged("has a name that is not known")
    return table[name]


def _refusal(value: Any, where: str, problem: str) -> InvalidInput:
    kind = type(value)
    named = f"{kind.__module__}.{kind.__qualname__}"
    if callable(value) and hasattr(value, "__qualname__"):
        named = f"{value.__module__}.{value.__qualname__}"
    remedy = (
        "it holds numbers, text, arrays, and the transformers of scikit-learn that "
        "docs/training.md lists: apply anything else before the pipeline, in your own program"
    )
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        remedy = "call set_params(random_state=None) first, which does not change a fitted model"
    return InvalidInput(where, f"<{named}>", problem, remedy)
