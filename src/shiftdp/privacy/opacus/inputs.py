"""Whether the model is given the batch that the loader yielded, and no other.

Steps that are counted say nothing of what they used: a loop may draw one batch after another and
train on the first one all the time. So the tensors that go into the model while it trains are
compared with those of the batch that was yielded last.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from shiftdp._errors import UnmetHypothesis


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in a batch, or in the arguments of a model, however they are nested.

    >>> [len(t) for t in tensors_in({"x": torch.zeros(3, 2), "y": [torch.ones(3), "text"]})]
    [3, 3]
    """
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from tensors_in(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)


class WatchedInputs:
    """Compares what the model is given with the batch of the step.

    Args:
        computed: whether the loop computes the inputs from the batch. They cannot be compared
            then, and only a tensor that an earlier step has used is refused.
    """

    def __init__(self, *, computed: bool) -> None:
        self._computed = computed
        self._batch: list[tuple[torch.Tensor, torch.Tensor]] = []  # with a copy of each
        self._earlier: list[weakref.ref[torch.Tensor]] = []
        self._given: list[weakref.ref[torch.Tensor]] = []
        self._problem: str | None = None
        self._calls = 0

    def yielded(self, batch: Any) -> None:
        """A new batch: what was yielded before must not be used any more.

        Copies are kept, as a loop may write into the batch in ways that torch does not count, such
        as `x.data = ...` or an array of NumPy that shares its memory.
        """
        old = [*self._earlier, *(weakref.ref(tensor) for tensor, _ in self._batch)]
        self._earlier = [reference for reference in old if reference() is not None]
        self._batch = [(tensor, tensor.detach().clone()) for tensor in tensors_in(batch)]

    @property
    def batch(self) -> list[torch.Tensor]:
        """The tensors of the batch, as they were yielded."""
        return [copy for _, copy in self._batch]

    @property
    def records(self) -> int | None:
        """How many records the batch has; None where that cannot be seen."""
        lengths = {copy.shape[0] for _, copy in self._batch if copy.dim()}
        return lengths.pop() if len(lengths) == 1 else None

    def hook(self, module: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        """A forward pre-hook of the model that looks at its inputs while it is trained."""
        if not (module.training and torch.is_grad_enabled()):
            return
        given = list(tensors_in((arguments, named)))
        self._calls += 1
        if self._computed:
            if any(self._used_before(tensor) for tensor in given):
                self._problem = "does not hold: an input was used in an earlier step"
            self._given += [weakref.ref(tensor) for tensor in given]
        elif not given or not all(self._loaded(tensor) for tensor in given):
            self._problem = "does not hold: an input is not the batch that was yielded last"

    def refusal(self) -> UnmetHypothesis | None:
        """Why the step is refused, if the model saw anything but its batch; then begin anew."""
        problem = self._problem if self._calls else "cannot be seen: the model was not called"
        self._problem, self._calls = None, 0
        self._earlier += self._given
        self._given = []
        if problem is None:
            return None
        return UnmetHypothesis(
            "inputs",
            "computed" if self._computed else "as_loaded",
            problem,
            "give the model the tensors of the batch as they are, and evaluate under "
            "torch.no_grad(); if the loop computes inputs from the batch, each record's from that "
            'record alone, declare inputs="computed"',
        )

    def _loaded(self, given: torch.Tensor) -> bool:
        return any(_same(given.detach(), copy) for _, copy in self._batch)

    def _used_before(self, given: torch.Tensor) -> bool:
        earlier = (reference() for reference in self._earlier)
        place = given.untyped_storage().data_ptr()
        return given.numel() > 0 and any(
            tensor is not None and tensor.untyped_storage().data_ptr() == place
            for tensor in earlier
        )


def _same(given: torch.Tensor, loaded: torch.Tensor) -> bool:
    """Whether two tensors hold the same numbers for each record, in any shape, type or device."""
    if given.shape[:1] != loaded.shape[:1] or given.numel() != loaded.numel():
        return False
    moved = loaded.detach().to(device=given.device, dtype=given.dtype)
    return torch.equal(given.reshape(-1), moved.reshape(-1))
