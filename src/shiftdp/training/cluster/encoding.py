"""A `PrivatePipeline` on Dask collections: tables are read and encoded on the workers.

What the encoder has to learn are sums of whole numbers, so that the sums of the blocks are exactly
those of the table; noise is added once, on the driver. With a schema that declares everything there
is nothing to learn.
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.training.cluster.collection import Table, table_of
from shiftdp.training.cluster.fitting import (
    client_of,
    fit_rows,
    note_columns,
    on_workers,
    outputs_on_workers,
)
from shiftdp.training.cluster.reading import Entries, Reading
from shiftdp.training.cluster.workers import Workers
from shiftdp.training.losses.base import Floats
from shiftdp.training.preparation.learning import Scaling, Summed


def fit_pipeline(pipeline: Any, X: Any, y: Any, *, client: Any = None) -> Any:
    """Fit a pipeline of an encoder and a private estimator, or of an estimator alone.

    In the order of `PrivatePipeline.fit`: public numbers, then the records are read and checked,
    then the ledger is charged, and only then anything is learnt.
    """
    from sklearn.base import clone, is_classifier

    from shiftdp.training.estimators.surroundings import uncovered, warn_of
    from shiftdp.training.preparation.budget import layout_in_pipeline
    from shiftdp.training.preparation.prepared import Prepared, certified_pipeline
    from shiftdp.training.preparation.steps import private_model, table_encoder

    model, encoder = private_model(pipeline.steps), table_encoder(pipeline.steps)
    pipeline._check_budget()
    _refuse_others(pipeline, encoder)
    leaks = uncovered(pipeline.ledger is not None, beyond=pipeline)
    warn_of(leaks)
    table = table_of(X, y)
    labels = "classes" if is_classifier(model) else "numbers"
    working: Any = None
    reading: Reading = table.numbers(labels)
    if encoder is not None:
        working = clone(encoder)
        reading = _entries(working, table, labels)
    with ExitStack() as stack:
        known = stack.enter_context(client_of(client))
        found = stack.enter_context(on_workers(known, table, reading))
        workers, n = found.workers, found.shape[0]
        if isinstance(reading, Entries):
            layout = layout_in_pipeline(reading.layout, working, pipeline, n, model.adjacency)
            values = [RemoteColumn(workers, k) for k in range(len(layout.columns))]
            prepared = Prepared(working, layout, values, None, n, layout.width, layout.bound)
        else:
            prepared = Prepared(None, None, None, None, n, table.columns, model.feature_bound)
        rows = replace(found, columns=prepared.features)
        outputs = outputs_on_workers(model, workers)
        aimed, planned, certificate = certified_pipeline(pipeline, prepared, model, outputs)
        pipeline._warn(prepared, planned, aimed)

        def train() -> None:
            if isinstance(reading, Entries):
                workers.tell("encode", working.codes_, working.layout_.columns)
                aimed.n_features_in_ = prepared.features
            else:
                note_columns(aimed, table)
            fit_rows(aimed, rows)

        pipeline._release(prepared, aimed, certificate, lambda: None, train)
        pipeline._keep([working, aimed], certificate, leaks)
    return pipeline


def _refuse_others(pipeline: Any, encoder: Any) -> None:
    names = [name for name, _ in pipeline.steps]
    if len(names) > (1 if encoder is None else 2):
        raise InvalidInput(
            "steps",
            names,
            "has steps that are not fitted on a cluster",
            "give a PrivateTableEncoder and a private estimator",
        )


def _entries(encoder: Any, table: Table, labels: str) -> Entries:
    """How blocks are read, by the schema and the types of the columns; it sees no record."""
    from sklearn.utils.validation import validate_data

    from shiftdp.training.preparation.layout import layout_of
    from shiftdp.training.preparation.reading import raw_table

    meta = table.meta
    if meta is None:
        meta = np.empty((0, table.columns), dtype=table.dtype)
        encoder.n_features_in_ = table.columns
    else:
        validate_data(encoder, meta, skip_check_array=True, reset=True)
    known = raw_table(meta)
    return Entries(labels, layout_of(encoder.schema, known), known.names)


@dataclass(frozen=True)
class RemoteColumn(Summed):
    """A column whose entries are on workers.

    Args:
        workers: that hold the blocks.
        place: of the column in the layout.
    """

    workers: Workers
    place: int

    def histogram(self, edges: Floats) -> NDArray[np.int64]:
        return np.asarray(np.sum(self._all("histogram", edges), axis=0), dtype=np.int64)

    def whole_sums(self, scaled: Scaling | None) -> tuple[int, int, int]:
        first, second, number = zip(*self._all("whole_sums", scaled), strict=True)
        return sum(first), sum(second), sum(number)

    def word_counts(self) -> Counter[str]:
        return sum(self._all("word_counts"), Counter())

    def _all(self, kind: str, *arguments: Any) -> list[Any]:
        """The sums of all blocks."""
        asked = self.workers.ask_all("sums", self.place, kind, *arguments)
        return [one for found in asked for one in found]
