"""Softmax under Opacus: covered where the clip cannot act, and refused where it can."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

import shiftdp as sdp
from shiftdp.privacy.opacus.accountant import Declaration
from shiftdp.torch import EnvelopeCrossEntropy
from tests.privacy.opacus.loop import COMPOSED, FEATURES, classes, dataset, refused, session

pytestmark = [
    pytest.mark.filterwarnings("ignore:Secure RNG"),
    pytest.mark.filterwarnings("ignore:Full backward hook"),
]

# --- a curvature that is declared ---


@pytest.mark.parametrize(
    ("module", "criterion"),
    [
        (nn.Linear(FEATURES, 3), nn.CrossEntropyLoss()),
        (nn.Linear(FEATURES, 3, bias=False), nn.CrossEntropyLoss(label_smoothing=0.1)),
        (nn.Sequential(nn.Linear(FEATURES, 3), nn.LogSoftmax(dim=1)), nn.NLLLoss()),
        (
            nn.Sequential(nn.Linear(FEATURES, 5), nn.Tanh(), nn.Linear(5, 3)),
            nn.CrossEntropyLoss(),
        ),
    ],
    ids=["softmax", "smoothed labels", "inside the model", "last layer"],
)
@pytest.mark.parametrize(
    "declared",
    [
        {"curvature": (0.0, 0.5)},
        {"curvature": (0.0, 0.5), "feature_bound": 1.0},
        {"curvature": (-0.5, 0.5), "diameter": 1000.0},
    ],
    ids=str,
)
def test_clipped_softmax_whatever_is_declared(module: Any, criterion: Any, declared: Any) -> None:
    declaration = Declaration(adjacency="zero_out", **declared)
    made = session(
        declaration, module=deepcopy(module), criterion=criterion, data=classes(), shuffle=True
    )
    with refused("curvature", "softmax of 3 outputs"):
        made.train()
    assert len(made.accountant) == 0
    composed = session(
        COMPOSED, module=deepcopy(module), criterion=criterion, data=classes(), shuffle=True
    )
    assert len(composed.train().accountant) == 6


class _Convolved(nn.Module):
    """Scores by a convolution of width 1, which is a linear map under another name."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Conv1d(FEATURES, 3, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.head(x.unsqueeze(2)).squeeze(2)
        return scores


def _biases_only() -> nn.Module:
    module = nn.Linear(FEATURES, 3)
    module.weight.requires_grad_(False)
    return module


@pytest.mark.parametrize("make", [_Convolved, _biases_only])
def test_clipped_softmax_of_other_heads(make: Any) -> None:
    made = session(
        Declaration(adjacency="zero_out", curvature=(0.0, 0.5)),
        module=make(),
        criterion=nn.CrossEntropyLoss(),
        data=classes(),
    )
    with refused("curvature", "softmax of 3 outputs"):
        made.train()


def test_records_that_are_certain_do_not_hide_softmax() -> None:
    """1 - p_y has lost its digits in single precision there, and p - e_y does not sum to 0."""
    module = nn.Linear(FEATURES, 3)
    with torch.no_grad():
        module.weight.zero_()
        module.bias.zero_()
        module.weight[0, 0] = 20.0
    x, y = (tensor.clone() for tensor in classes().tensors)
    x[::5], y[::5] = torch.eye(FEATURES)[0], 0
    made = session(
        Declaration(adjacency="zero_out", curvature=(0.0, 0.5)),
        module=module,
        criterion=nn.CrossEntropyLoss(),
        data=TensorDataset(x, y),
    )
    with refused("curvature", "softmax of 3 outputs"):
        made.train()


def test_softmax_that_is_never_clipped_is_covered() -> None:
    """sqrt(2) times the norm of a row with its constant is 2, up to rounding."""
    declaration = Declaration(adjacency="zero_out", curvature=(0.0, 1.0), feature_bound=1.0)
    given: dict[str, Any] = {"data": classes(), "criterion": nn.CrossEntropyLoss()}
    module = nn.Linear(FEATURES, 3)
    made = session(declaration, module=deepcopy(module), max_grad_norm=2.01, **given).train()
    assert made.engine.get_epsilon(1e-5) > 0
    with refused("curvature"):
        session(declaration, module=deepcopy(module), max_grad_norm=2.0, **given).train()
    long = TensorDataset(2.0 * given["data"].tensors[0], given["data"].tensors[1])
    with refused("feature_bound"):
        session(
            declaration,
            module=deepcopy(module),
            max_grad_norm=2.01,
            **{**given, "data": long},
        ).train()


