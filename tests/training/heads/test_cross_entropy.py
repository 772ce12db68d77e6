"""Cross-entropy whose gradients end at the clip: the NumPy loss, by autograd."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shiftdp as sdp
from shiftdp._rounding import unclipped_norm
from shiftdp.training import Softmax

torch = pytest.importorskip("torch")

from shiftdp.torch import EnvelopeCrossEntropy  # noqa: E402


def drawn(seed: int, records: int, classes: int, size: float) -> tuple[Any, Any]:
    """Scores and labels."""
    generator = torch.Generator().manual_seed(seed)
    scores = size * torch.randn(records, classes, generator=generator, dtype=torch.float64)
    labels = torch.randint(classes, (records,), generator=generator)
    return scores.requires_grad_(), labels


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    classes=st.integers(2, 12),
    size=st.floats(1e-3, 200.0),
    clip=st.floats(1e-3, 4.0),
)
def test_gradients_are_the_residuals_of_the_numpy_loss(
    seed: int, classes: int, size: float, clip: float
) -> None:
    scores, labels = drawn(seed, 7, classes, size)
    loss = EnvelopeCrossEntropy(clip, feature_bound=2.0, bias=False, reduction="sum")
    loss(scores, labels).backward()
    expected = np.ascontiguousarray(scores.detach().numpy().T)
    Softmax(classes=classes).residuals(expected, labels.numpy(), np.full(7, loss.limit))
    np.testing.assert_array_equal(scores.grad.numpy(), expected.T)
    assert (np.linalg.norm(expected, axis=0) <= loss.limit).all()
    assert loss.limit * 2.0 <= unclipped_norm(clip)


@pytest.mark.parametrize("size", [0.5, 8.0])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_gradients_are_those_of_the_values(size: float, reduction: Any) -> None:
    scores, labels = drawn(1, 6, 4, size)
    loss = EnvelopeCrossEntropy(0.8, feature_bound=1.0, reduction=reduction)
    assert torch.autograd.gradcheck(lambda z: loss(z, labels), (scores,), atol=1e-6)


def test_the_value_is_the_least_of_the_loss_and_the_way_to_it() -> None:
    """min over v of loss(v) + k |z - v|, found by torch's own optimizer."""
    scores, labels = drawn(2, 1, 3, 4.0)
    loss = EnvelopeCrossEntropy(0.5, feature_bound=1.0, bias=False)
    v = scores.detach().clone().requires_grad_()
    with torch.no_grad():
        v += 0.01
    search = torch.optim.LBFGS([v], max_iter=500, line_search_fn="strong_wolfe")

    def value() -> Any:
        search.zero_grad()
        way = torch.linalg.vector_norm(scores.detach() - v)
        total = torch.nn.functional.cross_entropy(v, labels) + loss.limit * way
        total.backward()
        return total

    search.step(value)
    found, least = loss(scores, labels).item(), value().item()
    assert found == pytest.approx(least, abs=1e-6)
    assert found < torch.nn.functional.cross_entropy(scores, labels).item()


def test_short_gradients_are_those_of_cross_entropy() -> None:
    scores, labels = drawn(3, 50, 10, 3.0)
    loss = EnvelopeCrossEntropy(2.01, feature_bound=1.0)
    plain = torch.nn.functional.cross_entropy(scores, labels)
    (expected,) = torch.autograd.grad(plain, scores)
    value = loss(scores, labels)
    (found,) = torch.autograd.grad(value, scores)
    torch.testing.assert_close(value, plain)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_of_weights_stay_below_the_clip(dtype: str) -> None:
    kind = getattr(torch, dtype)
    torch.manual_seed(0)
    x = torch.nn.functional.normalize(torch.randn(40, 30, dtype=torch.float64), dim=1)
    x = (x * torch.linspace(0.0, 1.0, 40, dtype=torch.float64)[:, None]).to(kind)
    head = torch.nn.Linear(30, 5, dtype=kind)
    labels = torch.randint(5, (40,))
    clip = 0.25
    loss = EnvelopeCrossEntropy(clip, feature_bound=1.0, reduction="sum")
    longest = []
    for features in (None, x):
        norms = []
        for i in range(40):
            head.zero_grad()
            row = None if features is None else features[i : i + 1]
            loss(head(x[i : i + 1]), labels[i : i + 1], row).backward()
            squares = [float(p.grad.double().square().sum()) for p in head.parameters()]
            norms.append(math.sqrt(sum(squares)))
        longest.append(norms)
        assert max(norms) <= clip
    assert min(longest[1]) == pytest.approx(clip, rel=0.01), "each row has its own limit"
    assert min(longest[0]) < 0.8 * clip, "the longest row has it"


