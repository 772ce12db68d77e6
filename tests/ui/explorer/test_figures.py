"""Figures have axes that are named in words, and the numbers that they were given."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from shiftdp.ui.explorer.answers import certified, curve_of, curves
from shiftdp.ui.explorer.figures import (
    empty_figure,
    path_figure,
    position_figure,
    sweep_figure,
    tradeoff_figure,
)
from shiftdp.ui.explorer.paths import LawOfMu, NoPath
from shiftdp.ui.explorer.sweep import Sweep, lengths_of, sweep
from tests.ui.explorer.examples import RUNS


def titles(figure: dict[str, Any]) -> list[str]:
    layout = figure["layout"]
    axes = [axis for name, axis in layout.items() if "axis" in name and "title" in axis]
    return [axis["title"]["text"] for axis in axes]


@pytest.mark.parametrize("name", RUNS)
def test_every_axis_is_named_and_figures_are_json(name: str) -> None:
    asked = RUNS[name].asked()
    found = certified(asked)
    drawn = curves(asked, found.certificate)
    figures = [
        tradeoff_figure(drawn.tradeoffs, found.caught),
        path_figure(drawn.path),
        position_figure(drawn.positions, drawn.why_no_positions, asked.delta),
    ]
    for figure in figures:
        text = json.dumps(figure, allow_nan=False)
        if figure["data"]:
            assert len(titles(figure)) >= 2
            assert all(len(title) > 3 for title in titles(figure))
        else:
            assert "annotations" in text


def test_the_attacker_stands_on_the_curve() -> None:
    found = certified(RUNS["fixed"].asked())
    curve = curve_of("best", "this run", found.certificate.f)
    points = tradeoff_figure([curve], found.caught)["data"][-1]
    for x, y in zip(points["x"], points["y"], strict=True):
        assert y == pytest.approx(float(found.certificate.tradeoff(x)), abs=1e-9)


def test_a_curve_of_no_accountant_has_a_colour_of_its_own() -> None:
    f = certified(RUNS["fixed"].asked()).certificate.f
    figure = tradeoff_figure([curve_of("best", "one", f), curve_of("run", "two", f)], [])
    colours = [trace["line"]["color"] for trace in figure["data"][1:3]]
    assert len(set(colours)) == 2


def test_a_sweep_marks_the_run_and_leaves_gaps() -> None:
    asked = RUNS["fixed"].asked()
    figure = sweep_figure(sweep(asked, lengths_of(asked.run)), 5.0, asked.delta)
    (line,) = figure["layout"]["shapes"]
    assert line["x0"] == line["x1"] == 5.0
    gaps = Sweep("steps", (1.0, 2.0), {"best": (1.0, math.nan), "paper": (math.nan,) * 2})
    (trace,) = sweep_figure(gaps, 1.0, 1e-5)["data"]
    assert trace["y"] == [1.0, None]


def test_what_holds_for_every_length_is_a_line() -> None:
    asked = RUNS["endless"].asked()
    figure = sweep_figure(sweep(asked, lengths_of(asked.run)), math.inf, asked.delta)
    flat = [one for one in figure["data"] if one["name"] == "our bound, however long"]
    assert flat[0]["y"] == [certified(asked).epsilon] * 2
    assert figure["layout"]["shapes"] == []


def test_values_far_apart_are_shown_by_magnitude() -> None:
    far = Sweep("steps", (1.0, 100.0), {"best": (0.1, 10.0)})
    near = Sweep("steps", (1.0, 2.0), {"best": (1.0, 2.0)})
    assert sweep_figure(far, 1.0, 1e-5)["layout"]["yaxis"]["type"] == "log"
    assert "type" not in sweep_figure(near, 1.0, 1e-5)["layout"]["yaxis"]


def test_a_law_of_mu_is_drawn_up_to_what_is_rare() -> None:
    import numpy as np

    law = LawOfMu("", np.array([0.1, 0.2, 9.0]), np.array([0.5, 0.4999, 0.0001]))
    figure = path_figure(law)
    assert figure["data"][0]["y"][-1] == pytest.approx(1.0)
    assert figure["layout"]["xaxis"]["range"][1] < 1.0


def test_an_empty_figure_says_why() -> None:
    (note,) = empty_figure("There is no such thing.")["layout"]["annotations"]
    assert note["text"] == "There is no such thing."
    assert path_figure(NoPath("None."))["layout"]["annotations"][0]["text"] == "None."
