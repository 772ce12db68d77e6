"""A small estimator whose fit is charged to a ledger, for the tools of scikit-learn."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from shiftdp.privacy import Ledger
from tests.privacy.ledger.workers import certificate

__all__ = ["Mean"]


class Mean(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is not typed
    """A classifier by noisy class means. What counts is that every fit is charged first."""

    def __init__(self, ledger: Ledger | None = None, noise: float = 1.0) -> None:
        self.ledger = ledger
        self.noise = noise

    def fit(self, X: Any, y: Any) -> Mean:
        proof = certificate(self.noise, n=len(X))
        entry = self.ledger.reserve(proof, label=f"noise={self.noise}") if self.ledger else None
        self.process_ = os.getpid()
        self.classes_ = np.unique(y)
        noise = np.random.default_rng().normal(0.0, self.noise, (len(self.classes_), X.shape[1]))
        self.means_ = np.array([X[y == label].mean(axis=0) for label in self.classes_]) + noise
        if self.ledger and entry:
            self.ledger.complete(entry)
        return self

    def predict(self, X: Any) -> Any:
        return self.classes_[np.argmin(np.abs(X[:, None] - self.means_).sum(axis=2), axis=1)]
