"""The noisy score of one trial."""

from __future__ import annotations

import numpy as np
import pytest

from shiftdp import InvalidInput
from shiftdp.sklearn import PrivateHuberRegressor, PrivateLogisticRegression
from shiftdp.training.descent.entropy import Seeded
from shiftdp.training.selection.trial_score import TrialScore

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 2))
Y = (X[:, 0] > 0).astype(int)
MODEL = PrivateLogisticRegression(
    epsilon=50.0, classes=[0, 1], feature_bound=3.0, random_state=0, algorithm="gd", epochs=20
).fit(X, Y)
LINE = PrivateHuberRegressor(epsilon=50.0, feature_bound=3.0, random_state=0).fit(X, X[:, 0])


@pytest.mark.parametrize("scoring", ["accuracy", "brier", "log_loss", "auc"])
def test_a_good_classifier_has_a_score_near_one(scoring: str) -> None:
    score = TrialScore.of(MODEL, scoring, None)
    assert score.kind == ("histogram" if scoring == "auc" else "gains")
    found = score.measure(MODEL, X, Y, 1.0, Seeded(1).open("noise"))
    wrong = score.measure(MODEL, X, 1 - Y, 1.0, Seeded(1).open("noise"))
    assert wrong < 0.7 < found <= 1.01
    assert wrong < found - 0.2


@pytest.mark.parametrize("scoring", ["absolute_error", "squared_error", None])
def test_a_good_line_has_a_score_near_one(scoring: str | None) -> None:
    score = TrialScore.of(LINE, scoring, (-3.0, 3.0))
    assert score.measure(LINE, X, X[:, 0], 1.0, Seeded(1).open("noise")) > 0.9


def test_more_noise_is_in_the_score() -> None:
    score = TrialScore.of(MODEL, None, None)
    found = [score.measure(MODEL, X, Y, 60.0, Seeded(k).open("noise")) for k in range(200)]
    assert np.std(found) == pytest.approx(0.1, rel=0.2)


def test_several_classes_have_no_auc() -> None:
    with pytest.raises(InvalidInput, match="two classes"):
        TrialScore.of(PrivateLogisticRegression(classes=[0, 1, 2]), "auc", None)
