"""Archives of one form: any other is refused."""

import io
import struct
import warnings
import zipfile
from typing import Any

import pytest

from shiftdp.training.model_file.archive import digest_of, pack, unpack
from shiftdp.training.model_file.damage import Damaged

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
