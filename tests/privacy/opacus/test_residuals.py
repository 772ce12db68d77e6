"""Gradients of a step are held to the declared loss, record by record."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

from shiftdp.privacy.opacus.accountant import Declaration
from shiftdp.privacy.opacus.residuals import refuse_other_loss
from shiftdp.torch import EnvelopeCrossEntropy
from tests.privacy.opacus.loop import FEATURES, classes, dataset, refused, session

pytestmark = [
    pytest.mark.filterwarnings("ignore:Secure RNG"),
    pytest.mark.filterwarnings("ignore:Full backward hook"),
]

SOFTMAX = Declaration(adjacency="zero_out", loss="softmax", feature_bound=1.0)
ENVELOPE = Declaration(adjacency="zero_out", loss="envelope_softmax", feature_bound=1.0)


def enveloped(clip: float = 0.5, **settings: Any) -> EnvelopeCrossEntropy:
    return EnvelopeCrossEntropy(clip, **{"feature_bound": 1.0, **settings})


class _Scaled(nn.Module):
    """A loss of scores that were scaled: its curvature is not that of softmax."""

    def __init__(self, loss: nn.Module, factor: float) -> None:
        super().__init__()
        self.loss, self.factor = loss, factor

    def forward(self, scores: torch.Tensor, targets: torch.Tensor) -> Any:
        return self.loss(self.factor * scores, targets)


class _ByHand(nn.Module):
    """The gradient of cross-entropy scaled to the clip by whoever wrote the loop."""

    def __init__(self, limit: float = 0.4999 / 2**0.5) -> None:
        super().__init__()
        self.limit = limit

    def forward(self, scores: torch.Tensor, targets: torch.Tensor) -> Any:
        with torch.no_grad():
            g = torch.softmax(scores, dim=1) - nn.functional.one_hot(targets, scores.shape[1])
            g = g * (self.limit / g.norm(dim=1, keepdim=True)).clamp(max=1.0)
        return (g * scores).sum(dim=1).mean()


@pytest.mark.parametrize(
    "criterion",
    [
        nn.CrossEntropyLoss(weight=torch.tensor([1.0, 0.5, 1.0])),
        nn.CrossEntropyLoss(label_smoothing=0.1),
        nn.CrossEntropyLoss(reduction="sum"),
        nn.MultiMarginLoss(),
        _Scaled(nn.CrossEntropyLoss(), 1.1),
        enveloped(),
    ],
    ids=["weights", "smoothed", "sum", "hinge", "scaled", "envelope"],
)
def test_what_is_not_cross_entropy_is_refused(criterion: nn.Module) -> None:
    made = session(
        SOFTMAX, module=nn.Linear(FEATURES, 3), data=classes(), criterion=criterion,
        max_grad_norm=2.01,
    )  # fmt: skip
    with refused("loss", "other gradients"):
        made.train()
    assert len(made.accountant) == 0


@pytest.mark.parametrize(
    "criterion",
    [
        nn.CrossEntropyLoss(),
        enveloped(0.6),
        enveloped(0.4),
        enveloped(feature_bound=2.0),
        enveloped(bias=False),
        enveloped(reduction="sum"),
        _Scaled(enveloped(), 0.5),
        _ByHand(),
    ],
    ids=["plain", "longer", "shorter", "bound", "no bias", "sum", "scaled", "by hand"],
)
def test_what_is_not_the_envelope_is_refused(criterion: nn.Module) -> None:
    torch.manual_seed(0)
    module = nn.Linear(FEATURES, 3)
    with torch.no_grad():
        module.weight.mul_(4.0)
    made = session(ENVELOPE, module=module, data=classes(), criterion=criterion, max_grad_norm=0.5)
    with refused("loss", "EnvelopeCrossEntropy"):
        made.train()
    assert len(made.accountant) == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("frozen", ["none", "weight", "bias"])
@pytest.mark.parametrize("clip", [0.02, 0.5, 1.3])
def test_the_envelope_itself_is_known(clip: float, frozen: str, dtype: torch.dtype) -> None:
    """Scores of any size: at first, after long training, and where records are certain."""
    torch.manual_seed(1)
    x, y = classes().tensors
    for size in (0.1, 10.0, 100.0):
        module = nn.Linear(FEATURES, 3, dtype=dtype)
        with torch.no_grad():
            module.weight.normal_().mul_(size)
        if frozen != "none":
            getattr(module, frozen).requires_grad_(False)
        made = session(
            ENVELOPE,
            module=module,
            data=TensorDataset(x.to(dtype), y),
            criterion=enveloped(clip),
            optimizer=lambda m: torch.optim.SGD(
                [p for p in m.parameters() if p.requires_grad], lr=0.5
            ),
            max_grad_norm=clip,
        )
        assert len(made.train().accountant) == 6


def test_limits_of_single_rows_are_known() -> None:
    x, y = classes().tensors
    x = x * torch.linspace(0.0, 1.0, len(x))[:, None]
    for bias in (False, True):
        made = session(
            ENVELOPE, module=nn.Linear(FEATURES, 3, bias=bias), data=TensorDataset(x, y),
            max_grad_norm=0.3,
        )  # fmt: skip
        loss = enveloped(0.3, bias=bias)
        for rows, labels in made.loader:
            made.optimizer.zero_grad()
            loss(made.module(rows), labels, rows).backward()
            made.optimizer.step()
        assert len(made.accountant) == 6


def test_labels_of_a_certain_record_are_not_asked_for() -> None:
    module = nn.Linear(FEATURES, 3)
    with torch.no_grad():
        module.weight.zero_()
        module.weight[:3, :3] = 200.0 * torch.eye(3)
    made = session(
        SOFTMAX, module=module, data=classes(), criterion=nn.CrossEntropyLoss(), max_grad_norm=2.01
    )
    assert len(made.train().accountant) == 6


def test_a_call_that_is_not_the_step_is_passed_over() -> None:
    linear: Any = nn.Linear(FEATURES, 3)
    x, y = classes(10).tensors
    scores = linear(x).detach()
    g = torch.softmax(scores, dim=1) - nn.functional.one_hot(y, 3)
    linear.bias.grad_sample, linear.weight.grad_sample = g, g[:, :, None] * x[:, None, :]
    other = (x.flip(0), linear(x.flip(0)).detach())
    refuse_other_loss(linear, [other, (x, scores)], SOFTMAX, 2.01)
    for calls in ([], [other], [(x[:3], scores[:3])]):
        with refused("loss"):
            refuse_other_loss(linear, calls, SOFTMAX, 2.01)
    linear.bias.grad_sample = None
    refuse_other_loss(linear, [(x, scores)], SOFTMAX, 2.01)
    linear.weight.grad_sample = linear.weight.grad_sample + 0.01
    with refused("loss"):
        refuse_other_loss(linear, [(x, scores)], SOFTMAX, 2.01)


def test_the_envelope_is_told_from_scaling_at_small_limits_too() -> None:
    """Long rows: the limit of a residual is 1/7000, and what agrees is a part of that."""
    declaration = Declaration(adjacency="zero_out", loss="envelope_softmax", feature_bound=7000.0)
    torch.manual_seed(0)
    module = nn.Linear(FEATURES, 3)
    given: dict[str, Any] = {"data": classes(norm=6999.0), "max_grad_norm": 1.0, "lr": 1e-9}
    envelope = EnvelopeCrossEntropy(1.0, feature_bound=7000.0)
    known = session(declaration, module=deepcopy(module), criterion=envelope, **given)
    assert len(known.train().accountant) == 6
    by_hand = _ByHand(envelope.limit)
    scaled = session(declaration, module=deepcopy(module), criterion=by_hand, **given)
    with refused("loss", "other gradients"):
        scaled.train()


def test_scores_of_almost_the_declared_size_are_refused() -> None:
    criterion = _Scaled(nn.CrossEntropyLoss(), 1.0001)
    made = session(
        SOFTMAX, module=nn.Linear(FEATURES, 3), data=classes(), criterion=criterion,
        max_grad_norm=2.01,
    )  # fmt: skip
    with refused("loss", "other gradients"):
        made.train()


def test_scores_in_half_precision_do_not_show_their_loss() -> None:
    x, y = classes(norm=0.9).tensors
    made = session(
        SOFTMAX, module=nn.Linear(FEATURES, 3).half(), data=TensorDataset(x.half(), y),
        criterion=nn.CrossEntropyLoss(), max_grad_norm=2.01,
    )  # fmt: skip
    with refused("scores", "too few digits"):
        made.train()


@pytest.mark.parametrize(
    "criterion",
    [
        _Scaled(nn.BCEWithLogitsLoss(), 1.2),
        nn.BCEWithLogitsLoss(pos_weight=torch.tensor(1.2)),
    ],
    ids=["scaled", "weights"],
)
def test_what_is_not_the_logistic_loss_is_refused_though_its_gradients_are_short(
    criterion: nn.Module,
) -> None:
    module = nn.Linear(FEATURES, 1)
    nn.init.zeros_(module.weight)
    with refused("loss", "BCEWithLogitsLoss"):
        session(module=module, criterion=criterion, lr=0.01).train()


class _Focal(nn.Module):
    """Not convex; no gradient of a record that is nearly right is longer than the logistic one."""

    def forward(self, scores: torch.Tensor, targets: torch.Tensor) -> Any:
        p = torch.sigmoid(scores * (2.0 * targets - 1.0))
        return (-((1.0 - p) ** 2) * p.log()).mean()


class _Smoothed(nn.Module):
    def forward(self, scores: torch.Tensor, targets: torch.Tensor) -> Any:
        return nn.functional.binary_cross_entropy_with_logits(scores, 0.1 + 0.8 * targets)


def test_a_loss_that_bends_in_another_way_is_refused() -> None:
    with refused("loss", "BCEWithLogitsLoss"):
        session(criterion=_Focal()).train()


@pytest.mark.parametrize("bias", [True, False])
def test_labels_of_a_logistic_loss_may_be_smoothed_or_shares(bias: bool) -> None:
    x, y = (tensor.clone() for tensor in dataset().tensors)
    x[::7] = 0.0  # without a bias nothing is seen of these
    shares = torch.linspace(0.0, 1.0, len(y))
    for labels, criterion in ((y, _Smoothed()), (shares, None), (y, None)):
        module = nn.Linear(FEATURES, 1, bias=bias)
        made = session(data=TensorDataset(x, labels), module=module, criterion=criterion)
        assert len(made.train(2).accountant) == 12