def test_other_losses_of_several_outputs_and_two_classes_are_taken_at_their_word() -> None:
    declaration = Declaration(adjacency="zero_out", curvature=(0.0, 2.0))
    x, _ = dataset().tensors
    vectors = TensorDataset(x, torch.stack([x[:, 0], x[:, 1], x[:, 2] + 1.0], dim=1))
    made = session(
        declaration, module=nn.Linear(FEATURES, 3), data=vectors, criterion=nn.MSELoss()
    ).train()
    assert "declared curvature" in [i.name for i in made.accountant.certificate().assumptions]
    pair = TensorDataset(x, (x[:, 0] > 0).long())
    two = session(
        declaration, module=nn.Linear(FEATURES, 2), data=pair, criterion=nn.CrossEntropyLoss()
    )
    assert len(two.train().accountant) == 6


# --- a softmax that is declared ---

SOFTMAX = Declaration(adjacency="zero_out", loss="softmax", feature_bound=1.0)
ENVELOPE = Declaration(adjacency="zero_out", loss="envelope_softmax", feature_bound=1.0)


def test_softmax_is_covered_where_the_clip_cannot_act() -> None:
    """sqrt(2) times the norm of a row with its constant is 2, up to rounding."""
    given: dict[str, Any] = {"data": classes(), "criterion": nn.CrossEntropyLoss()}
    made = session(SOFTMAX, module=nn.Linear(FEATURES, 3), max_grad_norm=2.01, **given).train()
    _, geometry = made.accountant.described()
    assert geometry.strong_convexity == 0.1, "the weight decay"
    assert 1.1 <= geometry.smoothness < 1.1001, "half of a squared row with its constant, and that"
    assert geometry.sensitivity == geometry.gradient_bound == 2.01
    assert not any("curvature" in item.name for item in made.accountant.certificate().assumptions)
    for clip in (2.0, 0.7):
        with refused("max_grad_norm", "not the gradient of any function"):
            session(SOFTMAX, module=nn.Linear(FEATURES, 3), max_grad_norm=clip, **given)
    bare = session(
        SOFTMAX, module=nn.Linear(FEATURES, 3, bias=False), max_grad_norm=1.42, **given
    ).train()
    assert 0.6 <= bare.accountant.described()[1].smoothness < 0.6001
    with refused("max_grad_norm"):
        session(SOFTMAX, module=nn.Linear(FEATURES, 3, bias=False), max_grad_norm=1.41, **given)


def test_a_clip_that_was_lowered_after_attach_is_seen() -> None:
    made = session(
        SOFTMAX, module=nn.Linear(FEATURES, 3), max_grad_norm=2.01, data=classes(),
        criterion=nn.CrossEntropyLoss(),
    )  # fmt: skip
    made.optimizer.max_grad_norm = 0.5
    with refused("max_grad_norm", "may clip"):
        made.train()
    assert len(made.accountant) == 0


@pytest.mark.parametrize("declaration", [SOFTMAX, ENVELOPE])
def test_losses_may_be_summed(declaration: Declaration) -> None:
    loss: Any = nn.CrossEntropyLoss(reduction="sum")
    if declaration is ENVELOPE:
        loss = EnvelopeCrossEntropy(2.01, feature_bound=1.0, reduction="sum")
    made = session(
        declaration, module=nn.Linear(FEATURES, 3), max_grad_norm=2.01, data=classes(), lr=0.05,
        criterion=loss, loss_reduction="sum",
    ).train()  # fmt: skip
    run, geometry = made.accountant.described()
    assert run.learning_rate == pytest.approx(0.5)
    assert geometry.strong_convexity == pytest.approx(0.01)


