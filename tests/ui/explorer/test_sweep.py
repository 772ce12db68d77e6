"""Epsilon along the length of a run is what certify gives at each length."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from shiftdp import certify, compare
from shiftdp.ui.explorer.answers import certified
from shiftdp.ui.explorer.sweep import (
    accountants,
    is_sampled,
    lengths_of,
    parameter_of,
    sweep,
    why_no_sweep,
)
from tests.ui.explorer.examples import RUNS, SMALL, settings

FIXED = ("a schedule", "exponential", "releases")


@pytest.mark.parametrize("name", [name for name in RUNS if name not in FIXED])
def test_the_run_is_among_its_lengths(name: str) -> None:
    run = RUNS[name].asked().run
    own = getattr(run, parameter_of(run) or "")
    lengths = lengths_of(run)
    assert own in lengths
    assert list(lengths) == sorted(set(lengths))
    assert all(length == math.inf or length == int(length) >= 0 for length in lengths)


@pytest.mark.parametrize("name", ["fixed", "reshuffled", "full batches", "a stream", "langevin"])
def test_every_accountant_is_at_every_length(name: str) -> None:
    asked = RUNS[name].asked()
    lengths = lengths_of(asked.run)[-3:]
    found = sweep(asked, lengths)
    parameter = parameter_of(asked.run) or ""
    for i, length in enumerate(lengths):
        fields = {k: v for k, v in vars(asked.run).items() if k != "steps" or parameter != "epochs"}
        run = type(asked.run)(**{**fields, parameter: int(length)})
        best = certify(run, asked.geometry, delta=asked.delta).epsilon(asked.delta)
        assert found.curves["best"][i] == pytest.approx(best, rel=1e-9)
        for row in compare(run, asked.geometry, delta=asked.delta):
            value = found.curves[row.name][i]
            assert math.isnan(value) == (row.epsilon is None)
            assert row.epsilon is None or value == pytest.approx(row.epsilon, rel=1e-9)


def test_further_steps_leave_less_of_what_is_deleted() -> None:
    asked = RUNS["a deletion"].asked()
    left = sweep(asked, lengths_of(asked.run)).curves["best"]
    assert all(after <= before for before, after in pairwise(left))


def test_parts_are_joined_in_order() -> None:
    asked = RUNS["fixed"].asked()
    joined = sweep(asked, [5.0]).joined(sweep(asked, [2.0, 10.0]))
    assert joined == sweep(asked, [2.0, 5.0, 10.0])


@pytest.mark.parametrize("name", FIXED)
def test_why_a_length_cannot_change_is_said(name: str) -> None:
    assert why_no_sweep(RUNS[name].asked().run)


def test_a_window_with_a_schedule_has_one_length() -> None:
    run = settings(kind="stream", batches_per_release="2", noise="0.1,0.2").asked().run
    assert why_no_sweep(run)


def test_random_batches_are_known_to_take_longer() -> None:
    assert is_sampled(RUNS["sampled"].asked().run)
    assert not is_sampled(RUNS["a deletion"].asked().run)


@pytest.mark.parametrize("name", ["fixed", "people", "a deletion", "sampled", "exponential"])
def test_the_table_has_the_number_of_the_page_as_the_best(name: str) -> None:
    asked = RUNS[name].asked()
    found = certified(asked)
    rows = {row.name: row for row in accountants(asked, found.certificate)}
    assert list(rows) == ["composition", "prior Renyi", "paper", "best", "lower bound"]
    assert rows["best"].epsilon == found.epsilon
    for row in rows.values():
        assert row.epsilon is not None or row.note


def test_with_fewer_theorems_the_best_of_all_stays_in_the_table() -> None:
    asked = settings(**SMALL, bounds="composition").asked()
    rows = {row.name: row for row in accountants(asked, certified(asked).certificate)}
    assert rows["best"].epsilon == certified(settings(**SMALL).asked()).epsilon
