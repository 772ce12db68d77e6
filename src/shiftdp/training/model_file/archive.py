"""A zip archive of which there is one form only, and a digest of what is in it.

Any program that knows zip can open such a file. Members are stored as they are: without
compression nothing can be larger than the file itself. The reader walks through the members and
then makes the archive anew: a file that differs from that in a single byte (another order, a
repeated name, a comment, something before or after) is refused.
"""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from collections.abc import Mapping

from shiftdp.training.model_file.damage import Damaged

__all__ = ["LONGEST", "digest_of", "pack", "unpack"]

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
