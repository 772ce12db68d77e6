"""`shiftdp.audit`: true trainers survive, others do not, senseless questions are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shiftdp as sdp
from shiftdp import ApproxDPTradeoff, GaussianTradeoff, InvalidInput
from tests.trials.mutants import GD, plan_of

RNG = np.random.default_rng


def noisy_sum(scale: float, seed: int) -> Any:
    """Somebody else's mechanism: the sum of X^T y, rows cut to length 1, with Gaussian noise."""
    rng = RNG(seed)

    def train(X: Any, y: Any) -> Any:
        rows = X / np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
        return rows.T @ (2.0 * y - 1.0) + scale * rng.standard_normal(X.shape[1])

    return train


def test_it_is_public() -> None:
    assert sdp.audit is sdp.trials.audit
    assert "audit" in sdp.__all__


def test_a_function_that_keeps_its_promise_survives_and_most_of_it_is_found() -> None:
    """The two versions are 2 apart: G(2 / scale)."""
    report = sdp.audit(noisy_sum(1.0, 0), GaussianTradeoff(2.0), runs=3000)
    assert report.verdict == "consistent"
    assert 1.6 < report.mu <= 2.0
    assert report.runs == 18_000


def test_a_function_with_too_little_noise_does_not() -> None:
    report = sdp.audit(noisy_sum(0.7, 1), GaussianTradeoff(2.0), runs=2000)
    assert report.violated
    assert report.mu > 2.0


def test_the_bound_on_epsilon_is_one() -> None:
    report = sdp.audit(noisy_sum(1.0, 2), ApproxDPTradeoff(20.0, 1e-5), runs=3000, delta=1e-3)
    assert 2.0 < report.epsilon < GaussianTradeoff(2.0).epsilon(1e-3)
    assert report.certified_mu is None


def test_data_sets_of_ones_own_in_any_form() -> None:
    rng = RNG(3)
    report = sdp.audit(
        lambda numbers: sum(numbers) + rng.standard_normal(),
        GaussianTradeoff(0.1),
        data=[1.0, 2.0],
        neighbour=[1.0, 5.0],
        runs=400,
    )
    assert report.violated
    assert [each.canary for each in report.findings] == ["as given"]


def test_a_canary_is_put_into_given_data() -> None:
    X, y = RNG(4).normal(size=(30, 3)) / 10.0, np.arange(30) % 2
    report = sdp.audit(noisy_sum(0.3, 5), GaussianTradeoff(1.0), data=(X, y), runs=400)
    assert report.violated


@pytest.mark.parametrize("claimed", [None, 0.05])
def test_a_public_estimator_is_fitted_again_and_again(claimed: float | None) -> None:
    pytest.importorskip("sklearn")
    from shiftdp.sklearn import PrivateHuberRegressor

    model = PrivateHuberRegressor(
        epsilon=20.0, delta=1e-5, algorithm="gd", epochs=2, noise=0.05, l2=0.1,
        learning_rate=0.5, fit_intercept=False,
    )  # fmt: skip
    X, y = np.zeros((20, 1)), np.zeros(20)
    X[-1] = 1.0
    one, other = ((X, np.where(np.arange(20) == 19, far, y)) for far in (1e6, -1e6))
    guarantee = None if claimed is None else GaussianTradeoff(claimed)
    report = sdp.audit(model, guarantee, data=one, neighbour=other, runs=100)
    assert report.violated == (claimed is not None)
    assert report.mu > 0.3
    plan = model.plan(20, 1).plan  # of as many records as the data have
    if claimed is None:
        assert report.certified_mu == plan.certificate.mu


def test_too_few_runs_are_refused_before_anything_is_trained() -> None:
    def train(X: Any, y: Any) -> Any:
        raise AssertionError

    with pytest.raises(InvalidInput, match=r"runs=39 are too few.*give 40 or more"):
        sdp.audit(train, GaussianTradeoff(1.0), runs=39)


def test_progress_is_told_to_its_end() -> None:
    told: list[tuple[int, int]] = []
    sdp.audit(plan_of(GD), runs=40, progress=lambda done, total: told.append((done, total)))
    done = [each for each, _ in told]
    assert done == sorted(done)
    assert told[-1] == (240, 240)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"method": "guess"}, "method='guess'"),
        ({"confidence": 1.0}, "confidence=1.0"),
        ({"runs": 0}, "runs=0"),
        ({"targets": "words"}, "targets='words'"),
        ({"data": 3}, "data="),
        ({"neighbour": [1.0]}, "data=None is missing"),
        ({"certificate": "mine"}, "is no certificate"),
    ],
)
def test_questions_without_sense_are_refused(change: dict[str, Any], problem: str) -> None:
    given = {"certificate": GaussianTradeoff(1.0), **change}
    with pytest.raises(InvalidInput, match=problem):
        sdp.audit(noisy_sum(1.0, 6), **given)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["full batches", "batches in turn", "reshuffled"])
def test_the_true_trainer_is_flagged_by_chance_alone(kind: str) -> None:
    """200 audits at 95%: 10 are expected at most, and more than 20 have chance 1e-3."""
    from shiftdp.trials.suite import plan_named

    runs = 200 if kind != "reshuffled" else 60
    plan = plan_named(kind)
    flagged = [sdp.audit(plan, runs=runs, confidence=0.95).violated for _ in range(200)]
    assert sum(flagged) <= 20


@pytest.mark.slow
def test_a_mechanism_that_attains_its_certificate_is_flagged_by_chance_alone() -> None:
    """Nothing is left between what is claimed and what leaks, so nothing but the risk protects."""
    honest, claimed = noisy_sum(1.0, 7), GaussianTradeoff(2.0)
    flagged = [sdp.audit(honest, claimed, runs=80, confidence=0.8).violated for _ in range(200)]
    assert sum(flagged) <= 58  # 40 are expected at most; more than 58 have chance 1e-3


@pytest.mark.parametrize("method", ["runs", "shared_noise"])
def test_a_plan_is_trained_on_a_table_and_its_labels(method: Any) -> None:
    """Found by fuzzing: anything else ended in an error of the loop's call."""
    with pytest.raises(InvalidInput, match=r"data='<1 parts>' is no \(X, y\)"):
        sdp.audit(plan_of(GD), method=method, data=np.zeros(3), neighbour=np.ones(3), runs=40)


def test_tables_and_runs_that_no_memory_holds_are_refused() -> None:
    def train(X: Any, y: Any) -> Any:
        return np.zeros(2)

    with pytest.raises(InvalidInput, match=r"runs=9223372036854775808 is more than can be kept"):
        sdp.audit(train, GaussianTradeoff(1.0), runs=2**63)
    with pytest.raises(InvalidInput, match="makes a table of more than"):
        sdp.audit(train, GaussianTradeoff(1.0), features=2**62, runs=40)