def test_two_classes_may_be_clipped() -> None:
    """They are one score, and clipping a derivative leaves that of a convex loss."""
    x, labels = dataset().tensors
    made = session(
        SOFTMAX,
        module=nn.Linear(FEATURES, 2),
        data=TensorDataset(x, labels.long()),
        criterion=nn.CrossEntropyLoss(),
        max_grad_norm=0.3,
    ).train()
    assert len(made.accountant) == 6


def test_the_number_of_outputs_is_that_of_the_loss() -> None:
    for declaration in (SOFTMAX, ENVELOPE):
        with refused("out_features", "one class"):
            session(declaration, module=nn.Linear(FEATURES, 1))
        with refused("module", "single linear"):
            session(declaration, module=nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 3)))


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_the_envelope_is_covered_at_any_clip(bias: bool, shuffle: bool) -> None:
    made = session(
        ENVELOPE,
        module=nn.Linear(FEATURES, 3, bias=bias),
        data=classes(),
        shuffle=shuffle,
        criterion=EnvelopeCrossEntropy(0.5, feature_bound=1.0, bias=bias),
        max_grad_norm=0.5,
        lr=0.5,
    )
    seen: list[float] = []
    clip = made.optimizer.clip_and_accumulate

    def watched() -> None:
        records = len(made.optimizer.grad_samples[0])
        rows = [g.reshape(records, -1) for g in made.optimizer.grad_samples]
        norms = torch.cat(rows, dim=1).norm(dim=1)
        seen.append(float((0.5 / (norms + 1e-6)).clamp(max=1.0).min()))
        clip()

    made.optimizer.clip_and_accumulate = watched
    made.train(3)
    assert seen == [1.0] * 18, "Opacus scales nothing"
    run, geometry = made.accountant.described()
    assert run.epochs == 3
    assert geometry.sensitivity == 0.5
    assert geometry.smoothness == pytest.approx(0.1 + 0.5 * (1.0 + bias), rel=1e-5)
    assert made.accountant.certificate().bound != "Thm mgd (composition)"


def test_a_clip_that_is_too_small_for_an_envelope() -> None:
    with refused("max_grad_norm", "less than"):
        session(ENVELOPE, module=nn.Linear(FEATURES, 3), max_grad_norm=1e-4)


def test_poisson_batches_and_empty_ones() -> None:
    torch.manual_seed(3)
    made = session(
        ENVELOPE,
        module=nn.Linear(FEATURES, 3),
        data=classes(),
        batch_size=1,
        criterion=EnvelopeCrossEntropy(0.5, feature_bound=1.0),
        max_grad_norm=0.5,
        poisson_sampling=True,
    ).train()
    assert len(made.accountant) == 60


def test_composition_asks_for_nothing() -> None:
    declaration = Declaration(
        adjacency="zero_out", loss="softmax", feature_bound=1.0, bounds="composition"
    )
    made = session(
        declaration,
        module=nn.Linear(FEATURES, 3),
        data=classes(),
        criterion=nn.CrossEntropyLoss(),
    ).train()
    assert len(made.accountant) == 6


def test_ten_classes_and_a_shuffled_loader_cost_the_last_iterate_only() -> None:
    """Nine passes with a noise multiplier of 2: by composition that is G(3/2)."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(200, 20, generator=generator)
    x = x / x.norm(dim=1, keepdim=True)
    data = TensorDataset(x, x[:, :10].argmax(dim=1))
    costs = []
    for declaration in (ENVELOPE, COMPOSED):
        made = session(
            declaration,
            module=nn.Linear(20, 10),
            data=data,
            batch_size=20,
            shuffle=True,
            criterion=EnvelopeCrossEntropy(1.0, feature_bound=1.0),
            max_grad_norm=1.0,
            noise_multiplier=2.0,
            lr=0.5,
            weight_decay=0.01,
        ).train(9)
        made.accountant.certificate().verify()
        costs.append(made.engine.get_epsilon(1e-5))
    assert costs == pytest.approx([2.365, 7.051], abs=0.002)
    assert costs[1] == pytest.approx(sdp.GaussianTradeoff(1.5).epsilon(1e-5), rel=1e-6)
