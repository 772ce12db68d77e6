"""Figures: the right numbers in the right places, text that stays text, and no surprises."""

import math
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftdp as sdp
from shiftdp import InvalidInput
from shiftdp.fdp import Mixture, TradeoffFunction
from shiftdp.fdp.composition.composite import Composite
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.last_iterate.runs import Order, Sampling
from shiftdp.privacy import frontier
from shiftdp.ui.plots import (
    certificate_figure,
    frontier_figure,
    profile_figure,
    tradeoff_figure,
    write,
)
from shiftdp.ui.plots.curves import bounds_compared, profile_points, tradeoff_points
from shiftdp.ui.plots.style import LINES, OTHER_LINES
from tests.last_iterate.theorems.fixed import Fixed
from tests.ui.shell import MNIST, prose, said

GEOMETRY = sdp.Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)


def mnist(order: Order = "fixed", epochs: float = 50) -> sdp.NoisyCGD:
    return sdp.NoisyCGD(
        n=60_000, batch_size=1_500, epochs=epochs, learning_rate=0.05, noise=0.01, order=order
    )


def sampled(sampling: Sampling) -> sdp.Certificate:
    adjacency: Adjacency = "zero_out" if sampling == "poisson" else "replace_one"
    geometry = sdp.Geometry(
        strong_convexity=1.0, smoothness=10.0, sensitivity=1.0, adjacency=adjacency
    )
    run = sdp.NoisySGD(
        n=1000, batch_size=10, steps=500, learning_rate=0.05, noise=0.5, sampling=sampling
    )
    return sdp.certify(run, geometry)


def test_others_stand_beside_the_certificate() -> None:
    found = bounds_compared(sdp.certify(mnist("shuffled_once"), GEOMETRY), 1e-5)
    assert [one.style for one in found] == ["composition", "paper", "best"]
    assert [one.label for one in found] == [
        "composition: Thm mgd",
        "paper: Thm mgd-sc",
        "best: Theorem B4",
    ]
    epsilons = [one.f.epsilon(1e-5) for one in found]
    assert epsilons == sorted(epsilons, reverse=True)


def test_what_is_equal_is_drawn_once() -> None:
    labels = [one.label for one in bounds_compared(sdp.certify(mnist(), GEOMETRY), 1e-5)]
    assert labels == ["composition: Thm mgd", "paper = best: Thm mgd-sc, Theorem B1"]
    # the paper has nothing but composition for this one
    labels = [one.label for one in bounds_compared(sampled("poisson"), 1e-5)]
    assert labels == ["composition: Poisson", "best: Theorem B6"]


def test_a_run_without_end_has_no_composition() -> None:
    styles = [
        one.style for one in bounds_compared(sdp.certify(mnist(epochs=math.inf), GEOMETRY), 1e-5)
    ]
    assert "composition" not in styles


@pytest.mark.parametrize(
    "f",
    [
        sdp.GaussianTradeoff(1.0),
        Mixture([sdp.GaussianTradeoff(0.5), sdp.GaussianTradeoff(2.0)]),
        sdp.Maximum((sdp.GaussianTradeoff(1.0), sdp.ApproxDPTradeoff(1.5))),
        sdp.GaussianTradeoff(0.8).subsample(0.1).symmetrize().power(30),
        sdp.Identity(),
    ],
    ids=lambda f: type(f).__name__,
)
def test_curves_never_flatter(f: TradeoffFunction) -> None:
    """Below f, and near it: a curve in a plot is a bound like any other number."""
    alpha = np.linspace(0.0, 1.0, 101)
    drawn, exact = tradeoff_points(f, alpha), np.asarray(f(alpha))
    # a composite answers from two meshes, and neither answer is exact
    composed = isinstance(f, Composite)
    assert np.all(drawn <= exact + (2e-4 if composed else 2e-15))
    assert np.max(np.abs(exact - drawn)) < 2e-4
    eps, delta = profile_points(f)
    assert np.all(np.asarray(f.delta(eps)) <= delta * (1.02 if composed else 1 + 1e-9))


def test_composed_curves_are_quick_and_below() -> None:
    """The tradeoff function of a Poisson run by inversion takes a minute; by lines, a moment."""
    certificate = sampled("poisson")
    alpha = np.linspace(0.0, 1.0, 51)
    drawn = tradeoff_points(certificate.f, alpha)
    assert np.all(np.diff(drawn) <= 1e-12)
    assert np.all(np.diff(drawn, 2) >= -1e-9)
    advantage = certificate.advantage()
    assert np.max(1 - alpha - drawn) <= advantage * (1 + 1e-9) + 1e-12
    assert np.max(1 - alpha - drawn) > 0.99 * advantage


