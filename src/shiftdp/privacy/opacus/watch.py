"""A loader that is watched: a step counts only if its batch came from here, in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from shiftdp._errors import UnmetHypothesis
from shiftdp.privacy.opacus.inputs import WatchedInputs
from shiftdp.privacy.opacus.run import LoaderReading


class WatchedLoader:
    """Yields what the loader yields, and knows which batch a step is about to use.

    The theorems are about loops that use every batch once, in turn. A pass over the loader in which
    no step is made (to look at the data) is none of their business.

    Args:
        loader: the loader that Opacus returned.
        reading: how it makes batches.
        counted: returns the number of steps so far.
        inputs: compares each batch with what the model was given.
    """

    def __init__(
        self,
        loader: Any,
        reading: LoaderReading,
        counted: Callable[[], int],
        inputs: WatchedInputs,
    ) -> None:
        self._loader = loader
        self._reading = reading
        self._counted = counted
        self._inputs = inputs
        self._pass = 0
        self._before = 0  # steps before this pass
        self._batch = -1  # the batch that was yielded last, in this pass

    def __len__(self) -> int:
        return len(self._loader)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._loader, name)

    def __iter__(self) -> Iterator[Any]:
        counted, batches = self._counted(), self._reading.batches
        if self._reading.kind != "poisson" and counted % batches:
            raise _refusal(
                f"{counted % batches} of {batches}",
                "batches of the last pass had a step when the next pass began",
                "finish each pass, or give a loader with fewer batches",
            )
        self._pass += 1
        mine, self._before, self._batch = self._pass, counted, -1
        for batch in self._loader:
            self._check_turn(mine)
            self._batch += 1
            self._inputs.yielded(batch)
            yield batch
        self._check_turn(mine)
        self._batch = -1
        self._inputs.yielded(())

    def _check_turn(self, mine: int) -> None:
        """All batches of the pass so far have had one step each, or none has."""
        if mine != self._pass:
            raise _refusal("two", "passes over the loader are mixed", "finish one first")
        if self._stepped not in (0, self._batch + 1):
            raise _refusal(
                self._stepped,
                f"of the {self._batch + 1} batches so far had a step",
                "make one step for each batch, the empty ones of a Poisson loader included",
            )

    @property
    def _stepped(self) -> int:
        return self._counted() - self._before

    @property
    def batch(self) -> list[Any]:
        """The tensors of the batch that was yielded last."""
        return list(self._inputs.batch)

    def refuse_step(self, records: int) -> None:
        """Refuse a step that does not use the batch that was yielded last, for the first time."""
        if self._batch < 0:
            raise _refusal(
                "none",
                "has been yielded for this step",
                "loop over the loader that attach returned",
            )
        if self._stepped != self._batch:
            raise _refusal(
                self._batch + 1,
                f"batches were yielded in this pass, and {self._stepped} steps were made",
                "make one step for each batch",
            )
        reading = self._reading
        size: int | None = reading.batch_size
        if reading.kind == "poisson":
            size = self._inputs.records
        elif self._batch == reading.batches - 1:
            size = reading.last
        refusal = self._inputs.refusal()
        if size is not None and records != size:
            raise _refusal(
                records, f"records are in a step whose batch has {size}", "use the whole batch"
            )
        if refusal is not None:
            raise refusal


def _refusal(value: Any, problem: str, remedy: str) -> UnmetHypothesis:
    return UnmetHypothesis("data_loader", value, problem, remedy)
