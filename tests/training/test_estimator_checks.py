"""scikit-learn's own checks of estimators, on seeded models and on those that draw fresh noise."""

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from shiftdp.sklearn import PrivateHuberRegressor, PrivateLinearSVC, PrivateLogisticRegression

pytestmark = pytest.mark.filterwarnings("ignore::shiftdp.sklearn.PrivacyLeakWarning")

# Few epochs: what is checked is the interface. The checks give their own seed.
SEEDED = [
    PrivateLogisticRegression(epochs=20, feature_bound=4.0),
    PrivateLinearSVC(epochs=20, feature_bound=4.0),
    PrivateHuberRegressor(epochs=20, feature_bound=4.0),
]


@parametrize_with_checks(SEEDED)  # type: ignore[untyped-decorator]  # scikit-learn is not typed
def test_seeded(estimator: Any, check: Any) -> None:
    check(estimator)


class FreshClassifier(PrivateLogisticRegression):
    """Without a seed to be given: the noise is new in each fit, as it has to be."""

    def __init__(self, epochs: int = 20, feature_bound: float = 4.0) -> None:
        super().__init__(epochs=epochs, feature_bound=feature_bound)


class FreshRegressor(PrivateHuberRegressor):
    """The same for numbers."""

    def __init__(self, epochs: int = 20, feature_bound: float = 4.0) -> None:
        super().__init__(epochs=epochs, feature_bound=feature_bound)


EQUAL = "fits twice and wants equal models: two releases with fresh noise differ"
REFITS = {
    "FreshClassifier": {
        "check_classifier_data_not_an_array": EQUAL,
        "check_fit_idempotent": EQUAL,
        "check_supervised_y_2d": EQUAL,
    },
    "FreshRegressor": {
        "check_fit_idempotent": EQUAL,
        "check_regressor_data_not_an_array": EQUAL,
        "check_regressors_int": EQUAL,
        "check_supervised_y_2d": EQUAL,
    },
}


def expected(estimator: Any) -> dict[str, str]:
    return REFITS[type(estimator).__name__]


@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn is not typed
    [FreshClassifier(), FreshRegressor()], expected_failed_checks=expected
)
def test_unseeded(estimator: Any, check: Any) -> None:
    check(estimator)
