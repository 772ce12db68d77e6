"""What no theorem covers is refused by name, before the step is taken."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from opacus.optimizers import DistributedDPOptimizer
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch import nn
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    IterableDataset,
    RandomSampler,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)

import shiftdp as sdp
from shiftdp.privacy.opacus import Declaration
from tests.privacy.opacus_loop import FEATURES, LOGISTIC, dataset, session

pytestmark = [
    pytest.mark.filterwarnings("ignore:Secure RNG"),
    pytest.mark.filterwarnings("ignore:Full backward hook"),
]
COMPOSED = Declaration(adjacency="zero_out", bounds="composition")


@contextmanager
def refused(name: str, match: str | None = None) -> Iterator[None]:
    """A refusal that names this, and gives a remedy."""
    with pytest.raises(sdp.UnmetHypothesis, match=match) as caught:
        yield
    assert caught.value.name == name
    assert caught.value.remedy


# --- optimizers ---


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda m: torch.optim.SGD(m.parameters(), lr=0.5, momentum=0.9), "momentum"),
        (
            lambda m: torch.optim.SGD(m.parameters(), lr=0.5, momentum=0.9, nesterov=True),
            "momentum",
        ),
        (lambda m: torch.optim.SGD(m.parameters(), lr=0.5, maximize=True), "maximize"),
        (lambda m: torch.optim.Adam(m.parameters(), lr=0.5), "optimizer"),
        (lambda m: torch.optim.AdamW(m.parameters(), lr=0.5), "optimizer"),
        (lambda m: torch.optim.RMSprop(m.parameters(), lr=0.5), "optimizer"),
        (lambda m: torch.optim.Adagrad(m.parameters(), lr=0.5), "optimizer"),
        (
            lambda m: torch.optim.SGD(
                [{"params": m.weight}, {"params": m.bias, "lr": 0.1}], lr=0.5
            ),
            "lr",
        ),
        (
            lambda m: torch.optim.SGD(
                [{"params": m.weight, "weight_decay": 0.1}, {"params": m.bias}], lr=0.5
            ),
            "weight_decay",
        ),
    ],
)
def test_optimizers(make: Any, name: str) -> None:
    with refused(name):
        session(optimizer=make)
    # the noisy sums may be published, so any optimizer may have them
    assert session(COMPOSED, optimizer=make).train().engine.get_epsilon(1e-5) > 0


def test_groups_that_agree_are_one() -> None:
    made = session(
        optimizer=lambda m: torch.optim.SGD(
            [{"params": m.weight}, {"params": m.bias}], lr=0.5, weight_decay=0.1
        )
    ).train()
    assert made.engine.get_epsilon(1e-5) == session().train().engine.get_epsilon(1e-5)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        (
            {
                "clipping": "adaptive",
                "target_unclipped_quantile": 0.5,
                "clipbound_learning_rate": 0.2,
                "max_clipbound": 10.0,
                "min_clipbound": 0.1,
                "unclipped_num_std": 10.0,
            },
            "adaptively",
        ),
        ({"clipping": "per_layer", "max_grad_norm": [0.5, 0.5]}, "layer by layer"),
        ({"grad_sample_mode": "ghost"}, "no gradients of single records"),
    ],
)
@pytest.mark.parametrize("declaration", [LOGISTIC, COMPOSED])
def test_clippings(declaration: Declaration, settings: Any, match: str) -> None:
    with refused("optimizer", match):
        session(declaration, **settings)


def test_distributed(tmp_path: Path) -> None:
    made = session(attach=False)
    address = f"file://{tmp_path}/store"
    torch.distributed.init_process_group("gloo", init_method=address, rank=0, world_size=1)
    try:
        optimizer = DistributedDPOptimizer(
            made.optimizer.original_optimizer,
            noise_multiplier=1.0,
            max_grad_norm=1.0,
            expected_batch_size=10,
        )
        with refused("optimizer", "distributed"):
            made.accountant.attach(made.module, optimizer, made.loader)
    finally:
        torch.distributed.destroy_process_group()


def test_a_rate_of_zero() -> None:
    made = session()
    made.optimizer.param_groups[0]["lr"] = 0.0
    with pytest.raises(sdp.InvalidInput, match="lr=0"):
        made.train()


@pytest.mark.parametrize(
    ("change", "name"),
    [("weight_decay", "weight_decay"), ("max_grad_norm", "max_grad_norm")],
)
def test_what_may_not_change(change: str, name: str) -> None:
    made = session().train()
    if change == "weight_decay":
        made.optimizer.param_groups[0]["weight_decay"] = 0.2
    else:
        made.optimizer.max_grad_norm = 0.5
    weights = [p.detach().clone() for p in made.optimizer.params]
    with refused(name, "first step"):
        made.train()
    for before, now in zip(weights, made.optimizer.params, strict=True):
        assert torch.equal(before, now.detach()), "the step was taken"


@pytest.mark.parametrize("name", ["learning_rate", "noise_multiplier"])
def test_what_may_not_change_under_poisson_sampling(name: str) -> None:
    made = session(poisson_sampling=True).train()
    if name == "learning_rate":
        made.optimizer.param_groups[0]["lr"] = 0.4
    else:
        made.optimizer.noise_multiplier = 3.0
    with refused(name):
        made.train()


def test_a_step_that_does_not_contract() -> None:
    made = session(lr=4.0).train()
    with refused("learning_rate", "not contractive"):
        made.engine.get_epsilon(1e-5)


# --- models and losses ---


class Custom(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(FEATURES, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x))


@pytest.mark.parametrize(
    ("module", "name", "match"),
    [
        (nn.Linear(FEATURES, 3), "out_features", "softmax"),
        (
            nn.Sequential(nn.Linear(FEATURES, 3), nn.Tanh(), nn.Linear(3, 1)),
            "module",
            "single linear",
        ),
        (nn.Sequential(nn.Linear(FEATURES, 1), nn.Tanh()), "module", "single linear"),
        (nn.Sequential(nn.Linear(FEATURES, 4), nn.Linear(4, 1)), "module", "single linear"),
        (Custom(), "module", "convex"),
    ],
)
def test_models(module: nn.Module, name: str, match: str) -> None:
    with refused(name, match):
        session(module=deepcopy(module))  # hooks stay on a module
    curved = Declaration(adjacency="zero_out", curvature=(0.0, 0.5))
    session(curved, module=deepcopy(module))


def test_rows_beyond_the_bound() -> None:
    data = dataset()
    data.tensors[0][37] *= 1.001
    made = session(data=data)
    with refused("feature_bound", "is passed by the norm of a row; scale"):
        made.train()
    assert len(made.accountant) == 3, "the batches before it"


def test_rows_that_are_no_numbers() -> None:
    data = dataset()
    data.tensors[0][0, 0] = math.nan
    with refused("feature_bound"):
        session(data=data).train()


def test_evaluation_may_see_any_row() -> None:
    made = session().train()
    with torch.no_grad():
        made.module(10 * torch.ones(2, FEATURES))
    made.module.eval()
    made.module(10 * torch.ones(2, FEATURES))
    made.module.train()
    assert len(made.train().accountant) == 12


def test_more_than_one_row_a_record() -> None:
    rows, labels = dataset().tensors
    pairs = TensorDataset(torch.stack([rows, rows], dim=1), torch.stack([labels, labels], dim=1))
    made = session(data=pairs)
    with refused("features", "flatten"):
        made.module(pairs.tensors[0])


def test_a_loss_of_another_scale() -> None:
    with refused("loss", "no gradient as long"):
        session(criterion=nn.BCEWithLogitsLoss(reduction="sum")).train()


def test_parameters_outside_of_the_ball() -> None:
    declaration = Declaration(adjacency="zero_out", curvature=(-0.1, 0.5), diameter=2.0)
    made = session(declaration, weight_decay=0.0, noise_multiplier=20.0, lr=1.0)
    with torch.no_grad():
        for p in made.optimizer.params:
            p.zero_()
    with refused("diameter", "project"):
        made.train(20)


def test_a_loss_that_is_not_convex_under_poisson_sampling() -> None:
    """Weight decay makes up for it on average only: a batch may be larger."""
    declaration = Declaration(adjacency="zero_out", curvature=(-0.05, 0.5), diameter=2.0)
    with refused("curvature", "any size"):
        session(declaration, poisson_sampling=True)


def test_a_model_that_is_not_convex_on_a_ball() -> None:
    declaration = Declaration(adjacency="zero_out", curvature=(-0.1, 0.5), diameter=2.0)
    made = session(declaration, weight_decay=0.0)
    with torch.no_grad():
        for p in made.optimizer.params:
            p.zero_()
    for _ in range(20):
        for x, y in made.loader:
            made.step(x, y)
            norm = torch.cat([p.detach().reshape(-1) for p in made.optimizer.params]).norm()
            with torch.no_grad():
                for p in made.optimizer.params:
                    p.mul_(1.0 / max(1.0, float(norm)))
    run, geometry = made.accountant.described()
    assert (geometry.strong_convexity, geometry.diameter) == (-0.1, 2.0)
    composed = sdp.certify(run, geometry, bounds="composition").epsilon(1e-5)
    assert made.engine.get_epsilon(1e-5) < 0.9 * composed


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({}, "loss"),
        ({"loss": "softmax", "feature_bound": 1.0}, "loss"),
        ({"loss": "logistic"}, "feature_bound"),
        ({"loss": "logistic", "feature_bound": 0.0}, "feature_bound"),
        ({"loss": "logistic", "feature_bound": 1.0, "curvature": (0, 1)}, "curvature"),
        ({"curvature": (-0.1, 1.0)}, "curvature"),
        ({"curvature": (1.0, 0.5)}, "curvature"),
        ({"curvature": (0.0, math.inf)}, "curvature"),
        ({"curvature": (0.0, 1.0), "diameter": 0.0}, "diameter"),
        ({"bounds": "tight"}, "bounds"),
        ({"adjacency": "add_remove", "bounds": "composition"}, "adjacency"),
    ],
)
def test_declarations(arguments: dict[str, Any], name: str) -> None:
    with pytest.raises(sdp.InvalidInput) as caught:
        Declaration(**{"adjacency": "zero_out", **arguments})
    assert caught.value.name == name


# --- loaders ---


class Stream(IterableDataset[Any]):
    def __iter__(self) -> Any:
        return iter(dataset())


class Backwards(BatchSampler):
    """Some order of somebody's own."""