def test_a_row_of_nothing_is_left_alone() -> None:
    scores, labels = drawn(4, 3, 3, 5.0)
    loss = EnvelopeCrossEntropy(0.1, feature_bound=1.0, bias=False)
    plain = torch.nn.functional.cross_entropy(scores, labels)
    torch.testing.assert_close(loss(scores, labels, torch.zeros(3, 2)), plain)


def test_no_records() -> None:
    scores = torch.zeros(0, 3, requires_grad=True)
    loss = EnvelopeCrossEntropy(0.1, feature_bound=1.0, reduction="sum")
    loss(scores, torch.zeros(0, dtype=torch.long)).backward()
    assert scores.grad.shape == (0, 3)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"clip": 0.0}, "clip"),
        ({"clip": math.inf}, "clip"),
        ({"clip": 1e-5}, "clip"),
        ({"feature_bound": -1.0}, "feature_bound"),
        ({"reduction": "batchmean"}, "reduction"),
    ],
)
def test_arguments(arguments: dict[str, Any], name: str) -> None:
    with pytest.raises(sdp.InvalidInput, match=name):
        EnvelopeCrossEntropy(**{"clip": 1.0, "feature_bound": 1.0, **arguments})


@pytest.mark.parametrize(
    ("scores", "targets", "features", "name"),
    [
        ((2, 3, 4), (2,), None, "scores"),
        ((2, 3), (3,), None, "targets"),
        ((2, 3), (2, 3), None, "y"),
        ((2, 1), (2,), None, "classes"),
        ((2, 3), (2,), (3, 5), "features"),
    ],
)
def test_shapes(scores: Any, targets: Any, features: Any, name: str) -> None:
    loss = EnvelopeCrossEntropy(1.0, feature_bound=1.0)
    rows = None if features is None else torch.zeros(features)
    with pytest.raises(sdp.InvalidInput, match=name):
        loss(torch.zeros(scores), torch.zeros(targets, dtype=torch.long), rows)


def test_labels_and_rows_outside_of_their_bounds() -> None:
    loss = EnvelopeCrossEntropy(1.0, feature_bound=1.0)
    with pytest.raises(sdp.InvalidInput, match="labels outside"):
        loss(torch.zeros(1, 3), torch.tensor([3]))
    with pytest.raises(sdp.InvalidInput, match="passed by the norm"):
        loss(torch.zeros(1, 3), torch.tensor([2]), torch.ones(1, 2))


def test_what_it_says_of_itself() -> None:
    shown = str(EnvelopeCrossEntropy(0.5, feature_bound=2.0))
    assert shown == "EnvelopeCrossEntropy(clip=0.5, feature_bound=2, bias=True)"


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_scores_that_are_not_finite_are_refused(wrong: float) -> None:
    scores = torch.zeros(3, 2, requires_grad=True)
    loss = EnvelopeCrossEntropy(clip=1.0, feature_bound=1.0)
    loss(scores, torch.zeros(3, dtype=torch.long)).backward()
    with torch.no_grad():
        scores[1, 0] = wrong
    with pytest.raises(sdp.InvalidInput, match="not finite"):
        loss(scores, torch.zeros(3, dtype=torch.long))
