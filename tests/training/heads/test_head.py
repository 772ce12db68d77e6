"""`PrivateHead`: the run of the plan and no other, whatever the records come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from shiftdp import BudgetExceeded, InvalidInput, Ledger, UnmetHypothesis
from shiftdp.last_iterate import Certificate
from shiftdp.torch import BoundedFeatures, CertifiedLinear, PrivateHead
from shiftdp.training import Huber, Joint, Logistic, Loss, SmoothedHinge, Softmax, descend
from tests.training.heads.examples import D, Network, records

CLOSE = 1e-9  # of weights of size 1
SEED = 3


def tensors(loss: Loss, kind: Any = np.float64) -> tuple[torch.Tensor, torch.Tensor]:
    X, y = records(loss, kind=kind)
    return torch.from_numpy(X), torch.from_numpy(y)


def weights_of(layer: nn.Linear) -> np.ndarray[Any, Any]:
    parts = [layer.weight.detach()]
    if layer.bias is not None:
        parts.append(layer.bias.detach()[:, None])
    return torch.cat(parts, dim=1).double().numpy()


CHOICES: dict[str, dict[str, Any]] = {
    "planned": {},
    "full": {"algorithm": "gd", "epochs": 5},
    "cyclic": {"order": "fixed", "batch_size": 16, "epochs": 2},
    "shuffled": {"order": "shuffled_once", "batch_size": 16, "epochs": 2},
    "reshuffled": {"order": "reshuffled", "batch_size": 16, "epochs": 2, "l2": 0.1},
    "poisson": {"sampling": "poisson", "batch_size": 4, "epochs": 2, "adjacency": "zero_out"},
    "without replacement": {"sampling": "without_replacement", "batch_size": 16, "epochs": 2},
}


@pytest.mark.parametrize(
    ("chosen", "bias"),
    [(chosen, bias) for chosen in CHOICES.values() for bias in (True, False) if chosen or bias],
    ids=str,
)
def test_a_head_is_the_estimator_with_the_same_seed(chosen: dict[str, Any], bias: bool) -> None:
    from shiftdp.sklearn import PrivateLogisticRegression

    X, y = tensors(Softmax(classes=3))
    common = {"epsilon": 4.0, "feature_bound": 2.0, "random_state": SEED, **chosen}
    model = PrivateLogisticRegression(**common, classes=[0, 1, 2], fit_intercept=bias)
    model.fit(X.numpy(), y.numpy())
    head = PrivateHead(**common, classes=3, bias=bias)
    layer = head.fit(X, y)
    assert head.plan_.plan == model.plan_.plan
    expected = np.hstack([model.coef_, model.intercept_[:, None]]) if bias else model.coef_
    assert np.abs(weights_of(layer) - expected).max() <= CLOSE
    assert layer.certificate.epsilon(1e-5) == model.certificate_.epsilon(1e-5) <= 4.0


@pytest.mark.parametrize(
    "loss",
    [
        Logistic(),
        SmoothedHinge(width=0.7),
        Huber(width=0.5),
        Softmax(classes=4),
        Joint((Logistic(), Softmax(classes=3), Huber())),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_every_loss_is_the_descent_of_its_plan(loss: Loss, kind: Any) -> None:
    X, y = tensors(loss, kind)
    several: Any = list(loss.heads) if isinstance(loss, Joint) else loss
    head = PrivateHead(
        epsilon=4.0, feature_bound=2.0, loss=several, random_state=SEED, algorithm="gd"
    )
    head.epochs = 4
    layer = head.fit(X, y)
    expected = np.atleast_2d(descend(head.plan_.plan, X.numpy(), y.numpy()))
    assert layer.weight.dtype == (torch.float32 if kind is np.float32 else torch.float64)
    assert np.abs(weights_of(layer) - expected.astype(kind)).max() <= CLOSE
    assert layer.certificate == head.certificate_
    assert head.certificate_.training is not None
    assert head.certificate_.training.estimator == "PrivateHead"


def test_the_certificate_of_all_heads_verifies_and_is_charged(tmp_path: Path) -> None:
    losses = [Logistic(), Softmax(classes=3), Huber()]
    ledger = Ledger.create(tmp_path / "study", epsilon=1.2, delta=1e-5)
    head = PrivateHead(epsilon=1.0, feature_bound=2.0, loss=losses, ledger=ledger, epochs=4)
    X, y = tensors(Joint(tuple(losses)))
    layer = head.fit(X, [y[:, 0], y[:, 1], y[:, 2]])
    layer.certificate.verify()
    assert Certificate.from_json(layer.certificate.to_json()) == layer.certificate
    assert [entry.completed for entry in ledger.entries()] == [True]
    assert [one.out_features for one in layer.heads()] == [1, 3, 1]
    with pytest.raises(BudgetExceeded):
        head.fit(X, y)
    assert head.head_ is layer


class Listed(Dataset[Any]):
    def __init__(self, X: torch.Tensor, y: torch.Tensor) -> None:
        self.X, self.y = X, y

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, place: int) -> Any:
        return self.X[place], self.y[place]


@pytest.mark.parametrize("backbone", [None, Network()], ids=["features", "network"])
@pytest.mark.parametrize("cache", [True, "disk", False])
@pytest.mark.parametrize("kind", ["tensors", "dataset", "loader"])
def test_where_records_come_from_changes_nothing(backbone: Any, cache: Any, kind: str) -> None:
    X, y = tensors(Softmax(classes=3), np.float32)
    data: Any = {
        "tensors": (X, y),
        "dataset": Listed(X, y),
        "loader": DataLoader(TensorDataset(X, y), batch_size=7, shuffle=True),
    }[kind]
    fields: dict[str, Any] = {"feature_bound": 2.0, "classes": 3, "random_state": SEED}
    fields |= {"epsilon": 8.0, "order": "reshuffled", "batch_size": 16, "epochs": 2}
    features = X
    if backbone is not None:
        backbone.eval()
        with torch.no_grad():
            features = backbone(X)
    expected = weights_of(PrivateHead(**fields).fit(features, y))
    found = weights_of(PrivateHead(**fields, backbone=backbone, cache=cache).fit(data))
    # a float32 network may round differently in batches of another size, and what is released is
    # on a grid, of which the next point may be taken
    allowed = CLOSE if backbone is None else 1e-3
    assert np.abs(found - expected).max() <= allowed
    assert np.abs(expected).max() > 0.01


def test_a_mapped_file_stays_one_and_gives_the_same(tmp_path: Path) -> None:
    X, y = tensors(Logistic())
    np.save(tmp_path / "X.npy", X.numpy())
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    fields: dict[str, Any] = {"feature_bound": 2.0, "classes": 2, "random_state": SEED, "epochs": 3}
    expected = PrivateHead(**fields).fit(X, y)
    assert torch.equal(PrivateHead(**fields).fit(mapped, y).weight, expected.weight)
    assert torch.equal(PrivateHead(**fields).fit((mapped, y)).weight, expected.weight)


def test_checkpoints_and_averages_are_those_of_the_run() -> None:
    X, y = tensors(Logistic())
    fields: dict[str, Any] = {"epsilon": 4.0, "feature_bound": 2.0, "classes": 2, "epochs": 4}
    fields |= {"algorithm": "gd", "random_state": SEED}
    head = PrivateHead(**fields, checkpoints=2)
    layer = head.fit(X, y)
    assert [one.step for one in head.releases_] == [2, 4]
    assert torch.equal(head.releases_[-1].head.weight, layer.weight)
    averaged = PrivateHead(**fields, average=2)
    mean = averaged.fit(X, y)
    both = [weights_of(one.head) for one in averaged.releases_]
    assert np.abs(weights_of(mean) - np.mean(both, axis=0)).max() <= CLOSE
    averaged.average = None
    averaged.fit(X, y)
    assert not hasattr(averaged, "releases_")


def test_prediction_bounds_rows_as_training_does() -> None:
    X, y = tensors(Logistic(), np.float32)
    layer = PrivateHead(epsilon=4.0, feature_bound=0.5, classes=2).fit(X, y)
    model = nn.Sequential(BoundedFeatures(0.5), layer)
    long = X[X.norm(dim=1) > 0.5]
    scaled = long * (0.5 / long.norm(dim=1, keepdim=True))
    assert torch.allclose(model(long), layer(scaled), atol=1e-6)


def test_a_run_without_a_seed_differs_and_is_private() -> None:
    X, y = tensors(Logistic())
    head = PrivateHead(epsilon=1.0, feature_bound=2.0, classes=2)
    first, second = weights_of(head.fit(X, y)), weights_of(head.fit(X, y))
    assert (first != second).any()
    head.certificate_.verify()
    seeded = PrivateHead(epsilon=1.0, feature_bound=2.0, classes=2, random_state=0)
    assert "not private" in str(seeded.fit(X, y).certificate.assumptions)


def test_softmax_by_the_last_iterate_is_clipped_by_the_envelope() -> None:
    X, y = tensors(Softmax(classes=4))
    fields: dict[str, Any] = {"order": "fixed", "batch_size": 10, "epochs": 3, "l2": 0.1}
    head = PrivateHead(2.0, 1e-5, 2.0, classes=4, clip=0.5, bounds="best", **fields)
    head.fit(X, y)
    assert head.plan_.plan.clipping == "envelope"
    assert "composition" not in head.certificate_.bound
    head.certificate_.verify()


BAD: list[tuple[dict[str, Any], str]] = [
    ({}, "both missing"),
    ({"classes": 2, "loss": Logistic()}, "both given"),
    ({"classes": 1}, "classes"),
    ({"loss": "logistic"}, "is no loss"),
    ({"loss": [Logistic(), 3]}, "are not losses"),
    ({"loss": [3]}, "are not losses"),  # found by fuzzing
    ({"classes": 2, "device": "mps"}, "float64"),
    ({"classes": 2, "cache": "cloud"}, "is no place to keep"),
    ({"classes": 2, "cache": np.array([])}, "is no place to keep"),  # these two: found by fuzzing
    ({"classes": 2**53}, "makes a head of"),
    ({"classes": 2, "random_state": -1}, "random_state"),
    ({"classes": 2, "random_state": 2**40}, "is no seed"),
    ({"classes": 2, "epsilon": -1.0}, "epsilon"),
    ({"classes": 2, "feature_bound": 0.0}, "feature_bound"),
    ({"classes": 2, "oversized": "refuse", "feature_bound": 0.1}, "above feature_bound"),
    ({"classes": 3, "loss": None, "backbone": 4}, "is no network"),
    ({"loss": [Logistic(), Logistic()]}, "columns"),
]


@pytest.mark.parametrize(("fields", "words"), BAD, ids=str)
def test_what_is_wrong_is_one_error_and_leaves_nothing(fields: dict[str, Any], words: str) -> None:
    X, y = tensors(Logistic())
    head = PrivateHead(**{"epsilon": 1.0, "feature_bound": 2.0, **fields})
    with pytest.raises(InvalidInput, match=words):
        head.fit(X, y)
    assert not hasattr(head, "head_")


def test_a_seeded_run_is_not_charged(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study", epsilon=9.0, delta=1e-5)
    head = PrivateHead(1.0, 1e-5, 2.0, classes=2, ledger=ledger, random_state=1)
    with pytest.raises(InvalidInput, match="cannot be charged"):
        head.fit(*tensors(Logistic()))
    assert not ledger.entries()


def test_a_plan_needs_no_data() -> None:
    planned = PrivateHead(1.0, 1e-5, 1.0, classes=10).plan(n=50_000, features=512)
    assert planned.plan.certificate.epsilon(1e-5) <= 1.0
    assert isinstance(planned.plan.loss, Softmax)


def test_features_in_this_process_are_centred() -> None:
    """All positive and close to one another, as those of a network are."""
    X, y = tensors(Softmax(classes=3))
    far = 0.2 * X + 1.0
    fields: dict[str, Any] = {"epsilon": 4.0, "feature_bound": 3.0, "classes": 3}
    head = PrivateHead(**fields)
    layer = head.fit(far, y)
    assert head.plan_.plan.centred
    assert head.plan_.plan == PrivateHead(**fields).plan(*far.shape).plan
    assert layer.certificate.epsilon(1e-5) <= 4.0
    layer.certificate.verify()
    again = PrivateHead(**fields, backbone=torch.nn.Identity(), cache=False)
    again.fit(far, y)
    assert not again.plan_.plan.centred
    again.centre = True
    with pytest.raises(UnmetHypothesis, match="computed anew"):
        again.fit(far, y)


def test_two_heads_learn_what_one_learns() -> None:
    """Heads that pull equally much share a budget: each learns a little less than alone."""
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(3_000, D, generator=generator)
    y = torch.stack([X[:, 0] > 0, X[:, 1] + X[:, 2] > 0], dim=1).long()
    head = PrivateHead(4.0, 1e-5, 3.0, loss=[Logistic(), Logistic()], random_state=SEED)
    layer = head.fit(X, y)
    right = ((layer(X) > 0).long() == y).double().mean(dim=0)
    assert (right > 0.95).all()
    assert isinstance(layer, CertifiedLinear)


def test_two_classes_have_two_scores_as_more_classes_have() -> None:
    X = torch.linspace(-1.0, 1.0, 2000)[:, None]
    y = (X[:, 0] > 0).long()
    layer = PrivateHead(epsilon=4.0, feature_bound=1.0, classes=2).fit(X, y)
    assert layer(X).shape == (2000, 2)
    assert float((layer(X).argmax(dim=1) == y).float().mean()) > 0.9
    (head,) = layer.heads()
    assert torch.equal(head(X), layer(X))
