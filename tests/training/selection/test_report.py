"""private_score: what it costs, whether its intervals cover, and what it refuses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom
from sklearn.metrics import roc_auc_score

from shiftdp import InvalidInput, Ledger
from shiftdp.sklearn import (
    PrivateHuberRegressor,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivatePipeline,
    PrivateTableEncoder,
)
from shiftdp.training.selection.report import ScoreReport, private_score


def records(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + 0.7 * rng.normal(size=n) > 0.8).astype(int)


X, Y = records(1_500, 0)
PARAMETERS: dict[str, Any] = {
    "feature_bound": 3.0, "random_state": 0, "algorithm": "gd", "centre": False
}  # fmt: skip
MODEL = PrivateLogisticRegression(classes=[0, 1], epsilon=5.0, epochs=10, **PARAMETERS).fit(X, Y)
LINE = PrivateHuberRegressor(epsilon=5.0, epochs=20, **PARAMETERS).fit(X, X[:, 0])
MANY = records(200_000, 1)


def test_a_report_has_all_that_was_asked_for_within_its_budget() -> None:
    held = records(4_000, 2)
    report = MODEL.private_score(*held, epsilon=1.0)
    assert set(report.scores) == {"accuracy", "auc"}
    assert 0.9999 < report.certificate.epsilon(1e-5) <= 1.0
    assert report.certificate.adjacency == "replace_one"
    assert report["accuracy"].value == pytest.approx(MODEL.score(*held), abs=0.01)
    exact = roc_auc_score(held[1], MODEL.decision_function(held[0]))
    assert report.tied is not None
    assert report["auc"].value == pytest.approx(exact, abs=report.tied + 0.05)
    assert len(report.calibration) > 5
    assert all(cell.share.low < cell.share.high for cell in report.calibration)
    text = str(report)
    for part in ("accuracy", "auc", "Calibration", "replace_one", "pays for both"):
        assert part in text
    assert report.to_dict()["scores"]["accuracy"]["value"] == report["accuracy"].value


def test_sums_are_paid_for_once() -> None:
    held = records(500, 2)
    both = MODEL.private_score(*held, epsilon=1.0, metrics=("auc", "calibration"))
    assert [one.kind for one in both.certificate.sums] == ["histogram"]
    one = MODEL.private_score(*held, epsilon=1.0, metrics="accuracy")
    assert [part.kind for part in one.certificate.sums] == ["gains"]
    quiet = MODEL.private_score(*held, epsilon=1.0, metrics="accuracy", adjacency="zero_out")
    loud = one.certificate.sums[0].noise
    assert quiet.certificate.sums[0].noise == pytest.approx(loud / 2, rel=1e-9)


def covered(metric: str, truth: float, n: int, epsilon: float, runs: int, **more: Any) -> float:
    inside = 0
    for seed in range(runs):
        held = records(n, 1_000 + seed)
        report = MODEL.private_score(
            *held, epsilon=epsilon, metrics=metric, random_state=seed, **more
        )
        low, high = report[metric][1:]
        inside += low <= truth <= high
    return inside / runs


@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_intervals_of_the_accuracy_cover(epsilon: float) -> None:
    truth = MODEL.score(*MANY)
    assert covered("accuracy", truth, 300, epsilon, 200) > 0.9
    assert covered("accuracy", truth, 300, epsilon, 200, level=0.5) < 0.62  # and are not too wide


@pytest.mark.parametrize("epsilon", [1.0, 5.0])
def test_intervals_of_the_auc_cover(epsilon: float) -> None:
    from shiftdp.training.selection.curves import auc
    from shiftdp.training.selection.gains import edges_of, histogram

    exact, tied = auc(histogram(MODEL, *MANY, edges_of(MODEL)), 0.0, 0.0)
    assert abs(exact.value - roc_auc_score(MANY[1], MODEL.decision_function(MANY[0]))) < tied
    assert tied < 0.03
    assert covered("auc", exact.value, 1_500, epsilon, 60) > 0.9


@pytest.mark.parametrize(("n", "epsilon"), [(2_000, 2.0), (300, 1.0)])
def test_intervals_of_the_calibration_cover(n: int, epsilon: float) -> None:
    """Every cell that is reported counts: none is left out for its noise."""
    from shiftdp.training.selection.gains import places_of

    scores = expit(MODEL.decision_function(MANY[0]))
    labels = places_of(MODEL, MANY[1])
    inside = total = 0
    for seed in range(40):
        held = records(n, 2_000 + seed)
        report = MODEL.private_score(
            *held, epsilon=epsilon, metrics="calibration", random_state=seed
        )
        assert (report.calibration[0].low, report.calibration[-1].high) == (0.0, 1.0)
        for cell in report.calibration:
            truth = labels[(scores > cell.low) & (scores <= cell.high)].mean()
            total += 1
            inside += cell.share.low <= truth <= cell.share.high
    assert total >= 40
    assert inside >= binom.ppf(1e-4, total, 0.95)


def test_intervals_of_a_regressor_cover() -> None:
    rng = np.random.default_rng(5)
    inside = np.zeros(3)
    truth = LINE.private_score(MANY[0], MANY[0][:, 0], epsilon=1e4, targets=(-3, 3), random_state=0)
    for seed in range(60):
        rows = rng.normal(size=(800, 3))
        report = LINE.private_score(
            rows, rows[:, 0], epsilon=2.0, targets=(-3, 3), random_state=seed
        )
        for i, name in enumerate(("mae", "rmse", "r2")):
            inside[i] += report[name].low <= truth[name].value <= report[name].high
    assert (inside / 60 > 0.9).all()
    assert truth["r2"].value == pytest.approx(LINE.score(MANY[0], MANY[0][:, 0]), abs=0.02)


@pytest.mark.parametrize("metric", ["accuracy", "auc", "brier"])
@pytest.mark.parametrize("adjacency", ["replace_one", "zero_out"])
def test_a_canary_is_not_told_better_than_certified(metric: str, adjacency: Any) -> None:
    """One record is replaced by its opposite: the attacker has the sums' best statistic."""
    from scipy.stats import norm

    from shiftdp.privacy.noisy_sums import squared_sensitivity
    from shiftdp.training.selection.gains import class_gains, edges_of, exact_sum, histogram

    held, labels = records(60, 9)
    held[0] = [9.0, 0.0, 0.0]  # an extreme record, for which the model is sure
    other = labels.copy()
    labels[0], other[0] = 1, 0
    kind: Any = "histogram" if metric == "auc" else "gains"

    def vector(y: np.ndarray) -> np.ndarray:
        if kind == "histogram":
            return histogram(MODEL, held, y, edges_of(MODEL)).ravel()
        return np.array([exact_sum(class_gains(MODEL, held, y, metric))])

    apart = float(np.linalg.norm(vector(labels) - vector(other)))
    if adjacency == "zero_out":
        rest = held[1:], labels[1:]
        gone = (
            histogram(MODEL, *rest, edges_of(MODEL)).ravel()
            if kind == "histogram"
            else np.array([exact_sum(class_gains(MODEL, *rest, metric))])
        )
        apart = float(np.linalg.norm(vector(labels) - gone))
    bound = math.sqrt(squared_sensitivity(kind, 60, adjacency))
    assert apart <= bound + 1e-12
    assert apart > 0.9 * bound
    # thousands of releases by the real code, on both sides
    report = private_score(
        MODEL, held, labels, epsilon=1.0, metrics=metric, adjacency=adjacency, random_state=0
    )
    noise = report.certificate.sums[0].noise
    assert apart / noise <= report.certificate.mu + 1e-12  # type: ignore[operator]
    if kind == "gains" and adjacency == "replace_one":
        found = np.array(
            [
                [
                    private_score(MODEL, held, y, epsilon=1.0, metrics=metric, random_state=seed)[
                        metric
                    ].value
                    for seed in range(side * 300, side * 300 + 300)
                ]
                for side, y in enumerate((labels, other))
            ]
        )
        gap = abs(found[0].mean() - found[1].mean()) / found.std()
        assert gap < norm.ppf(0.999) * math.sqrt(2 / 300) + report.certificate.mu


