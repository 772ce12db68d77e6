"""The table that `shiftdp train` is given, where it is one of numbers.

Raw tables, which `--schema` describes, are in `shiftdp.ui.table_training`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shiftdp._checks import count
from shiftdp._errors import InvalidInput
from shiftdp.training.table_files.parts import shown
from shiftdp.ui.training.models import classes_of

if TYPE_CHECKING:
    from shiftdp.training.planning.planner import Planned
    from shiftdp.training.table_files.rules import Rules, Table

_CUT = 0.9  # a row that is scaled by less has lost a part of its length that matters


def rules_of(options: dict[str, Any]) -> Rules:
    """How the file of the options is read."""
    from shiftdp.training.table_files.rules import Rules

    features = options["features"]
    return Rules(
        target=options["target"],
        features=None if features is None else count("features", features, 1),
        first_index=int(options["first_index"]),
        classes=classes_of(options["classes"]),
        numbers=options["model"] == "huber",
    )


def plan_by_shape(estimator: Any, options: dict[str, Any]) -> Planned:
    """What `fit` would run, by the shape of the table alone."""
    from shiftdp.training.table_files.reading import is_sparse, shape_of

    shape = shape_of(options["data"], rules_of(options))
    features = shape.features - (0 if options.get("groups") is None else 1)
    classes = getattr(estimator, "classes", None)
    outputs = len(classes) if classes is not None and len(classes) > 2 else 1
    dense = not is_sparse(options["data"])
    planned: Planned = estimator.plan(shape.n, features, outputs, dense=dense)
    return planned


def read_numbers(options: dict[str, Any]) -> Table:
    """Features, target and names, once it is clear that the bound leaves something of the rows.

    Beside them whose record each is, if a column says so.
    """
    from shiftdp.training.table_files.reading import read

    table = read(options["data"], rules_of(options), options["memory"])
    found = _without_people(table, options)
    _require_bound(found.X, options)
    return found


def require_in_memory(X: Any, options: dict[str, Any], when: str) -> None:
    """Refuse a table on disk where records are taken out of it, which holds them in memory."""
    from shiftdp.training.descent.disk import is_mapped

    if is_mapped(X):
        raise InvalidInput(
            "memory",
            options["memory"],
            f"is less than the table takes, and {when} it is not read in blocks",
            "give more",
        )


def _without_people(found: Table, options: dict[str, Any]) -> Table:
    """The table with the column apart that says whose record each is, which is no feature."""
    column = options.get("groups")
    if column is None:
        return found
    require_in_memory(found.X, options, "with groups")
    names = [] if found.names is None else list(found.names)
    if column not in names:
        raise InvalidInput(
            "groups",
            column,
            f"is no column of {shown(options['data'])} beside the target",
            "name a column of numbers in a CSV or Parquet file",
        )
    place = names.index(column)
    X = found.X[:, [j for j in range(len(names)) if j != place]]
    del names[place]
    return found._replace(X=X, names=tuple(names), people=found.X[:, place])


def _require_bound(X: Any, options: dict[str, Any]) -> None:
    """Refuse a bound that most rows are longer than: nothing but their direction would be left."""
    from shiftdp.training.descent.disk import blocks, let_go
    from shiftdp.training.descent.records import bounded_rows

    if options["oversized"] != "scale" or 0 in X.shape:
        return
    scales = bounded_rows(X, options["feature_bound"]).scales
    if scales is None:
        return
    cut = 0
    for part in blocks(len(scales), 8):
        cut += int(np.count_nonzero(scales[part] < _CUT))
        let_go(scales[part])
    if 2 * cut > len(scales):
        raise InvalidInput(
            "feature_bound",
            options["feature_bound"],
            "is less than the length of most rows: cut to it, they would lose what tells them "
            "apart",
            "declare the ranges of the columns with --schema (shiftdp schema writes a template)",
        )
