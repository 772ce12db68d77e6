"""Records on a device: scores, residuals and sums are computed there, in float64.

On the processor the features stay where they are, in the memory of their tensor or in a file, and
the loop of NumPy sums their gradients. On any other device they are copied once, and each step
sends the model there and gets the sum of the batch's gradients back. Lengths of rows, and what they
are scaled by, are found on the processor in either case, by the code that is proved; the products
of a row with its factors are exact IEEE operations, the same on both.

The norm of a record's gradient is the product of those of its residual and its features: no
gradient of a single record is ever formed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.sum_rounding import CHUNK, THREADS
from shiftdp.training.centring import Centre
from shiftdp.training.descent.entropy import Stream
from shiftdp.training.descent.gradient import LocalSource
from shiftdp.training.descent.records import Indices, Records, centred, parts_of
from shiftdp.training.descent.source import BatchGradient, Source
from shiftdp.training.losses.base import Floats
from shiftdp.training.plan import Plan

Targets = torch.Tensor | dict[str, torch.Tensor]
"""The targets of all records; of several heads by the names of the fields that their array has."""


def usable_device(device: Any) -> torch.device:
    """A device that computes in float64, which Theorem F1 is about; others are refused.

    >>> usable_device("cpu")
    device(type='cpu')
    """
    problem, found = "is no device of this PyTorch", None
    with suppress(RuntimeError, TypeError):
        found = torch.device(device)
    if found is not None and found.type == "cuda" and not torch.cuda.is_available():
        problem, found = "is not there: this PyTorch sees no GPU", None
    if found is not None:
        problem = "does not compute in float64, in which the certificate says that sums are made"
        try:
            torch.zeros(1, dtype=torch.float64, device=found)
        except (RuntimeError, TypeError, AssertionError, NotImplementedError):  # by its kind
            found = None
    if found is None or found.type == "meta":
        raise InvalidInput("device", str(device), problem, 'give "cpu", or a GPU with float64')
    return found


def source_of(plan: Plan, records: Records, device: torch.device, threads: int = THREADS) -> Source:
    """Where the records of a plan are summed.

    Args:
        plan: what runs.
        records: all of its records, or a part of them.
        device: what computes.
        threads: how many may share out a batch on the processor.
    """
    if device.type == "cpu":
        return LocalSource(records, threads)
    return DeviceSource.of(plan, records, device)


@dataclass(frozen=True, repr=False)
class DeviceSource:
    """Records in the memory of a device; features that are in a file are sent there block by block.

    Args:
        records: as they are on the processor.
        device: what computes.
        held: the features on the device, as they were given; None if they are in a file.
        factors: of each row on the device, applied one after the other in float64, so that none
            is too long.
        targets: as the loss wants them.
        limits: the norm that the residual of each record is clipped to.
    """

    records: Records
    device: torch.device
    held: torch.Tensor | None
    factors: tuple[torch.Tensor, ...]
    targets: Targets
    limits: torch.Tensor | None

    @classmethod
    def of(cls, plan: Plan, records: Records, device: torch.device) -> DeviceSource:
        """These records, copied to the device."""
        rows = records.rows
        if rows.sparse:
            raise InvalidInput(
                "X", "<sparse>", "is not a dense matrix", 'give a tensor, or device="cpu"'
            )
        factors = [part for part in (rows.shrink, rows.scales) if part is not None]
        source = cls(
            records,
            device,
            None if rows.mapped else _moved(rows.features, device),
            () if rows.mapped else tuple(_moved(part, device) for part in factors),
            _held_targets(records.targets, device),
            None if records.limits is None else _moved(records.limits, device),
        )
        source._require_formula(plan)
        return source

    def _require_formula(self, plan: Plan) -> None:
        """Refuse a loss that does not take tensors: it is tried on the first record."""
        z = torch.zeros((plan.loss.outputs, 1), dtype=torch.float64, device=self.device)
        with suppress(TypeError, ValueError, AttributeError, RuntimeError):
            self._residuals(plan, z, slice(0, 1))
            return
        raise InvalidInput(
            "loss",
            plan.loss.name,
            "is not written for devices other than the processor",
            'give device="cpu", or a loss of shiftdp.training',
        )

    @property
    def features(self) -> int:
        return self.records.rows.shape[1]

    @property
    def mapped(self) -> bool:
        return self.records.rows.mapped

    def centred(self, plan: Plan, stream: Stream) -> tuple[Centre, DeviceSource]:
        """As every source has it whose records are here: on the processor."""
        centre, near = centred(plan, self.records, stream)
        return centre, DeviceSource.of(plan, near, self.device)

    @contextmanager
    def gradient(self, plan: Plan, models: Floats) -> Iterator[BatchGradient]:
        out = np.empty_like(models)
        on_device = torch.empty(models.shape, dtype=torch.float64, device=self.device)
        total = torch.empty_like(on_device)

        @torch.inference_mode()
        def gradient(at: Floats, rows: Indices) -> Floats:
            on_device.copy_(torch.from_numpy(at))
            total.zero_()
            for part in parts_of(rows, CHUNK):
                total.add_(self._chunk(plan, on_device, part))
            out[...] = total.cpu().numpy()
            return out

        try:
            yield gradient
        finally:
            for tensor in (on_device, total):
                tensor.zero_()
            out.fill(0)

    def _chunk(self, plan: Plan, models: torch.Tensor, rows: Indices) -> torch.Tensor:
        """The sum over at most `CHUNK` records: two products, and what lies between."""
        d = self.features
        places = rows if isinstance(rows, slice) else torch.from_numpy(rows).to(self.device)
        X = self._taken(rows, places)
        z = models[..., :d] @ X.T
        if plan.intercept:
            z = z + models[..., d:]
        self._residuals(plan, z, places)
        weights = z @ X
        if not plan.intercept:
            return weights
        return torch.cat([weights, z.sum(dim=-1, keepdim=True)], dim=-1)

    def _residuals(self, plan: Plan, z: torch.Tensor, places: slice | torch.Tensor) -> None:
        """Replace the scores of these records by the residuals, by the formulas of the loss."""
        limits = None if self.limits is None else self.limits[places]
        targets: Any = (
            {name: part[places] for name, part in self.targets.items()}
            if isinstance(self.targets, dict)
            else self.targets[places]
        )
        plan.residuals(z, targets, limits)

    def _taken(self, rows: Indices, places: slice | torch.Tensor) -> torch.Tensor:
        """These rows in float64, within the bound."""
        if self.held is None:
            return torch.from_numpy(self.records.rows.take(rows)).to(self.device)
        X = self.held[places].to(torch.float64)
        for factor in self.factors:
            X = X * factor[places][:, None]
        return X


def _held_targets(targets: NDArray[Any], device: torch.device) -> Targets:
    """Targets, as the loss made them, on a device."""
    if targets.dtype.names is None:
        return _moved(targets, device)
    return {name: _moved(targets[name], device) for name in targets.dtype.names}


def _moved(array: NDArray[Any], device: torch.device) -> torch.Tensor:
    contiguous = np.ascontiguousarray(array)
    if not contiguous.flags.writeable:  # torch warns of memory that it must not write to
        contiguous = contiguous.copy()
    return torch.from_numpy(contiguous).to(device)
