"""`private_score`: how good a released model is on other records, with noise and intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shiftdp._checks import delta_in, finite, number_in
from shiftdp._errors import InvalidInput
from shiftdp._printed import aligned
from shiftdp._rounding import AMPLE
from shiftdp.fdp import GaussianTradeoff
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.privacy.ledger.entry import Account
from shiftdp.privacy.ledger.ledger import Ledger
from shiftdp.privacy.noisy_sums import SECOND, NoisySum, SumKind, noise_for
from shiftdp.privacy.selection.score_certificate import ScoreCertificate
from shiftdp.training.descent.entropy import Stream
from shiftdp.training.estimators.base import entropy_of
from shiftdp.training.losses.base import Floats, described
from shiftdp.training.preparation.learning import exact_moments, released
from shiftdp.training.selection.calibration_curve import CalibrationCell, calibration
from shiftdp.training.selection.curves import (
    Estimate,
    auc,
    mean_interval,
    variance_interval,
)
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
from sklearn.utils.validation import check_is_fitted  # isort: skip

CLASS_METRICS = ("accuracy", "auc", "calibration", "brier", "log_loss")
"""Of classifiers. `auc` and `calibration` are made of one histogram, which is paid for once."""
NUMBER_METRICS = ("mae", "rmse", "r2")
"""Of regressors: all of them are made of the same sums."""
_DELTA = 1e-5  # unless another is given, as for the estimators
_LEVEL = 0.95  # of intervals


@dataclass(frozen=True)
class ScoreReport:
    """What `private_score` measured.

    Attributes:
        scores: for each metric but the calibration, the value with its interval.
        calibration: cells of predicted probabilities, if it was asked for.
        tied: how far the AUC of scores up to their cells may be from the exact one.
        n: how many records were scored.
        level: of the intervals, each by itself.
        delta: at which `str` states the guarantee.
        certificate: the proved guarantee of everything in the report.
    """

    scores: dict[str, Estimate]
    calibration: tuple[CalibrationCell, ...]
    tied: float | None
    n: int
    level: float
    delta: float
    certificate: ScoreCertificate = field(repr=False)

    def __getitem__(self, metric: str) -> Estimate:
        return self.scores[metric]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and dictionaries."""
        cells = [
            {
                "predicted": [cell.low, cell.high],
                "records": cell.records,
                "share": cell.share._asdict(),
            }
            for cell in self.calibration
        ]
        return {
            "n": self.n,
            "level": self.level,
            "epsilon": self.certificate.epsilon(self.delta),
            "delta": self.delta,
            "adjacency": self.certificate.adjacency,
            "scores": {name: one._asdict() for name, one in self.scores.items()},
            "calibration": cells,
            "auc_ties": self.tied,
        }

    def __str__(self) -> str:
        lines = [f"Measured on {self.n} records, intervals of {self.level:.0%} each"]
        rows = [("metric", "value", "from", "to")]
        lost = [
            name
            for name, one in self.scores.items()
            if name in CLASS_METRICS and _says_nothing(one)
        ]
        rows += [
            (name, f"{one.value:.4f}", f"{one.low:.4f}", f"{one.high:.4f}")
            for name, one in self.scores.items()
            if name not in lost
        ]
        if len(rows) > 1:
            lines += aligned(rows, right=(1, 2, 3))
        known = not all(_says_nothing(cell.share) for cell in self.calibration)
        lost += ["calibration"] if self.calibration and not known else []
        if lost:
            lines.append(
                f"{', '.join(lost)}: not known, the noise is larger than what it hides; give a "
                "larger epsilon, or more records"
            )
        if self.tied is not None and "auc" not in lost:
            lines.append(
                f"auc is that of scores up to their cell: the exact one is {self.tied:.3f} away at "
                "most, and mostly above"
            )
        if known:
            cells = [("predicted", "records", "true", "from", "to")]
            for cell in self.calibration:
                value, low, high = (f"{number:.3f}" for number in cell.share)
                said = f"{cell.low:.3g} to {cell.high:.3g}"
                cells.append((said, f"{cell.records:.0f}", value, low, high))
            lines += [
                "Calibration, in as many cells as records and noise allow:",
                *aligned(cells, right=(1, 2, 3, 4)),
            ]
        return "\n".join([*lines, self.certificate.statement(delta=self.delta)])


