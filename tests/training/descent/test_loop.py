"""The loop: the run of the plan and nothing else."""

import math
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from shiftdp import (
    Certificate,
    InvalidInput,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    UnmetHypothesis,
    placed_noise,
)
from shiftdp.training import (
    Ball,
    Box,
    ClippedSquared,
    Huber,
    Logistic,
    Loss,
    Plan,
    Seeded,
    Simplex,
    SmoothedHinge,
    Softmax,
    System,
    descend,
    descend_stacked,
)
from shiftdp.training.descent.batches import TrainingRun
from shiftdp.training.descent.entropy import Stream
from tests.training.descent.naive import naive
from tests.training.descent.short_runs import SHORT, D, N, data, planned

RUNS: list[TrainingRun] = [
    NoisyGD(n=N, steps=6, learning_rate=0.3, noise=0.1),
    NoisyGD(n=N, steps=3, learning_rate=[0.3, 0.2, 0.1], noise=[0.1, 0.2, 0.3]),
    NoisyGD(n=N, steps=3, learning_rate=[0.3, 0.2, 0.1], noise=[0.0, 0.2, 0.3]),
    NoisyCGD(
        n=N,
        batch_size=5,
        epochs=2,
        learning_rate=[0.3, 0.25, 0.2, 0.15, 0.1] * 2,
        noise=[0.0, 0.0, 0.0, 0.0, 0.2, 0.0, 0.1, 0.0, 0.0, 0.1],
        order="reshuffled",
    ),
    NoisyCGD(n=N, batch_size=5, epochs=2, learning_rate=0.2, noise=0.1),
    NoisyCGD(n=N, batch_size=5, steps=7, learning_rate=0.2, noise=0.1, order="shuffled_once"),
    NoisyCGD(n=N, batch_size=5, epochs=2, learning_rate=0.2, noise=0.1, order="reshuffled"),
    NoisySGD(n=N, batch_size=5, steps=6, learning_rate=0.2, noise=0.1),
    NoisySGD(n=N, batch_size=2, steps=6, learning_rate=0.05, noise=0.1, sampling="poisson"),
]
NAMES = [f"{type(run).__name__}-{k}" for k, run in enumerate(RUNS)]


def check_against_naive(plan: Plan) -> None:
    X, y = data(plan.loss)
    weights = descend(plan, X, y)
    expected = naive(plan, X, y)
    if plan.loss.outputs == 1:
        expected = expected[0]
    assert weights.shape == expected.shape
    # half a cell of the grid, as much again to get back into the set, and the room that limits
    # leave for rounding
    cells = 0.5 if plan.projection is None else 1.0
    assert np.abs(weights - expected).max() <= cells * plan.grid + 1e-9
    if plan.projection is None:
        assert (weights / plan.grid == np.rint(weights / plan.grid)).all()


@pytest.mark.parametrize("run", RUNS, ids=NAMES)
def test_every_kind_of_run_is_the_naive_one(run: TrainingRun) -> None:
    check_against_naive(planned(run))


@pytest.mark.parametrize(
    ("loss", "fields"),
    [
        (Softmax(classes=3), {}),
        (Softmax(classes=3), {"clipping": "envelope", "clip": 0.5}),
        (Softmax(classes=3), {"clipping": "uncertified", "clip": 0.5}),
        (Softmax(classes=3), {"clipping": "plain", "clip": 0.5, "bounds": "composition"}),
        (Softmax(classes=2), {"clipping": "plain", "clip": 0.5}),
        (Logistic(), {"clipping": "plain", "clip": 0.3}),
        (Softmax(classes=3), {"clipping": "envelope", "clip": 0.5, "intercept": False}),
        (Logistic(), {"clipping": "envelope", "clip": 0.3, "intercept": False}),
        (SmoothedHinge(width=0.5), {"l2": 0.0}),
        (Huber(width=0.5), {"projection": Ball(0.4)}),
        (ClippedSquared(), {"clipping": "envelope", "clip": 0.7}),
        (Logistic(), {"projection": Box(-0.1, 0.2), "features": D}),
        (Softmax(classes=3), {"projection": Simplex(2.0)}),
    ],
    ids=repr,
)
def test_every_loss_and_set_is_the_naive_one(loss: Loss, fields: dict[str, Any]) -> None:
    check_against_naive(planned(SHORT, loss, **fields))


@pytest.mark.parametrize("run", [RUNS[4], RUNS[7], RUNS[8]], ids=lambda run: type(run).__name__)
@pytest.mark.parametrize("loss", [Logistic(), Softmax(classes=3)], ids=repr)
def test_sparse_matrices_give_what_dense_ones_give(run: TrainingRun, loss: Loss) -> None:
    plan = planned(run, loss, clipping="envelope", clip=0.6)
    X, y = data(loss)
    X[np.abs(X) < 0.6] = 0.0
    dense = descend(plan, X, y)
    for form in (sp.csr_matrix, sp.csr_array, sp.coo_array):
        assert np.abs(descend(plan, form(X), y) - dense).max() <= plan.grid
    doubled = sp.coo_matrix(X)
    twice = sp.csr_matrix(
        (np.repeat(doubled.data / 2, 2), np.repeat(doubled.col, 2), 2 * sp.csr_matrix(X).indptr),
        shape=X.shape,
    )
    assert not twice.has_canonical_format
    assert np.abs(descend(plan, twice, y) - dense).max() <= plan.grid


