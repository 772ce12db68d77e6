"""Records of a search are in one part or in both, and none is lost."""

import numpy as np
import pytest

from shiftdp import InvalidInput
from shiftdp.training.descent.entropy import Seeded
from shiftdp.training.selection.parts import Parts, split_records

X = np.arange(20.0).reshape(10, 2)
Y = np.arange(10)


def split(holdout: float, seed: int = 1) -> Parts:
    return split_records(X, Y, holdout, Seeded(seed).open("batches"))


def test_without_a_holdout_all_records_are_in_both_parts() -> None:
    parts = split(0.0)
    assert parts.train == parts.scored == (X, Y)
    assert (parts.held_out, parts.n) == (0, 10)


def test_with_a_holdout_each_record_is_in_one_part_with_its_label() -> None:
    parts = split(0.3)
    assert (parts.held_out, parts.n) == (3, 10)
    for features, labels in (parts.train, parts.scored):
        np.testing.assert_array_equal(features[:, 0], 2.0 * labels)
    assert sorted([*parts.train[1], *parts.scored[1]]) == [*range(10)]


def test_the_split_is_drawn() -> None:
    drawn = {tuple(split(0.3, seed).scored[1]) for seed in range(20)}
    assert len(drawn) > 10


@pytest.mark.parametrize("holdout", [0.01, 0.99])
def test_a_part_without_records_is_refused(holdout: float) -> None:
    with pytest.raises(InvalidInput, match="leaves a part of 10 records empty"):
        split(holdout)


def test_labels_are_as_many_as_records() -> None:
    with pytest.raises(InvalidInput, match="does not have 10 entries"):
        split_records(X, Y[:9], 0.0, Seeded(1).open("batches"))


@pytest.mark.parametrize("table", [0.5, np.array(0.5), None])
def test_what_has_no_rows_is_refused(table: object) -> None:
    """Found by fuzzing: it ended in a TypeError."""
    for X_given, y_given, name in ((table, Y, "X"), (X, table, "y")):
        with pytest.raises(InvalidInput, match=f"{name}=.* has no rows"):
            split_records(X_given, y_given, 0.3, Seeded(1).open("batches"))
