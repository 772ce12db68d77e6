"""Private linear models for scikit-learn."""

from shiftdp.training.estimators.base import PrivacyLeakWarning
from shiftdp.training.estimators.linear import (
    PrivateHuberRegressor,
    PrivateLinearSVC,
    PrivateLogisticRegression,
)

__all__ = [
    "PrivacyLeakWarning",
    "PrivateHuberRegressor",
    "PrivateLinearSVC",
    "PrivateLogisticRegression",
]
