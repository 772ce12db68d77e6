"""Reading loaders, optimizers and models of Opacus; what no theorem covers is refused by name."""

from __future__ import annotations

from typing import Any

import torch
from opacus.data_loader import CollateFnWithEmpty
from opacus.optimizers import (
    AdaClipDPOptimizer,
    DistributedDPOptimizer,
    DPOptimizer,
    DPOptimizerFastGradientClipping,
    DPPerLayerOptimizer,
    SimpleDistributedPerLayerOptimizer,
)
from opacus.utils.uniform_sampler import UniformWithReplacementSampler
from torch import nn
from torch.utils.data import (
    BatchSampler,
    ConcatDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    default_collate,
)

from shiftdp._checks import finite
from shiftdp._errors import UnmetHypothesis
from shiftdp.privacy.opacus.run import FEATURE_SLACK, Declaration, LoaderReading, StepReading

_WRAPPERS: dict[type, str] = {
    AdaClipDPOptimizer: "clips adaptively: the clip depends on the data, and its release is paid",
    DPPerLayerOptimizer: "clips layer by layer, which leaves no gradient of a convex loss",
    DistributedDPOptimizer: "is distributed: each process sees batches of its own",
    SimpleDistributedPerLayerOptimizer: "is distributed, and clips layer by layer",
    DPOptimizerFastGradientClipping: "keeps no gradients of single records that could be checked",
}
_PASSIVE = (nn.Flatten, nn.Identity)


def refuse_collating(loader: Any, declaration: Declaration) -> None:
    """Only torch's own way to make a batch is known to keep each record to its own row."""
    collate = loader.collate_fn
    if isinstance(collate, CollateFnWithEmpty):
        collate = collate.wrapped_collator_fn
    if collate is not default_collate and declaration.inputs == "as_loaded":
        raise UnmetHypothesis(
            "collate_fn",
            getattr(collate, "__name__", type(collate).__name__),
            "makes batches in a way that cannot be seen, and may use a record more than once",
            "leave it out, or, if the row of each record depends on that record alone, declare "
            'inputs="computed"',
        )


def _refuse_repeats(data: Any) -> None:
    """Views of a data set in which one record has several indices."""
    repeated = False
    parts: list[Any] = []
    if isinstance(data, Subset):
        whole = len(data.dataset)  # type: ignore[arg-type]
        # entries of a tensor are never equal keys, and -1 is a place of its own
        repeated = len({int(i) % whole for i in data.indices}) < len(data.indices)
        parts = [data.dataset]
    elif isinstance(data, ConcatDataset):
        parts = list(data.datasets)
        repeated = len({id(part) for part in parts}) < len(parts)
    if repeated:
        raise _loader_refusal(
            data, "has one record at several indices", "give each record one index"
        )
    for part in parts:
        _refuse_repeats(part)


def read_loader(loader: Any, *, poisson_sampling: bool = False) -> LoaderReading:
    """The sampling of a loader, or with `poisson_sampling` of what Opacus will make of it."""
    if not isinstance(loader, torch.utils.data.DataLoader):
        raise UnmetHypothesis(
            "data_loader", type(loader).__name__, "is not a DataLoader", "give the loader itself"
        )
    if isinstance(loader.dataset, torch.utils.data.IterableDataset):
        raise _loader_refusal(loader.dataset, "is a stream", "give a dataset of known length")
    _refuse_repeats(loader.dataset)
    n = len(loader.dataset)  # type: ignore[arg-type]
    sampler = loader.batch_sampler
    if isinstance(sampler, UniformWithReplacementSampler):
        if getattr(loader.collate_fn, "rand_on_empty", False):
            raise _loader_refusal(
                loader, "replaces an empty batch by a random record", "give rand_on_empty=False"
            )
        return _poisson(n, float(sampler.sample_rate))
    if type(sampler) is not BatchSampler:
        raise _loader_refusal(sampler, "draws batches in a way that no theorem covers", _LOADERS)
    if poisson_sampling:
        return _poisson(n, 1 / len(loader))
    return _cyclic(n, sampler)


_LOADERS = "give a loader with shuffle=False or shuffle=True, or poisson_sampling=True"


