"""What users of a cluster call: a folder of Parquet as collections, and `fit` on it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shiftdp._errors import InvalidInput
from shiftdp.training.cluster.collection import require_dask, table_of
from shiftdp.training.cluster.encoding import fit_pipeline
from shiftdp.training.cluster.fitting import client_of, fit_collection, on_workers
from shiftdp.training.descent import loop
from shiftdp.training.descent.state_file import EncryptedState
from shiftdp.training.plan import Plan


def read_folder(
    folder: str | os.PathLike[str], *, target: str, columns: Sequence[str] | None = None
) -> tuple[Any, Any]:
    """Features and target of a folder of Parquet, as a Dask DataFrame and a Series.

    Nothing is read but the schema. A block is a file, or a group of rows of one: workers that are
    started on other machines must find the folder under the same path.

    Args:
        folder: of the files, or an address that Dask knows (`s3://...`).
        target: the column of labels or numbers.
        columns: those that are features; all others unless given.
    """
    require_dask()
    import dask.dataframe as dd

    path = os.fspath(folder)
    problem = None
    try:
        table = dd.read_parquet(path, split_row_groups="adaptive")
        names = list(table.columns)
    except ImportError:
        problem = "needs pyarrow: pip install 'shiftdp[dask]'"
    except Exception as error:
        problem = f"cannot be read as Parquet ({type(error).__name__})"
    if problem is not None:
        raise InvalidInput("folder", path, problem, "give a folder of files with one schema")
    wanted = [name for name in names if name != target] if columns is None else list(columns)
    for name in (target, *wanted):
        if name not in names:
            raise InvalidInput(
                "target" if name == target else "columns",
                name,
                f"is no column of {Path(path).name}",
                "name columns as the files do",
            )
    return table[wanted], table[target]


def fit(
    estimator: Any, X: Any, y: Any, *, client: Any = None, state: EncryptedState | None = None
) -> Any:
    """Fit a private estimator, or a `PrivatePipeline`, to Dask collections.

    What `estimator.fit(X, y)` does with them, with a choice of the client.

    Args:
        estimator: one of `shiftdp.sklearn`; it is fitted in place, and returned.
        X: a Dask DataFrame, or an Array.
        y: a Series, or an Array with one axis, in the same blocks.
        client: of the cluster; the active one unless given, and without one a cluster on this
            machine for as long as the fit takes.
        state: where the run is kept, so that it can go on if the driver dies; not for pipelines.
    """
    from shiftdp.training.estimators.base import PrivateLinearModel
    from shiftdp.training.estimators.combinations import refuse_unproved
    from shiftdp.training.preparation.pipeline import PrivatePipeline

    if isinstance(estimator, PrivatePipeline):
        if state is not None:
            raise InvalidInput(
                "state",
                os.fspath(state.path),
                "is for the steps of a model, and a pipeline learns before them",
                "give a model, or leave it out",
            )
        return fit_pipeline(estimator, X, y, client=client)
    if not isinstance(estimator, PrivateLinearModel):
        raise InvalidInput(
            "estimator",
            f"<{type(estimator).__name__}>",
            "is no private estimator",
            "give one of shiftdp.sklearn",
        )
    refuse_unproved(estimator)
    with estimator._all_or_nothing():
        return fit_collection(estimator, X, y, client=client, state=state)


def fit_folder(
    estimator: Any,
    folder: str | os.PathLike[str],
    *,
    target: str,
    columns: Sequence[str] | None = None,
    client: Any = None,
    state: EncryptedState | None = None,
) -> Any:
    """Fit a private estimator, or a `PrivatePipeline`, to a folder of Parquet.

    Args:
        estimator, client, state: as for `fit`.
        folder, target, columns: as for `read_folder`.
    """
    with client_of(client) as known:
        X, y = read_folder(folder, target=target, columns=columns)
        return fit(estimator, X, y, client=known, state=state)


def descend(
    plan: Plan,
    X: Any,
    y: Any,
    *,
    client: Any = None,
    progress: loop.Progress | None = None,
    checkpoints: loop.Checkpoints | None = None,
    state: EncryptedState | None = None,
) -> Any:
    """`shiftdp.training.descend` on Dask collections: the same batches, noise and certificate.

    Args:
        plan: what is run.
        X, y, client: as for `fit`; labels are numbers, as the loss of the plan wants them.
        progress, checkpoints, state: as for `shiftdp.training.descend`.
    """
    loop.require_certified(plan)
    table = table_of(X, y)
    with client_of(client) as known, on_workers(known, table, table.numbers("given")) as rows:
        rows.workers.tell("assemble")
        return loop.descend(
            plan, rows, None, progress=progress, checkpoints=checkpoints, state=state
        )