def test_the_certificate_figure() -> None:
    certificate = sdp.certify(mnist("reshuffled"), GEOMETRY)
    figure = certificate_figure(certificate, delta=1e-5)
    left, right = figure.axes
    names = left.get_legend_handles_labels()[1]
    assert names[0] == "nothing revealed"
    assert right.get_legend_handles_labels()[1] == names[1:]
    best = left.lines[-1]
    x, y = best.get_data()
    assert best.get_color() == LINES["best"].colour
    np.testing.assert_allclose(y, certificate.tradeoff(x), rtol=0, atol=1e-12)
    eps, delta = right.lines[len(names) - 2].get_data()
    at = np.interp(math.log(1e-5), np.log(delta[::-1]), eps[::-1])
    assert at == pytest.approx(certificate.epsilon(1e-5), rel=1e-3)
    for axes in (left, right):
        assert "$" in axes.get_xlabel()
        assert "$" in axes.get_ylabel()


def overlaps(figure: object) -> bool:
    """Whether a legend covers axes, or a label leaves the figure."""
    figure.canvas.draw()  # type: ignore[attr-defined]
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    whole = figure.bbox  # type: ignore[attr-defined]
    boxes = [axes.get_tightbbox(renderer) for axes in figure.axes]  # type: ignore[attr-defined]
    legends = [one.get_window_extent(renderer) for one in figure.legends]  # type: ignore[attr-defined]
    outside = any(
        box.x0 < whole.x0 - 1
        or box.x1 > whole.x1 + 1
        or box.y0 < whole.y0 - 1
        or box.y1 > whole.y1 + 1
        for box in (*boxes, *legends)
    )
    return outside or any(box.overlaps(legend) for box in boxes for legend in legends)


def test_legends_cover_nothing() -> None:
    assert not overlaps(certificate_figure(sdp.certify(mnist("reshuffled"), GEOMETRY), delta=1e-5))
    found = frontier(mnist(), GEOMETRY, parameter="noise", values=[0.01, 0.02], delta=1e-5)
    assert not overlaps(frontier_figure(found))


@pytest.mark.parametrize("make", [tradeoff_figure, profile_figure])
def test_legends_of_single_figures_cover_nothing_either(make: Any) -> None:
    figure = make(sdp.certify(mnist(), GEOMETRY), delta=1e-5)
    assert not overlaps(figure)
    assert len(figure.legends) == 1


def test_a_frontier_figure_has_its_numbers() -> None:
    values = [1, 10, 200, math.inf]
    found = frontier(mnist(), GEOMETRY, parameter="epochs", values=values, delta=1e-5)
    (axes,) = frontier_figure(found).axes
    lines = {line.get_label().partition(":")[0]: line for line in axes.lines}
    np.testing.assert_array_equal(lines["best"].get_xdata(), [1, 10, 200])
    np.testing.assert_array_equal(lines["best"].get_ydata(), found["best"].epsilon[:3])
    heights = [line.get_ydata()[0] for line in axes.lines if len(set(line.get_ydata())) == 1]
    assert found["best"].epsilon[3] in heights
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert axes.get_xlabel() == "epochs"


def test_theorems_of_the_user_have_lines_of_their_own() -> None:
    run = sdp.NoisyGD(n=100, steps=20, learning_rate=0.05, noise=0.05)
    own = [Fixed(0.1 * i, f"Theorem {i} of mine") for i in range(1, 4)]
    found = frontier(run, GEOMETRY, parameter="noise", values=[0.1, 0.2], delta=1e-5, theorems=own)
    (axes,) = frontier_figure(found).axes
    lines = {line.get_label(): line for line in axes.lines}
    for theorem in own:
        np.testing.assert_array_equal(lines[theorem.name].get_ydata(), found[theorem.name].epsilon)
    colours = {line.get_color() for line in axes.lines}
    assert len(colours) == len(axes.lines)


