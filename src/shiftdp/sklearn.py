"""Private estimators for scikit-learn, with certificates. Needs the extra `sklearn`."""

from shiftdp.training.estimators.base import PrivacyLeakWarning
from shiftdp.training.estimators.linear import (
    PrivateHuberRegressor,
    PrivateLinearSVC,
    PrivateLogisticRegression,
)
from shiftdp.training.model_file import load_model, save_model

__all__ = [
    "PrivacyLeakWarning",
    "PrivateHuberRegressor",
    "PrivateLinearSVC",
    "PrivateLogisticRegression",
    "load_model",
    "save_model",
]
