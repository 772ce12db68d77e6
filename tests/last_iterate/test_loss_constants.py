"""What `verify` knows of losses, against what the losses say of themselves."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from shiftdp.last_iterate.loss_constants import constants_of, flaw_of, is_known, named_parts
from shiftdp.training import Loss
from tests.training.losses.examples import LOSSES


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_constants_are_those_of_the_loss(loss: Loss) -> None:
    assert is_known(loss.name)
    assert flaw_of(loss.name, loss.parameters, loss.outputs) is None
    found = constants_of(loss.name, loss.parameters)
    assert found is not None
    squared, bend = found
    assert squared is not None
    assert Fraction(loss.slope) ** 2 >= squared
    assert math.isclose(float(squared), loss.slope**2, rel_tol=1e-12)
    assert 0 <= loss.curvature - float(bend) <= 1e-12 * loss.curvature


@pytest.mark.parametrize(
    ("loss", "parameters", "outputs", "flaw"),
    [
        ("Softmax", (("classes", 1),), 1, "number of scores"),
        ("Logistic", (), 2, "number of scores"),
        ("Huber", (), 1, "parameter of the loss"),
        ("Huber", (("width", math.inf),), 1, "parameter of the loss"),
        ("Huber", (("width", 1.0), ("width", 2.0)), 1, "parameter of the loss"),
        ("Huber", (("width", -1.0),), 1, "parameter of the loss or of the set"),
        ("Huber", (("width", 1.0), ("weight_0", 1.0), ("weight_1", 1.0)), 1, "weight of a class"),
        ("Logistic", (("weight_0", 2.0), ("weight_1", 1.0)), 1, "weight of a class"),
        ("Logistic", (("weight_0", 1.0),), 1, "weight of a class"),
        ("Joint", (), 1, "list of heads"),
        ("Joint", (("head_0_Joint", 1),), 1, "list of heads"),
        ("Joint", (("head_1_Logistic", 1),), 1, "list of heads"),
        ("Joint", (("head_0_Logistic", 1.5),), 1, "list of heads"),
        ("Joint", (("head_0_Logistic", 1), ("head_2_Logistic", 1)), 2, "list of heads"),
        ("Joint", (("width", 1.0),), 1, "list of heads"),
        ("Joint", (("head_0_Logistic", 1),), 2, "number of scores"),
        ("Joint", (("head_0_Softmax", 3),), 3, "number of scores"),
        ("Joint", (("head_0_Huber", 1),), 1, "parameter of the loss"),
    ],
)
def test_what_cannot_be_is_named(
    loss: str, parameters: tuple[tuple[str, float], ...], outputs: int, flaw: str
) -> None:
    assert flaw_of(loss, parameters, outputs) == flaw


def test_losses_of_others_are_taken_as_declared() -> None:
    assert not is_known("Own")
    assert constants_of("Own", ()) is None
    assert flaw_of("Own", (("x", -1.0),), 3) is None


def test_heads_are_read_back_as_they_were_named() -> None:
    parts = named_parts([("Huber", 1, (("width", 2.0),)), ("Softmax", 3, (("classes", 3),))])
    assert constants_of("Joint", parts) == (Fraction(6), Fraction(1))