@pytest.mark.parametrize("loss", [Logistic(), Softmax(classes=3)], ids=repr)
def test_how_features_are_stored_changes_nothing(loss: Loss) -> None:
    """Numbers that float32 holds give the same model from float32 and float64."""
    plan = planned(SHORT, loss, clipping="envelope", clip=0.6, bounds="composition")
    X, y = data(loss)
    X = X.astype(np.float32)
    for bound in (1.5, 100.0):  # with and without rows to be scaled
        same = replace(plan, feature_bound=bound)
        difference = descend(same, X, y) - descend(same, X.astype(np.float64), y)
        assert np.abs(difference).max() <= plan.grid


def test_layouts_and_integers_are_accepted() -> None:
    plan = planned()
    X, y = data(plan.loss)
    expected = descend(plan, X, y)
    wide = np.repeat(X, 2, axis=1)
    for same in (np.asfortranarray(X), wide[:, ::2], X.tolist()):
        assert np.abs(descend(plan, same, y) - expected).max() <= plan.grid
    whole = np.rint(X).astype(np.int8)
    assert (descend(plan, whole, y) == descend(plan, whole.astype(np.float64), y)).all()


def test_a_row_above_the_bound_counts_as_one_at_the_bound() -> None:
    plan = planned()
    X, y = data(plan.loss)
    long = X.copy()
    long[5] *= 1.5 / np.linalg.norm(long[5])
    once = descend(plan, long, y)
    long[5] *= 1000.0
    assert np.abs(descend(plan, long, y) - once).max() <= plan.grid
    with pytest.raises(InvalidInput, match=r"feature_bound=1\.5"):
        descend(planned(oversized="refuse"), long, y)
    at_bound = (X * 1.5 / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.5)).astype("f4")
    descend(planned(oversized="refuse"), at_bound, y)


@pytest.mark.parametrize("run", RUNS, ids=NAMES)
def test_stacked_runs(run: TrainingRun) -> None:
    plan = planned(run, Softmax(classes=3), clipping="envelope", clip=0.5)
    X, y = data(plan.loss)
    stacked = descend_stacked(plan, X, y, 4)
    assert stacked.shape == (4, 3, D + 1)
    assert len({weights.tobytes() for weights in stacked}) == 4
    assert (stacked == descend_stacked(plan, X, y, 4)).all()


def test_a_stack_of_one_is_one_run_and_more_runs_are_each_right() -> None:
    """With noise that vanishes, all runs of a stack are the one run without noise."""
    run = NoisyCGD(n=N, batch_size=5, epochs=3, learning_rate=0.2, noise=1e-9)
    plan = planned(run, Softmax(classes=3), clipping="envelope", clip=0.5)
    X, y = data(plan.loss)
    expected = naive(plan, X, y)
    assert np.abs(descend_stacked(plan, X, y, 1)[0] - descend(plan, X, y)).max() == 0.0
    assert np.abs(descend_stacked(plan, X, y, 5) - expected).max() < 1e-7


def test_private_noise_differs_from_run_to_run_and_has_its_size() -> None:
    run = NoisyGD(n=N, steps=1, learning_rate=0.5, noise=2.0)
    plan = Plan(run=run, loss=Logistic(), feature_bound=1.0)
    X, y = data(plan.loss, N, 400)
    still = NoisyGD(n=N, steps=1, learning_rate=0.5, noise=1e-9)
    centre = descend(Plan(run=still, loss=Logistic(), feature_bound=1.0), X, y)
    first, second = (descend(plan, X, y) - centre for _ in range(2))
    assert (first != second).any()
    for noise in (first, second):
        # deviation 1, five deviations of its estimate
        assert abs(noise.std() - 1.0) < 5 / math.sqrt(2 * 401)
    # the two are independent
    assert abs(np.corrcoef(first, second)[0, 1]) < 5 / math.sqrt(401)


def bad_data() -> list[tuple[str, Any, Any, str]]:
    X, y = data(Logistic())
    nan, inf, text = X.copy(), X.copy(), X.astype(str)
    nan[7, 1], inf[7, 1] = np.nan, -np.inf
    sparse = sp.csr_matrix(nan)
    labels = y.astype(float)
    labels[2] = np.nan
    return [
        ("nan", nan, y, "X"),
        ("infinite", inf, y, "X"),
        ("sparse nan", sparse, y, "X"),
        ("strings", text, y, "X"),
        ("objects", X.astype(object), y, "X"),
        ("complex", X.astype(complex), y, "X"),
        ("ragged", [[1.0], [1.0, 2.0]], y, "X"),
        ("none", None, y, "X"),
        ("vector", X[:, 0], y, "X"),
        ("cube", X[None], y, "X"),
        ("empty", X[:0], y[:0], "X"),
        ("no columns", X[:, :0], y, "X"),
        ("too few", X[:4], y[:4], "X"),
        ("too many", np.repeat(X, 2, axis=0), np.repeat(y, 2), "X"),
        ("other features", X[:, :3], y, "X"),
        ("short labels", X, y[:-1], "y"),
        ("label matrix", X, y[:, None], "y"),
        ("nan label", X, labels, "y"),
        ("text label", X, y.astype(str), "y"),
        ("a third label", X, y + 1, "y"),
    ]


