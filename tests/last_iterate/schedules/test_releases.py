"""Which iterates are released, and the segments between them."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp import Geometry, InvalidInput, NoisyCGD, NoisyGD, NoisySGD, UnmetHypothesis, certify
from shiftdp.last_iterate.outcomes import residues
from shiftdp.last_iterate.runs import has_releases
from shiftdp.last_iterate.schedules import releases as module
from shiftdp.last_iterate.schedules.releases import (
    first_releases,
    number_of_releases,
    release_steps,
    releases_in,
    segments_of,
    within_epochs,
)

SHAPE: dict[str, Any] = {"n": 12, "batch_size": 3, "learning_rate": 0.1, "noise": 1.0}


def cyclic(steps: int, releases: Any, **more: Any) -> NoisyCGD:
    return NoisyCGD(**{**SHAPE, **more}, steps=steps, releases=releases)


def test_the_last_step_is_always_released_and_lists_have_one_form() -> None:
    assert cyclic(20, [5, 3, 5]).releases == (3, 5, 20)
    assert cyclic(20, [20]).releases is None
    assert cyclic(20, np.array([4, 8, 12, 16])).releases == "epochs"
    assert cyclic(3, [1, 2]).releases == "all"
    assert NoisyGD(n=5, steps=4, learning_rate=0.1, noise=1.0, releases="epochs").releases == "all"


def test_a_run_with_one_release_is_the_run_without() -> None:
    assert cyclic(20, [20]) == cyclic(20, None)
    assert not has_releases(cyclic(4, "epochs"))
    assert not has_releases(cyclic(1, "all"))
    assert has_releases(cyclic(5, "epochs"))
    assert has_releases(cyclic(2, "all"))


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([0], "releases=0"),
        ([21], "beyond the last step"),
        ([2.5], "releases=2.5 is not a whole number"),
        ([math.nan], "releases=nan is not a whole number"),
        ([3, math.inf], "releases=inf is not a whole number"),
        ([True], "releases=True is not a whole number"),
        (["3"], "releases='3' is not a whole number"),
        ([[3, 4]], "releases='<list>' is not a whole number"),
        (np.ones((2, 2)), "releases='<ndarray>' is not a whole number"),
        (5, "releases=5 is no list of steps"),
        (2.5, "releases=2.5 is no list of steps"),
        (np.array(5), r"releases=array\(5\) is no list of steps"),
        ("often", "releases='often' is not known"),
        ("epoch", "releases='epoch' is not known"),
    ],
)
def test_what_is_no_step_is_refused(value: Any, problem: str) -> None:
    remedy = 'give "all", "epochs", or a list of steps from 1 to 20'
    with pytest.raises(InvalidInput, match=f"{problem}.*; {remedy}$"):
        cyclic(20, value)


def test_releases_of_a_run_without_end_are_refused_whatever_they_are() -> None:
    for value in (5, [5], "all"):
        with pytest.raises(InvalidInput, match="NoisyStream"):
            cyclic(math.inf, value)  # type: ignore[arg-type]


def test_epochs_and_ends_are_needed() -> None:
    sampled = {**SHAPE, "steps": 12, "releases": "epochs"}
    with pytest.raises(InvalidInput, match="needs epochs"):
        NoisySGD(**sampled)
    assert NoisySGD(**sampled, sampling="random_allocation").releases == "epochs"
    with pytest.raises(InvalidInput, match="NoisyStream"):
        cyclic(math.inf, "epochs")  # type: ignore[arg-type]


@given(st.integers(2, 60), st.lists(st.integers(1, 60), max_size=20), st.booleans())
def test_segments_are_the_steps_between_releases(
    steps: int, wanted: list[int], equal: bool
) -> None:
    noise = 1.0 if equal else [1.0] * steps
    run = cyclic(steps, [step for step in wanted if step <= steps] or None, noise=noise)
    ends = [0, *release_steps(run)]
    every = sorted((b - a, a % run.batches) for a, b in pairwise(ends))
    found = [
        (segment.steps, segment.begin % run.batches)
        for segment in segments_of(run)
        for _ in range(segment.count)
    ]
    assert sorted(found) == every
    assert number_of_releases(run) == len(every)
    assert set(residues(run)) == {end % run.batches for end in ends} - {0}
    if equal:
        assert len({(s.steps, s.begin % run.batches) for s in segments_of(run)}) == len(
            segments_of(run)
        )


@pytest.mark.parametrize("name", ["all", "epochs"])
@pytest.mark.parametrize("steps", [3, 4, 9, 16, 18])
def test_names_are_lists(name: str, steps: int) -> None:
    listed = range(1, steps + 1) if name == "all" else range(4, steps + 1, 4)
    named, noise = cyclic(steps, name), [1.0] * steps
    assert sorted({*listed, steps}) == list(release_steps(named))
    unequal = segments_of(cyclic(steps, name, noise=noise))
    assert sum(s.count for s in segments_of(named)) == len(unequal)
    assert sum(s.count * s.steps for s in segments_of(named)) == steps


def test_a_long_run_costs_no_more_to_cut() -> None:
    run = cyclic(4 * 10**12, "epochs")
    assert segments_of(run) == (module.Segment(0, 4, 10**12),)
    every = cyclic(4 * 10**12 + 1, "all")
    assert [s.count for s in segments_of(every)] == [10**12 + 1, 10**12, 10**12, 10**12]


def test_more_releases_than_can_be_listed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LISTED", 3)
    with pytest.raises(UnmetHypothesis, match="too many"):
        segments_of(cyclic(30, [3, 7, 11, 13]))


def test_runs_beyond_counting_are_refused_or_cut_at_once() -> None:
    """A certificate may say anything: what checks it must end."""
    cut = cyclic(4 * 2**50 + 1, "epochs")
    assert number_of_releases(cut) == 2**50 + 1
    assert segments_of(cut)[0].count == 2**50
    with pytest.raises(UnmetHypothesis, match="too many"):
        release_steps(cut)
    wide = NoisyCGD(
        n=2**50, batch_size=1, steps=2**52, learning_rate=0.1, noise=1.0, releases="all"
    )
    for question in (segments_of, residues):
        with pytest.raises(UnmetHypothesis, match="too many"):
            question(wide)
    assert within_epochs(wide)
    assert not within_epochs(cut)
    geometry = Geometry(strong_convexity=0.1, smoothness=1.0, sensitivity=1.0)
    assert certify(wide, geometry).bound == "Thm mgd (composition)"
    certify(cut, geometry).verify()


def test_the_first_releases_are_a_shorter_run() -> None:
    run = cyclic(20, [3, 8], noise=[1.0] * 10 + [2.0] * 10)
    assert first_releases(run, 3) is run
    assert first_releases(run, 2) == cyclic(8, [3], noise=[1.0] * 8)
    assert first_releases(run, 1) == cyclic(3, None, noise=[1.0] * 3)
    assert first_releases(cyclic(20, "epochs"), 2) == cyclic(8, "epochs")
    for number in (0, 4):
        with pytest.raises(InvalidInput, match="the run has 3"):
            first_releases(run, number)


def test_nothing_is_given() -> None:
    assert releases_in(None, math.inf) is None


def test_a_few_releases_of_a_run_that_is_never_over() -> None:
    """Found by fuzzing: all ends of epochs were listed, to be compared with these."""
    assert releases_in([3], 2**53, 1) == (3, 2**53)
    assert releases_in([2, 4], 5, 2) == "epochs"
    assert releases_in([2, 3], 5, 2) == (2, 3, 5)
