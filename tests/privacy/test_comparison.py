"""The same run under every accountant, side by side."""

from __future__ import annotations

import json
import math
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given, settings

from shiftdp import (
    ExponentialMechanism,
    Geometry,
    InvalidInput,
    LangevinMC,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    UnmetHypothesis,
    certify,
    compare,
    frontier,
)
from shiftdp.last_iterate.attained import attained_epsilon
from shiftdp.privacy.comparison import Compared
from tests.last_iterate.random_runs import Setting, settings_of

PUBLISHED = json.loads(
    files("shiftdp.ui.reproduce").joinpath("published.json").read_text(encoding="utf-8")
)
NAMES = ["composition", "prior Renyi", "paper", "best", "lower bound"]
CLASS: dict[str, Any] = {"strong_convexity": 0.3, "smoothness": 2.0, "sensitivity": 2.0}


@pytest.mark.parametrize("ridge", [0.002, 0.004])
def test_published_figures(ridge: float) -> None:
    geometry = Geometry(strong_convexity=ridge, smoothness=32.5 + ridge, sensitivity=10.0)
    for i, epochs in enumerate((50, 100, 200)):
        run = NoisyCGD(n=60_000, batch_size=1_500, epochs=epochs, learning_rate=0.05, noise=0.01)
        table = compare(run, geometry, delta=1e-5)
        assert [row.name for row in table] == NAMES
        shown = {row.name: round(row.epsilon or math.nan, 2) for row in table}
        published = PUBLISHED["mnist_epsilon"]
        assert shown["composition"] == published["composition_cgd"][i]
        assert shown["prior Renyi"] == published[f"rdp_cgd_{ridge}"][i]
        assert shown["paper"] == shown["best"] == published[f"ours_cgd_{ridge}"][i]
        assert table["lower bound"].epsilon == pytest.approx(table["best"].epsilon, rel=1e-9)
        assert round(table["composition"].mu or 0, 2) == PUBLISHED["mnist_mu"]["composition_cgd"][i]


@pytest.mark.filterwarnings("ignore::shiftdp.last_iterate.last_batch.SmallLastBatch")
@settings(max_examples=120)
@given(settings_of())
def test_rows_are_in_order(setting: Setting) -> None:
    run, geometry = setting
    table = compare(run, geometry, delta=1e-4)
    assert [row.name for row in table] == NAMES
    best = table["best"].epsilon
    assert best == certify(run, geometry).epsilon(1e-4)
    assert best is not None
    for name in ("composition", "prior Renyi", "paper"):
        epsilon = table[name].epsilon
        if epsilon is None:
            assert table[name].note
            assert table[name].bound == ""
        else:
            assert best <= epsilon * (1 + 1e-9) + 1e-12
    lower = table["lower bound"].epsilon
    if lower is not None:
        assert lower <= best


@pytest.mark.parametrize(
    ("run", "changes", "missing"),
    [
        (NoisyGD(n=9, steps=20, learning_rate=0.4, noise=0.7), {}, set()),
        (
            NoisyGD(n=9, steps=20, learning_rate=0.4, noise=0.7),
            {"strong_convexity": 0.0},
            {"prior Renyi", "paper"},
        ),
        (
            NoisyGD(n=9, steps=20, learning_rate=0.4, noise=0.7),
            {"strong_convexity": -0.5, "diameter": 1.0},
            {"prior Renyi", "paper", "lower bound"},
        ),
        (
            NoisyGD(n=9, steps=20, learning_rate=0.4, noise=0.7),
            {"smoothness": math.inf},
            {"prior Renyi", "paper", "lower bound"},
        ),
        (
            NoisyGD(n=9, steps=3, learning_rate=[0.4, 0.3, 0.2], noise=0.7),
            {},
            {"prior Renyi", "paper"},
        ),
        (
            NoisyCGD(n=9, batch_size=3, epochs=3, learning_rate=0.4, noise=0.7, order="reshuffled"),
            {},
            {"prior Renyi", "paper", "lower bound"},
        ),
        (
            NoisyCGD(
                n=9, batch_size=3, epochs=3, learning_rate=0.4, noise=0.7, order="shuffled_once"
            ),
            {},
            {"lower bound"},
        ),
        (
            NoisyCGD(n=59, batch_size=20, epochs=3, learning_rate=0.4, noise=0.7),
            {},
            {"prior Renyi", "paper"},
        ),
        (
            NoisyCGD(n=10, batch_size=3, epochs=3, learning_rate=0.4, noise=0.7, last_batch="drop"),
            {},
            set(),
        ),
        (
            NoisyCGD(
                n=10, batch_size=3, epochs=3, learning_rate=0.4, noise=0.7, last_batch="divide_by_b"
            ),
            {},
            set(),
        ),
        (
            NoisyCGD(n=9, batch_size=3, steps=8, learning_rate=0.4, noise=0.7),
            {},
            {"prior Renyi", "paper"},
        ),
        (
            NoisyGD(n=9, steps=20, learning_rate=0.4, noise=0.7),
            {"adjacency": "zero_out"},
            {"lower bound"},
        ),
        (LangevinMC(steps=20, learning_rate=0.1), {}, {"prior Renyi"}),
        (
            LangevinMC(steps=math.inf, learning_rate=0.1),
            {},
            {"composition", "prior Renyi", "lower bound"},
        ),
        (ExponentialMechanism(), {}, {"composition", "prior Renyi"}),
        (ExponentialMechanism(), {"diameter": 1.0}, {"prior Renyi", "lower bound"}),
    ],
)
def test_what_does_not_apply_is_said(run: Any, changes: Any, missing: set[str]) -> None:
    table = compare(run, Geometry(**{**CLASS, **changes}), delta=1e-5)
    assert {row.name for row in table if row.epsilon is None} == missing
    for row in table:
        assert bool(row.note) == (row.epsilon is None)
        assert row.kind in ("certified", "attained")
    assert len(str(table).splitlines()) == 7


