"""The file that a run is kept in: encrypted under the user's key, with a counter beside it.

What is in it is an iterate that no certificate pays for, so there is no way to have it in clear: it
is encrypted by AES-256 in Galois/counter mode, which also finds every change. The counter, in
`path` + ".count", tells an older copy of the file from the last one. What the two are for is proved
in `resume`.
"""

from __future__ import annotations

import io
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import count
from shiftdp._errors import InvalidInput, ShiftdpError
from shiftdp._files import write_file
from shiftdp.training.descent.entropy import MissingPackage

_MAGIC = b"shiftdp-state/1\n"
_RUN, _SERIAL, _NONCE = 16, 8, 12  # bytes of the name of a run, of its counter, and of a nonce
_KEY = 32  # bytes of a key of AES-256


class StateRefused(ShiftdpError):
    """A state that cannot be gone on from: of another run, an older one, in use, or damaged."""


def new_key() -> bytes:
    """A key for an `EncryptedState`: 32 random bytes, to be kept apart from the file.

    >>> len(new_key())
    32
    """
    return secrets.token_bytes(_KEY)


@dataclass(frozen=True, repr=False)
class EncryptedState:
    """Where the state of one run is kept, so that it can go on in another process.

    Give the same to `fit` or `descend` again, with the same plan and the same records, and the run
    goes on after the last step that was saved; from the beginning if there is no file. When it
    is finished the file holds the released model, which is what a further call returns.

    Args:
        path: of the file. A counter is kept beside it, in `path` + ".count".
        key: 32 bytes, by `new_key`. Without it nothing can be read.
        every: after how many steps the state is saved. Those that follow are lost with the process.
    """

    path: str | os.PathLike[str]
    key: bytes
    every: int = 100

    def __post_init__(self) -> None:
        given: object = self.key
        if not isinstance(given, bytes) or len(given) != _KEY:
            raise InvalidInput(
                "key",
                None if given is None else "<key>",
                f"is not {_KEY} bytes, and an iterate on disk in clear would be a release",
                "give new_key(), and keep it; iterates that may be seen are declared with "
                "releases=... and taken from checkpoints=...",
            )
        object.__setattr__(self, "every", count("every", self.every, 1))


class StateFile:
    """The file of one run: arrays by name, each version of it with a number.

    Attributes:
        run: a name for the run, which is the same in all versions.
    """

    def __init__(self, state: EncryptedState) -> None:
        _cipher(state.key)  # the package is there
        if not Path(state.path).parent.is_dir():
            raise InvalidInput(
                "state", os.fspath(state.path), "is in no folder that is there", "make the folder"
            )
        self._path, self._key = state.path, state.key
        self._process = os.getpid()
        self._name, self._serial = secrets.token_bytes(_RUN), 0

    @property
    def run(self) -> str:
        return self._name.hex()

    @property
    def exists(self) -> bool:
        return Path(self._path).exists()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the file while the run is under way, where the system has locks."""
        try:
            import fcntl
        except ImportError:
            yield
            return
        with open(f"{os.fspath(self._path)}.lock", "ab", opener=_private) as file:
            taken = False
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                taken = True
            if taken:
                raise self.refused("is in use by another process", "wait for it to end")
            yield

    def write(self, content: Mapping[str, Any]) -> None:
        """A new version, in place of the last one."""
        if os.getpid() != self._process:  # it has the lock of its parent, and the same state
            raise self.refused("is in use by the parent of this process", "go on there")
        if self._serial == 0:
            self._count()  # a state without a counter is refused, so there is one before
        self._serial += 1
        text = io.BytesIO()
        np.savez(text, **content)
        head = _MAGIC + self._name + self._serial.to_bytes(_SERIAL, "big")
        nonce = secrets.token_bytes(_NONCE)
        hidden = _cipher(self._key).encrypt(nonce, text.getvalue(), head)
        # the state first: one that is ahead of its counter is the last one, too
        write_file(self._path, head + nonce + hidden, private=True)
        self._count()

    def read(self) -> dict[str, NDArray[Any]]:
        """What is in the file; refused if it was changed. The name of its run is taken over."""
        raw = Path(self._path).read_bytes()
        begin = len(_MAGIC) + _RUN + _SERIAL
        head, nonce, hidden = raw[:begin], raw[begin : begin + _NONCE], raw[begin + _NONCE :]
        text = None
        if head.startswith(_MAGIC):
            text = _decrypted(self._key, nonce, hidden, head)
        if text is None:
            raise self.refused("was changed, or has another key", "give its own key")
        self._name = head[len(_MAGIC) : -_SERIAL]
        self._serial = int.from_bytes(head[-_SERIAL:], "big")
        with np.load(io.BytesIO(text), allow_pickle=False) as content:
            return dict(content)

    def require_last(self) -> None:
        """Refuse a version that was written before another one of the same run."""
        try:
            known = json.loads(Path(self._counter).read_text())
            last = int(known["count"]) if known["run"] == self.run else None
        except (OSError, ValueError, KeyError, TypeError, OverflowError):
            last = None
        if last is None or self._serial < last:
            raise self.refused(
                "is not the last state of its run, for all that its counter tells: two endings of "
                "one run are two releases",
                "begin anew with another path, and pay for it",
            )

    def refused(self, problem: str, remedy: str) -> StateRefused:
        return StateRefused(f"state={os.fspath(self._path)!r} {problem}; {remedy}")

    @property
    def _counter(self) -> str:
        return f"{os.fspath(self._path)}.count"

    def _count(self) -> None:
        counter = {"run": self.run, "count": self._serial}
        write_file(self._counter, json.dumps(counter), private=True)


def _cipher(key: bytes) -> Any:
    missing = False
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        missing = True
    if missing:
        raise MissingPackage(
            "an encrypted state needs the package cryptography: pip install 'shiftdp[dask]'"
        )
    return AESGCM(key)


def _decrypted(key: bytes, nonce: bytes, hidden: bytes, head: bytes) -> bytes | None:
    from cryptography.exceptions import InvalidTag

    try:
        found: bytes = _cipher(key).decrypt(nonce, hidden, head)
    except (InvalidTag, ValueError):
        return None
    return found


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
