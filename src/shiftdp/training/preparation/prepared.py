"""A table that is read and not learnt from yet, and what a pipeline on it will cost.

All of it comes from public numbers: how many records there are, which columns, how wide and how
long encoded rows are.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from shiftdp._errors import InvalidInput
from shiftdp.privacy.pipeline_certificate import PipelineCertificate
from shiftdp.training.charging import rehearse
from shiftdp.training.estimators.base import entropy_of
from shiftdp.training.losses.base import described
from shiftdp.training.planning.planner import Planned
from shiftdp.training.preparation.budget import aims, encoder_share, layout_in_pipeline
from shiftdp.training.preparation.encoder import empty_rows
from shiftdp.training.preparation.layout import layout_of
from shiftdp.training.preparation.steps import private_model, table_encoder

from sklearn.base import clone  # isort: skip


class Prepared(NamedTuple):
    """What is known of a table before anything is learnt from it.

    Args:
        encoder: a copy of that of the pipeline; None without one.
        layout: of the columns that it makes.
        values: the entries of each column, for the encoder.
        rows: the table itself, where nothing encodes it.
        n: how many records there are.
        features: how many features the model sees.
        bound: that its rows keep to; None if nobody gave one.
    """

    encoder: Any
    layout: Any
    values: Any
    rows: Any
    n: int
    features: int
    bound: float | None


def prepared_table(pipeline: Any, X: Any) -> Prepared:
    """A table as a copy of the encoder reads it, or as it is if there is none."""
    model, encoder = private_model(pipeline.steps), table_encoder(pipeline.steps)
    if encoder is None:
        shape = getattr(X, "shape", None) or np.shape(X)
        if len(shape) != 2:
            raise InvalidInput("X", described(X), "is not a table", "give rows of features")
        return Prepared(None, None, None, X, shape[0], shape[1], model.feature_bound)
    working = clone(encoder)
    table = working._table(X, reset=True)
    known = layout_of(working.schema, table)
    layout = layout_in_pipeline(known, working, pipeline, table.n, model.adjacency)
    values = working._values(layout, table)
    return Prepared(working, layout, values, None, table.n, layout.width, layout.bound)


def certified_pipeline(
    pipeline: Any, prepared: Prepared, model: Any, outputs: int
) -> tuple[Any, Planned, PipelineCertificate]:
    """The model with a budget that fits beside the preparation, what is planned for it, and the
    certificate of both.

    Args:
        pipeline: a PrivatePipeline, whose budget it is.
        prepared: the table.
        model: the private estimator, whose own budget and bound are not used.
        outputs: how many scores a record has.
    """
    sums: tuple[Any, ...] = ()
    private = True
    if prepared.layout is not None and prepared.layout.parts:
        share = encoder_share(
            prepared.encoder, prepared.layout, pipeline, prepared.n, model.adjacency
        )
        sums = prepared.layout.sums(share, prepared.n, model.adjacency)
        private = entropy_of(prepared.encoder.random_state).private
    made = PipelineCertificate(n=prepared.n, adjacency=model.adjacency, sums=sums, private=private)
    as_they_are = {} if model.centre is not None else {"centre": False}
    spent = 0.0
    for aim in aims(made.preparation, pipeline.epsilon, pipeline.delta):
        aimed = clone(model).set_params(
            epsilon=aim(spent), delta=pipeline.delta, feature_bound=prepared.bound, **as_they_are
        )
        planned = aimed.plan(prepared.n, prepared.features, outputs)
        whole = PipelineCertificate(
            n=made.n,
            adjacency=made.adjacency,
            sums=sums,
            private=private,
            model=aimed._signed(planned.plan.certificate),
        )
        spent = whole.epsilon(pipeline.delta)
        if spent <= pipeline.epsilon:
            return aimed, planned, whole
    raise InvalidInput(
        "epsilon", pipeline.epsilon, "is not met by any noise that was tried", "give share=..."
    )


def rehearse_model(model: Any, prepared: Prepared, y: Any) -> None:
    """Refuse what `fit` of the model would refuse, before anything is charged.

    It is run up to its own charge, on the rows if nothing encodes them, else on zeros: encoded rows
    are within their bound whatever is learnt.
    """
    rows = prepared.rows
    if prepared.encoder is not None:
        rows = empty_rows(prepared.values, prepared.features)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is said when the model is fitted
        rehearse(model, rows, y)
