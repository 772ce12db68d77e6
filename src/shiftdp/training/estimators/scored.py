"""`private_score` and `statement_html`: what models, pipelines and searches have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.training.estimators.parameters import DELTA

if TYPE_CHECKING:
    from shiftdp.privacy.selection.selection_certificate import SelectionCertificate
    from shiftdp.training.selection.report import ScoreReport

_LEVEL = 0.95  # of intervals, unless another is given
_LARGEST_DELTA = 0.5  # of a statement of a search whose file says something odd
_DIGITS = 12  # of a delta that is computed back


def adopt(model: Any, chosen: SelectionCertificate) -> None:
    """Give a model the certificate of the search that chose it, as its only `certificate_`.

    Whoever charges, states or publishes `certificate_` then has what the search cost. That of the
    one fit, which is less, is kept as `fit_certificate_`. Of a pipeline the same holds for the
    model in it.
    """
    steps = getattr(model, "steps", None)
    for one in (model,) if steps is None else (model, steps[-1][1]):
        one.fit_certificate_ = fit_certificate(one)
        one.certificate_ = one.selected_ = chosen


def fit_certificate(model: Any) -> Any:
    """The certificate of the fit by itself, which is the guarantee unless a search chose it."""
    return vars(model).get("fit_certificate_", model.certificate_)


def stated_delta(chosen: SelectionCertificate | None, delta: float) -> float:
    """Where the guarantee of a model is stated: at the delta that was asked for.

    A search plans its fits at its own delta over the mean number of trials.

    Args:
        chosen: `selected_` of the model, if a search chose it.
        delta: of the plan of the fit.
    """
    if chosen is None:
        return delta
    asked = float(f"{delta * chosen.trials.mean:.{_DIGITS}g}")
    return min(asked, _LARGEST_DELTA)


class PrivatelyScored:
    """Something fitted that can be measured with noise, and may have been chosen by a search."""

    certificate_: Any

    def _guarantee(self, delta: float) -> list[str]:
        """The guarantee in words; of a model that a search chose, that of the search comes first.

        Args:
            delta: of the plan of the fit.
        """
        chosen = getattr(self, "selected_", None)
        found = [self.certificate_.statement(delta=stated_delta(chosen, delta))]
        if chosen is not None:
            found += [
                "What was chosen is one fit, which by itself would cost less. Not the guarantee:",
                fit_certificate(self).statement(delta=delta),
            ]
        return found

    def _stated_model(self) -> Any:
        """The private model in it, if its guarantee can be stated on a page."""
        raise NotImplementedError

    def statement_html(
        self,
        *,
        date: str | None = None,
        ledger: Any = None,
        about: Mapping[str, str] | None = None,
    ) -> str:
        """The guarantee as one self-contained page to read, print, sign and check.

        Parameters
        ----------
        date : str, default=None
            Of the statement, as YYYY-MM-DD; today (UTC) by default.
        ledger : Ledger or path, default=None
            That of the data: other releases are listed.
        about : dict, default=None
            What you say of data and use, by the names in `shiftdp.privacy.statement.ABOUT`.

        Returns
        -------
        str
            HTML that `shiftdp verify` can check.
        """
        from sklearn.utils.validation import check_is_fitted

        from shiftdp.training.estimators.stated import stated_model

        check_is_fitted(self)
        model = self._stated_model()
        return stated_model(self, model, date=date, ledger=ledger, about=about).html()

    def private_score(
        self,
        X: Any,
        y: Any,
        *,
        epsilon: float,
        delta: float = DELTA,
        metrics: Sequence[str] | None = None,
        targets: tuple[float, float] | None = None,
        level: float = _LEVEL,
        adjacency: Adjacency | None = None,
        ledger: Any = None,
        random_state: Any = None,
    ) -> ScoreReport:
        """How good the released model is on records that it was not trained on, with noise.

        Returns a report with intervals that cover sampling and noise, and its own certificate. A
        record that the model was trained on too pays for both. The arguments are those of
        `shiftdp.training.selection.report.private_score`.

        Args:
            X: records that the model was not trained on.
            y: their labels or numbers.
            epsilon: what the report may cost, at `delta`.
            delta: likewise.
            metrics: among `accuracy`, `auc`, `calibration`, `brier` and `log_loss`; or `mae`,
                `rmse` and `r2`.
            targets: of a regressor, the range that y is clipped to, which is public.
            level: of the intervals.
            adjacency: which data sets are neighbours; as for the model unless told.
            ledger: that of the *scored* records, charged once before anything is measured.
            random_state: None draws from the operating system; else it is NOT private.
        """
        from shiftdp.training.selection.report import private_score

        return private_score(
            self,
            X,
            y,
            epsilon=epsilon,
            delta=delta,
            metrics=metrics,
            targets=targets,
            level=level,
            adjacency=adjacency,
            ledger=ledger,
            random_state=random_state,
        )
