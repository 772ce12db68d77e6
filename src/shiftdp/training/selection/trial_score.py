"""The noisy score of one trial of a search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shiftdp._errors import InvalidInput
from shiftdp.privacy.noisy_sums import SumKind
from shiftdp.training.descent.entropy import Stream
from shiftdp.training.selection.curves import auc
from shiftdp.training.selection.gains import (
    Targets,
    class_gains,
    edges_of,
    model_of,
    noisy_histogram,
    noisy_mean,
    range_of,
    relative_errors,
)

from sklearn.base import is_classifier  # isort: skip

Scoring = Literal["accuracy", "brier", "log_loss", "auc", "absolute_error", "squared_error"]
_OF_CLASSES = ("accuracy", "brier", "log_loss", "auc")
_OF_NUMBERS = ("absolute_error", "squared_error")


@dataclass(frozen=True)
class TrialScore:
    """Which score, of the kind that is paid for."""

    name: str
    kind: SumKind
    targets: Targets | None

    @classmethod
    def of(cls, estimator: Any, scoring: str | None, targets: Any) -> TrialScore:
        """The score that goes with an estimator; refuses one that does not."""
        model = model_of(estimator)
        known = _OF_CLASSES if is_classifier(model) else _OF_NUMBERS
        name = known[0] if scoring is None else scoring
        if name not in known:
            raise InvalidInput(
                "scoring", scoring, f"is none of {type(model).__name__}",
                f"give one of {', '.join(known)}",
            )  # fmt: skip
        if name in ("brier", "log_loss") and not hasattr(model, "predict_proba"):
            raise InvalidInput(
                "scoring", scoring, f"needs probabilities, which {type(model).__name__} has not",
                "give accuracy or auc",
            )  # fmt: skip
        if name == "auc" and is_classifier(model) and np.size(model.classes) > 2:
            raise InvalidInput("scoring", scoring, "is for two classes", "give accuracy or brier")
        return cls(name, "histogram" if name == "auc" else "gains", range_of(model, targets))

    def measure(self, fitted: Any, X: Any, y: Any, noise: float, stream: Stream) -> float:
        """The score with noise; larger is better."""
        if self.kind == "histogram":
            counts = noisy_histogram(fitted, X, y, edges_of(fitted), noise, stream)
            return auc(counts, noise, 1.0)[0].value
        if self.targets is None:
            gains = class_gains(fitted, X, y, self.name)
        else:
            errors, _ = relative_errors(fitted, X, y, self.targets)
            gains = 1.0 - (errors if self.name == "absolute_error" else errors**2)
        return noisy_mean([gains], noise, stream)[0]
