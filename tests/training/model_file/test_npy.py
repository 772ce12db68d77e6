"""Arrays of one form come back in their layout; any other is refused."""

import io
from typing import Any

import numpy as np
import pytest

from shiftdp.training.model_file.damage import Damaged
from shiftdp.training.model_file.npy import read_npy, write_npy


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(6, dtype=np.float32)[::2],
        np.arange(6, dtype=">i4"),
        np.array([True, False]),
        np.array(["a", "", "äöü"]),
        np.array(3.5),
        np.empty((0, 3)),
        np.array([np.nan, -0.0, np.inf], dtype=np.float16),
    ],
    ids=lambda array: f"{array.dtype} {array.shape}",
)
def test_arrays_come_back_in_their_layout(array: Any) -> None:
    content = write_npy(array)
    copy = read_npy(content)
    np.testing.assert_array_equal(copy, array)
    assert copy.dtype == array.dtype.newbyteorder("=")
    assert copy.flags.writeable
    assert copy.flags.aligned
    if array.flags.contiguous:
        assert copy.flags.f_contiguous == array.flags.f_contiguous
    np.testing.assert_array_equal(np.load(io.BytesIO(content), allow_pickle=False), array)


def saved(array: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def headed(header: str, data: bytes = b"") -> bytes:
    text = header.encode("latin-1") + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


@pytest.mark.parametrize(
    "content",
    [
        saved(np.array([print], dtype=object), allow_pickle=True),
        saved(np.array([1 + 2j])),
        saved(np.array([("a", 1)], dtype=[("x", "U1"), ("y", "i4")])),
        saved(np.array(["2020-01-01"], dtype="M8[D]")),
        saved(np.arange(3, dtype=">f8")),
        saved(np.arange(3.0))[:-1],
        saved(np.arange(3.0)) + b"x",
        headed("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"),
        headed("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 999999999999999999, 999999999999999999, 999999999999999999), }"),  # noqa: E501
        headed("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }"),
        headed("{'descr': '<f8', 'fortran_order': False, 'shape': " + "(" * 5000),
        headed("{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }", b"\x02"),
        headed("{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }", b"\xff\xff\xff\xff"),
        headed("__import__('os').system('true')"),
        b"",
        b"\x93NUMPY",
        b"\x93NUMPY\x03\x00" + bytes(60),
    ],
    ids=(
        "objects", "complex", "records", "dates", "big-endian", "short", "long", "huge", "endless",
        "negative", "deep", "truth", "text", "code", "nothing", "magic", "version",
    ),
)  # fmt: skip
def test_other_arrays_are_refused(content: bytes) -> None:
    with pytest.raises(Damaged):
        read_npy(content)
