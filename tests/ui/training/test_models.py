"""From the options to an estimator."""

import inspect
from typing import Any

import pytest

from shiftdp import InvalidInput
from shiftdp.ui.commands.train import command
from shiftdp.ui.training.models import classes_of, estimator_of, learns_classes, weights_of
from shiftdp.ui.training.options import MODELS


def options(*more: str) -> dict[str, Any]:
    given = ["data.csv", "--epsilon", "2", "--random-state", "7", "--dry-run", *more]
    return dict(command.make_context("train", given).params)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("a,y\n1,0\n")


@pytest.mark.parametrize(
    ("given", "classes"),
    [
        (None, None),
        ("0, 1", [0, 1]),
        ("0,0.5", [0.0, 0.5]),
        ("no,1", ["no", "1"]),
        (("a,b", "c"), ["a,b", "c"]),  # of a schema: commas are part of the name
    ],
)
def test_classes_are_whole_numbers_numbers_or_words(given: Any, classes: Any) -> None:
    assert classes_of(given) == classes
    assert [type(one) for one in classes_of(given) or ()] == [type(one) for one in classes or ()]


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_has_what_the_options_say_and_else_its_own_defaults(kind: str) -> None:
    model = estimator_of(options("--model", kind, "--epochs", "3", "--no-intercept"))
    assert type(model).__name__ == MODELS[kind]
    told = {"epsilon": 2.0, "epochs": 3, "fit_intercept": False, "random_state": 7}
    defaults = {
        name: one.default
        for name, one in inspect.signature(type(model)).parameters.items()
        if name != "delta"  # by default that of the command
    }
    found = model.get_params()
    assert {name: found[name] for name in defaults} == {**defaults, **told}


def test_classes_are_learnt_by_classifiers_that_are_not_given_any() -> None:
    assert learns_classes(options())
    assert not learns_classes(options("--classes", "0,1"))
    assert not learns_classes(options("--model", "huber"))


def test_weights_belong_to_the_classes_in_their_order() -> None:
    given = options("--classes", "no,yes", "--class-weights", "1,9")
    assert weights_of(given) == {"no": 1, "yes": 9}
    assert estimator_of(given).class_weight == {"no": 1, "yes": 9}
    assert weights_of(options()) is None


@pytest.mark.parametrize("more", [(), ("--classes", "a,b,c")])
def test_weights_that_are_not_one_a_class_are_refused(more: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput, match=r"class_weights=\(1, 9\)"):
        weights_of(options("--class-weights", "1,9", *more))


@pytest.mark.parametrize(
    ("given", "checkpoints"),
    [("epochs", "epochs"), ("3", 3), ("5,10", (5, 10)), ("2.5,", (2.5,))],
)
def test_checkpoints_and_penalties_are_handed_on(given: str, checkpoints: Any) -> None:
    found = estimator_of(options("--checkpoints", given, "--penalty", "l1", "--alpha", "0.2"))
    assert found.checkpoints == checkpoints
    assert (found.penalty, found.alpha, found.records_per_person) == ("l1", 0.2, 1)
