"""A run that can go on after its process died: its state, encrypted, in a file.

The state of a run after a step is an iterate that no certificate of the last iterate pays for, so
it is on disk only under a key that the user holds (AES-256 in Galois/counter mode). In clear it
would be a release, and there is no way to ask for it: iterates that are to be seen are declared
with `releases=` of the run and taken from `checkpoints=`, and the certificate covers them.

*Why the certificate is unchanged.* Let the state after step t be the iterate w_t and the order of
batches. Given it, what a run releases in the end is a function F(w_t, order; Z_{t+1}, ..., Z_T) of
noise that is independent of everything before. A run that dies after some step s > t, its state of
step t being the last one on disk, has drawn Z_{t+1}, ..., Z_s and shown nobody anything that
depends on them: iterates that are declared as releases are saved before they are shown, so none is
after t. The run that goes on draws all noise from t + 1 on afresh and releases F of that, which
given the state has the same law. No noise is used for two quantities that are released, and no step
is applied twice, as w_t is restored with t. By induction over the interruptions the released
quantities have jointly the law of a run without any. It is assumed that whether and when a process
dies does not depend on its noise or on its records; who makes runs die by what they hold chooses
among outcomes, and a certificate covers no choice.

*Batches.* Where their order is drawn, it comes from AES in counter mode with a key that the
operating system made for this run and that is in the state; a run that goes on draws the same order
again. A permutation that is drawn once, or for an epoch, is thereby kept, and random batches are
those that the uninterrupted run would have drawn, which are as independent of the noise as others.
Another version of shiftdp may draw another order from the same key, so a state belongs to the
version that began it.

*One state, two endings.* Two runs that go on from one state and are both released are two releases:
they share a past, and one certificate does not cover both. What is done against it: a file is
locked while a run uses it, and a process that is forked meanwhile saves nothing; a counter beside
it (`.count`) tells an older copy of the state from the last one; a finished state holds the
released model, and gives that again and nothing else; and with a ledger the run is charged once,
under its own key, so that a second ending is refused when the first was completed. Somebody who
restores state and counter together, and has no ledger, is not found out: a state is to be kept like
the data.

*Test mode.* With `Seeded` noise the numbers of the steps that are done are drawn and thrown away,
so that the model is that of the uninterrupted run. Nothing is private then.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import count
from shiftdp._errors import InvalidInput, ShiftdpError
from shiftdp._files import write_file
from shiftdp._version import VERSION
from shiftdp.last_iterate import Certificate
from shiftdp.training.descent.entropy import KEYED, MissingPackage, Stream, keyed_stream
from shiftdp.training.losses.base import Floats
from shiftdp.training.plan import Plan

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


class Kept:
    """The state of a run that is under way.

    Attributes:
        run: a name for the run, under which a ledger is charged.
        step: how many steps are done.
        models: the iterate after them; None at the beginning.
        released: what was released before, by its step.
        last: the released model of a finished run.
        date: on which the run began.
        before_release: called when the last step is done; it raises if the run was ended elsewhere.
    """

    def __init__(self, state: EncryptedState, plan: bytes, data: bytes) -> None:
        self._state, self._plan, self._data = state, plan, data
        self._process = os.getpid()
        self._name, self._serial = secrets.token_bytes(_RUN), 0
        self._secret = secrets.token_bytes(KEYED)
        self.step = 0
        self.models: Floats | None = None
        self.released: dict[int, NDArray[Any]] = {}
        self.last: NDArray[Any] | None = None
        self.date = ""
        self.before_release: Callable[[], object] = lambda: None

    @property
    def run(self) -> str:
        return self._name.hex()

    def order(self) -> Stream:
        """The stream that batches are drawn from: the same for all processes of the run."""
        return keyed_stream(self._secret)

    def dated(self, certificate: Certificate) -> Certificate:
        """The certificate with the day on which the run began, so that it is charged once."""
        training = certificate.training
        if training is None:
            return certificate
        if not self.date:
            self.date = training.date
            self._save()
        return replace(certificate, training=replace(training, date=self.date))

    def note(self, step: int, models: Floats, released: NDArray[Any] | None) -> None:
        """A step is done. It is saved when it is time, and before what it releases is shown."""
        if released is None and step % self._state.every:
            return
        self.step, self.models = step, models.copy()
        if released is not None:
            self.released[step] = released.copy()
        self._save()

    def finish(self, step: int, released: NDArray[Any]) -> None:
        """The last step is done; from now on the state gives this model and no other."""
        self.before_release()
        self.step, self.last = step, released.copy()
        if self.models is not None:
            self.models.fill(0)
            self.models = None
        self._save()

    # --- the file ---

    def _save(self) -> None:
        if os.getpid() != self._process:  # it has the lock of its parent, and the same state
            raise _refused(self._state, "is in use by the parent of this process", "go on there")
        if self._serial == 0:
            self._count()  # a state without a counter is refused, so there is one before
        self._serial += 1
        content: dict[str, Any] = {
            "step": np.array(self.step),
            "version": np.array(VERSION),
            "plan": _bytes(self._plan),
            "data": _bytes(self._data),
            "order": _bytes(self._secret),
            "date": np.array(self.date),
            "steps": np.array([*self.released], dtype=np.int64),
            "models": np.empty(0) if self.models is None else self.models,
            "last": np.empty(0) if self.last is None else self.last,
        }
        content |= {f"released{step}": one for step, one in self.released.items()}
        text = io.BytesIO()
        np.savez(text, **content)
        head = _MAGIC + self._name + self._serial.to_bytes(_SERIAL, "big")
        nonce = secrets.token_bytes(_NONCE)
        hidden = _cipher(self._state.key).encrypt(nonce, text.getvalue(), head)
        # the state first: one that is ahead of its counter is the last one, too
        write_file(self._state.path, head + nonce + hidden, private=True)
        self._count()

    def _count(self) -> None:
        counter = {"run": self.run, "count": self._serial}
        write_file(_counter(self._state), json.dumps(counter), private=True)

    def read(self) -> None:
        """Take over what is in the file; refused if it is not the last state of this run."""
        raw = Path(self._state.path).read_bytes()
        begin = len(_MAGIC) + _RUN + _SERIAL
        head, nonce, hidden = raw[:begin], raw[begin : begin + _NONCE], raw[begin + _NONCE :]
        text = None
        if head.startswith(_MAGIC):
            text = _decrypted(self._state.key, nonce, hidden, head)
        if text is None:
            raise _refused(self._state, "was changed, or has another key", "give its own key")
        self._name = head[len(_MAGIC) : -_SERIAL]
        self._serial = int.from_bytes(head[-_SERIAL:], "big")
        with np.load(io.BytesIO(text), allow_pickle=False) as content:
            found = dict(content)
        version = str(found["version"]) if "version" in found else "an earlier one"
        if version != VERSION:
            raise _refused(
                self._state, f"is of another version of shiftdp, {version}", "go on with that one"
            )
        if found["plan"].tobytes() != self._plan:
            raise _refused(self._state, "is of another plan", "give that plan, or another path")
        if found["data"].tobytes() != self._data:
            raise _refused(self._state, "is of other records", "give those, or another path")
        self._require_last()
        self._secret, self.date = found["order"].tobytes(), str(found["date"])
        self.step = int(found["step"])
        self.models = found["models"] if found["models"].size else None
        self.last = found["last"] if found["last"].size else None
        self.released = {int(step): found[f"released{step}"] for step in found["steps"]}

    def _require_last(self) -> None:
        """Refuse a state that was saved before another one of the same run."""
        try:
            known = json.loads(Path(_counter(self._state)).read_text())
            last = int(known["count"]) if known["run"] == self.run else None
        except (OSError, ValueError, KeyError, TypeError, OverflowError):
            last = None
        if last is None or self._serial < last:
            raise _refused(
                self._state,
                "is not the last state of its run, for all that its counter tells: two endings of "
                "one run are two releases",
                "begin anew with another path, and pay for it",
            )


@contextmanager
def kept_in(state: EncryptedState, plan: Plan, records: Any) -> Iterator[Kept]:
    """The state of a run on these records: as it was saved, or a new one. It is locked meanwhile.

    Args:
        records: a source with a `digest`.
    """
    given: object = state
    if not isinstance(given, EncryptedState):
        raise InvalidInput(
            "state", type(state).__name__, "is no EncryptedState", "give EncryptedState(path, key)"
        )
    digest = getattr(records, "digest", None)
    if digest is None:
        raise InvalidInput(
            "state",
            str(state.path),
            f"cannot be kept of {type(records).__name__}, whose records cannot be told from others",
            "leave it out",
        )
    _cipher(state.key)
    if not Path(state.path).parent.is_dir():
        raise InvalidInput(
            "state", os.fspath(state.path), "is in no folder that is there", "make the folder"
        )
    with _locked(state):
        kept = Kept(state, _fingerprint(plan), digest)
        if Path(state.path).exists():
            kept.read()
        yield kept


def _fingerprint(plan: Plan) -> bytes:
    """A hash of all that a plan says, each value of a schedule included, which a run prints by its
    range."""
    run = [(each.name, getattr(plan.run, each.name)) for each in fields(plan.run)]
    return hashlib.sha256(repr((plan, run)).encode()).digest()


@contextmanager
def _locked(state: EncryptedState) -> Iterator[None]:
    """Hold the file while the run is under way, where the system has locks."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with open(f"{os.fspath(state.path)}.lock", "ab", opener=_private) as file:
        taken = False
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            taken = True
        if taken:
            raise _refused(state, "is in use by another process", "wait for it to end")
        yield


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


def _bytes(value: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(value, dtype=np.uint8)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _counter(state: EncryptedState) -> str:
    return f"{os.fspath(state.path)}.count"


def _refused(state: EncryptedState, problem: str, remedy: str) -> StateRefused:
    return StateRefused(f"state={os.fspath(state.path)!r} {problem}; {remedy}")
