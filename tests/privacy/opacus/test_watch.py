"""A step counts only if its batch came from the loader that was shown, in turn."""

from __future__ import annotations

import pytest
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch.utils.data import DataLoader

from shiftdp.privacy.opacus.accountant import Declaration
from tests.privacy.opacus.loop import COMPOSED, LOGISTIC, dataset, refused, session

pytestmark = [
    pytest.mark.filterwarnings("ignore:Secure RNG"),
    pytest.mark.filterwarnings("ignore:Full backward hook"),
]


def test_a_loader_that_was_not_shown() -> None:
    made = session(attach=False)
    with refused("optimizer", "attach"):
        made.train()
    assert len(made.accountant) == 0


def test_another_loader_than_the_one_that_was_shown() -> None:
    made = session(attach=False)
    made.accountant.attach(made.module, made.optimizer, made.loader)
    with refused("data_loader", "loop over the loader"):
        made.train()


def test_another_loader_than_before() -> None:
    made = session().train()
    other = DataLoader(dataset(), batch_size=20)
    with refused("data_loader", "not the one so far"):
        made.accountant.attach(made.module, made.optimizer, other)


@pytest.mark.parametrize("poisson", [False, True])
def test_a_batch_that_is_used_twice(poisson: bool) -> None:
    made = session(poisson_sampling=poisson)
    for x, y in made.loader:
        made.step(x, y)
        with refused("data_loader", "one step for each batch"):
            made.step(x, y)
        break


@pytest.mark.parametrize("poisson", [False, True])
def test_a_batch_that_is_left_out(poisson: bool) -> None:
    made = session(poisson_sampling=poisson)
    with refused("data_loader", "one step for each batch"):
        for k, (x, y) in enumerate(made.loader):
            if k != 2:
                made.step(x, y)
    assert len(made.accountant) == 2


def test_a_step_after_the_pass() -> None:
    made = session()
    for x, y in made.loader:
        made.step(x, y)
    with refused("data_loader", "yielded"):
        made.step(x, y)


def test_a_pass_that_is_broken_off() -> None:
    made = session()
    for x, y in made.loader:
        made.step(x, y)
        break
    with refused("data_loader", "1 of 6"):
        made.train()


def test_passes_that_are_mixed() -> None:
    made = session()
    first, second = iter(made.loader), iter(made.loader)
    next(first)
    next(second)
    with refused("data_loader", "mixed"):
        next(first)


def test_a_part_of_a_batch() -> None:
    made = session()
    for x, y in made.loader:
        with refused("data_loader", "whole batch"):
            made.step(x[:4], y[:4])
        break


def test_looking_at_the_data_is_free() -> None:
    made = session()
    assert len(made.loader) == len(list(made.loader)) == 6
    assert made.loader.dataset is made.loader.dataset
    next(iter(made.loader))
    assert len(made.train().accountant) == 6


def test_batches_that_are_accumulated() -> None:
    made = session()
    with refused("accumulated_iterations"):
        for k, (x, y) in enumerate(made.loader):
            made.criterion(made.module(x).squeeze(1), y).backward()
            if k == 1:
                made.optimizer.step()


def test_skipped_steps() -> None:
    """Opacus' virtual steps put several batches into one."""
    made = session()
    with refused("signal_skip_step"):
        for k, (x, y) in enumerate(made.loader):
            made.optimizer.signal_skip_step(do_skip=k % 2 == 0)
            made.step(x, y)


@pytest.mark.parametrize("declaration", [LOGISTIC, COMPOSED], ids=["last iterate", "composed"])
def test_one_batch_that_is_summed_twice_for_a_step(declaration: Declaration) -> None:
    """Each record would change the sum by twice the clip."""
    made = session(declaration)
    x, y = next(iter(made.loader))
    made.optimizer.signal_skip_step(do_skip=True)
    made.step(x, y)
    made.optimizer.signal_skip_step(do_skip=False)
    with refused("signal_skip_step", "left clipped gradients"):
        made.step(x, y)
    assert len(made.accountant) == 0


def test_batches_that_are_split_to_save_memory() -> None:
    made = session(poisson_sampling=True)
    manager = BatchMemoryManager(
        data_loader=made.loader, max_physical_batch_size=5, optimizer=made.optimizer
    )
    with manager as loader, refused("signal_skip_step", "BatchMemoryManager"):
        made.once(loader)


def test_steps_that_are_only_told() -> None:
    made = session()
    with refused("noise_multiplier"):
        made.accountant.step(noise_multiplier=1.0, sample_rate=0.1)
