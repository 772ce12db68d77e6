"""scikit-learn's own checks of estimators, on searches and pipelines."""

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from shiftdp.sklearn import (
    PrivateHuberRegressor,
    PrivateLogisticRegression,
    PrivatePipeline,
    PrivateSearchCV,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::shiftdp.sklearn.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore::shiftdp.sklearn.WeakSignalWarning"),
]
CLASSIFIER = PrivateLogisticRegression(compute=1e5, feature_bound=4.0, algorithm="gd")
REGRESSOR = PrivateHuberRegressor(compute=1e5, feature_bound=4.0, algorithm="gd")
SPACE = {"feature_bound": [2.0, 4.0]}
SEARCHES = [
    PrivateSearchCV(CLASSIFIER, SPACE, n_iter=2.0),
    PrivateSearchCV(REGRESSOR, SPACE, n_iter=2.0, targets=(-10.0, 10.0)),
]
_EMPTY = "an empty table is refused by the plan, in its own words"
_FRESH = "wants two releases with fresh noise to be equal"
_NO_ARRAY = "the number of records is needed before anything is converted"
OF_SEARCHES = {
    "check_estimators_empty_data_messages": _EMPTY,
    "check_classifier_data_not_an_array": _NO_ARRAY,
    "check_regressor_data_not_an_array": _NO_ARRAY,
    "check_supervised_y_2d": "warnings of single fits would tell how many there were",
}
OF_PIPELINES = {
    "check_estimators_empty_data_messages": _EMPTY,
    "check_estimators_overwrite_params": "fitted steps stay in `steps`, as in Pipeline",
    "check_classifier_data_not_an_array": _FRESH,
    "check_supervised_y_2d": _FRESH,
    "check_fit_idempotent": _FRESH,
}


@pytest.mark.slow
@parametrize_with_checks(SEARCHES)  # type: ignore[untyped-decorator]  # scikit-learn is not typed
def test_searches(estimator: Any, check: Any) -> None:
    if check.func.__name__ in OF_SEARCHES:
        pytest.skip(OF_SEARCHES[check.func.__name__])
    check(estimator)


@parametrize_with_checks([PrivatePipeline([("model", CLASSIFIER)])])  # type: ignore[untyped-decorator]
def test_pipelines(estimator: Any, check: Any) -> None:
    if check.func.__name__ in OF_PIPELINES:
        pytest.skip(OF_PIPELINES[check.func.__name__])
    check(estimator)
