"""Several processes of `torch.distributed`, each of which holds a part of the records.

The first rank runs the loop: it draws batches and noise, moves the model, and nobody else does. In
each step it sends the model and the rows of the batch to all; each rank sums the gradients of those
that it holds, in float64, and the sums are added up by one `all_reduce`. The records of a run are
those of rank 0, then those of rank 1, and so on. Theorem F1 allows for sums of 64 threads that are
added in any order: ranks times threads are at most as many.

If a rank fails, the sum says so to all, and all of them stop with nothing released. All ranks see
iterates, so they are one party: what is protected is what the run releases.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.sum_rounding import THREADS
from shiftdp.training.descent.loop import TrainingStopped, starting_point
from shiftdp.training.descent.records import Indices
from shiftdp.training.descent.source import BatchGradient, Source
from shiftdp.training.losses.base import Floats
from shiftdp.training.plan import Plan

Answer = TypeVar("Answer")

_SLICE, _PLACES, _END = 0.0, 1.0, 2.0  # what a message asks for: rows in turn, rows, no more
_HEAD = 3  # numbers before the model: what is asked for, and two about the rows


class Ranks:
    """The processes of a run. Without `torch.distributed`, or with one process, it is this one.

    Args:
        together: whether the processes of a group, if there is one, train together.
    """

    def __init__(self, together: bool = True) -> None:
        together = together and dist.is_available() and dist.is_initialized()
        self.rank = dist.get_rank() if together else 0
        self.number = dist.get_world_size() if together else 1
        if self.number > THREADS:
            raise InvalidInput(
                "world_size",
                self.number,
                f"is more than the {THREADS} sums that Theorem F1 allows for",
                f"give {THREADS} processes or fewer",
            )
        self.broken = False  # an exchange has failed: there is nobody to talk to

    @property
    def threads(self) -> int:
        """How many threads of each rank may sum."""
        return THREADS // self.number

    @property
    def first(self) -> bool:
        return self.rank == 0

    def agreed(self, work: Callable[[], Answer]) -> Answer:
        """What `work` returns, on each rank its own; if it fails on one, all ranks fail."""
        if self.number == 1:
            return work()
        found: Any = None
        error: BaseException | None = None
        try:
            found = work()
        except BaseException as problem:
            error = problem
        failed: list[str | None] = []
        if not self.broken:
            failed = self._shared(None if error is None else type(error).__name__)
        if error is not None:
            raise error
        for rank, name in enumerate(failed):
            if name is not None:
                raise TrainingStopped(f"rank {rank} stopped with {name}; nothing was released")
        answer: Answer = found
        return answer

    def from_first(self, work: Callable[[], Answer]) -> Answer:
        """What `work` returns on the first rank, which alone does it, for all."""
        answer: Answer = self._of_first(self.agreed(lambda: work() if self.first else None))
        return answer

    def _of_first(self, value: Any) -> Any:
        if self.number == 1:
            return value
        parcel = [value if self.first else None]
        self._talk(lambda: dist.broadcast_object_list(parcel, src=0))
        return parcel[0]

    def shared(self, value: Answer) -> list[Answer]:
        """What each rank gives, in the order of ranks."""
        return [value] if self.number == 1 else self._shared(value)

    def _shared(self, value: Any) -> list[Any]:
        everybody: list[Any] = [None] * self.number
        self._talk(lambda: dist.all_gather_object(everybody, value))
        return everybody

    def require_apart(self, X: NDArray[Any], y: NDArray[Any]) -> None:
        """Refuse ranks that hold the same records, each of which would count twice.

        Args:
            X, y: the first records of this rank.
        """
        own = hashlib.sha256(np.ascontiguousarray(X).tobytes() + y.tobytes())
        everybody = self.shared(own.digest())
        if len(set(everybody)) < len(everybody):
            raise InvalidInput(
                "data",
                "<the same on two ranks>",
                "would count each record twice",
                "give each rank records of its own, by torch.utils.data.Subset or "
                "a DistributedSampler",
            )

    def _talk(self, exchange: Callable[[], object]) -> None:
        """An exchange with the others; if it fails, nothing more is said to them."""
        failed = None
        try:
            exchange()
        except Exception as error:
            failed = type(error).__name__
        except BaseException:
            self.broken = True
            raise
        if failed is not None:
            self.broken = True
            raise TrainingStopped(f"another process is gone ({failed}); nothing was released")

    # --- the steps ---

    def descend(
        self, plan: Plan, source: Source, sizes: list[int], run: Callable[[Source], Answer]
    ) -> Answer:
        """What `run` returns on the first rank, for all; the others sum what they are asked to.

        Args:
            plan: what runs.
            source: the records of this rank.
            sizes: how many records each rank has.
            run: the loop, given the records of all ranks.
        """
        if self.number == 1:
            return run(source)
        own = _Part(self, plan, source, sizes)

        def training() -> Answer | None:
            if not self.first:
                own.serve()
                return None
            try:
                return run(own)
            finally:
                own.end()

        answer: Answer = self._of_first(self.agreed(training))
        return answer

    def send(self, message: torch.Tensor) -> None:
        """From the first rank to all others."""
        self._talk(lambda: dist.broadcast(message, src=0))

    def summed(self, part: torch.Tensor) -> None:
        """The sum over ranks, in place of each rank's own."""
        self._talk(lambda: dist.all_reduce(part, op=dist.ReduceOp.SUM))

    @property
    def device(self) -> torch.device:
        """Where messages have to be."""
        return torch.device("cuda" if dist.get_backend() == "nccl" else "cpu")


