"""From what Opacus does to a run and a geometry: its conventions, and what may not change."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.utils.data import DataLoader

import shiftdp as sdp
from shiftdp.privacy.opacus.accountant import Declaration
from shiftdp.privacy.opacus.run import LoaderReading, StepReading, described
from tests.privacy.opacus.loop import DELTA, FEATURES, LOGISTIC, Session, dataset, refused, session

pytestmark = [
    pytest.mark.filterwarnings("ignore:Secure RNG"),
    pytest.mark.filterwarnings("ignore:Full backward hook"),
]


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


def test_rate_and_noise_may_change_under_poisson_sampling() -> None:
    made = session(poisson_sampling=True).train()
    before = made.accountant.described()[0]
    made.optimizer.param_groups[0]["lr"] = 0.4
    made.optimizer.noise_multiplier = 3.0
    made.train()
    run, geometry = made.accountant.described()
    half = before.steps
    assert run.steps == 2 * half
    assert isinstance(run.learning_rate, tuple)
    assert isinstance(run.noise, tuple)
    assert run.learning_rate[:half] == (before.learning_rate,) * half
    assert run.learning_rate[half:] == pytest.approx([0.8 * before.learning_rate] * half)
    assert run.noise[half:] == pytest.approx([1.5 * before.noise] * half)
    composed = sdp.certify(run, geometry, bounds="composition")
    assert made.engine.get_epsilon(1e-5) <= composed.epsilon(1e-5) * (1 + 1e-9)


def test_a_step_that_does_not_contract() -> None:
    made = session(lr=4.0).train()
    with refused("learning_rate", "not contractive"):
        made.engine.get_epsilon(1e-5)


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
        ({"loss": "hinge", "feature_bound": 1.0}, "loss"),
        ({"loss": "softmax"}, "feature_bound"),
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


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize(("n", "drop_last"), [(60, False), (55, False), (57, True)])
def test_the_run_that_is_described_is_the_one_that_runs(
    n: int, drop_last: bool, reduction: str
) -> None:
    """X - eta' (clipped sum / b + m' X) with the described eta', m' and b, for every batch."""
    data = dataset(n, dtype=torch.float64)
    made = session(
        data=data,
        module=nn.Linear(FEATURES, 1).double(),
        noise_multiplier=1e-12,
        loss_reduction=reduction,
        criterion=nn.BCEWithLogitsLoss(reduction=reduction),
        drop_last=drop_last,
        lr=0.5 if reduction == "mean" else 0.05,
    )
    weights = [_weights(made)]
    for x, y in made.loader:
        made.step(x, y)
        weights.append(_weights(made))
    run, geometry = made.accountant.described()
    b = run.batch_size
    assert b == 10
    assert run.noise == pytest.approx(1e-12 * 0.7 / b)
    for k, (x, y) in enumerate(DataLoader(data, batch_size=10, drop_last=drop_last)):
        w = weights[k]
        rows = np.hstack([x.numpy(), np.ones((len(x), 1))])
        slopes = 1 / (1 + np.exp(-rows @ w)) - y.numpy()
        gradients = slopes[:, None] * rows
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        clipped = gradients * np.minimum(1.0, 0.7 / (norms + 1e-6))
        step = clipped.sum(axis=0) / b + geometry.strong_convexity * w
        assert weights[k + 1] == pytest.approx(w - run.learning_rate * step, abs=1e-10)


def _weights(made: Session) -> Any:
    parameters = [p.detach().reshape(-1) for p in made.optimizer.params]
    return torch.cat(parameters).numpy().copy()


vectors = st.lists(st.floats(-3, 3), min_size=3, max_size=3)


@given(
    st.lists(st.tuples(vectors, st.sampled_from([0.0, 1.0])), min_size=1, max_size=4),
    vectors,
    vectors,
    st.floats(1e-7, 2.0),
    st.floats(0.01, 3.0),
)
def test_a_clipped_logistic_step_contracts_as_declared(
    records: list[tuple[list[float], float]],
    first: list[float],
    second: list[float],
    clip: float,
    lr: float,
) -> None:
    """What the proof says of Opacus' own clipping, C/(norm + 1e-6), on rows of norm at most 1."""
    rows = np.array([row for row, _ in records])
    rows = rows / np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
    labels = np.array([label for _, label in records])
    loader = LoaderReading("fixed", len(rows), len(rows), 1, len(rows))
    step = StepReading(lr, 0.1, 1.0, clip, float(len(rows)))
    _, geometry = described(LOGISTIC, loader, [(step, 1)], intercept=False)

    def moved(w: Any) -> Any:
        gradients = (1 / (1 + np.exp(-rows @ w)) - labels)[:, None] * rows
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        clipped = gradients * np.minimum(1.0, clip / (norms + 1e-6))
        assert np.all(np.linalg.norm(clipped, axis=1) <= clip)
        return w - lr * (clipped.mean(axis=0) + 0.1 * w)

    a, b = np.array(first), np.array(second)
    apart = float(np.linalg.norm(moved(a) - moved(b)))
    assert apart <= geometry.contraction(lr) * float(np.linalg.norm(a - b)) * (1 + 1e-9) + 1e-12


