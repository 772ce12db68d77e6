"""A zip archive of which there is one form only, arrays in it, and a digest of what is in it.

Any program that knows zip can open such a file. Members are stored as they are: without
compression nothing can be larger than the file itself. The reader walks through the members and
then makes the archive anew: a file that differs from that in a single byte (another order, a
repeated name, a comment, something before or after) is refused.

Arrays are .npy files of version 1.0. NumPy's own reader evaluates the header as a Python literal
and, if it is allowed to, unpickles. This one knows a header of one form, with types of numbers,
truth values and text, and nothing is reserved before the length of the data is known to be right.
"""

from __future__ import annotations

import hashlib
import math
import re
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

LONGEST = 2**31 - 1
"""Bytes of a file: the sizes in a zip archive are numbers of 32 bits."""

_MOST = 10_000  # members
_NAME = re.compile(rb"[a-z0-9]{1,20}(/[0-9]{4})?(\.[a-z]{3,4})?")
_LOCAL, _CENTRAL, _END = b"PK\3\4", b"PK\1\2", b"PK\5\6"
_VERSION, _FLAGS, _STORED, _TIME, _DATE = 10, 0, 0, 0, 0x21  # midnight, 1 January 1980
_LOCAL_FORM = struct.Struct("<4s5H3I2H")
_CENTRAL_FORM = struct.Struct("<4s6H3I5H2I")
_END_FORM = struct.Struct("<4s4H2IH")


def pack(members: Mapping[str, bytes]) -> bytes:
    """The archive of these members, in this order.

    >>> unpack(pack({"a": b"one", "b": b"two"}))
    {'a': b'one', 'b': b'two'}
    """
    parts: list[bytes] = []
    directory: list[bytes] = []
    offset = 0
    for name, data in members.items():
        encoded = name.encode("ascii")
        common = (_FLAGS, _STORED, _TIME, _DATE, zlib.crc32(data), len(data), len(data))
        size = len(encoded), 0
        parts += [_LOCAL_FORM.pack(_LOCAL, _VERSION, *common, *size), encoded, data]
        entry = _CENTRAL_FORM.pack(_CENTRAL, _VERSION, _VERSION, *common, *size, 0, 0, 0, 0, offset)
        directory += [entry, encoded]
        offset += _LOCAL_FORM.size + len(encoded) + len(data)
    count, length = len(members), sum(map(len, directory))
    end = _END_FORM.pack(_END, 0, 0, count, count, length, offset, 0)
    return b"".join([*parts, *directory, end])


def unpack(data: bytes) -> dict[str, bytes]:
    """The members of an archive that `pack` made; anything else is `Damaged`."""
    members: dict[str, bytes] = {}
    offset = 0
    while data[offset : offset + 4] == _LOCAL:
        start = offset + _LOCAL_FORM.size
        if len(data) < start or len(members) == _MOST:
            raise Damaged("is cut off, or no archive of this kind")
        fields = _LOCAL_FORM.unpack_from(data, offset)
        size, length = fields[8], fields[9]
        name, offset = data[start : start + length], start + length + size
        if not _NAME.fullmatch(name) or offset > len(data) or name.decode() in members:
            raise Damaged("has a part that is cut off, or whose name is not expected")
        members[name.decode()] = data[start + length : offset]
    if not members or pack(members) != data:
        raise Damaged("is not an archive as it was written")
    return members


def digest_of(members: Mapping[str, bytes]) -> str:
    """The SHA-256 of all members with their names and lengths, so that none can stand for another.

    >>> digest_of({"a": b"b"}) == digest_of({"ab": b""})
    False
    """
    total = hashlib.sha256()
    for name, data in members.items():
        total.update(f"{name} {len(data)}\n".encode())
        total.update(data)
    return total.hexdigest()


_MAGIC = b"\x93NUMPY\x01\x00"
_ALIGNED = 64  # bytes: as NumPy writes it, the header is a multiple of so many long
_DTYPE = r"\|b1|[|]i1|<i[248]|[|]u1|<u[248]|<f[248]|<U[1-9][0-9]{0,8}"
_HEADER = re.compile(
    rf"\{{'descr': '({_DTYPE})', 'fortran_order': (True|False), "
    r"'shape': \(((?:[0-9]{1,18}, ?)*(?:[0-9]{1,18})?)\), \} *\n"
)
_MOST_AXES = 8  # of an array, more than any model has
_LAST_CHARACTER = 0x10FFFF  # of Unicode


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


class Damaged(Exception):
    """What is wrong with the content of a model file, to be said in one refusal.

    Args:
        problem: continues a sentence that begins with the name of the file.
        remedy: what to do, if it is not to look for an undamaged copy.
    """

    def __init__(
        self, problem: str, remedy: str = "give a file as save_model wrote it, unchanged"
    ) -> None:
        super().__init__(problem, remedy)
        self.problem = problem
        self.remedy = remedy
