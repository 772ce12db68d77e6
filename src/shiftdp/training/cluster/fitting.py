"""`fit` on Dask collections: plan, certificate and ledger as for arrays, sums on the workers.

Classes are those that the model was given. If it was given none, they are read off the labels, as
for arrays, with the same warning: each worker tells the set of its labels, and no other data move.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from shiftdp._errors import InvalidInput
from shiftdp.training.cluster.collection import Table, require_dask, table_of
from shiftdp.training.cluster.guard import ClusterFailed
from shiftdp.training.cluster.reading import Reading
from shiftdp.training.cluster.shard import union
from shiftdp.training.cluster.source import ClusterTable
from shiftdp.training.cluster.workers import Workers


@contextmanager
def client_of(client: Any = None) -> Iterator[Any]:
    """The client that is given, or the one that is active, or one of a cluster on this machine."""
    require_dask()
    from distributed import Client, default_client

    with ExitStack() as stack:
        if client is None:
            try:
                client = default_client()
            except ValueError:
                client = stack.enter_context(Client(stack.enter_context(_local_cluster())))
        elif getattr(client, "status", None) in ("closed", "closing"):
            raise InvalidInput("client", "<Client>", "is closed", "give one that is open, or none")
        yield client


def _local_cluster() -> Any:
    """Workers of this machine, or one sentence why there are none."""
    from distributed import LocalCluster

    try:
        return LocalCluster(dashboard_address=":0")
    except RuntimeError:
        problem = "workers cannot be started on this machine"
    raise ClusterFailed(
        f"{problem}; if this is a script, put what it does under if __name__ == '__main__', as "
        "workers import it, or give client=..."
    )


@contextmanager
def on_workers(client: Any, table: Table, reading: Reading) -> Iterator[ClusterTable]:
    """The table in the memory of the workers, as long as the context lasts."""
    workers = Workers(client, table, reading)
    try:
        found = ClusterTable(workers, tuple(workers.load()), table.columns)
        if found.shape[0] < 1:
            raise InvalidInput("X", "<Dask collection>", "has no records", "give some")
        yield found
    finally:
        workers.close()


def fit_collection(model: Any, X: Any, y: Any, *, client: Any = None, state: Any = None) -> Any:
    """Fit an estimator to Dask collections; what it is afterwards is what `fit` makes of arrays.

    Args:
        model: one of the private estimators.
        X: a Dask DataFrame of numbers, or an Array.
        y: a Series, or an Array with one axis, in the blocks of X.
        client: of the cluster; the active one unless given.
        state: an `EncryptedState`, for a driver that may die.
    """
    from sklearn.base import is_classifier

    refuse_people(model)
    table = table_of(X, y)
    reading = table.numbers("classes" if is_classifier(model) else "numbers")
    with client_of(client) as known, on_workers(known, table, reading) as rows:
        note_columns(model, table)
        fit_rows(model, rows, state)
    return model


def fit_rows(model: Any, rows: ClusterTable, state: Any = None) -> None:
    """Fit an estimator to rows that are on workers."""
    from sklearn.base import is_classifier

    from shiftdp.training.estimators.base import Records
    from shiftdp.training.estimators.classifier import warn_of_learnt_classes

    rows.workers.tell("assemble")
    outputs = 1
    if is_classifier(model):
        known, learnt = _classes(model, rows.workers)
        model._require_classes(known, known.size)
        rows.workers.tell("number", known)
        if learnt:
            warn_of_learnt_classes()
        model.classes_, model.classes_learnt_ = known, learnt
        outputs = _scores(known)
    model._keep(model._run(Records(rows, np.empty(0), outputs), None, state))


def refuse_people(model: Any, groups: Any = None) -> None:
    """Who has which records is not known to a driver that does not see them."""
    if groups is not None or model.records_per_person != 1:
        raise InvalidInput(
            "records_per_person",
            model.records_per_person,
            "and groups are for arrays: on a cluster each record is a person's only one",
            "give one record of each person, or fit arrays",
        )


def outputs_on_workers(model: Any, workers: Workers) -> int:
    """How many scores a record has, by the classes that are given or occur; and whether all labels
    are among them."""
    from sklearn.base import is_classifier

    if not is_classifier(model):
        return 1
    known, _ = _classes(model, workers)
    workers.ask_all("number", known)
    return _scores(known)


def _scores(classes: Any) -> int:
    """How many scores a record has, of so many classes."""
    return 1 if classes.size == 2 else int(classes.size)


def _classes(model: Any, workers: Workers) -> tuple[Any, bool]:
    """All classes in order, and whether they were read off the labels."""
    from shiftdp.training.estimators.inputs import given_classes, learnt_classes

    if model.classes is not None:
        known = np.asarray(model.classes)
        return given_classes(model.classes, known[:0])[0], False
    sets = [one for one in workers.ask_all("label_set") if one is not None]
    return learnt_classes(union(sets))[0], True


def note_columns(model: Any, table: Table) -> None:
    """The number and the names of the columns, as scikit-learn keeps them."""
    from sklearn.utils.validation import validate_data

    if table.meta is not None:
        validate_data(model, table.meta, skip_check_array=True, reset=True)
    else:
        model.n_features_in_ = table.columns
        model.__dict__.pop("feature_names_in_", None)