def test_a_frontier_without_numbers_is_drawn_all_the_same() -> None:
    bare = sdp.Geometry(strong_convexity=0.0, smoothness=32.502, sensitivity=10.0)
    found = frontier(
        mnist(), bare, parameter="epochs", values=[math.inf], delta=1e-5, curves=["best"]
    )
    assert not frontier_figure(found).axes[0].lines


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_files(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"figure.{suffix}"
    figure = tradeoff_figure(sdp.certify(mnist(), GEOMETRY), delta=1e-5)
    write(figure, path)
    first = path.read_bytes()
    write(figure, path)
    assert path.read_bytes() == first  # the same figure is the same file
    if suffix == "svg":
        text = first.decode()
        assert "nothing revealed</text>" in text
        assert "<dc:date>" not in text
    elif suffix == "pdf":
        assert first.startswith(b"%PDF-")
        assert b"/FontFile2" in first  # embedded, as TrueType
    else:
        assert first.startswith(b"\x89PNG")
        width, height = (int.from_bytes(first[i : i + 4]) for i in (16, 20))
        assert width > 800 < 2 * height


def test_other_formats_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a message cuts long paths short
    figure = tradeoff_figure(sdp.certify(mnist(), GEOMETRY), delta=1e-5)
    with pytest.raises(InvalidInput, match=r"figure\.gif' has an ending that is no format"):
        write(figure, Path("figure.gif"))


def test_drawing_leaves_matplotlib_as_it_was() -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    tradeoff_figure(sdp.certify(mnist(), GEOMETRY), delta=1e-5)
    assert dict(mpl.rcParams) == before
    assert (
        "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()
    )


def test_colours_are_told_apart_without_colour() -> None:
    """Each by its dashes or its width as well, for whoever prints in grey."""
    lines = [*LINES.values(), *OTHER_LINES]
    looks = {(str(line.dashes), line.width) for line in lines}
    assert len(looks) == len(lines)
    assert all(re.fullmatch(r"#[0-9A-Fa-f]{6}", line.colour) for line in lines)


@pytest.mark.parametrize("command", ["account", "compare", "calibrate noise", "frontier noise"])
def test_commands_draw(command: str, tmp_path: Path) -> None:
    path = tmp_path / "figure.svg"
    budget = "--epsilon 1" if command.startswith("calibrate") else ""
    text = prose(f"{command} {MNIST} {budget} --plot {path}")
    assert text.endswith(f"The figure is in {path}.\n")
    said(f"{command} {MNIST} {budget} --plot {path} --json")
    assert "composition: Thm mgd</text>" in path.read_text()


# --- tradeoff functions, marks, axes ---


def test_a_tradeoff_function_is_drawn_by_itself() -> None:
    f = sdp.GaussianTradeoff(0.8)
    axes = tradeoff_figure(f).axes[0]
    assert axes.get_legend_handles_labels()[1] == ["nothing revealed", "G(0.8)"]
    x, y = axes.lines[1].get_data()
    assert np.allclose(y, f(np.asarray(x)))
    assert len(certificate_figure(f).axes) == 2


def test_a_profile_marks_where_each_curve_meets_delta() -> None:
    axes = profile_figure(sdp.certify(mnist(), GEOMETRY), delta=1e-5).axes[0]
    marks = [line.get_data() for line in axes.lines if line.get_marker() == "o"]
    assert [(round(float(x[0]), 2), float(y[0])) for x, y in marks] == [(30.51, 1e-5), (4.34, 1e-5)]
    assert {"30.6", "4.34"} <= {text.get_text() for text in axes.texts}


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        (list(range(1, 102, 10)), "linear"),
        ([1, 2, 4, 8, 16, 32, 64], "log"),
        ([1.0, 50.0, 99.0, math.inf], "linear"),
        ([1, 35, 68, 101], "linear"),
    ],
)
def test_evenly_spaced_values_have_an_even_axis(values: list[float], scale: str) -> None:
    found = frontier(mnist(), GEOMETRY, parameter="epochs", values=values, delta=1e-5)
    assert frontier_figure(found).axes[0].get_xscale() == scale


def test_risk_has_a_plot(tmp_path: Path) -> None:
    text = prose(f"risk --mu 0.8 --plot {tmp_path / 'risk.svg'}")
    assert text.endswith(f"The figure is in {tmp_path / 'risk.svg'}.\n")
    assert "G(0.8)" in (tmp_path / "risk.svg").read_text()
    prose(f"risk {MNIST} --plot {tmp_path / 'run.svg'}")
    assert "composition" in (tmp_path / "run.svg").read_text()
