"""`private_score`: what models, pipelines and searches have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.training.estimators.parameters import DELTA

if TYPE_CHECKING:
    from shiftdp.training.selection.report import ScoreReport

_LEVEL = 0.95  # of intervals, unless another is given


class PrivatelyScored:
    """Something fitted that can be measured with noise, and may have been chosen by a search."""

    def _chosen(self) -> list[str]:
        """Of a model that a search chose: what the search cost, which is the guarantee."""
        chosen = getattr(self, "selected_", None)
        if chosen is None:
            return []
        return [chosen.statement(delta=DELTA), "What was chosen is one fit, by itself:"]

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