@given(st.integers(1, 300), st.integers(1, 300), st.floats(0.5, 4.0))
def test_poisson_participation_is_never_understated(
    n: int, batches: int, multiplier: float
) -> None:
    batches = min(batches, n)
    size = -(-n // batches)
    loader = LoaderReading("poisson", n, size, batches, size, 1 / batches)
    divisor = float(max(1, n // batches))
    step = StepReading(0.1, 0.1, multiplier, 0.5, divisor)
    run, geometry = described(LOGISTIC, loader, [(step, 3)], intercept=True)
    assert isinstance(run, sdp.NoisySGD)
    assert isinstance(run.noise, float)
    assert isinstance(run.learning_rate, float)
    assert run.batch_size * batches >= n
    # the sum: its noise, its weight in the step, and the weight of the ridge
    assert run.noise * run.batch_size == pytest.approx(multiplier * 0.5)
    assert run.learning_rate / run.batch_size == pytest.approx(0.1 / divisor)
    assert run.learning_rate * geometry.strong_convexity == pytest.approx(0.01)
    assert run.noise * run.batch_size <= multiplier * 0.5


def test_a_ragged_last_batch_in_fixed_order() -> None:
    """55 records in batches of 10: Opacus divides all sums by int(55/6) = 9."""
    made = session(data=dataset(55)).train(3)
    run, geometry = made.accountant.described()
    assert isinstance(run, sdp.NoisyCGD)
    assert (run.n, run.batch_size, run.steps, run.last_batch) == (55, 10, 18, "divide_by_b")
    assert run.learning_rate == pytest.approx(0.5 * 10 / 9)
    assert run.learning_rate * geometry.strong_convexity == pytest.approx(0.05)
    assert made.engine.get_epsilon(DELTA) < sdp.certify(
        run, geometry, bounds="composition"
    ).epsilon(DELTA)


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_last_batch_of_one_record_costs_no_more_than_a_full_one(shuffle: bool) -> None:
    """Opacus divides every sum by the same number, so nobody weighs more than others."""
    ragged = session(data=dataset(61), batch_size=20, shuffle=shuffle).train(3)
    whole = session(data=dataset(60), batch_size=20, shuffle=shuffle).train(3)
    assert ragged.engine.get_epsilon(DELTA) < 1.02 * whole.engine.get_epsilon(DELTA)
    ragged.accountant.certificate().verify()


def test_records_that_are_dropped_have_their_share_in_a_random_order() -> None:
    made = session(data=dataset(57), shuffle=True, drop_last=True).train(3)
    run, _ = made.accountant.described()
    assert isinstance(run, sdp.NoisyCGD)
    assert (run.n, run.batches, run.last_batch) == (57, 5, "drop")
    all_used = session(data=dataset(50), shuffle=True).train(3)
    assert made.engine.get_epsilon(DELTA) < all_used.engine.get_epsilon(DELTA)


def test_curvature_of_records_counts_in_full_batches_only() -> None:
    declaration = Declaration(adjacency="zero_out", curvature=(0.2, 0.5))
    made = session(declaration).train()
    assert made.accountant.described()[1].strong_convexity == pytest.approx(0.3)
    ragged = session(declaration, data=dataset(55)).train()
    assert ragged.accountant.described()[1].strong_convexity == pytest.approx(0.1 * 9 / 10)
    poisson = session(declaration, poisson_sampling=True).train()
    assert poisson.accountant.described()[1].strong_convexity == pytest.approx(0.1)
