"""The records of a search: those that trials are fitted to, and those that they are scored on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shiftdp._errors import InvalidInput
from shiftdp.training.descent.entropy import Stream
from shiftdp.training.losses.base import described

from sklearn.utils import _safe_indexing  # isort: skip


class Parts(NamedTuple):
    """The records that are trained on, and those that are scored.

    Args:
        train: features and labels of the former.
        scored: of the latter, which are the same without a holdout.
        held_out: how many are scored only; 0 without a holdout.
        n: how many there are in all.
    """

    train: tuple[Any, Any]
    scored: tuple[Any, Any]
    held_out: int
    n: int


def split_records(X: Any, y: Any, holdout: float, stream: Stream) -> Parts:
    """All records for both, or a random part of them, which is scored, and the rest.

    Args:
        X, y: the records.
        holdout: the part that is scored; 0 for all.
        stream: that the split is drawn from.
    """
    n = _length("X", X)
    if _length("y", y) != n:
        raise InvalidInput("y", described(y), f"does not have {n} entries", "give one a record")
    held_out = round(holdout * n)
    if holdout > 0.0 and not 0 < held_out < n:
        raise InvalidInput(
            "holdout", holdout, f"leaves a part of {n} records empty", "give another"
        )
    if held_out == 0:
        return Parts((X, y), (X, y), 0, n)
    # any split will do that does not depend on the records
    order = np.random.default_rng(list(stream.draw(16))).permutation(n)
    kept, rest = np.sort(order[held_out:]), np.sort(order[:held_out])
    return Parts(
        (_safe_indexing(X, kept), _safe_indexing(y, kept)),
        (_safe_indexing(X, rest), _safe_indexing(y, rest)),
        held_out,
        n,
    )


def _length(name: str, values: Any) -> int:
    """How many records, or labels, there are."""
    try:
        return int(values.shape[0] if getattr(values, "shape", None) else len(values))
    except TypeError:
        raise InvalidInput(name, described(values), "has no rows", "give one a record") from None
