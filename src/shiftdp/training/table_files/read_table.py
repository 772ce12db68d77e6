"""Tables from files for Python: what `shiftdp train` reads, as arrays for `fit` and `descend`."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

from shiftdp._checks import count, number_in
from shiftdp._errors import InvalidInput
from shiftdp.training.table_files.parts import parts_of
from shiftdp.training.table_files.reading import read
from shiftdp.training.table_files.rules import Rules, Table, bytes_in

_MEMORY = 2 * 10**9  # as for `shiftdp train`


def read_table(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    target: str | None,
    *,
    classes: Sequence[Any] | None = None,
    numbers: bool = False,
    features: int | None = None,
    first_index: int = 1,
    memory: float | str = _MEMORY,
) -> Table:
    """Features and target of a table of numbers in files: CSV, Parquet, npz or svmlight.

    A table that would take more than `memory` is put into temporary files without a name, and X and
    y are `np.memmap`: `fit` and `descend` read them in blocks, and what reading and training add to
    the process stays below `memory`.

    Args:
        paths: a file, a folder, or several of them: parts of one table, in this order.
        target: the name of the column, or array, to predict; None for svmlight.
        classes: all labels, if they are known. They become numbers or text as `classes` has them.
        numbers: whether the target is a number, and not the name of a class.
        features: how many there are; svmlight needs it.
        first_index: the index of the first feature in svmlight.
        memory: in bytes, or as text with a unit, such as "512MB"; 64 million at least.

    Returns:
        X, y and the names of the columns of X (None where the file has none).

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for k in range(2):
    ...         with open(os.path.join(folder, f"part{k}.csv"), "w") as file:
    ...             _ = file.write(f"age,income,bought\\n{40 + k},2.5,yes\\n")
    ...     table = read_table(folder, "bought", classes=["no", "yes"])
    >>> table.X.tolist(), table.y.tolist(), table.names
    ([[40.0, 2.5], [41.0, 2.5]], ['yes', 'yes'], ('age', 'income'))
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    rules = Rules(
        target=target,
        features=None if features is None else count("features", features, 1),
        first_index=int(number_in("first_index", first_index, 0, 1)),
        classes=classes,
        numbers=numbers,
    )
    limit = math.inf if memory == math.inf else bytes_in(memory)
    if limit is None:
        raise InvalidInput(
            "memory", memory, "is not a number of bytes from 64MB on", 'give one, as "512MB"'
        )
    return read(parts_of([os.fspath(path) for path in given]), rules, limit)