class RankFailed(TrainingStopped):
    """A rank could not sum its part; all of them have stopped."""


class _Part:
    """The records of all ranks, as the first one sees them; and what every rank does in a step.

    Args:
        ranks: the processes.
        plan: what runs.
        source: the records of this rank.
        sizes: how many records each rank has.
    """

    def __init__(self, ranks: Ranks, plan: Plan, source: Source, sizes: list[int]) -> None:
        self._ranks, self._plan, self._source = ranks, plan, source
        self._begin = sum(sizes[: ranks.rank])
        self._end = self._begin + sizes[ranks.rank]
        self._models = starting_point(plan, source, 1)
        self._ended = False

    @property
    def features(self) -> int:
        return self._source.features

    @property
    def mapped(self) -> bool:
        return self._source.mapped

    @contextmanager
    def gradient(self, plan: Plan, models: Floats) -> Iterator[BatchGradient]:
        """On the first rank: send, sum one's own part, add up."""
        message, out = self._message(), np.empty_like(models)

        def gradient(at: Floats, rows: Indices) -> Floats:
            places: NDArray[np.int64] = np.empty(0, dtype=np.int64)
            if isinstance(rows, slice):
                head = (_SLICE, rows.start, rows.stop)
            else:
                places = rows.astype(np.int64)
                head = (_PLACES, places.size, 0)
            message[:_HEAD] = torch.tensor(head, dtype=torch.float64)
            message[_HEAD:] = torch.from_numpy(at.reshape(-1))
            self._ranks.send(message)
            if places.size:
                self._ranks.send(torch.from_numpy(places).to(message.device))
            self._add(own, at, rows, out)
            return out

        try:
            with self._source.gradient(plan, models) as own:
                yield gradient
        finally:
            message.zero_()
            out.fill(0)
            self.end()

    def end(self) -> None:
        """Tell the others, once, that there are no more steps."""
        if not self._ended and not self._ranks.broken:
            self._ended = True
            message = self._message()
            message[0] = _END
            self._ranks.send(message)

    def _message(self) -> torch.Tensor:
        """Room for what is asked for and a model: messages have one length."""
        size = _HEAD + self._models.size
        return torch.zeros(size, dtype=torch.float64, device=self._ranks.device)

    def serve(self) -> None:
        """On other ranks: sum what is asked for, until there is no more."""
        message, models, out = self._message(), self._models, np.empty_like(self._models)
        with ExitStack() as stack:
            stack.callback(out.fill, 0)
            stack.callback(models.fill, 0)
            stack.callback(message.zero_)
            try:
                own = stack.enter_context(self._source.gradient(self._plan, models))
            except Exception as error:
                own = _failing(type(error).__name__)  # told with the answer to the first step
            while True:
                self._ranks.send(message)
                command, first, second = message[:_HEAD].tolist()
                if command == _END:
                    return
                models[...] = message[_HEAD:].cpu().numpy().reshape(models.shape)
                rows: Indices = slice(int(first), int(second))
                if command == _PLACES:
                    places = torch.zeros(int(first), dtype=torch.int64, device=message.device)
                    if len(places):
                        self._ranks.send(places)
                    rows = places.cpu().numpy().astype(np.intp)
                self._add(own, models, rows, out)

    def _add(self, own: BatchGradient, at: Floats, rows: Indices, out: Floats) -> None:
        """The sum over all ranks, with one number more: how many of them have failed."""
        part = torch.zeros(out.size + 1, dtype=torch.float64, device="cpu")
        failed = None
        try:
            part[:-1] = torch.from_numpy(own(at, self._mine(rows)).reshape(-1))
        except BaseException as error:
            failed = type(error).__name__
            part.zero_()
            part[-1] = 1.0
        together = part.to(self._ranks.device)
        self._ranks.summed(together)
        out[...] = together[:-1].cpu().numpy().reshape(out.shape)
        failures = int(together[-1])
        for tensor in (part, together):
            tensor.zero_()
        if failures:
            self._ended = True  # everybody knows
            out.fill(0)
            who = f"this rank ({failed})" if failed else f"{failures} of the other ranks"
            raise RankFailed(f"{who} could not sum its part; nothing was released")

    def _mine(self, rows: Indices) -> Indices:
        """Which of these rows this rank has, by their places among its own."""
        if isinstance(rows, slice):
            low, high = (min(max(x, self._begin), self._end) for x in (rows.start, rows.stop))
            return slice(low - self._begin, high - self._begin)
        first, last = np.searchsorted(rows, (self._begin, self._end))
        return rows[first:last] - self._begin


def _failing(name: str) -> BatchGradient:
    def gradient(at: Floats, rows: Indices) -> Floats:
        raise RankFailed(name)

    return gradient
