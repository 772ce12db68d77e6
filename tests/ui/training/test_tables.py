"""Tables of numbers: how they are read, planned by their shape, and held to the bound."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftdp import InvalidInput
from shiftdp.ui.training.models import estimator_of
from shiftdp.ui.training.tables import plan_by_shape, read_numbers, rules_of
from tests.ui.training.test_models import options

pytestmark = pytest.mark.usefixtures("_numbers")


@pytest.fixture
def _numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i / 200},{i % 3}\n" for i in range(200))
    (tmp_path / "data.csv").write_text("a,y\n" + rows)


def asked(*more: str) -> dict[str, Any]:
    return options("--target", "y", "--feature-bound", "1", *more)


def test_rules_are_those_of_the_options() -> None:
    rules = rules_of(asked("--classes", "0,1,2", "--features", "4", "--first-index", "0"))
    assert rules == ("y", 4, 0, [0, 1, 2], False)
    assert rules_of(asked("--model", "huber")).numbers
    with pytest.raises(InvalidInput, match="features"):
        rules_of(asked("--features", "0"))


def test_a_plan_by_shape_is_that_of_the_estimator() -> None:
    given = asked("--classes", "0,1,2", "--epochs", "5")
    planned = plan_by_shape(estimator_of(given), given)
    assert (planned.plan.run.n, planned.plan.features, planned.plan.loss.outputs) == (200, 1, 3)


def test_numbers_are_read_with_their_names() -> None:
    found = read_numbers(asked("--classes", "0,1,2"))
    np.testing.assert_array_equal(found.X[:, 0], np.arange(200) / 200)
    np.testing.assert_array_equal(found.y, np.arange(200) % 3)
    assert list(found.names or ()) == ["a"]


def test_a_bound_below_most_rows_is_refused_unless_rows_are_refused_anyway() -> None:
    low = (*("--classes", "0,1,2"), "--feature-bound", "0.01")
    with pytest.raises(InvalidInput, match="feature_bound"):
        read_numbers(asked(*low))
    assert read_numbers(asked(*low, "--oversized", "refuse")).X.shape == (200, 1)


def test_a_column_says_whose_record_each_is_and_is_no_feature(tmp_path: Path) -> None:
    rows = "".join(f"{i / 200},{i // 2},{i % 2}\n" for i in range(200))
    (tmp_path / "data.csv").write_text("a,who,y\n" + rows)
    given = asked("--classes", "0,1", "--groups", "who", "--records-per-person", "2")
    found = read_numbers(given)
    assert found.X.shape == (200, 1)
    assert list(found.names or ()) == ["a"]
    np.testing.assert_array_equal(found.people, np.arange(200) // 2)
    planned = plan_by_shape(estimator_of(given), given)
    assert (planned.plan.features, planned.plan.run.records_per_person) == (1, 2)
    with pytest.raises(InvalidInput, match="groups='nobody'"):
        read_numbers({**given, "groups": "nobody"})