@pytest.mark.parametrize(("X", "y", "name"), [case[1:] for case in bad_data()],
                         ids=[case[0] for case in bad_data()])  # fmt: skip
def test_bad_data_is_one_clear_error_before_any_work(X: Any, y: Any, name: str) -> None:
    steps: list[int] = []
    plan = planned(features=D)
    with pytest.raises(InvalidInput) as caught:
        descend(plan, X, y, progress=lambda step, _: steps.append(step))
    assert caught.value.name == name
    assert steps == []
    # shapes and types are shown, entries are not
    shown = str(caught.value.value)
    assert shown.startswith("<")
    assert "[" not in shown
    assert caught.value.__cause__ is None


def test_a_plan_without_theorem_does_not_run() -> None:
    steep = NoisyGD(n=N, steps=3, learning_rate=50.0, noise=0.1)
    X, y = data(Logistic())
    with pytest.raises(UnmetHypothesis):
        descend(planned(steep), X, y)
    with pytest.raises(InvalidInput):
        descend(SHORT, X, y)  # type: ignore[arg-type]


class CountedStream(Stream):
    """Zeros, and how many were asked for."""

    def __init__(self) -> None:
        self.filled: list[int] = []

    def draw(self, size: int) -> bytes:
        return bytes(size)

    def fill(self, out: NDArray[Any]) -> None:
        self.filled.append(out.size)
        out.fill(0.0)


def test_steps_without_noise_draw_none(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = CountedStream()
    monkeypatch.setattr(Seeded, "open", lambda self, role: noise)
    run = NoisyCGD(n=N, batch_size=5, epochs=1, learning_rate=0.1, noise=[0.0, 0.1, 0.0, 0.0, 0.1])
    plan = planned(run)
    descend(plan, *data(plan.loss))
    assert noise.filled == [D + 1, D + 1]


def test_noise_at_the_ends_of_passes_leaves_the_law_that_it_should() -> None:
    """Least squares in one dimension: the last iterate is a Gaussian whose variance is known."""
    X, y = np.full((6, 1), 1.0), np.zeros(6)
    noise = [0.0, 0.0, 2.0, 0.0, 1.0, 3.0]
    rates = [0.5, 0.4, 0.3, 0.3, 0.2, 0.1]
    run = NoisyCGD(n=6, batch_size=2, epochs=2, learning_rate=rates, noise=noise)
    plan = Plan(
        run=run, loss=Huber(width=1e6), feature_bound=1.0, intercept=False, entropy=Seeded(1)
    )
    models = descend_stacked(plan, X, y, 4000)[:, 0]
    variance = 0.0
    for eta, sigma in zip(rates, noise, strict=True):
        variance = (1.0 - eta) ** 2 * variance + (eta * sigma) ** 2
    # the standard error of a sample variance is a part of sqrt(2 / 4000) = 0.022
    assert np.var(models) == pytest.approx(variance, rel=0.1)
    assert abs(np.mean(models)) < 0.1 * np.sqrt(variance)


def test_placed_noise_is_trained_with_as_it_is_certified() -> None:
    shape = NoisyCGD(n=N, batch_size=2, epochs=2, learning_rate=0.2, noise=1.0)
    drawn = planned(shape, entropy=System())
    run = placed_noise(shape, drawn.geometry, epsilon=2.0, delta=1e-5)
    plan = replace(drawn, run=run)
    assert 0.0 in run.noise  # type: ignore[operator]
    assert plan.certificate.epsilon(1e-5) <= 2.0
    plan.certificate.verify()
    Certificate.from_json(plan.certificate.to_json()).verify()
    check_against_naive(replace(plan, entropy=Seeded(2)))


def test_memory_stays_below_twice_the_data() -> None:
    n, d = 400_000, 50
    X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
    y = np.arange(n) % 2
    run = NoisyGD(n=n, steps=2, learning_rate=0.1, noise=0.1)
    plan = planned(run, clipping="envelope", clip=0.5)
    tracemalloc.start()
    descend(plan, X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # the data are not counted, having been there before: what is added is below their size
    assert peak < 0.6 * X.nbytes


def test_the_data_are_not_written_to() -> None:
    X, y = data(Softmax(classes=3))
    before = X.copy(), y.copy()
    X.setflags(write=False)
    y.setflags(write=False)
    descend(planned(SHORT, Softmax(classes=3), clipping="envelope", clip=0.5), X, y)
    assert np.array_equal(X, before[0])
    assert (y == before[1]).all()
