"""Examples of every tradeoff function in the catalogue, and where they are looked at."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from shiftdp.fdp import Maximum, TradeoffFunction
from tests.fdp.catalogue import CATALOGUE, log_uniform

every_kind = pytest.mark.parametrize("kind", CATALOGUE)
examples = settings(max_examples=8)
few_examples = settings(max_examples=4)

ALPHAS = np.unique(
    np.concatenate([[0.0, 1.0], np.geomspace(1e-12, 0.5, 60), 1 - np.geomspace(1e-12, 0.5, 60)])
)
EPSILONS = np.unique(np.concatenate([np.linspace(-12, 12, 97), [-1e-3, -1e-9, 1e-9, 1e-3]]))
alphas = st.sampled_from([0.0, 0.5, 1.0]) | st.floats(0.0, 1.0) | log_uniform(1e-300, 1.0)
alphas |= log_uniform(1e-15, 1.0).map(lambda a: 1.0 - a)
epsilons = st.just(0.0) | st.floats(-15.0, 15.0) | log_uniform(1e-12, 40.0)
deltas = log_uniform(1e-25, 1.0) | st.floats(0.0, 1.0)


def drawn(data: st.DataObject, kind: str) -> TradeoffFunction:
    return data.draw(CATALOGUE[kind], label="f")


def slack(f: TradeoffFunction) -> float:
    """What delta may be off by; that of a maximum is found by a search."""
    return 2e-11 if isinstance(f, Maximum) else 4e-15