def private_score(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    epsilon: float,
    delta: float = _DELTA,
    metrics: Sequence[str] | None = None,
    targets: tuple[float, float] | None = None,
    level: float = _LEVEL,
    adjacency: Adjacency | None = None,
    ledger: Any = None,
    random_state: Any = None,
) -> ScoreReport:
    """How good a released model is on records that it was not trained on, within a budget.

    The model is public by now, so that the scored records are a data set of their own, with a
    certificate of its own. A record that the model was trained on too pays for both: charge one
    ledger for both then, which composes them, and expect scores that are too good.

    Args:
        estimator: a fitted private model, or a pipeline or search that ends in one.
        X: records that it was not trained on.
        y: their labels or numbers.
        epsilon: what everything in the report may cost, at `delta`.
        delta: likewise.
        metrics: of a classifier among `accuracy`, `auc`, `calibration`, `brier` and `log_loss` (a
            gain: 1 less the loss as a part of 5), the first three for two classes unless told; of a
            regressor among `mae`, `rmse` and `r2`.
        targets: of a regressor, the range that y is clipped to, which is public.
        level: of the intervals.
        adjacency: which data sets are neighbours; as for the model unless told.
        ledger: charged once, before anything is measured.
        random_state: None draws from the operating system; else it is NOT private.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4_000, 2))
    >>> y = (X[:, 0] + rng.normal(size=4_000) > 0).astype(int)
    >>> from shiftdp.sklearn import PrivateLogisticRegression
    >>> model = PrivateLogisticRegression(classes=[0, 1]).fit(X[:2_000], y[:2_000])
    >>> report = model.private_score(X[2_000:], y[2_000:], epsilon=1.0)
    >>> bool(report["accuracy"].low < 0.75 < report["accuracy"].high)
    True
    """
    check_is_fitted(estimator)
    wanted = _metrics(estimator, metrics)
    epsilon = finite("epsilon", epsilon, 0.0, open_low=True)
    delta = delta_in(delta)
    z = _deviations(level)
    n = rows_of(X, y)
    known = adjacency or model_of(estimator).plan_.plan.adjacency
    kinds = _kinds(wanted)
    entropy = entropy_of(random_state)
    mu = GaussianTradeoff.from_budget(epsilon, delta).mu * (1.0 - AMPLE) / math.sqrt(len(kinds))
    sums = {
        column: NoisySum(kind=kind, column=column, noise=noise_for(kind, n, known, mu))
        for column, kind in kinds.items()
    }
    certificate = ScoreCertificate(
        n=n, adjacency=known, sums=tuple(sums.values()), private=entropy.private
    )
    measured = _Measured(estimator, X, y, n, z, sums, range_of(model_of(estimator), targets))
    measured.check()
    account = account_of(ledger, entropy.private)
    entry = None if account is None else account.reserve(certificate, label="private_score")
    scores, cells, tied = measured.report(wanted, entropy.open("noise"))
    if account is not None and entry is not None:
        account.complete(entry)
    return ScoreReport(scores, cells, tied, n, float(level), delta, certificate)