def _loader(sampler: Any) -> DataLoader[Any]:
    return DataLoader(dataset(), batch_size=10, sampler=sampler)


@pytest.mark.parametrize(
    "loader",
    [
        _loader(RandomSampler(dataset(), replacement=True)),
        _loader(RandomSampler(dataset(), num_samples=30)),
        _loader(WeightedRandomSampler([1.0] * 60, 60)),
        _loader(SubsetRandomSampler(range(50))),
        DataLoader(dataset(), batch_sampler=Backwards(range(60), 10, False)),
    ],
    ids=["replacement", "fewer", "weighted", "subset", "custom"],
)
@pytest.mark.parametrize("declaration", [LOGISTIC, COMPOSED])
def test_samplers(declaration: Declaration, loader: Any) -> None:
    with refused("data_loader", "no theorem covers"):
        session(declaration, loader=loader)


def test_streams_and_lists() -> None:
    made = session(attach=False)
    for loader, match in (([], "not a DataLoader"), (DataLoader(Stream()), "stream")):
        with refused("data_loader", match):
            made.accountant.attach(made.module, made.optimizer, loader)


def test_a_loader_without_batches() -> None:
    made = session(attach=False)
    loader = DataLoader(dataset(5), batch_size=10, drop_last=True)
    with refused("data_loader", "no batch"):
        made.accountant.attach(made.module, made.optimizer, loader)


