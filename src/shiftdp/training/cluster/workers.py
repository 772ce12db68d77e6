"""Who has which blocks: one shard a worker, made anew from its blocks when its worker is lost.

A shard is asked one thing at a time, and its answer depends on its blocks, on what it was told
before, and on the question. So a worker that is lost, whenever that is, costs time and nothing
else: its blocks are computed again from where they came from, on the worker that takes its place or
on another, what the shard was told is told again, and the question is asked again. An answer of a
worker that was given up for lost is never used. Blocks that come back different are refused, by
their hashes: a sum over other records is not the step that was begun.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from shiftdp._errors import InvalidInput
from shiftdp.training.cluster.collection import Table
from shiftdp.training.cluster.guard import ClusterFailed, RecordsChanged, opened
from shiftdp.training.cluster.reading import Reading, read_block
from shiftdp.training.cluster.shard import Contents, Shard

_ATTEMPTS = 8
"""So often in a row a shard is made anew for one question."""
_PATIENCE = 2.0
"""Seconds after which it is asked whether the worker of an answer is still there."""
_RESTART = 15.0
"""Seconds that a lost worker is given to come back before another one takes its shard as well."""
_NO_WORKERS = 120.0
"""Seconds to wait for any worker."""
MOST_THREADS = 32
"""Of one shard. Theorem F1 counts them: see `source`."""


class _Lost(Exception):
    """The worker of a shard is not there any more."""


class _LetGo:
    """Called when a block is read: what it was read from need not be kept any longer."""

    def __init__(self, futures: list[Any]) -> None:
        self._futures = futures

    def __call__(self, done: object) -> None:
        self._futures.clear()


class _Member:
    """A shard as the driver knows it."""

    def __init__(self, numbers: tuple[int, ...], threads: int) -> None:
        self.numbers, self.threads = numbers, threads
        self.address = ""
        self.blocks: list[Any] = []  # futures of its blocks, until it has them
        self.held: Any = None  # the future of the actor, which keeps it there
        self.actor: Any = None


class Workers:
    """The workers that train together, each with a shard of the blocks.

    The blocks are dealt out in turn, so that records that follow one another are on several
    workers. The division stays as it is to the end, whoever has which shard, and so do the sums.

    Args:
        client: of the cluster.
        table: the blocks.
        reading: how they are read.
    """

    def __init__(self, client: Any, table: Table, reading: Reading) -> None:
        self._client, self._table, self._reading = client, table, reading
        self._history: list[tuple[str, tuple[Any, ...], list[Any]]] = []
        self._lost: set[str] = set()
        workers = self._alive()
        number = max(1, min(len(workers), len(table.blocks)))
        threads = min(min(workers.values()), MOST_THREADS)
        self._members = [
            _Member(tuple(range(k, len(table.blocks), number)), threads) for k in range(number)
        ]
        self._expected = number

    @property
    def shards(self) -> list[tuple[int, ...]]:
        """The numbers of the blocks of each shard."""
        return [member.numbers for member in self._members]

    @property
    def threads(self) -> int:
        """How many threads a shard shares out its records among, at most."""
        return max(member.threads for member in self._members)

    @property
    def addresses(self) -> list[str]:
        """Of the workers that have the shards."""
        return [member.address for member in self._members]

    # --- asking ---

    def load(self) -> list[Contents]:
        """Compute and read all blocks, each where it stays."""
        for member in self._members:
            self._place(member)
        for place in range(len(self._members)):
            self._trying(place, lambda place=place: self._wait_for(self._members[place]))
        found: list[Contents] = self.tell("contents")
        return found

    def tell(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of all shards; a shard that is made anew later will be told it, too."""
        found = self.ask_all(method, *arguments)
        self._history.append((method, arguments, found))
        return found

    def ask_all(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of all shards, of which nothing depends on having been called."""
        return list(self.ask(method, dict.fromkeys(range(len(self._members)), arguments)).values())

    def end(self) -> None:
        """Sums are over: shards let go of what they made them with, and are not told to begin."""
        self._history = [call for call in self._history if call[0] != "begin"]
        for member in self._members:
            with suppress(Exception):  # whatever is wrong with a worker, the others are told
                member.actor.end().result(timeout=_PATIENCE)

    def ask(self, method: str, arguments: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """One message to each of some shards, all at once, and one from each."""
        sent = {place: self._send(place, method, given) for place, given in arguments.items()}
        answers = {}
        for place, given in arguments.items():
            first = [sent[place]]

            def call(place: int = place, given: Any = given, first: list[Any] = first) -> Any:
                future = first.pop() if first else self._send(place, method, given)
                return self._answer(self._members[place], future)

            answers[place] = self._trying(place, call)
        return {place: opened(answer) for place, answer in answers.items()}

    def close(self) -> None:
        """Let go of all blocks."""
        for member in self._members:
            member.held, member.actor, member.blocks = None, None, []

    # --- workers that are lost ---

    def _trying(self, place: int, call: Any) -> Any:
        """The result of a call, for which a shard is made anew as often as its worker is lost."""
        for _ in range(_ATTEMPTS):
            with suppress(_Lost):
                return call()
            with suppress(_Lost):
                self._revive(self._members[place])
        raise ClusterFailed(
            f"the workers of {len(self._members[place].numbers)} blocks were lost {_ATTEMPTS} "
            "times in a row; give workers more memory, or smaller blocks"
        )

    def _send(self, place: int, method: str, arguments: tuple[Any, ...]) -> Any:
        """A call that is under way; None if the worker is known to be lost."""
        with suppress(RuntimeError, AttributeError):
            return getattr(self._members[place].actor, method)(*arguments)
        return None

    def _answer(self, member: _Member, future: Any) -> Any:
        """The answer to a call that is under way, however long it takes; `_Lost` if none will come.

        A shard answers calls in the order in which they come, so that a call whose answer is
        missing when a later one was answered is lost, whatever became of it.
        """
        later: Any = None
        while future is not None:
            try:
                return future.result(timeout=_PATIENCE)
            except TimeoutError:
                if member.held.status != "finished" or (later is not None and later.done()):
                    break
            except Exception:  # shards do not raise: it is about the connection
                break
            if later is None:
                with suppress(RuntimeError):
                    later = member.actor.contents()
        raise _Lost

    def _revive(self, member: _Member) -> None:
        """Make a shard anew, tell it all that it was told, and see that it is the same."""
        self._lost.add(member.address)
        member.held, member.actor, member.blocks = None, None, []
        self._place(member)
        self._wait_for(member)
        place = self._members.index(member)
        for method, arguments, answers in self._history:
            answer = opened(self._answer(member, self._send(place, method, arguments)))
            if method == "contents" and answer != answers[place]:
                raise RecordsChanged(
                    f"{len(member.numbers)} blocks were read again and have other records; leave "
                    "files as they are, and give a graph that computes the same each time"
                )

    def _place(self, member: _Member) -> None:
        """Have the blocks of a shard computed, and brought together on one worker.

        Dask computes the blocks where it sees fit: it remembers for each key where it was to be
        computed, and would wait for a worker that is gone. What is bound to the worker has a new
        key each time.
        """
        address = self._free_worker(member)
        here = {"workers": [address], "pure": False}
        pairs = [self._table.blocks[number] for number in member.numbers]
        raw = self._client.compute([part for pair in pairs for part in pair])
        member.address, member.blocks = address, []
        for x, y in zip(raw[::2], raw[1::2], strict=True):
            block = self._client.submit(read_block, x, y, self._reading, **here)
            block.add_done_callback(_LetGo([x, y]))
            member.blocks.append(block)
        member.held = self._client.submit(Shard, member.blocks, member.threads, actor=True, **here)

    def _wait_for(self, member: _Member) -> None:
        """Wait for a shard that is being made."""
        from distributed import CancelledError, KilledWorker
        from distributed.comm import CommClosedError

        problem, waiting = "", True
        while waiting:
            waiting = False
            try:
                member.actor = member.held.result(timeout=_PATIENCE)
                member.blocks = []  # the shard has them
                return
            except TimeoutError:
                waiting = member.address in self._client.nthreads()
            except (CancelledError, KilledWorker, CommClosedError):
                pass
            except Exception as error:
                problem = "" if _is_about_actors(error) else type(error).__name__
        # outside of the handler, so that the new exception does not lead to the old one
        if not problem:
            raise _Lost
        raise InvalidInput(
            "X",
            "<Dask collection>",
            f"cannot be computed by the workers ({problem})",
            "compute one of its blocks to see why: X.partitions[0].compute()",
        )

    def _free_worker(self, member: _Member) -> str:
        """The worker with the fewest shards; first a lost one is waited for, if none is free."""
        taken = [each.address for each in self._members if each is not member and each.address]
        workers = self._alive()
        if all(address in taken for address in workers) and len(workers) < self._expected:
            try:
                self._client.wait_for_workers(self._expected, timeout=_RESTART)
            except TimeoutError:  # one that did not come back is not waited for again
                self._expected = len(workers)
            workers = self._alive()
        return min(workers, key=lambda address: (taken.count(address), address))

    def _alive(self) -> dict[str, int]:
        """The threads of each worker that is there."""
        for waits in (_NO_WORKERS, 0.0):
            known = {where: int(threads) for where, threads in self._client.nthreads().items()}
            found = {where: threads for where, threads in known.items() if where not in self._lost}
            if found:
                return found
            if waits:
                with suppress(TimeoutError):
                    self._client.wait_for_workers(1, timeout=waits)
        if known:  # one whose connection broke is better than none; Dask moves on if it is gone
            return known
        raise ClusterFailed(f"no worker came within {_NO_WORKERS:g} seconds; start some")


def _is_about_actors(error: Exception) -> bool:
    """Whether Dask says that it lost the actor, for which it has no type of its own."""
    return isinstance(error, RuntimeError) and "Actor" in str(error)
