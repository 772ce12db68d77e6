"""Streams: windows of new records."""

from typing import Any

import pytest

from shiftdp import NoisyCGD, NoisyStream
from shiftdp._errors import InvalidInput

SHAPE: dict[str, Any] = {
    "batch_size": 10,
    "batches_per_release": 3,
    "learning_rate": 0.1,
    "noise": 1.0,
}


@pytest.mark.parametrize(("order", "inside"), [("fixed", "fixed"), ("shuffled", "shuffled_once")])
def test_a_window_is_an_epoch_over_the_records_that_arrive_in_it(order: Any, inside: Any) -> None:
    epoch = NoisyCGD(
        n=30, batch_size=10, epochs=1, learning_rate=0.1, noise=[1.0, 0.0, 2.0], order=inside
    )
    assert NoisyStream(**{**SHAPE, "noise": [1.0, 0.0, 2.0], "order": order}).window == epoch


def test_a_stream_has_no_length_of_its_own() -> None:
    assert not NoisyStream(**SHAPE).endless
    assert not NoisyStream(**SHAPE).in_epochs


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"batch_size": 0}, "batch_size"),
        ({"batches_per_release": 2.5}, "batches_per_release"),
        ({"batch_size": 2**40, "batches_per_release": 2**40}, "batch_size"),
        ({"learning_rate": [0.1, 0.1]}, "learning_rate"),
        ({"noise": [1.0, 1.0, -1.0]}, "noise"),
        ({"order": "reshuffled"}, "order"),
    ],
    ids=str,
)
def test_what_is_no_stream_is_refused_by_name(change: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        NoisyStream(**{**SHAPE, **change})
