"""Whether a pipeline can be worth its budget: its model, and the ranges that it learns first.

The range of a column of which nothing is declared comes from a noisy histogram, and bins of it
count only where they stand out from the noise, alone or with their neighbours. If none does, the
range is that of some bins, which mostly have nothing to do with the column, and the model learns
from what is left of the others. So the noise must be a tenth of the number of records at most,
`LARGEST`. On six made-up tables (docs/tables.md, benchmarks/learnt_ranges.py) 13 of 18 settings
that this refuses were spoilt, and 8 of 30 others.

Other sums need no such rule. Where the noise hides them, ranges fall back to the wide one that
`within` declares, means and deviations to those of a uniform law, and categories to a public hash.

Nothing here sees the data: noise and number of records are public, and a refusal tells nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from shiftdp.fdp import GaussianTradeoff
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.training.planning.outlook import Outlook, outlook_of, upwards, ways_out
from shiftdp.training.planning.planner import Planned
from shiftdp.training.preparation.budget import encoder_share
from shiftdp.training.preparation.columns import Numeric
from shiftdp.training.preparation.layout import Layout
from shiftdp.training.preparation.steps import table_encoder

LARGEST = 0.1
"""The noise of a learnt range, as a part of the number of records, beyond which it is not used."""
_FURTHER = tuple(1.02**k for k in range(12))  # times a first guess of what is enough


class _Budget(NamedTuple):
    """What `encoder_share` asks of a pipeline."""

    epsilon: float
    delta: float
    share: float


@dataclass(frozen=True)
class PipelineOutlook:
    """What is expected of a pipeline, by public numbers.

    Args:
        model: what is expected of its model.
        encoder: that learns, or None.
        layout: of the columns that it makes, or None.
        budget: of the pipeline.
        n: how many records there are.
        adjacency: which data sets are neighbours.
    """

    model: Outlook
    encoder: Any
    layout: Layout | None
    budget: _Budget
    n: int
    adjacency: Adjacency

    @property
    def given(self) -> float:
        """The epsilon of the pipeline."""
        return self.budget.epsilon

    @cached_property
    def unknown(self) -> tuple[str, ...]:
        """The columns whose ranges are learnt by a histogram over all numbers."""
        if self.layout is None:
            return ()
        pairs = zip(self.layout.names, self.layout.columns, strict=True)
        return tuple(
            name
            for name, column in pairs
            if isinstance(column, Numeric) and "histogram" in column.sums and column.within is None
        )

    def noise(self, epsilon: float) -> float:
        """The noise in each bin of such a histogram, if the pipeline had this epsilon."""
        layout = self.layout
        if layout is None or not self.unknown:
            return 0.0
        budget = self.budget._replace(epsilon=epsilon)
        share = encoder_share(self.encoder, layout, budget, self.n, self.adjacency)
        sums = layout.sums(share, self.n, self.adjacency)
        return next(one.noise for one in sums if one.kind == "histogram")

    def learnable(self, n: int, epsilon: float) -> bool:
        """Whether ranges are not lost in their noise."""
        return self.noise(epsilon) <= LARGEST * n

    @property
    def worthwhile(self) -> bool:
        return self.model.worthwhile and self.learnable(self.n, self.given)

    @cached_property
    def records(self) -> int | None:
        """Records that are enough at the same budget, for ranges and model; None if not known."""
        enough = self.model.records
        if enough is None or self.learnable(enough, self.given):
            return enough
        enough = int(upwards(self.noise(self.given) / LARGEST))
        known = self.learnable(enough, self.given) and self.model.passes(enough, self.given)
        return enough if known else None

    @cached_property
    def epsilon(self) -> float | None:
        """An epsilon that is enough for as many records, for ranges and model; None likewise.

        The noise goes with 1/mu; an encoder with an epsilon of its own does not see another one.
        """
        enough = self.model.epsilon
        if enough is None or self.learnable(self.n, enough):
            return enough
        if self.encoder.epsilon is not None:
            return None
        delta = self.budget.delta
        mu = GaussianTradeoff.from_budget(enough, delta).mu
        mu *= self.noise(enough) / (LARGEST * self.n)
        tried = (upwards(GaussianTradeoff(mu * more).epsilon(delta)) for more in _FURTHER)
        return next(
            (
                one
                for one in tried
                if self.learnable(self.n, one) and self.model.passes(self.n, one)
            ),
            None,
        )

    @property
    def complaint(self) -> str:
        """What is wrong, in words."""
        if not self.model.worthwhile:
            return self.model.complaint
        first, *others = self.unknown
        columns = repr(first) + (f" and {len(others)} more" if others else "")
        return (
            f"hides the ranges that are to be learnt, of {columns}: their counts have a noise of "
            f"{self.noise(self.given):.0f}, above a tenth of {self.n} records"
        )

    @property
    def cure(self) -> str:
        """What to do, in words."""
        if self.learnable(self.n, self.given) and self._cured_alone:
            return self._cure_of_model
        declared = "declare the ranges of numbers in a schema (low and high, or within)"
        ways = ways_out(self.epsilon, self.records)
        if self.model.worthwhile:
            return ", or ".join([declared, *(f"give {way}" for way in ways)])
        if ways:  # declared ranges alone might not be enough
            return f"give {', or '.join(ways)}"
        return f"{declared}, and {self._cure_of_model}"

    @property
    def _cure_of_model(self) -> str:
        """That of the model; rows that an encoder makes have no bound for anybody to choose."""
        if self.layout is None:
            return self.model.cure
        several = len(self.layout.names) > 1
        return self.model.cured("fewer columns in the schema" if several else None)

    @property
    def _cured_alone(self) -> bool:
        """Whether what cures the model is what cures all."""
        return (self.epsilon, self.records) == (self.model.epsilon, self.model.records)


def outlook_of_pipeline(
    pipeline: Any, layout: Layout | None, n: int, planned: Planned, model: Any
) -> PipelineOutlook:
    """Whether a pipeline is expected to be better than a constant.

    Args:
        pipeline: a PrivatePipeline.
        layout: of what its encoder makes; None without one.
        n: how many records there are.
        planned: what was planned for its model.
        model: the private estimator, for what was chosen instead of the planner.
    """
    known = outlook_of(planned, model._overrides(), asked=pipeline.epsilon)
    budget = _Budget(pipeline.epsilon, pipeline.delta, pipeline.share)
    return PipelineOutlook(known, table_encoder(pipeline.steps), layout, budget, n, model.adjacency)