def test_random_records_for_empty_batches() -> None:
    with refused("data_loader", "random record"):
        session(poisson_sampling=True, rand_on_empty=True)


def test_a_ragged_last_batch_that_is_shuffled() -> None:
    with refused("batch_size", "last batch of 5"):
        session(data=dataset(55), shuffle=True)
    with refused("batch_size", "drop_last"):
        session(
            data=dataset(55),
            shuffle=True,
            calibrate=True,
            target_epsilon=1.0,
            target_delta=1e-5,
            epochs=1,
        )
    assert session(data=dataset(55), shuffle=True, drop_last=True).train().accountant.history


def test_a_loader_that_was_not_shown() -> None:
    made = session(attach=False)
    with refused("optimizer", "attach"):
        made.train()
    assert len(made.accountant) == 0


def test_another_loader_than_the_one_that_was_shown() -> None:
    made = session(attach=False)
    made.accountant.attach(made.module, made.optimizer, made.loader)
    with refused("data_loader", "loop over the loader"):
        made.train()


def test_another_loader_than_before() -> None:
    made = session().train()
    other = DataLoader(dataset(), batch_size=20)
    with refused("data_loader", "not the one so far"):
        made.accountant.attach(made.module, made.optimizer, other)


@pytest.mark.parametrize("poisson", [False, True])
def test_a_batch_that_is_used_twice(poisson: bool) -> None:
    made = session(poisson_sampling=poisson)
    for x, y in made.loader:
        made.step(x, y)
        with refused("data_loader", "one step for each batch"):
            made.step(x, y)
        break


