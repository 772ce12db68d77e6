"""Loaders, optimizers and models of Opacus: what no theorem covers is refused by name."""

from __future__ import annotations

import math
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from opacus.optimizers import DistributedDPOptimizer
from torch import nn
from torch.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    IterableDataset,
    RandomSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)

import shiftdp as sdp
from shiftdp.privacy.opacus.accountant import Declaration
from tests.privacy.opacus.loop import (
    COMPOSED,
    COMPUTED,
    FEATURES,
    LOGISTIC,
    dataset,
    refused,
    session,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:Secure RNG"),
    pytest.mark.filterwarnings("ignore:Full backward hook"),
]


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
    with refused("loss", "other gradients"):
        session(criterion=nn.BCEWithLogitsLoss(reduction="sum")).train()


def test_parameters_outside_of_the_ball() -> None:
    declaration = Declaration(adjacency="zero_out", curvature=(-0.1, 0.5), diameter=2.0)
    made = session(declaration, weight_decay=0.0, noise_multiplier=20.0, lr=1.0)
    with torch.no_grad():
        for p in made.optimizer.params:
            p.zero_()
    with refused("diameter", "project"):
        made.train(20)


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


# --- records ---


def repeated(samples: list[Any]) -> Any:
    return torch.utils.data.default_collate([samples[0]] * len(samples))


@pytest.mark.parametrize("poisson", [False, True])
def test_records_that_a_collate_function_repeats(poisson: bool) -> None:
    loader = DataLoader(dataset(), batch_size=10, collate_fn=repeated)
    for declaration in (LOGISTIC, COMPOSED):
        with refused("collate_fn", "more than once"):
            session(declaration, loader=loader, poisson_sampling=poisson)
    # on one's own word, which the certificate repeats
    made = session(COMPUTED, loader=loader, poisson_sampling=poisson).train()
    assert "inputs" in [item.name for item in made.accountant.certificate().assumptions]


@pytest.mark.parametrize(
    "data",
    [
        Subset(dataset(), [0] * 60),
        Subset(Subset(dataset(), [3, 3, 4]), [0, 1]),
        (lambda data: ConcatDataset([data, data]))(dataset(30)),
    ],
    ids=["subset", "nested", "twice"],
)
def test_records_with_several_indices(data: Any) -> None:
    with refused("data_loader", "several indices"):
        session(COMPOSED, data=data, batch_size=2)
    halves: Any = ConcatDataset([Subset(dataset(), range(30)), Subset(dataset(), range(30, 60))])
    assert len(session(data=halves).train().accountant) == 6


class _Tripled(nn.Sequential):
    """Not what its layers are: what a derived class computes is its own."""

    def forward(self, x: torch.Tensor) -> Any:
        return 3.0 * self[0](x)


class _Bent(nn.Identity):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x)


@pytest.mark.parametrize(
    "module",
    [_Tripled(nn.Linear(FEATURES, 1)), nn.Sequential(nn.Linear(FEATURES, 1), _Bent())],
    ids=["model", "layer"],
)
def test_classes_that_are_derived_from_plain_ones(module: nn.Module) -> None:
    declared = Declaration(adjacency="zero_out", loss="squared", feature_bound=1.0)
    with refused("module", "not a single linear map"):
        session(declared, module=module, criterion=nn.MSELoss())


@pytest.mark.parametrize("places", [torch.tensor([0, 0, 1, 2]), [0, 59, -1, 2]])
def test_places_that_are_the_same_though_they_do_not_look_it(places: Any) -> None:
    with refused("data_loader", "several indices"):
        session(data=Subset(dataset(), places), batch_size=2)


def test_frozen_layers_in_front_of_the_linear_map_are_named_with_the_way_around_them() -> None:
    frozen = nn.Linear(FEATURES, FEATURES).requires_grad_(requires_grad=False)
    declared = Declaration(adjacency="zero_out", loss="squared", feature_bound=1.0)
    with refused("module", "frozen layers in front of the linear map that is trained"):
        session(declared, module=nn.Sequential(frozen, nn.Linear(FEATURES, 1)))
