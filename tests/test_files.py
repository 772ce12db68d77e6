"""Files are written whole or not at all: on full disks, in closed folders, and through links."""

import os
import pickle
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shiftdp._errors import ShiftdpError
from shiftdp._files import FileNotWritten, write_file

OLD, NEW = b"old" * 100, b"new" * 100_000


@contextmanager
def nobody() -> Iterator[None]:
    """The superuser may write everywhere, so the tests of closed folders give that up."""
    own = os.geteuid()
    if own == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(own)


def only(path: Path) -> None:
    """Nothing was left beside the file."""
    assert [child.name for child in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("content", [NEW, "text äöü\n", b""], ids=["bytes", "text", "nothing"])
@pytest.mark.parametrize("old", [None, OLD], ids=["new", "replaced"])
def test_a_file_is_written(tmp_path: Path, content: bytes | str, old: bytes | None) -> None:
    path = tmp_path / "file"
    if old is not None:
        path.write_bytes(old)
    write_file(path, content)
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    only(path)


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(OLD)
    path.chmod(0o640)
    link.symlink_to(path)
    write_file(link, NEW)
    assert link.is_symlink()
    assert path.read_bytes() == NEW
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    usual, path = tmp_path / "usual", tmp_path / "file"
    usual.touch()
    write_file(path, NEW)
    assert path.stat().st_mode == usual.stat().st_mode


LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
from shiftdp._files import FileNotWritten, write_file
try:
    write_file(sys.argv[1], b"new" * 100_000)
except FileNotWritten as error:
    print(error)
"""


def test_a_file_that_grows_too_large_leaves_the_old_one(tmp_path: Path) -> None:
    """A limit on the size of files: a full disk that every system can make."""
    path = tmp_path / "file"
    path.write_bytes(OLD)
    command = [sys.executable, "-c", LIMITED, str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.startswith(f"{path} could not be written (File too large)")
    assert path.read_bytes() == OLD
    only(path)


def test_a_full_disk_leaves_the_old_one(tmp_path: Path) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(tmp_path)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small disk can be made by the superuser only")
    try:
        path = tmp_path / "file"
        path.write_bytes(OLD)
        with pytest.raises(FileNotWritten, match="No space left on device"):
            write_file(path, NEW)
        assert path.read_bytes() == OLD
        only(path)
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_devices_and_pipes_are_written_to_directly() -> None:
    write_file(os.devnull, NEW)
    assert not stat.S_ISREG(os.stat(os.devnull).st_mode)
    if os.path.exists("/dev/full"):
        with pytest.raises(FileNotWritten, match="No space left on device"):
            write_file("/dev/full", NEW)


def test_closed_folders_and_closed_files(tmp_path: Path) -> None:
    for part in (tmp_path, *list(tmp_path.parents)[:2]):  # the folders that pytest made
        part.chmod(0o755)
    path = tmp_path / "file"
    path.write_bytes(OLD)
    path.chmod(0o666)
    tmp_path.chmod(0o555)
    with nobody(), pytest.raises(FileNotWritten, match="Permission denied"):
        write_file(path, NEW)
    path.chmod(0o444)
    tmp_path.chmod(0o777)
    with nobody(), pytest.raises(FileNotWritten, match="Permission denied"):
        write_file(path, NEW)
    assert path.read_bytes() == OLD
    only(path)


def test_an_interruption_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)

    def interrupted(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_file(path, NEW)
    assert path.read_bytes() == OLD
    only(path)


@pytest.mark.parametrize("name", ["none/file", ""], ids=["no folder", "a folder"])
def test_where_no_file_can_be(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileNotWritten) as refusal:
        write_file(tmp_path / name, NEW)
    assert isinstance(refusal.value, ShiftdpError)
    assert isinstance(refusal.value, OSError)
    assert str(pickle.loads(pickle.dumps(refusal.value))) == str(refusal.value)
    assert not list(tmp_path.iterdir())