def test_it_prints_as_a_table() -> None:
    run = NoisyGD(n=9, steps=20, learning_rate=0.4, noise=0.7)
    lines = str(compare(run, Geometry(**CLASS), delta=1e-5)).splitlines()
    assert "delta=1e-05" in lines[0]
    assert set(lines[1]) == {"-"}
    assert [line.split("  ")[0] for line in lines[2:]] == NAMES
    assert len({line.index("Th") for line in lines[2:] if "Th" in line and "YS" not in line}) == 1
    with pytest.raises(KeyError):
        compare(run, Geometry(**CLASS), delta=1e-5)["worst"]


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, math.nan, "x", None])
def test_bad_delta(delta: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        compare(NoisyGD(n=9, steps=2, learning_rate=0.4, noise=1.0), Geometry(**CLASS), delta=delta)
    assert caught.value.name == "delta"


@pytest.mark.parametrize(
    "run",
    [
        NoisyGD(n=9, steps=2, learning_rate=4.0, noise=1.0),
        NoisyCGD(n=9, batch_size=3, epochs=2, learning_rate=4.0, noise=1.0, order="reshuffled"),
        NoisySGD(n=9, batch_size=3, steps=2, learning_rate=4.0, noise=1.0),
        LangevinMC(steps=3, learning_rate=4.0),
    ],
    ids=lambda run: type(run).__name__,
)
def test_a_step_that_does_not_contract_is_left_to_composition(run: Any) -> None:
    table = compare(run, Geometry(**CLASS), delta=1e-5)
    composed = certify(run, Geometry(**CLASS), bounds="composition", delta=1e-5)
    assert table["best"].epsilon == composed.epsilon(1e-5)
    assert table["best"].bound == composed.bound == table["composition"].bound
    assert table["paper"].epsilon is None
    lower = table["lower bound"].epsilon
    assert lower is None or lower <= composed.epsilon(1e-5)


def test_a_run_that_even_composition_refuses_is_refused_for_the_first_reason() -> None:
    run = NoisyGD(n=9, steps=math.inf, learning_rate=4.0, noise=1.0)
    with pytest.raises(UnmetHypothesis, match="learning_rate=4"):
        compare(run, Geometry(**CLASS), delta=1e-5)


def test_random_batches_have_a_lower_bound_at_the_delta_of_the_comparison() -> None:
    run = NoisySGD(n=50, batch_size=10, steps=2, learning_rate=0.5, noise=1.0)
    geometry = Geometry(strong_convexity=0.4, smoothness=2.0, sensitivity=10.0)
    point = Compared(run, geometry, 1e-6).point("lower bound")
    assert (point.theorem, point.mu) == ("Theorem B8", None)
    assert point.epsilon(1e-6) == attained_epsilon(run, geometry, 1e-6)
    swept = frontier(
        run, geometry, parameter="noise", values=[1.0, 2.0], delta=1e-6, curves=["lower bound"]
    )["lower bound"]
    assert swept.epsilon[0] == pytest.approx(point.epsilon(1e-6), rel=1e-9)
    assert 0.0 < swept.epsilon[1] < swept.epsilon[0]


def test_a_note_names_what_is_not_constant() -> None:
    shape: dict[str, Any] = {"n": 9, "steps": 2}
    for name, run in (
        ("noise", NoisyGD(**shape, learning_rate=0.4, noise=[0.7, 0.8])),
        ("learning_rate", NoisyGD(**shape, learning_rate=[0.4, 0.3], noise=0.7)),
    ):
        rows = {row.name: row for row in compare(run, Geometry(**CLASS), delta=1e-5)}
        prior = rows["prior Renyi"]
        assert f"{name}='<one a step>' is not constant" in f"{prior.bound} {prior.note}"