@dataclass(frozen=True)
class _Measured:
    """Records and a model, and the sums that are paid for."""

    estimator: Any
    X: Any
    y: Any
    n: int
    z: float
    sums: dict[str, NoisySum]
    targets: Targets | None

    def check(self) -> None:
        """Refuse records that cannot be scored before anything is charged."""
        if self.targets is not None:
            relative_errors(self.estimator, self.X, self.y, self.targets)
        else:
            class_gains(self.estimator, self.X, self.y, "accuracy")

    def report(
        self, wanted: tuple[str, ...], stream: Stream
    ) -> tuple[dict[str, Estimate], tuple[CalibrationCell, ...], float | None]:
        if self.targets is not None:
            found = self._numbers(self.targets, stream)
            return {name: found[name] for name in wanted}, (), None
        scores: dict[str, Estimate] = {}
        for name in wanted:
            if name in self.sums:
                noise = self.sums[name].noise
                gains = class_gains(self.estimator, self.X, self.y, name)
                (value,) = noisy_mean([gains], noise, stream)
                scores[name] = mean_interval(value, self.n, noise, self.z)
        if "scores" not in self.sums:
            return scores, (), None
        noise = self.sums["scores"].noise
        edges = edges_of(self.estimator)
        counts = noisy_histogram(self.estimator, self.X, self.y, edges, noise, stream)
        area, tied = auc(counts, noise, self.z)
        if "auc" in wanted:
            scores["auc"] = area
        cells: tuple[CalibrationCell, ...] = ()
        if "calibration" in wanted:
            cells = calibration(counts, _as_probabilities(edges), noise, self.z, self.n)
        return scores, cells, tied if "auc" in wanted else None

    def _numbers(self, targets: Targets, stream: Stream) -> dict[str, Estimate]:
        """Errors and R^2, in units of y.

        R^2 is 1 - E e^2 / Var y: its ends are those of the two parts, each at the level asked for.
        """
        errors, scaled = relative_errors(self.estimator, self.X, self.y, targets)
        width = targets.high - targets.low
        noise = self.sums["errors"].noise
        first, second = noisy_mean([errors, errors**2], noise, stream)
        mae = mean_interval(first, self.n, noise, self.z)
        mse = mean_interval(second, self.n, noise, self.z)
        found = {
            "mae": Estimate(*(width * one for one in mae)),
            "rmse": Estimate(*(width * math.sqrt(one) for one in mse)),
        }
        if "targets" in self.sums:
            spread = self.sums["targets"].noise
            total, squares, _ = released(exact_moments(scaled), spread, stream)
            variance = variance_interval(
                total / self.n, squares / SECOND / self.n, self.n, spread, self.z
            )
            # the range is two units of `scaled`
            parts = [4.0 * one for one in mse]
            value = 1.0 - parts[0] / max(variance.value, AMPLE)
            low = 1.0 - parts[2] / max(variance.low, AMPLE)
            high = 1.0 - parts[1] / max(variance.high, AMPLE)
            found["r2"] = Estimate(min(value, 1.0), low, min(high, 1.0))
        return found


def _metrics(estimator: Any, metrics: Sequence[str] | None) -> tuple[str, ...]:
    model = model_of(estimator)
    known = CLASS_METRICS if is_classifier(model) else NUMBER_METRICS
    proper = hasattr(model, "predict_proba")
    if metrics is None:
        metrics = known
        if is_classifier(model):
            metrics = known[: 1 if len(model.classes_) > 2 else 2 + proper]
    wanted = tuple(dict.fromkeys([metrics] if isinstance(metrics, str) else metrics))
    strange = [name for name in wanted if name not in known]
    if strange or not wanted:
        raise InvalidInput(
            "metrics", wanted, "is empty, or has one that this model does not have",
            f"give some of {', '.join(known)}",
        )  # fmt: skip
    if {"auc", "calibration"} & set(wanted) and len(model.classes_) > 2:
        raise InvalidInput(
            "metrics", wanted, "has auc or calibration, which are for two classes", "leave it out"
        )
    if {"calibration", "brier", "log_loss"} & set(wanted) and not proper:
        raise InvalidInput(
            "metrics", wanted, f"needs probabilities, which {type(model).__name__} has not",
            "give accuracy or auc",
        )  # fmt: skip
    return wanted


def _kinds(wanted: tuple[str, ...]) -> dict[str, SumKind]:
    """The sums that the metrics are made of, by name."""
    found: dict[str, SumKind] = {}
    for name in wanted:
        if name in ("auc", "calibration"):
            found["scores"] = "histogram"
        elif name in NUMBER_METRICS:
            found["errors"] = "errors"
            if name == "r2":
                found["targets"] = "moments"
        else:
            found[name] = "gains"
    return found


def rows_of(X: Any, y: Any) -> int:
    """How many records there are, with a label each."""
    n = X.shape[0] if getattr(X, "shape", None) else len(X)
    if n < 1 or len(np.asarray(y)) != n:
        raise InvalidInput("y", described(y), f"does not have {n} entries", "give one a record")
    return int(n)


def _says_nothing(share: Estimate) -> bool:
    return share.low <= 0.0 and share.high >= 1.0


def _deviations(level: float) -> float:
    from scipy.special import ndtri

    level = number_in("level", level, 0.0, 1.0, open_low=True, open_high=True)
    return float(ndtri(0.5 + 0.5 * level))


def _as_probabilities(edges: Floats) -> Floats:
    from scipy.special import expit

    return np.concatenate([[0.0], expit(edges), [1.0]])


def account_of(ledger: Any, private: bool) -> Account | None:
    """The ledger to be charged, if any; noise from a seed is not."""
    if ledger is None:
        return None
    if not private:
        raise InvalidInput(
            "random_state", "<seed>", "makes noise that is not private and cannot be charged",
            "give random_state=None, or no ledger",
        )  # fmt: skip
    return ledger if isinstance(ledger, Account) else Ledger(ledger)
