"""Files for users: written whole, or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress

from shiftdp._errors import ShiftdpError


class FileNotWritten(ShiftdpError, OSError):
    """A file could not be written. Whatever was there before is still there, unchanged.

    >>> raise FileNotWritten(28, "No space left on device", "model.shiftdp")
    Traceback (most recent call last):
    ...
    shiftdp._files.FileNotWritten: model.shiftdp could not be written (No space left on device); \
what was there before is unchanged
    """

    def __init__(self, code: int | None, problem: str, path: str) -> None:
        super().__init__(code, problem, path)

    def __str__(self) -> str:
        return (
            f"{self.filename} could not be written ({self.strerror}); "
            "what was there before is unchanged"
        )


def write_file(
    path: str | os.PathLike[str], content: bytes | str, *, private: bool = False
) -> None:
    """Write a file so that, whatever happens, the old or the new content is there in full.

    The content is written to a new file in the same folder, which is brought to the disk (`fsync`)
    and then takes the place of the old one in a single step. On any failure the new file is
    removed and the old one is as it was. A link is followed; the new file has the permissions of
    the old one; what is no ordinary file (a pipe, `/dev/stdout`) is written to directly.

    Args:
        path: where to write. The folder must exist, and files can be made in it.
        content: bytes, or text that is written as UTF-8.
        private: whether a new file is for its owner alone, whatever the umask is.
    """
    data = content.encode() if isinstance(content, str) else content
    name = os.fspath(path)
    try:
        target = os.path.realpath(name)
        mode = _mode(target)
        if mode is not None and not stat.S_ISREG(mode):
            _write_through(target, data)
        else:
            _replace(target, data, mode, 0o600 if private else 0o666)
    except OSError as error:
        raise FileNotWritten(error.errno, error.strerror or str(error), name) from error


def _mode(path: str) -> int | None:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _write_through(path: str, data: bytes) -> None:
    with open(path, "wb", buffering=0) as file:
        _write_all(file.fileno(), data)


def _replace(path: str, data: bytes, mode: int | None, new: int) -> None:
    if mode is not None:
        # renaming would not ask: a file that may not be written is not replaced either
        os.close(os.open(path, os.O_WRONLY))
    folder = os.path.dirname(path)
    beside = os.path.join(folder, f".shiftdp-{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(beside, flags, new)
    try:
        try:
            if mode is not None:
                os.chmod(beside, stat.S_IMODE(mode))
            _write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
    _sync_folder(folder)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _sync_folder(folder: str) -> None:
    """The new name on the disk as well, where the system has a way to ask for it."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with suppress(OSError):  # both contents are whole: at worst the old one returns after a crash
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
