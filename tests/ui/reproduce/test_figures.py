"""The figures: they can be drawn, their captions hold, and their numbers are those of the paper."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from shiftdp.ui.plots.style import loaded
from shiftdp.ui.reproduce.figures.illustrations import instance, introduction_figure
from shiftdp.ui.reproduce.figures.picture import Picture
from shiftdp.ui.reproduce.figures.processes import simulated
from shiftdp.ui.reproduce.figures.sgd_pairs import paper_mu


def test_captions_hold(pictures: list[Picture]) -> None:
    entries = [entry for picture in pictures for entry in picture.entries]
    assert len(entries) >= 30
    assert [entry for entry in entries if entry.verdict != "agrees"] == []


def test_numbers_are_kept(pictures: list[Picture]) -> None:
    for picture in pictures:
        assert len(picture.series) >= 2
        for panel, name, x, y in picture.series:
            assert x.size == y.size > 1, (picture.label, panel, name)
            assert np.isfinite(x).all()
            assert np.isfinite(y).all()
        rows = list(csv.reader(io.StringIO(picture.csv())))
        assert len(rows) == 1 + sum(series.x.size for series in picture.series)
        assert len(picture.figure.axes) == {10: 9, 2: 1, 4: 1}.get(picture.number or 0, 2)


def test_tradeoff_curves_are_tradeoff_functions(pictures: list[Picture]) -> None:
    for picture in pictures:
        if picture.number in (3, 5):
            continue
        for _, name, x, y in picture.series:
            if x.max() <= 1.0:
                order = np.argsort(x)
                assert (np.diff(y[order]) <= 1e-9).all(), (picture.label, name)
                assert (y <= 1.0 - x + 1e-9).all(), (picture.label, name)


def test_the_introduction_at_160_steps() -> None:
    """mu = 0.1 sqrt(160) by composition; exact: sqrt((1 - c^t)/(1 + c^t) 39)/10, c = 0.95."""
    with loaded():
        series = {(s.panel, s.name): s for s in introduction_figure().series}
    middle = series["f-DP, t = 160", "our bound (exact)"]
    c = 0.95**160
    mu = 0.1 * np.sqrt((1 - c) / (1 + c) * 1.95 / 0.05)
    # f(alpha) = alpha where alpha = Phi(-mu/2)
    from scipy.special import ndtr

    fixed = float(ndtr(-mu / 2))
    assert np.interp(fixed, middle.x, middle.y) == pytest.approx(fixed, abs=2e-5)


def test_one_step_instances_are_mirror_images() -> None:
    z = np.linspace(-5, 5, 41)
    alpha, beta = instance(0.0, z)
    mirrored = instance(1.0, -z)
    assert alpha == pytest.approx(mirrored[1], abs=1e-15)
    assert beta == pytest.approx(mirrored[0], abs=1e-15)


def test_the_clt_of_the_panels_by_hand() -> None:
    """b/n = 0.01, L/b = 1, eta = 0.1, t - tau = 4900, written out."""
    from math import exp, pi, sqrt

    from scipy.integrate import quad

    def phi(x: float) -> float:
        return 0.5 + float(quad(lambda u: exp(-u * u / 2) / sqrt(2 * pi), 0.0, x)[0])

    mu = 2 * sqrt(10) / 9
    step = 2 * 0.01**2 * (exp(mu**2) * phi(1.5 * mu) + 3 * phi(-mu / 2) - 2)
    least = min(sqrt(10 / (0.3**2 * nu) + nu * step) for nu in range(100, 5000, 100))
    assert paper_mu(0.01, 1.0, 0.1) == pytest.approx(least, rel=1e-9)


def test_the_process_is_one_run_of_noisy_descent() -> None:
    """The steps are 1-Lipschitz and 0.2 apart, as the schedule of its certificate says."""
    paths = simulated()
    x = np.linspace(-1, 1, 201)
    slope = np.diff(x - 0.3 * np.maximum(np.abs(x) - 0.55, 0.0) * np.sign(x)) / np.diff(x)
    assert 0.0 <= slope.min() <= slope.max() <= 1.0 + 1e-12
    assert 0 < paths.tau < 45
    assert paths.z[0] == 2.0
    assert (simulated(3).original != paths.original).any()
