"""What leaves the loop: steps that are counted, iterates that are released, and nothing else."""

import gc
import importlib
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shiftdp import InvalidInput, NoisyCGD, NoisyGD, NoisySGD, UnmetHypothesis
from shiftdp.training import Logistic, Plan, Seeded, TrainingStopped, descend, descend_stacked
from tests.training.descent.short_runs import SHORT, D, N, data, planned


def test_several_releases_need_test_mode() -> None:
    plan = Plan(run=SHORT, loss=Logistic(), feature_bound=1.0)
    X, y = data(plan.loss)
    with pytest.raises(InvalidInput, match="not covered by the certificate of one"):
        descend_stacked(plan, X, y, 2)


def test_progress_is_a_count_of_steps() -> None:
    seen: list[tuple[Any, ...]] = []
    X, y = data(Logistic())
    descend(planned(), X, y, progress=lambda *told: seen.append(told))
    assert seen == [(step, 10) for step in range(1, 11)]
    seen.clear()
    plan = planned(NoisySGD(n=N, batch_size=5, steps=3, learning_rate=0.1, noise=0.1))
    descend_stacked(plan, X, y, 2, progress=lambda *told: seen.append(told))
    assert seen == [(step, 6) for step in range(1, 7)]


def weights_in_reach(error: BaseException, shape: tuple[int, ...]) -> list[NDArray[Any]]:
    """Arrays with nonzero entries in the frames of an exception, and of all that led to it."""
    found = []
    pending: list[BaseException | None] = [error]
    while pending:
        current = pending.pop()
        if current is None:
            continue
        pending += [current.__cause__, current.__context__]
        trace = current.__traceback__
        while trace is not None:
            if "training" in trace.tb_frame.f_code.co_filename.replace("tests", ""):
                for value in trace.tb_frame.f_locals.values():
                    for item in (value, *getattr(value, "__dict__", {}).values()):
                        if isinstance(item, np.ndarray) and item.size == math.prod(shape):
                            found.append(item)
            trace = trace.tb_next
    return [array for array in found if array.any()]


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit, MemoryError])
def test_an_interrupted_run_releases_nothing(kind: type[BaseException]) -> None:
    def progress(step: int, steps: int) -> None:
        if step == 3:
            raise kind("secret")

    X, y = data(Logistic(), N, 31)
    raised = kind if not issubclass(kind, Exception) else TrainingStopped
    with pytest.raises(raised) as caught:
        descend(planned(), X, y, progress=progress)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert weights_in_reach(caught.value, (32,)) == []
    if raised is TrainingStopped:
        assert str(caught.value) == f"{kind.__name__} after step 3 of 10; nothing was released"
    del caught
    gc.collect()


def test_errors_in_the_mathematics_carry_no_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: object, z: NDArray[Any], *_: object) -> None:
        raise FloatingPointError(f"at {z}")

    monkeypatch.setattr(Logistic, "residuals", broken)
    X, y = data(Logistic())
    with pytest.raises(TrainingStopped) as caught:
        descend(planned(), X, y)
    assert str(caught.value) == ("FloatingPointError after step 0 of 10; nothing was released")
    assert caught.value.__context__ is None


@pytest.mark.parametrize("order", ["fixed", "reshuffled"])
def test_checkpoints_are_the_iterates_that_the_run_releases(order: Any) -> None:
    X, y = np.random.default_rng(0).normal(size=(N, D)), np.arange(N) % 2
    shape: dict[str, Any] = {"n": N, "batch_size": 8, "learning_rate": 0.3, "order": order}
    noise = [0.1 * (k + 1) for k in range(6)]
    whole = Plan(
        run=NoisyCGD(**shape, noise=noise, steps=6, releases=[3]),
        loss=Logistic(),
        feature_bound=1.0,
        entropy=Seeded(3),
    )
    shown: list[tuple[int, NDArray[Any]]] = []
    last = descend(whole, X, y, checkpoints=lambda step, model: shown.append((step, model.copy())))
    assert [step for step, _ in shown] == [3, 6]
    assert np.array_equal(shown[-1][1], last)
    early = replace(whole, run=NoisyCGD(**shape, noise=noise[:3], steps=3))
    assert np.array_equal(descend(early, X, y), shown[0][1])
    assert np.all(shown[0][1] % whole.grid_at(3) == 0.0)
    assert whole.grid_at(3) < whole.grid_at(6) == whole.grid
    # nobody need look: the last iterate is the same
    assert np.array_equal(descend(whole, X, y), last)


def test_a_run_that_stops_says_what_it_had_released() -> None:
    run = NoisyGD(n=N, steps=6, learning_rate=0.3, noise=0.1, releases=[2])
    plan = Plan(run=run, loss=Logistic(), feature_bound=1.0, entropy=Seeded(3))

    def broken(step: int, model: NDArray[Any]) -> None:
        raise RuntimeError

    with pytest.raises(TrainingStopped, match="after step 2 of 6; nothing more was released"):
        descend(plan, np.zeros((N, D)), np.arange(N) % 2, checkpoints=broken)


def test_a_release_without_noise_is_refused_by_the_plan() -> None:
    run = NoisyGD(n=N, steps=3, learning_rate=0.3, noise=[0.1, 0.0, 0.1], releases=[2])
    with pytest.raises(UnmetHypothesis, match="step 2"):
        Plan(run=run, loss=Logistic(), feature_bound=1.0)


@pytest.mark.parametrize("name", ["checkpoints", "progress"])
def test_what_cannot_be_called_is_refused_before_the_run(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module("shiftdp.training.descent.loop")
    monkeypatch.setattr(module, "_run", lambda *_, **__: pytest.fail("it ran"))
    plan = Plan(run=SHORT, loss=Logistic(), feature_bound=1.0, entropy=Seeded(0))
    X, y, given = np.zeros((N, D)), np.arange(N) % 2, {name: 5}
    with pytest.raises(InvalidInput, match=f"{name}=5 cannot be called; give a function of"):
        descend(plan, X, y, **given)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=f"{name}=5 cannot be called"):
        descend_stacked(plan, X, y, 2, **given)  # type: ignore[arg-type]