@pytest.mark.parametrize("poisson", [False, True])
def test_a_batch_that_is_left_out(poisson: bool) -> None:
    made = session(poisson_sampling=poisson)
    with refused("data_loader", "one step for each batch"):
        for k, (x, y) in enumerate(made.loader):
            if k != 2:
                made.step(x, y)
    assert len(made.accountant) == 2


def test_a_step_after_the_pass() -> None:
    made = session()
    for x, y in made.loader:
        made.step(x, y)
    with refused("data_loader", "yielded"):
        made.step(x, y)


def test_a_pass_that_is_broken_off() -> None:
    made = session()
    for x, y in made.loader:
        made.step(x, y)
        break
    with refused("data_loader", "1 of 6"):
        made.train()


def test_passes_that_are_mixed() -> None:
    made = session()
    first, second = iter(made.loader), iter(made.loader)
    next(first)
    next(second)
    with refused("data_loader", "mixed"):
        next(first)


def test_a_part_of_a_batch() -> None:
    made = session()
    for x, y in made.loader:
        with refused("data_loader", "whole batch"):
            made.step(x[:4], y[:4])
        break


def test_looking_at_the_data_is_free() -> None:
    made = session()
    assert len(made.loader) == len(list(made.loader)) == 6
    assert made.loader.dataset is made.loader.dataset
    next(iter(made.loader))
    assert len(made.train().accountant) == 6


def test_batches_that_are_accumulated() -> None:
    made = session()
    with refused("accumulated_iterations"):
        for k, (x, y) in enumerate(made.loader):
            made.criterion(made.module(x).squeeze(1), y).backward()
            if k == 1:
                made.optimizer.step()


def test_skipped_steps() -> None:
    """Opacus' virtual steps put several batches into one."""
    made = session()
    with refused("data_loader"):
        for k, (x, y) in enumerate(made.loader):
            made.optimizer.signal_skip_step(do_skip=k % 2 == 0)
            made.step(x, y)


def test_batches_that_are_split_to_save_memory() -> None:
    made = session(poisson_sampling=True)
    manager = BatchMemoryManager(
        data_loader=made.loader, max_physical_batch_size=5, optimizer=made.optimizer
    )
    with manager as loader, refused("data_loader", "attach returned"):
        made.once(loader)


def test_steps_that_are_only_told() -> None:
    made = session()
    with refused("noise_multiplier"):
        made.accountant.step(noise_multiplier=1.0, sample_rate=0.1)
