"""scikit-learn's own checks of estimators, on seeded models and on those that draw fresh noise."""

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from shiftdp.sklearn import PrivateHuberRegressor, PrivateLinearSVC, PrivateLogisticRegression

pytestmark = pytest.mark.filterwarnings("ignore::shiftdp.sklearn.PrivacyLeakWarning")

# Little compute, so few epochs: what is checked is the interface. Their number is not given, as
# partial_fit has none. The checks give their own seed.
SEEDED = [
    PrivateLogisticRegression(compute=1e5, feature_bound=4.0),
    PrivateLinearSVC(compute=1e5, feature_bound=4.0),
    PrivateHuberRegressor(compute=1e5, feature_bound=4.0),
]


@parametrize_with_checks(SEEDED)  # type: ignore[untyped-decorator]  # scikit-learn is not typed
def test_seeded(estimator: Any, check: Any) -> None:
    if check.func.__name__ == "check_class_weight_classifiers":
        estimator.set_params(epsilon=20.0)  # it wants 87% of 50 records to be predicted as weighed
    check(estimator)


class FreshClassifier(PrivateLogisticRegression):
    """Without a seed to be given: the noise is new in each fit, as it has to be."""

    def __init__(self, compute: float = 1e5, feature_bound: float = 4.0) -> None:
        super().__init__(compute=compute, feature_bound=feature_bound)


class FreshRegressor(PrivateHuberRegressor):
    """The same for numbers."""

    def __init__(self, compute: float = 1e5, feature_bound: float = 4.0) -> None:
        super().__init__(compute=compute, feature_bound=feature_bound)


# They fit twice and want equal predictions; two releases with fresh noise differ, but for a chance
# that is too small to be counted on and too large to be left out of account.
EQUAL = {
    "check_classifier_data_not_an_array",
    "check_fit_idempotent",
    "check_regressor_data_not_an_array",
    "check_regressors_int",
    "check_supervised_y_2d",
}


@parametrize_with_checks([FreshClassifier(), FreshRegressor()])  # type: ignore[untyped-decorator]
def test_unseeded(estimator: Any, check: Any) -> None:
    if check.func.__name__ in EQUAL:
        pytest.skip("wants two releases with fresh noise to be equal")
    check(estimator)
