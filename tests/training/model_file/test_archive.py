"""Archives of one form: any other is refused."""

import io
import struct
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftdp import InvalidInput
from shiftdp.training.model_file import load_model
from shiftdp.training.model_file.archive import (
    Damaged,
    digest_of,
    pack,
    read_npy,
    unpack,
    write_npy,
)

MEMBERS = {"model.json": b"{}", "arrays/0000.npy": b"x" * 300, "digest.txt": b""}


def zipped(members: list[tuple[str, bytes]], **options: Any) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", **options) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name that is there twice
        for name, data in members:
            archive.writestr(name, data)
    return buffer.getvalue()


def test_an_archive_is_a_zip_file() -> None:
    data = pack(MEMBERS)
    assert unpack(data) == MEMBERS
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == MEMBERS


def test_every_changed_byte_and_every_other_length_is_refused() -> None:
    data = pack(MEMBERS)
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 0x10
        with pytest.raises(Damaged):
            unpack(bytes(changed))
        with pytest.raises(Damaged):
            unpack(data[:place])
    for more in (data + b"x", b"x" + data, data + data):
        with pytest.raises(Damaged):
            unpack(more)


@pytest.mark.parametrize(
    "data",
    [
        zipped([("model.json", b"{}")]),
        zipped([("model.json", b"{}" * 1000)], compression=zipfile.ZIP_DEFLATED),
        zipped([("model.json", b"{}"), ("model.json", b"[]")]),
        zipped([("../model.json", b"{}")]),
        zipped([]),
        pack({"../a": b""}),
        pack({"/etc": b""}),
        pack({f"{i}": b"" for i in range(10_001)}),
    ],
    ids=["other dates", "packed", "twice", "above", "empty", "up", "root", "many"],
)
def test_other_archives_are_refused(data: bytes) -> None:
    with pytest.raises(Damaged):
        unpack(data)


def test_a_declared_size_reserves_nothing() -> None:
    data = bytearray(pack({"a": b"x"}))
    struct.pack_into("<II", data, 18, 2**32 - 1, 2**32 - 1)
    with pytest.raises(Damaged):
        unpack(bytes(data))


def test_digests_tell_names_orders_and_contents_apart() -> None:
    lists = [{"a": b"bc"}, {"ab": b"c"}, {"a": b"b", "c": b""}, {"c": b"", "a": b"b"}]
    assert len({digest_of(members) for members in lists}) == 4


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


def test_a_refusal_has_the_name_of_the_file_the_problem_and_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "model.shiftdp"
    path.write_bytes(b"PK" + bytes(100))
    with pytest.raises(InvalidInput) as refusal:
        load_model(path)
    cause = refusal.value.__cause__
    assert isinstance(cause, Damaged)
    assert (refusal.value.problem, refusal.value.remedy) == (cause.problem, cause.remedy)
    assert (refusal.value.name, refusal.value.value) == ("path", str(path))
    assert cause.remedy == "give a file as save_model wrote it, unchanged"


def test_another_remedy_takes_the_place_of_looking_for_a_copy() -> None:
    damaged = Damaged("is of a later format", "upgrade shiftdp")
    assert (damaged.problem, damaged.remedy) == ("is of a later format", "upgrade shiftdp")
