"""The bound on rows that is assumed where none is given, and the warning that says so.

Whether rows are longer than the bound is a fact about the data, and a warning that depended on it
would tell it to whoever sees the warning. So what is said depends on the call alone.
"""

from __future__ import annotations

import warnings

ASSUMED_BOUND = 1.0
"""The `feature_bound` of a model that was made without one."""


class AssumedBoundWarning(UserWarning):
    """A model was fitted without `feature_bound`: rows were scaled down to a length of 1."""


def warn_of_assumed_bound(*, stacklevel: int) -> None:
    """Say what is assumed, and what can be given instead."""
    warnings.warn(
        f"feature_bound is not given, and {ASSUMED_BOUND:g} is assumed: rows that are longer are "
        "scaled down to it, and lose what tells them apart if most of them are. Give a public "
        "bound, feature_bound=..., or ranges of the columns: PrivateTableEncoder in a "
        "PrivatePipeline",
        AssumedBoundWarning,
        stacklevel=stacklevel + 1,
    )
