"""Arrays as .npy files of version 1.0, read without evaluating anything.

NumPy's own reader evaluates the header as a Python literal and, if it is allowed to, unpickles.
This one knows a header of one form, with types of numbers, truth values and text, and nothing is
reserved before the length of the data is known to be right.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp.training.model_file.damage import Damaged

__all__ = ["dtype_named", "is_plain", "read_npy", "write_npy"]

_MAGIC = b"\x93NUMPY\x01\x00"
_ALIGNED = 64
_DTYPE = r"\|b1|[|]i1|<i[248]|[|]u1|<u[248]|<f[248]|<U[1-9][0-9]{0,8}"
_HEADER = re.compile(
    rf"\{{'descr': '({_DTYPE})', 'fortran_order': (True|False), "
    r"'shape': \(((?:[0-9]{1,18}, ?)*(?:[0-9]{1,18})?)\), \} *\n"
)
_MOST_AXES = 8
_LAST_CHARACTER = 0x10FFFF


def is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of this type can be written: truth values, numbers of up to 64 bits, text."""
    return re.fullmatch(_DTYPE, dtype.newbyteorder("<").str) is not None


def dtype_named(name: Any) -> np.dtype[Any]:
    """One of the types that can be written, by its name in NumPy's array protocol."""
    if not isinstance(name, str) or not re.fullmatch(_DTYPE, name):
        raise Damaged("has an array of a type that is not expected")
    return np.dtype(name)


def write_npy(array: NDArray[Any]) -> bytes:
    """The file of an array; whether it lies in rows or in columns is kept, so that sums are."""
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    columns = little.flags.f_contiguous and not little.flags.c_contiguous
    shape = repr(tuple(int(size) for size in array.shape))
    header = f"{{'descr': '{little.dtype.str}', 'fortran_order': {columns}, 'shape': {shape}, }}"
    padding = -(len(_MAGIC) + 2 + len(header) + 1) % _ALIGNED
    text = (header + " " * padding + "\n").encode("ascii")
    data = little.tobytes(order="F" if columns else "C")
    return _MAGIC + len(text).to_bytes(2, "little") + text + data


def read_npy(content: bytes) -> NDArray[Any]:
    """The array in a file that `write_npy` wrote; anything else is `Damaged`.

    >>> read_npy(write_npy(np.array([[1.0, 2.0]])))
    array([[1., 2.]])
    """
    begin = len(_MAGIC) + 2
    length = int.from_bytes(content[len(_MAGIC) : begin], "little")
    try:
        text = content[begin : begin + length].decode("ascii")
    except UnicodeDecodeError:
        text = ""
    match = _HEADER.fullmatch(text)
    if not content.startswith(_MAGIC) or match is None:
        raise Damaged("has an array whose header is not as it was written")
    dtype = dtype_named(match[1])
    shape = tuple(int(size) for size in match[3].split(",") if size.strip())
    data = content[begin + length :]
    if len(shape) > _MOST_AXES or math.prod(shape) * dtype.itemsize != len(data):
        raise Damaged("has an array of another size than it says")
    flat = np.frombuffer(data, dtype=dtype) if data else np.empty(0, dtype=dtype)
    _check_entries(flat)
    try:
        array = flat.reshape(shape, order="F" if match[2] == "True" else "C").copy(order="K")
    except ValueError as error:  # nothing, of a size that is beyond counting
        raise Damaged("has an array of another size than it says") from error
    # the byte order of this machine
    native = array.astype(dtype.newbyteorder("="), copy=False)
    if write_npy(native) != content:
        raise Damaged("has an array that is not as it was written")
    return native


def _check_entries(flat: NDArray[Any]) -> None:
    """Refuse bytes that are no truth value, and code points that are no character.

    NumPy would read both without a word.
    """
    if flat.dtype.kind == "b" and (flat.view(np.uint8) > 1).any():
        raise Damaged("has truth values that are neither true nor false")
    if flat.dtype.kind == "U":
        codes = flat.view(np.uint32)
        if ((codes > _LAST_CHARACTER) | ((codes >= 0xD800) & (codes < 0xE000))).any():
            raise Damaged("has text that is none")
