"""What reaches the step is the batch that the loader yielded, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import shiftdp as sdp
from shiftdp.privacy.opacus.accountant import Declaration
from tests.privacy.opacus.loop import COMPOSED, COMPUTED, FEATURES, LOGISTIC, refused, session

pytestmark = [
    pytest.mark.filterwarnings("ignore:Secure RNG"),
    pytest.mark.filterwarnings("ignore:Full backward hook"),
]


@pytest.mark.parametrize("poisson", [False, True])
@pytest.mark.parametrize("declaration", [LOGISTIC, COMPOSED, COMPUTED])
def test_one_batch_that_is_used_for_all_steps(declaration: Declaration, poisson: bool) -> None:
    """The loop draws a new batch for each step, and trains on the first."""
    torch.manual_seed(0)  # the first Poisson batch is not empty, and the second of another size
    made = session(declaration, poisson_sampling=poisson)
    batches = iter(made.loader)
    first = next(batches)
    assert len(first[0])
    made.step(*first)
    next(batches)
    with pytest.raises(sdp.UnmetHypothesis) as caught:
        made.step(*first)
    assert caught.value.name == ("data_loader" if poisson else "inputs")
    assert len(made.accountant) == 1


@pytest.mark.parametrize(
    "other",
    [
        lambda x: x[:1].expand(len(x), -1),
        lambda x: x[:1].repeat(len(x), 1),
        lambda x: x[torch.zeros(len(x), dtype=torch.long)],
        lambda x: 0.5 * x,
        lambda x: x.flip(0),
    ],
    ids=["a view of one", "one repeated", "one index", "scaled", "another order"],
)
def test_inputs_that_are_not_the_batch(other: Any) -> None:
    made = session()
    for x, y in made.loader:
        with refused("inputs", "not the batch that was yielded last"):
            made.step(other(x), y)
        break
    assert len(made.accountant) == 0, "it is refused before the step"


def _other_data(x: torch.Tensor, rows: torch.Tensor) -> None:
    x.data = rows.clone()


def _shared_memory(x: torch.Tensor, rows: torch.Tensor) -> None:
    x.numpy()[:] = rows.numpy()


@pytest.mark.parametrize("write", [torch.Tensor.copy_, _other_data, _shared_memory])
def test_a_batch_that_was_written_over(write: Any) -> None:
    """Also in ways that torch does not count."""
    made = session()
    for x, y in made.loader:
        write(x, x[:1].repeat(len(x), 1))
        with refused("inputs"):
            made.step(x, y)
        break


def test_a_second_batch_in_the_same_loss() -> None:
    """Opacus adds up what a layer did in two calls: both records of a row are in its gradient."""
    made = session(COMPOSED)
    batches = iter(made.loader)
    before = next(batches)
    made.step(*before)
    x, y = next(batches)
    made.optimizer.zero_grad()
    output = made.module(x).squeeze(1) + made.module(before[0]).squeeze(1)
    made.criterion(output, y).backward()
    with refused("inputs"):
        made.optimizer.step()


def test_inputs_that_are_reshaped_or_cast_are_the_batch() -> None:
    made = session(module=nn.Sequential(nn.Flatten(), nn.Linear(FEATURES, 1).double()))
    for x, y in made.loader:
        made.step(x.double().reshape(len(x), 2, 2), y.double())
    assert len(made.accountant) == 6


def test_inputs_that_the_loop_computes_are_declared() -> None:
    made = session(COMPUTED)
    for x, y in made.loader:
        made.step(0.5 * x, y)
    assert len(made.accountant) == 6


def test_a_model_that_is_not_called() -> None:
    made = session()
    layer = made.module._module
    for x, y in made.loader:
        output = nn.functional.linear(x, layer.weight, layer.bias).squeeze(1)
        made.criterion(output, y).backward()
        for p in made.optimizer.params:
            p.grad_sample = torch.zeros(len(x), *p.shape)
        with refused("inputs", "was not called"):
            made.optimizer.step()
        break