def test_a_ledger_of_the_scored_records_is_charged(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "held", epsilon=1.0, delta=1e-5)
    held = records(200, 3)
    MODEL.private_score(*held, epsilon=0.5, ledger=ledger)
    (entry,) = ledger.entries()
    assert (entry.source, entry.completed) == ("score", True)
    with pytest.raises(InvalidInput, match="random_state"):
        MODEL.private_score(*held, epsilon=0.1, ledger=ledger, random_state=1)
    with pytest.raises(InvalidInput):
        MODEL.private_score(held[0], held[1] + 5, epsilon=0.1, ledger=ledger)
    assert len(ledger.entries()) == 1


def test_pipelines_and_other_models_are_scored() -> None:
    table = PrivatePipeline(
        [PrivateTableEncoder(), PrivateLogisticRegression(classes=[0, 1], algorithm="gd", epochs=5)]
    ).fit(X, Y)
    assert isinstance(table.private_score(X, Y, epsilon=1.0), ScoreReport)
    svc = PrivateLinearSVC(classes=[0, 1], algorithm="gd", epochs=5).fit(X, Y)
    assert set(svc.private_score(X, Y, epsilon=1.0).scores) == {"accuracy", "auc"}
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    several = PrivateLogisticRegression(classes=[0, 1, 2], algorithm="gd", epochs=5).fit(X, three)
    assert set(several.private_score(X, three, epsilon=1.0).scores) == {"accuracy"}
    assert "brier" in several.private_score(X, three, epsilon=1.0, metrics=("brier",)).scores
    with pytest.raises(InvalidInput, match="two classes"):
        several.private_score(X, three, epsilon=1.0, metrics="auc")
    with pytest.raises(InvalidInput, match="probabilities"):
        svc.private_score(X, Y, epsilon=1.0, metrics="brier")


