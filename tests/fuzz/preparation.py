"""Encoders of any schema on any table, pipelines of them, and searches over parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.choices import Choices
from tests.fuzz.limits import require, require_number
from tests.fuzz.training import as_scikit_learn, labels_of, table_of

_ODD = 30
_MET = 1.0 + 1e-9


def try_preparation(data: bytes) -> None:
    """Encoders of any schema on any table, pipelines of them, and searches over parameters."""
    import pandas

    from shiftdp.sklearn import (
        Boolean,
        Categorical,
        Numeric,
        PrivateLogisticRegression,
        PrivatePipeline,
        PrivateSearchCV,
        PrivateTableEncoder,
        Schema,
    )

    choices = Choices(data)
    n = choices.integer(1, 60)
    rng = np.random.default_rng(choices.below(2**16))
    kinds = [
        Numeric(low=choices.mostly(0.0, _ODD), high=choices.mostly(10.0, _ODD)),
        Categorical(categories=choices.mostly(choices.pick((None, ("a", "b"))), _ODD)),
        Boolean(),
    ]
    frame: Any = pandas.DataFrame(
        {
            "age": rng.uniform(-1, 11, n),
            "city": rng.choice(["a", "b", "c"], n),
            "member": rng.integers(0, 2, n).astype(bool),
        }
    )
    if choices.chance(4):
        column = choices.pick(("age", "city", "member"))
        entries = frame[column].astype(object).tolist()
        entries[0] = choices.hostile() if choices.below(2) else None
        odd = np.empty(n, dtype=object)  # an entry may be a list, which pandas would spread
        for place, entry in enumerate(entries):
            odd[place] = entry
        frame[column] = odd
    if choices.chance(12):
        frame = choices.pick((frame.to_numpy(), frame[["age"]], frame.iloc[:0], None))
    columns = dict(zip(("age", "city", "member"), kinds, strict=True))
    encoder = PrivateTableEncoder(
        choices.mostly(Schema(columns), _ODD),
        epsilon=choices.mostly(choices.pick((None, 1.0)), _ODD),
        delta=choices.mostly(1e-5, _ODD),
        adjacency=choices.mostly(choices.pick(("replace_one", "zero_out")), _ODD),
        random_state=choices.mostly(choices.pick((None, 3)), _ODD),
    )
    y = labels_of(choices, n, False)
    epsilon = choices.mostly(choices.pick((1.0, 5.0)), 12)
    match choices.below(3):
        case 0:
            as_scikit_learn(encoder.fit, frame)
            if not hasattr(encoder, "layout_"):
                return
            X = encoder.transform(frame)
            require(bool(np.isfinite(X).all()), "features that are no numbers")
            return
        case 1:
            model: Any = PrivatePipeline(
                [encoder, PrivateLogisticRegression(classes=[0, 1], compute=1e5)],
                epsilon,
                share=choices.mostly(0.3, 8),
            )
            as_scikit_learn(model.fit, frame, y)
        case _:
            X = table_of(choices, n, 2)
            model = PrivateSearchCV(
                PrivateLogisticRegression(classes=[0, 1], compute=1e5),
                choices.mostly({"feature_bound": [1.0, 2.0]}, 12),
                epsilon=epsilon,
                n_iter=choices.mostly(choices.pick((1.5, 3)), 8),
                law=choices.mostly(choices.pick(("geometric", "poisson", "logarithmic")), 12),
                holdout=choices.mostly(choices.pick((0.0, 0.3)), 8),
                scoring=choices.mostly(choices.pick((None, "auc", "brier")), 12),
                score_share=choices.mostly(0.1, 12),
                random_state=choices.pick((None, 0)),
            )
            as_scikit_learn(model.fit, X, y)
    if hasattr(model, "certificate_"):
        spent = require_number(model.certificate_.epsilon(1e-5), "epsilon")
        require(spent <= epsilon * _MET, "above its budget", model, spent)
