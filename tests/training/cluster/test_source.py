"""The sums of a cluster are those of one machine: the same weights for the same seed and plan."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp import InvalidInput
from shiftdp.last_iterate.sum_rounding import THREADS
from shiftdp.training import Ball, Huber, Logistic, Loss, Plan, Seeded, Softmax, descend
from shiftdp.training.cluster.collection import table_of
from shiftdp.training.cluster.doors import descend as descend_on_workers
from shiftdp.training.cluster.fitting import on_workers
from shiftdp.training.cluster.source import Division, pairwise, require_provable
from shiftdp.training.cluster.workers import MOST_THREADS
from tests.training.cluster.tables import RUNS, as_arrays, numbers


def require_equal(plan: Plan, found: Any, alone: Any) -> None:
    """Sums in another order are apart by roundings, and what is released is on a public grid: the
    weights are equal, or neighbours on the grid where an iterate lies half way between two."""
    np.testing.assert_allclose(found, alone, rtol=0.0, atol=plan.grid)
    assert (found == alone).sum() >= alone.size - 1


def plan_of(name: str, loss: Loss | None = None, **more: Any) -> Plan:
    adjacency = "zero_out" if name == "random_allocation" else "replace_one"
    fields: dict[str, Any] = {"l2": 0.01, "feature_bound": 1.0, "adjacency": adjacency, **more}
    return Plan(run=RUNS[name], loss=loss or Logistic(), entropy=Seeded(5), **fields)


@pytest.mark.parametrize("name", RUNS)
def test_two_workers_release_the_weights_of_one_machine(client: Any, name: str) -> None:
    X, y = numbers()
    plan = plan_of(name)
    found = descend_on_workers(plan, *as_arrays(X, y), client=client)
    require_equal(plan, found, descend(plan, X, y))


@pytest.mark.parametrize("name", ["full", "reshuffled"])
def test_so_does_one_worker(client: Any, name: str) -> None:
    X, y = numbers()
    whole = as_arrays(X, y, (len(y),))
    plan = plan_of(name)
    found = descend_on_workers(plan, *whole, client=client)
    require_equal(plan, found, descend(plan, X, y))


@pytest.mark.parametrize(
    "more",
    [
        {"loss": Softmax(classes=3), "clipping": "envelope", "clip": 0.5},
        {"loss": Huber(width=0.5), "intercept": False, "projection": Ball(2.0)},
    ],
    ids=["softmax, clipped", "huber in a ball"],
)
def test_losses_with_more_scores_clips_and_sets(client: Any, more: dict[str, Any]) -> None:
    X, y = numbers()
    X = X.astype(np.float32)
    y = y + (X[:, 1] > 0.5)
    plan = plan_of("fixed", **more)
    found = descend_on_workers(plan, *as_arrays(X, y), client=client)
    require_equal(plan, found, descend(plan, X, y))


def test_sums_are_those_of_one_machine_to_a_few_roundings(client: Any) -> None:
    from shiftdp.training.descent.loop import certified_records

    X, y = numbers()
    table, plan = table_of(*as_arrays(X, y)), plan_of("full", clipping="envelope", clip=0.5)
    at = np.random.default_rng(1).normal(size=(1, 1, X.shape[1] + 1))
    with on_workers(client, table, table.numbers("given")) as rows:
        rows.workers.tell("assemble")
        sources = [certified_records(plan, rows, None), certified_records(plan, X, y)]
        for batch in (slice(0, 307), slice(90, 210), np.array([3, 99, 100, 108, 306])):
            sums = []
            for source in sources:
                with source.gradient(plan, at) as gradient:
                    sums.append(gradient(at, batch).copy())
            np.testing.assert_allclose(sums[0], sums[1], rtol=1e-12, atol=1e-12)


def test_an_empty_batch_is_a_step_of_noise_alone(client: Any) -> None:
    """Poisson batches of 3 of 307 records in 8 steps: with this seed one of them is empty."""
    from shiftdp.training.descent.batches import batches

    plan = Plan(
        run=RUNS["poisson"], loss=Logistic(), feature_bound=1.0, l2=0.01, entropy=Seeded(12)
    )
    drawn = [b.rows for b in batches(plan.run, plan.entropy.open("batches"))]
    assert any(isinstance(rows, np.ndarray) and not rows.size for rows in drawn)
    X, y = numbers()
    found = descend_on_workers(plan, *as_arrays(X, y), client=client)
    require_equal(plan, found, descend(plan, X, y))


def test_a_step_is_one_message_to_each_worker_and_one_back(client: Any) -> None:
    from shiftdp.training.descent.loop import certified_records, descend_on

    X, y = numbers()
    table = table_of(*as_arrays(X, y))
    plan = plan_of("fixed")
    with on_workers(client, table, table.numbers("given")) as rows:
        rows.workers.tell("assemble")
        records = certified_records(plan, rows, None)
        asked: list[tuple[str, Any]] = []
        own = rows.workers.ask

        def ask(method: str, arguments: Any) -> Any:
            asked.append((method, arguments))
            return own(method, arguments)

        rows.workers.ask = ask  # type: ignore[method-assign]
        tasks = client.run_on_scheduler(lambda dask_scheduler: set(dask_scheduler.tasks))
        descend_on(plan, records)
        # no new ones; older ones may be forgotten meanwhile
        assert client.run_on_scheduler(lambda dask_scheduler: set(dask_scheduler.tasks)) <= tasks
    steps = [arguments for method, arguments in asked if method == "step"]
    assert len(steps) == plan.run.steps == rows.timing.steps
    assert [method for method, _ in asked] == ["begin", *["step"] * plan.run.steps]
    for arguments in steps:
        # the models, and which rows: a slice, which is all that a fixed order needs
        for models, part in arguments.values():
            assert models.size == X.shape[1] + 1
            assert isinstance(part, slice)
    taken = [sum(p.stop - p.start for _, p in step.values()) for step in steps]
    assert taken == [60, 60, 60, 60, 60, 7] * 2


def test_other_numbers_of_records_or_features_than_the_plan_s_are_refused(client: Any) -> None:
    X, y = numbers(306)
    sizes = (100, 206)
    with pytest.raises(InvalidInput, match="does not have the 307 records"):
        descend_on_workers(plan_of("full"), *as_arrays(X, y, sizes), client=client)


# --- the division of records ---


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=12),
    st.integers(1, 5),
    st.integers(0, 100),
    st.integers(0, 100),
    st.sets(st.integers(0, 100)),
)
def test_parts_are_the_records_of_a_batch_in_each_shard(
    sizes: list[int], shards: int, low: int, high: int, chosen: set[int]
) -> None:
    dealt = [tuple(range(k, len(sizes), shards)) for k in range(min(shards, len(sizes)))]
    division, n = Division(sizes, dealt), sum(sizes)
    ends = np.cumsum(sizes)
    held = [
        np.concatenate([np.arange(ends[b] - sizes[b], ends[b]) for b in numbers])
        for numbers in dealt
    ]
    low, high = sorted((min(low, n), min(high, n)))
    for rows in (slice(low, high), np.array(sorted(r for r in chosen if r < n), dtype=np.intp)):
        parts = division.parts(rows)
        found = [inside[part] for inside, part in zip(held, parts, strict=True)]
        for one in found:
            assert (np.diff(one) > 0).all()
        assert sorted(np.concatenate(found)) == np.arange(n)[rows].tolist()


# --- Theorem F1 ---


class Term:
    """A term of a sum that counts the additions on its way."""

    def __init__(self, deep: int) -> None:
        self.deep = deep

    def __add__(self, other: Term) -> Term:
        return Term(1 + max(self.deep, other.deep))


@given(st.integers(1, 70))
def test_a_term_takes_part_in_as_many_additions_as_the_proof_counts(shards: int) -> None:
    terms = [np.array([Term(0)], dtype=object) for _ in range(shards)]
    assert pairwise(terms)[0].deep == math.ceil(math.log2(shards)) == (shards - 1).bit_length()


def test_pairwise_sums_are_new_arrays() -> None:
    one = np.ones(3)
    pairwise([one])[0] = 5.0
    assert one[0] == 1.0
    np.testing.assert_array_equal(pairwise([one] * 7), np.full(3, 7.0))


def test_clusters_beyond_the_proof_are_refused() -> None:
    require_provable(2 ** (THREADS - MOST_THREADS + 1), MOST_THREADS)
    with pytest.raises(InvalidInput, match="larger than the proof"):
        require_provable(2 ** (THREADS - MOST_THREADS + 1) + 1, MOST_THREADS)
    require_provable(1, THREADS + 1)
    with pytest.raises(InvalidInput, match="larger than the proof"):
        require_provable(2, THREADS + 1)
