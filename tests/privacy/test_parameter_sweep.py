"""Frontiers: the rows of `compare`, value by value, as data."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftdp import (
    ExponentialMechanism,
    Geometry,
    InvalidInput,
    LangevinMC,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    NoisyStream,
    certify,
    compare,
)
from shiftdp.fdp import zcdp_epsilon
from shiftdp.fdp.renyi.conversions import zcdp_epsilons
from shiftdp.last_iterate.runs import Run
from shiftdp.privacy import Frontier, frontier
from shiftdp.privacy.parameter_sweep import CURVES
from shiftdp.privacy.parameters import with_parameter
from tests.effort import effort

STRONG = Geometry(strong_convexity=0.2, smoothness=2.0, sensitivity=2.0)
BODY = Geometry(strong_convexity=0.2, smoothness=2.0, sensitivity=2.0, diameter=0.5)
MNIST = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
CYCLIC: dict[str, Any] = {
    "n": 60,
    "batch_size": 10,
    "epochs": 5,
    "learning_rate": 0.1,
    "noise": 0.4,
}
LONG = NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)
CASES: list[tuple[Run, Geometry, str, list[float]]] = [
    (NoisyCGD(**CYCLIC), STRONG, "epochs", [1, 2, 7, 100, math.inf]),
    (NoisyCGD(**CYCLIC), BODY, "noise", [0.05, 0.3, 10.0]),
    (NoisyCGD(**CYCLIC, order="shuffled_once"), STRONG, "n", [20, 60, 65, 600]),
    (NoisyCGD(**CYCLIC, order="reshuffled"), BODY, "epochs", [1, 3, math.inf]),
    (NoisyCGD(**CYCLIC), STRONG, "batch_size", [1, 7, 60]),
    (NoisyCGD(**CYCLIC), STRONG, "steps", [1, 8, 30]),
    (NoisyGD(n=20, steps=30, learning_rate=0.1, noise=0.5), STRONG, "learning_rate", [0.01, 0.9]),
    (
        NoisyGD(n=20, steps=30, learning_rate=0.1, noise=0.5),
        STRONG,
        "strong_convexity",
        [-0.1, 0.1],
    ),
    (NoisyGD(n=20, steps=30, learning_rate=0.1, noise=0.5), STRONG, "diameter", [0.1, math.inf]),
    (NoisyGD(n=20, steps=30, learning_rate=0.1, noise=0.5), STRONG, "sensitivity", [0.0, 1.0]),
    (LangevinMC(steps=20, learning_rate=0.1), STRONG, "steps", [5, 50, math.inf]),
    (ExponentialMechanism(), BODY, "diameter", [0.01, 1.0, math.inf]),
    (
        NoisySGD(n=100, batch_size=10, steps=20, learning_rate=0.1, noise=0.5),
        STRONG,
        "steps",
        [2, 30],
    ),
]


@pytest.mark.filterwarnings("ignore::shiftdp.last_iterate.last_batch.SmallLastBatch")
@pytest.mark.parametrize(("run", "geometry", "parameter", "values"), CASES)
def test_the_rows_of_compare(
    run: Run, geometry: Geometry, parameter: str, values: list[float]
) -> None:
    delta = 1e-4
    found = frontier(run, geometry, parameter=parameter, values=values, delta=delta)
    assert [curve.name for curve in found] == list(CURVES)
    assert found.values.tolist() == values
    for i, value in enumerate(values):
        table = compare(*with_parameter(run, geometry, parameter, value), delta=delta)
        for row in table:
            if row.name not in CURVES:
                assert row.name.startswith("Theorem")  # one of those that `best` is the best of
                assert isinstance(run, NoisySGD)
                continue
            curve = found[row.name]
            assert curve.kind == row.kind
            assert curve.theorems[i] == row.bound
            if row.epsilon is None:
                assert math.isnan(curve.epsilon[i])
                assert curve.notes[i]
            else:
                # two ways through the same certified functions
                assert curve.epsilon[i] == pytest.approx(row.epsilon, rel=1e-9, abs=1e-12)
            if row.mu is not None:
                assert curve.mu[i] == row.mu


@pytest.mark.parametrize("delta", [1e-100, 1e-5, 0.1])
def test_the_prior_conversion_is_that_of_compare(delta: float) -> None:
    rho = [0.0, 1e-8, 1e-3, 0.5, 30.0, 1e4]
    each = [zcdp_epsilon(value, delta=delta).epsilon for value in rho]
    assert zcdp_epsilons(np.array(rho), delta) == pytest.approx(each, rel=1e-7)
    assert zcdp_epsilons(np.array([math.inf]), delta) == math.inf


def test_curves_are_in_order() -> None:
    found = frontier(LONG, MNIST, parameter="epochs", values=range(1, 60), delta=1e-5)
    composition, prior, paper, best, lower = (curve.epsilon for curve in found)
    assert np.all(np.diff(best) > 0)
    assert np.all(lower <= best)
    assert np.all(best <= paper * (1 + 1e-11))
    assert np.all(paper[1:] < prior[1:])
    assert np.all(best[1:] < composition[1:])
    assert not found.logarithmic  # evenly spaced
    assert found.epsilon_label == "epsilon at delta = 1e-05"
    assert found["best"].label == "best (Theorem B1)"
    assert found["best"].known
    assert not best.flags.writeable


def test_two_hundred_points_are_quick() -> None:
    values = np.linspace(0.005, 0.1, 200)
    work = effort(lambda: frontier(LONG, MNIST, parameter="noise", values=values, delta=1e-5))
    assert work < 600_000


def _made() -> Frontier:
    return frontier(
        NoisyCGD(**CYCLIC), STRONG, parameter="epochs", values=[1, math.inf], delta=1e-5
    )


def test_progress_is_reported_after_each_value() -> None:
    calls: list[tuple[int, int]] = []
    run = NoisyCGD(**CYCLIC)
    frontier(
        run, STRONG, parameter="noise", values=[0.1, 0.2, 0.4], delta=1e-5,
        progress=lambda done, total: calls.append((done, total)),
    )  # fmt: skip
    assert calls == [(1, 3), (2, 3), (3, 3)]


def test_csv_holds_every_digit(tmp_path: Path) -> None:
    found = _made()
    path = tmp_path / "frontier.csv"
    text = found.to_csv(path)
    assert path.read_text(encoding="utf-8") == text
    head, *lines = list(csv.reader(io.StringIO(text)))
    assert head == ["epochs", *(f"epsilon {name}" for name in CURVES)]
    for i, line in enumerate(lines):
        assert float(line[0]) == found.values[i]
        for name, cell in zip(CURVES, line[1:], strict=True):
            epsilon = found[name].epsilon[i]
            assert cell == "" if math.isnan(epsilon) else float(cell) == epsilon


def test_plain_data() -> None:
    found = _made()
    rows = found.rows()
    assert len(rows) == 2 * len(CURVES)
    assert {row["curve"] for row in rows} == set(CURVES)
    last = [row for row in rows if row["epochs"] == math.inf and row["curve"] == "composition"]
    assert last[0]["epsilon"] is None
    data = found.to_dict()
    again = json.loads(json.dumps(data))
    assert again["curves"][3]["epsilon"] == found["best"].epsilon.tolist()
    assert again["label"] == "epochs"
    lines = str(found).splitlines()
    assert lines[0] == "epsilon at delta = 1e-05"
    assert lines[1].split()[:2] == ["epochs", "composition"]
    assert len(lines) == 5


def test_fewer_curves() -> None:
    run = NoisySGD(n=100, batch_size=10, steps=20, learning_rate=0.1, noise=0.5)
    found = frontier(
        run,
        STRONG,
        parameter="noise",
        values=[0.5, 1.0],
        delta=1e-5,
        curves=("composition", "best"),
    )
    assert [curve.name for curve in found] == ["composition", "best"]
    assert np.all(found["best"].epsilon <= found["composition"].epsilon + 1e-3)
    with pytest.raises(KeyError):
        found["paper"]


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"parameter": "colour"}, "parameter"),
        ({"parameter": "order"}, "parameter"),
        ({"values": []}, "values"),
        ({"values": [1.5]}, "epochs"),
        ({"values": ["one"]}, "epochs"),
        ({"delta": 0.0}, "delta"),
        ({"curves": ["worst"]}, "curves"),
    ],
)
def test_what_means_nothing_is_refused(change: dict[str, Any], name: str) -> None:
    given: dict[str, Any] = {"parameter": "epochs", "values": [1, 2], "delta": 1e-5, **change}
    run = NoisyCGD(**{**CYCLIC, "n": 50})  # half an epoch is no whole number of steps
    with pytest.raises(InvalidInput) as refusal:
        frontier(run, STRONG, **given)
    assert refusal.value.name == name


def test_the_noise_of_a_schedule_is_multiplied_and_its_length_is_fixed() -> None:
    run = NoisyGD(n=5, steps=2, learning_rate=0.1, noise=(1.0, 2.0))
    with pytest.raises(InvalidInput, match="fixes the number of steps"):
        frontier(run, STRONG, parameter="steps", values=[3], delta=1e-5)
    found = frontier(run, STRONG, parameter="noise", values=[3.0], delta=1e-5, curves=["best"])
    more = NoisyGD(n=5, steps=2, learning_rate=0.1, noise=(1.5, 3.0))
    expected = certify(more, STRONG).epsilon(1e-5)
    assert found["best"].epsilon.tolist() == pytest.approx([expected], rel=1e-9)


def test_values_that_are_no_list_are_refused() -> None:
    run = NoisyGD(n=10, steps=5, learning_rate=0.3, noise=1.0)
    geometry = Geometry(strong_convexity=0.3, smoothness=2.0, sensitivity=1.0)
    with pytest.raises(InvalidInput, match="values=True is no list"):
        frontier(run, geometry, parameter="noise", values=True, delta=1e-5)  # type: ignore[arg-type]


def test_a_number_where_a_list_of_values_should_be_is_refused() -> None:
    """Found by fuzzing: an array without dimensions is iterable by its type."""
    run = NoisyGD(n=10, steps=2, learning_rate=0.1, noise=1.0)
    geometry = Geometry(strong_convexity=0.1, smoothness=1.0, sensitivity=1.0)
    with pytest.raises(InvalidInput, match="is no list"):
        frontier(run, geometry, parameter="noise", values=np.array(0.5), delta=1e-5)


def test_a_curve_of_mixtures_may_end_where_nothing_leaks() -> None:
    """Found by fuzzing: the method that solves for all points at once took inf - inf of one."""
    stream = NoisyStream(
        batch_size=19, batches_per_release=11, learning_rate=0.02568, noise=0.002, order="shuffled"
    )
    geometry = Geometry(
        strong_convexity=0.002, smoothness=0.0215, sensitivity=1.0, diameter=6.658740352512469
    )
    found = frontier(stream, geometry, parameter="sensitivity", values=[33, 8, 0], delta=1e-5)
    (best,) = (curve for curve in found.curves if curve.name == "best")
    assert best.epsilon[0] >= best.epsilon[1] > best.epsilon[2] == 0.0