def _loader_refusal(value: Any, problem: str, remedy: str) -> UnmetHypothesis:
    return UnmetHypothesis("data_loader", type(value).__name__, problem, remedy)


def _poisson(n: int, rate: float) -> LoaderReading:
    batches = round(1 / rate)
    size = -(-n // batches)
    return LoaderReading("poisson", n, size, batches, size, rate)


def _cyclic(n: int, sampler: BatchSampler) -> LoaderReading:
    inner, size = sampler.sampler, sampler.batch_size
    if type(inner) is SequentialSampler:
        kind = "fixed"
    elif type(inner) is RandomSampler and not inner.replacement and inner.num_samples == n:
        kind = "reshuffled"
    else:
        raise _loader_refusal(inner, "orders records in a way that no theorem covers", _LOADERS)
    batches = len(sampler)
    if batches == 0:
        raise _loader_refusal(sampler, f"has no batch: {n} records", "lower the batch size")
    last = size if sampler.drop_last else n - size * (batches - 1)
    if batches == 1:
        return LoaderReading("fixed", last, last, 1, last)
    return LoaderReading(kind, n, size, batches, last)  # type: ignore[arg-type]


def read_step(optimizer: Any, declaration: Declaration, *, stepping: bool) -> StepReading:
    """What a DPOptimizer is about to do, if it is `stepping`, or would do."""
    if type(optimizer) is not DPOptimizer:
        problem = _WRAPPERS.get(type(optimizer), "is not the DPOptimizer that theorems describe")
        raise UnmetHypothesis(
            "optimizer",
            type(optimizer).__name__,
            problem,
            'use clipping="flat" on one process, with grad_sample_mode="hooks"',
        )
    rate, decay = read_settings(optimizer.original_optimizer, declaration)
    if stepping and optimizer.accumulated_iterations != 1:
        raise UnmetHypothesis(
            "accumulated_iterations",
            optimizer.accumulated_iterations,
            "batches make one step, which is not the loader's batch",
            "step after each batch, or have larger batches",
        )
    if stepping and optimizer._is_last_step_skipped:
        raise UnmetHypothesis(
            "signal_skip_step",
            True,
            "left clipped gradients that this step would add to those of its batch",
            "step after each backward pass, without signal_skip_step or a BatchMemoryManager",
        )
    mean = optimizer.loss_reduction == "mean"
    return StepReading(
        learning_rate=rate,
        weight_decay=decay,
        noise_multiplier=float(optimizer.noise_multiplier),
        max_grad_norm=float(optimizer.max_grad_norm),
        divisor=float(optimizer.expected_batch_size) if mean else 1.0,
    )


def read_settings(optimizer: Any, declaration: Declaration) -> tuple[float, float]:
    """Learning rate and weight decay of plain gradient descent; of any optimizer if composed."""
    groups = optimizer.param_groups
    if declaration.composed_only:
        return float(groups[0].get("lr", 0.0)), 0.0
    if type(optimizer) is not torch.optim.SGD:
        raise UnmetHypothesis(
            "optimizer",
            type(optimizer).__name__,
            "is not gradient descent, and no theorem on the last iterate covers it",
            'use torch.optim.SGD without momentum, or bounds="composition"',
        )
    for name, plain in (("momentum", 0), ("nesterov", False), ("maximize", False)):
        for group in groups:
            if group[name] != plain:
                raise UnmetHypothesis(
                    name,
                    group[name],
                    "is not gradient descent, and no theorem on the last iterate covers it",
                    f'give {name}={plain}, or bounds="composition"',
                )
    for name in ("lr", "weight_decay"):
        values = {float(group[name]) for group in groups}
        if len(values) > 1:
            raise UnmetHypothesis(
                name,
                sorted(values),
                "differs between groups of parameters, and the theorems are for one",
                "give all parameters the same",
            )
    rate = finite("lr", float(groups[0]["lr"]), 0.0, open_low=True)
    return rate, float(groups[0]["weight_decay"])


def read_model(module: Any, declaration: Declaration) -> nn.Linear | None:
    """The linear map whose rows are bounded; None if none is needed.

    A declared loss is about a linear map: with one output, or of softmax with one for each class.
    """
    found = linear_map(module)
    if not declaration.linear:
        bounded = declaration.feature_bound is not None and not declaration.composed_only
        return found if bounded else None
    if found is None:
        problem = "is not a single linear map, so the loss is not known to be convex"
        remedy = 'give nn.Linear(d, 1), or declare its curvature, or bounds="composition"'
        if _trains_a_linear_map(module):
            problem = (
                "has frozen layers in front of the linear map that is trained, and the bound on "
                "its rows is checked where the module is given them"
            )
            remedy = (
                "give the nn.Linear alone, on features that the frozen layers made before, or "
                'call shiftdp.torch.PrivateHead(backbone=...), or bounds="composition"'
            )
        raise UnmetHypothesis("module", type(inner_of(module)).__name__, problem, remedy)
    if declaration.classes and found.out_features < 2:
        raise UnmetHypothesis(
            "out_features",
            found.out_features,
            f"is the score of one class, and loss={declaration.loss!r} has one for each",
            'give two outputs or more, or loss="logistic"',
        )
    if not declaration.classes and found.out_features != 1:
        raise UnmetHypothesis(
            "out_features",
            found.out_features,
            "is not 1: clipping a gradient of several outputs (multiclass softmax) leaves no "
            "gradient of a convex loss",
            'give one output, loss="softmax" or "envelope_softmax", or bounds="composition"',
        )
    return found


def inner_of(module: Any) -> Any:
    """The model itself, which GradSampleModule wraps."""
    return getattr(module, "_module", module)


def linear_map(module: Any) -> nn.Linear | None:
    """The only layer of a model that is one linear map."""
    inner = inner_of(module)
    # no classes that are derived from these: what they compute is their own
    parts = list(inner) if type(inner) is nn.Sequential else [inner]
    maps = [part for part in parts if type(part) not in _PASSIVE]
    return maps[0] if len(maps) == 1 and type(maps[0]) is nn.Linear else None


def _trains_a_linear_map(module: Any) -> bool:
    """Whether a network is frozen but for the linear map at its end."""
    inner = inner_of(module)
    parts = list(inner) if type(inner) is nn.Sequential else []
    if not parts or type(parts[-1]) is not nn.Linear:
        return False
    others = [weight for part in parts[:-1] for weight in part.parameters()]
    return bool(others) and not any(weight.requires_grad for weight in others)


def longest(samples: Any) -> float:
    """The largest norm of a record's gradient."""
    records = len(samples[0])
    if not records:
        return 0.0
    rows = torch.cat([g.detach().double().reshape(records, -1) for g in samples], dim=1)
    return float(torch.linalg.vector_norm(rows, dim=1).max())


def check_features(declaration: Declaration) -> Any:
    """A forward pre-hook that refuses rows beyond the declared bound, before they are used."""
    bound = declaration.feature_bound or 0.0

    def hook(module: nn.Module, arguments: tuple[Any, ...]) -> None:
        if not (module.training and torch.is_grad_enabled()):
            return  # an evaluation, which no gradient comes of
        (rows,) = arguments
        if rows.dim() != 2:
            raise UnmetHypothesis(
                "features",
                tuple(rows.shape),
                "is not one row a record, so a record has more than one linear output",
                "flatten it",
            )
        if rows.numel() == 0:
            return
        largest = float(torch.linalg.vector_norm(rows.detach().double(), dim=1).max())
        if not largest <= bound * FEATURE_SLACK:
            raise UnmetHypothesis(
                "feature_bound",
                bound,
                "is passed by the norm of a row",
                "scale rows down to the bound, or declare a bound that holds for all data",
            )

    return hook


def check_records(optimizer: Any, declaration: Declaration) -> int:
    """How many records the step has; refuses what contradicts the declaration."""
    samples = optimizer.grad_samples
    records = len(samples[0])
    if declaration.diameter < float("inf") and not declaration.composed_only:
        norm = float(sum(p.detach().double().square().sum() for p in optimizer.params)) ** 0.5
        if not norm <= 0.5 * declaration.diameter * FEATURE_SLACK:
            raise UnmetHypothesis(
                "diameter",
                declaration.diameter,
                "is that of a ball which the parameters are not in",
                "project them after each step",
            )
    return records