@pytest.mark.parametrize(
    ("model", "y", "changes", "name"),
    [
        (MODEL, Y, {"epsilon": 0.0}, "epsilon"),
        (MODEL, Y, {"delta": 0.0}, "delta"),
        (MODEL, Y, {"level": 1.0}, "level"),
        (MODEL, Y, {"metrics": ()}, "metrics"),
        (MODEL, Y, {"metrics": ("f1",)}, "metrics"),
        (MODEL, Y, {"targets": (0, 1)}, "targets"),
        (MODEL, Y[1:], {}, "y"),
        (LINE, X[:, 0], {}, "targets"),
        (LINE, X[:, 0], {"targets": (1, 1)}, "targets"),
        (LINE, X[:, 0], {"targets": (0, 1), "metrics": "accuracy"}, "metrics"),
        (LINE, np.where(X[:, 0] > 0, np.nan, 1.0), {"targets": (0, 1)}, "y"),
    ],
)
def test_what_cannot_be_scored_is_refused(
    model: Any, y: np.ndarray, changes: dict[str, Any], name: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        model.private_score(X, y, **{"epsilon": 1.0, **changes})
    assert caught.value.name == name


def test_what_the_noise_hides_is_not_shown_as_a_number() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] > 0).astype(int)
    model = PrivateLogisticRegression(5.0, classes=[0, 1], random_state=0).fit(X, y)
    shown = str(model.private_score(X[:40], y[:40], epsilon=0.01, random_state=0))
    assert "not known, the noise is larger than what it hides" in shown
    assert "0.5000" not in shown
    assert "Calibration" not in shown
