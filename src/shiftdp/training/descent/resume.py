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
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp._version import VERSION
from shiftdp.last_iterate import Certificate
from shiftdp.training.descent.entropy import KEYED, Stream, keyed_stream
from shiftdp.training.descent.state_file import EncryptedState, StateFile
from shiftdp.training.losses.base import Floats
from shiftdp.training.plan import Plan


class Kept:
    """The state of a run that is under way.

    Args:
        file: that it is saved in.
        every: after how many steps.
        plan: a hash of the plan.
        data: a hash of the records.

    Attributes:
        step: how many steps are done.
        models: the iterate after them; None at the beginning.
        released: what was released before, by its step.
        last: the released model of a finished run.
        date: on which the run began.
        before_release: called when the last step is done; it raises if the run was ended elsewhere.
    """

    def __init__(self, file: StateFile, every: int, plan: bytes, data: bytes) -> None:
        self._file, self._every, self._plan, self._data = file, every, plan, data
        self._secret = secrets.token_bytes(KEYED)
        self.step = 0
        self.models: Floats | None = None
        self.released: dict[int, NDArray[Any]] = {}
        self.last: NDArray[Any] | None = None
        self.date = ""
        self.before_release: Callable[[], object] = lambda: None

    @property
    def run(self) -> str:
        """A name for the run, under which a ledger is charged."""
        return self._file.run

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
        if released is None and step % self._every:
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

    def _save(self) -> None:
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
        self._file.write(content)

    def restore(self) -> None:
        """Take over what is in the file; refused if it is not the last state of this run."""
        found = self._file.read()
        version = str(found["version"]) if "version" in found else "an earlier one"
        if version != VERSION:
            raise self._file.refused(
                f"is of another version of shiftdp, {version}", "go on with that one"
            )
        if found["plan"].tobytes() != self._plan:
            raise self._file.refused("is of another plan", "give that plan, or another path")
        if found["data"].tobytes() != self._data:
            raise self._file.refused("is of other records", "give those, or another path")
        self._file.require_last()
        self._secret, self.date = found["order"].tobytes(), str(found["date"])
        self.step = int(found["step"])
        self.models = found["models"] if found["models"].size else None
        self.last = found["last"] if found["last"].size else None
        self.released = {int(step): found[f"released{step}"] for step in found["steps"]}


@contextmanager
def kept_in(state: EncryptedState, plan: Plan, records: Any) -> Iterator[Kept]:
    """The state of a run on these records: as it was saved, or a new one. It is locked meanwhile.

    Args:
        state: where it is kept.
        plan: what runs.
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
    file = StateFile(state)
    with file.locked():
        kept = Kept(file, state.every, _fingerprint(plan), digest)
        if file.exists:
            kept.restore()
        yield kept


def _fingerprint(plan: Plan) -> bytes:
    """A hash of all that a plan says, each value of a schedule included, which a run prints by its
    range."""
    run = [(each.name, getattr(plan.run, each.name)) for each in fields(plan.run)]
    return hashlib.sha256(repr((plan, run)).encode()).digest()


def _bytes(value: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(value, dtype=np.uint8)
