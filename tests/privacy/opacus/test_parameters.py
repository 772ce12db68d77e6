"""Between two steps the model stays as the optimizer left it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import torch

from shiftdp.privacy.opacus.accountant import Declaration
from tests.privacy.opacus.loop import COMPOSED, Session, refused, session

pytestmark = [
    pytest.mark.filterwarnings("ignore:Secure RNG"),
    pytest.mark.filterwarnings("ignore:Full backward hook"),
]


def normalised(linear: Any) -> None:
    linear.weight /= linear.weight.norm()


def scaled_behind_the_back(linear: Any) -> None:
    linear.weight.data = 3.0 * linear.weight.data


def trained(made: Session, change: Callable[[Any], None]) -> int:
    for x, y in made.loader:
        made.step(x, y)
        with torch.no_grad():
            change(made.module._module)
    return len(made.accountant)


@pytest.mark.parametrize("change", [normalised, scaled_behind_the_back])
def test_parameters_that_something_else_changes(change: Callable[[Any], None]) -> None:
    made = session()
    with refused("parameters", "as the last step left them"):
        trained(made, change)
    assert len(made.accountant) == 1


def test_an_earlier_iterate_that_is_put_back() -> None:
    made = session()
    kept = deepcopy(made.module.state_dict())
    with refused("parameters"):
        trained(made, lambda _: made.module.load_state_dict(kept))


def test_parameters_that_are_swapped_and_put_back() -> None:
    """As for an evaluation of others."""

    def swapped(linear: Any) -> None:
        kept = deepcopy(linear.state_dict())
        linear.weight.zero_()
        linear.load_state_dict(kept)

    assert trained(session(), swapped) == 6


def test_a_projection_onto_the_declared_ball() -> None:
    declaration = Declaration(
        adjacency="zero_out", loss="logistic", feature_bound=1.0, diameter=20.0
    )

    def projected(linear: Any) -> None:
        size = sum(float(p.square().sum()) for p in linear.parameters()) ** 0.5
        for p in linear.parameters():
            p *= min(1.0, 9.0 / size)

    assert trained(session(declaration), projected) == 6


def test_composition_asks_nothing_of_them() -> None:
    assert trained(session(COMPOSED), normalised) == 6


def test_they_are_watched_once_however_often_a_run_is_attached() -> None:
    made = session()
    hooks = made.optimizer.original_optimizer._optimizer_step_post_hooks
    for _ in range(3):
        raw = made.loader._loader
        made.loader = made.accountant.attach(made.module, made.optimizer, raw)
    assert len(hooks) == 1


def test_what_was_left_is_known_when_a_run_is_attached_again() -> None:
    made = session().train()
    made.loader = made.accountant.attach(made.module, made.optimizer, made.loader._loader)
    assert len(made.train().accountant) == 12
    made.loader = made.accountant.attach(made.module, made.optimizer, made.loader._loader)
    with torch.no_grad():
        normalised(made.module._module)
    with refused("parameters"):
        made.train()


def test_a_step_of_the_optimizer_inside_that_nobody_counted() -> None:
    made = session()
    with refused("parameters"):
        for x, y in made.loader:
            made.step(x, y)
            made.optimizer.original_optimizer.step()
    assert len(made.accountant) == 1
