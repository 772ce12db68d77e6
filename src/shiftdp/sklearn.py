"""Private estimators for scikit-learn, with certificates. Needs the extra `sklearn`."""

from shiftdp.training.assumed_bound import AssumedBoundWarning
from shiftdp.training.estimators.base import PrivacyLeakWarning
from shiftdp.training.estimators.linear import (
    PrivateHuberRegressor,
    PrivateLinearSVC,
    PrivateLogisticRegression,
)
from shiftdp.training.large_delta import LargeDeltaWarning
from shiftdp.training.model_file import load_model, save_model
from shiftdp.training.planning.outlook import WeakSignalWarning
from shiftdp.training.preparation.columns import Boolean, Categorical, Numeric
from shiftdp.training.preparation.encoder import PrivateTableEncoder
from shiftdp.training.preparation.pipeline import PrivatePipeline
from shiftdp.training.preparation.schema import Schema, read_schema
from shiftdp.training.selection.search import PrivateSearchCV

__all__ = [
    "AssumedBoundWarning",
    "Boolean",
    "Categorical",
    "LargeDeltaWarning",
    "Numeric",
    "PrivacyLeakWarning",
    "PrivateHuberRegressor",
    "PrivateLinearSVC",
    "PrivateLogisticRegression",
    "PrivatePipeline",
    "PrivateSearchCV",
    "PrivateTableEncoder",
    "Schema",
    "WeakSignalWarning",
    "load_model",
    "read_schema",
    "save_model",
]
