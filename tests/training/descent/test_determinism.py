"""The same seed gives the same weights everywhere; without a seed nothing comes twice.

What may differ is rounding: the order of additions in a matrix product, whether products are fused
with them, how the batch is shared out among threads. docs/threat_model.md derives the tolerance.
"""

import copy
import json
import math
import multiprocessing
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from shiftdp import NoisyGD
from shiftdp.training import Aes, Entropy, Logistic, Plan, Seeded, System, descend
from shiftdp.training.descent.entropy import MissingPackage

N, D, STEPS, RATE = 60_000, 40, 6, 1.0  # products large enough to be shared out among threads
U = 2.0**-53
X = np.random.default_rng(0).normal(size=(N, D)) / np.sqrt(D)
Y = (X[:, 0] + 0.1 * X[:, 1] > 0).astype(int)


def plan(entropy: Entropy) -> Plan:
    run = NoisyGD(n=N, steps=STEPS, learning_rate=RATE, noise=1e-3)
    return Plan(run=run, loss=Logistic(), feature_bound=1.0, l2=0.01, entropy=entropy)


def weights() -> list[float]:
    found: list[float] = descend(plan(Seeded(5)), X, Y).ravel().tolist()
    return found


def drift() -> float:
    """By how much two computed runs with the same noise can differ before the grid.

    A computed step is within `off` of an exact one (Theorem F1 and the second assumption of
    docs/threat_model.md), exact steps with the same noise bring two runs no further apart (the loss
    is convex, and the rate below 2/M), and there are two runs.
    """

    def gamma(k: int) -> float:
        return k * U / (1.0 - k * U)

    made, found = plan(Seeded(5)), float(np.linalg.norm(weights()))
    rho = 17 * 2.0**-52  # of one score
    terms = min(N, 4096) + -(-N // 4096) + 64
    sums = gamma(terms) * (1.0 + rho) + rho
    # on the way w may be longer than in the end: the gradient and the noise of each step at most
    longest = max(found, STEPS * RATE * (made.gradient_bound + 8.3e-3 * math.sqrt(D + 1)))
    scores = 0.25 * 2.0 * gamma(D + 5) * longest
    off = RATE * (scores + (sums + rho) * made.gradient_bound) + 8 * U * longest
    return 2.0 * STEPS * off


def elsewhere(**environment: str) -> dict[str, Any]:
    """The weights of a process of its own, and the kernels that it multiplied with."""
    program = (
        "import json, threadpoolctl, tests.training.descent.test_determinism as here\n"
        "found = here.weights()\n"
        "info = [one for one in threadpoolctl.threadpool_info() if one['user_api'] == 'blas']\n"
        "kernels = [one.get('architecture') for one in info]\n"
        "print(json.dumps({'weights': found, 'kernels': kernels}))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=True,
    )
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def require_same(found: list[float]) -> None:
    """Equal but for entries that lie so near the middle of two grid points that rounding decides.

    With a drift below the grid, such an entry is one step of the grid away at most.
    """
    grid = plan(Seeded(5)).grid
    assert drift() < 1e-4 * grid  # so that this happens to one entry in ten thousand
    difference = np.abs(np.array(found) - np.array(weights()))
    assert difference.max() <= grid
    assert np.count_nonzero(difference) <= 1


def test_threads_that_train_at_once_do_not_change_each_other() -> None:
    with ThreadPoolExecutor(3) as pool:
        for found in pool.map(lambda _: weights(), range(3)):
            require_same(found)


def test_a_plan_that_was_pickled_or_copied_gives_the_same_weights() -> None:
    made = plan(Seeded(5))
    for twin in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        require_same(descend(twin, X, Y).ravel().tolist())


def test_another_process_with_the_kernels_of_an_old_processor_gives_the_same_weights() -> None:
    found = elsewhere(OPENBLAS_NUM_THREADS="2", OPENBLAS_CORETYPE="Prescott")
    require_same(found["weights"])


@pytest.mark.slow
@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("kernel", ["", "Haswell", "SkylakeX", "Zen", "Prescott"])
def test_kernels_and_their_threads_give_the_same_weights(kernel: str, threads: str) -> None:
    """A kernel that the processor does not know is not taken: then it is the usual one again."""
    chosen = {"OPENBLAS_CORETYPE": kernel} if kernel else {}
    require_same(elsewhere(OPENBLAS_NUM_THREADS=threads, **chosen)["weights"])


# --- without a seed ---


def opened(entropy: Entropy) -> Any:
    try:
        return entropy.open("noise")
    except MissingPackage:
        pytest.skip("AES noise needs cryptography")


def drawn_by_a_child(draw: Callable[[], bytes]) -> bytes:
    """What a forked process draws."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, draw())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("entropy", [System(), Aes()], ids=repr)
def test_a_forked_process_does_not_draw_what_its_parent_draws(entropy: Entropy) -> None:
    """The stream is open when the process is copied, as in a snapshot that is taken of it."""
    stream = opened(entropy)
    stream.draw(32)
    children = [drawn_by_a_child(lambda: bytes(stream.draw(32))) for _ in range(3)]
    grandchild = drawn_by_a_child(lambda: drawn_by_a_child(lambda: bytes(stream.draw(32))))
    assert len({*children, grandchild, stream.draw(32)}) == 5
    assert all(len(found) == 32 for found in children)


@pytest.mark.parametrize("entropy", [System(), Aes()], ids=repr)
@pytest.mark.parametrize(
    "twin_of", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))]
)
def test_a_copy_of_a_stream_draws_other_numbers_or_cannot_be_made(
    entropy: Entropy, twin_of: Callable[[Any], Any]
) -> None:
    stream = opened(entropy)
    try:
        twin = twin_of(stream)
    except TypeError:
        assert isinstance(entropy, Aes)  # a cipher is not copied
        return
    assert len({bytes(one.draw(32)) for one in (stream, twin, stream, twin)}) == 4


def fitted(seed: int | None = None) -> tuple[float, ...]:
    """The weights of an estimator; a function of this module, so that processes can be sent it."""
    from shiftdp.sklearn import PrivateLogisticRegression

    model = PrivateLogisticRegression(classes=[0, 1], epochs=2, random_state=seed)
    return tuple(model.fit(X[:200, :3], Y[:200]).coef_.ravel().tolist())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_fits_in_forked_processes_repeat_with_a_seed_and_never_without() -> None:
    pytest.importorskip("sklearn")
    fitted(), fitted(1)  # what is loaded, and whatever is kept, is there before the processes are
    with multiprocessing.get_context("fork").Pool(2) as pool:
        free = pool.map(fitted, [None] * 6)
        seeded = pool.map(fitted, [1] * 3)
    assert len({*free, fitted(), fitted()}) == 8
    assert {*seeded, fitted(1)} == {fitted(1)}


@pytest.mark.slow
def test_fits_in_fresh_processes_repeat_with_a_seed_and_never_without() -> None:
    pytest.importorskip("sklearn")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        free = pool.map(fitted, [None] * 4)
        seeded = pool.map(fitted, [1] * 2)
    assert len({*free, fitted()}) == 5
    assert {*seeded, fitted(1)} == {fitted(1)}


def test_copies_of_an_estimator_draw_other_noise() -> None:
    base = pytest.importorskip("sklearn.base")
    from shiftdp.sklearn import PrivateLogisticRegression

    model = PrivateLogisticRegression(classes=[0, 1], epochs=2).fit(X[:200, :3], Y[:200])
    twins = [
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        copy.copy(model),
        base.clone(model),
    ]
    found = {tuple(one.fit(X[:200, :3], Y[:200]).coef_.ravel()) for one in (model, *twins)}
    assert len(found) == 5
