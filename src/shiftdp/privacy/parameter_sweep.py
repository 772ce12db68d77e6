"""Epsilon against one parameter, under every accountant at once: the data behind a plot."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shiftdp._checks import Array, choice, delta_in, number_in
from shiftdp._errors import InvalidInput
from shiftdp._files import write_file
from shiftdp._kinds import CONDITIONAL
from shiftdp._printed import aligned, column
from shiftdp.fdp.functions.mixture import is_gaussian_mixture, mixture_epsilons
from shiftdp.fdp.pairs.gaussian_arrays import gaussian_epsilon_array
from shiftdp.fdp.pairs.gaussian_profile import RELATIVE_ERROR
from shiftdp.fdp.renyi.conversions import zcdp_epsilons
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import Run
from shiftdp.last_iterate.theorems.own import own_theorems
from shiftdp.last_iterate.theorems.theorem import Theorem
from shiftdp.privacy.comparison import ATTAINED_DOWN, CURVES, Compared, Point, kind_of
from shiftdp.privacy.parameters import parameters_of, with_parameter

__all__ = ["CURVES", "Curve", "Frontier", "frontier"]

_LABELS = {
    "epochs": "epochs",
    "steps": "steps",
    "n": "number of records n",
    "batch_size": "batch size",
    "batches_per_release": "batches for each release",
    "batch_cap": "largest batch",
    "noise": "noise on the mean gradient (standard deviation)",
    "learning_rate": "learning rate",
    "strong_convexity": "strong convexity m",
    "smoothness": "smoothness M",
    "sensitivity": "gradient sensitivity L",
    "gradient_bound": "gradient bound G",
    "diameter": "diameter D",
}
_WIDE = 30.0  # values that span this factor are shown by magnitude
_EVEN = 1e-6  # by which gaps of evenly spaced values may differ, as a part of them
_WHOLE = ("epochs", "steps", "n", "batch_size", "batches_per_release", "batch_cap")


@dataclass(frozen=True, eq=False)
class Curve:
    """One accountant along the values: `epsilon` and `mu` are nan where it does not apply.

    `kind` is `certified`, `attained` for the lower bound, or `conditional` for a theorem of the
    user; `theorems` names one theorem a value (empty where none applies), `notes` says why.
    """

    name: str
    kind: str
    epsilon: Array
    mu: Array
    theorems: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def label(self) -> str:
        """For a legend: the name, and the theorems that were used."""
        used = dict.fromkeys(name for name in self.theorems if name not in ("", self.name))
        return f"{self.name} ({', '.join(used)})" if used else self.name

    @property
    def known(self) -> bool:
        """Whether there is any number on it."""
        return bool(np.isfinite(self.epsilon).any())


@dataclass(frozen=True, eq=False)
class Frontier:
    """Curves over the values of one parameter; everything that a plot needs, and no plot."""

    parameter: str
    label: str
    values: Array
    delta: float
    run: Run
    geometry: Geometry
    curves: tuple[Curve, ...]

    @property
    def epsilon_label(self) -> str:
        return f"epsilon at delta = {self.delta:g}"

    @property
    def logarithmic(self) -> bool:
        """Whether the values are better shown by magnitude: not where they are evenly spaced."""
        finite = self.values[np.isfinite(self.values)]
        gaps = np.diff(finite)
        # counts in a range are rounded to whole numbers
        rounded = 1.0 if np.array_equal(finite, np.round(finite)) else 0.0
        if gaps.size > 1 and gaps.max() - gaps.min() <= max(rounded, _EVEN * gaps.max()):
            return False
        return bool(finite.size and finite.min() > 0.0 and finite.max() >= _WIDE * finite.min())

    def __iter__(self) -> Iterator[Curve]:
        return iter(self.curves)

    def __getitem__(self, name: str) -> Curve:
        for curve in self.curves:
            if curve.name == name:
                return curve
        raise KeyError(name)

    def rows(self) -> list[dict[str, Any]]:
        """One plain row a value and curve; None where a curve does not apply."""
        return [
            {
                self.parameter: float(value),
                "curve": curve.name,
                "epsilon": _plain(curve.epsilon[i]),
                "mu": _plain(curve.mu[i]),
                "kind": curve.kind,
                "theorem": curve.theorems[i],
                "note": curve.notes[i],
            }
            for i, value in enumerate(self.values.tolist())
            for curve in self.curves
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, None where a curve does not apply."""
        return {
            "parameter": self.parameter,
            "label": self.label,
            "delta": self.delta,
            "values": self.values.tolist(),
            "curves": [
                {
                    "name": curve.name,
                    "label": curve.label,
                    "kind": curve.kind,
                    "epsilon": [_plain(x) for x in curve.epsilon],
                    "mu": [_plain(x) for x in curve.mu],
                    "theorems": list(curve.theorems),
                    "notes": list(curve.notes),
                }
                for curve in self.curves
            ],
        }

    def to_csv(self, path: str | Path | None = None) -> str:
        """One line a value, one column a curve, at full precision; written to `path` if given."""
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow([self.parameter, *(f"epsilon {curve.name}" for curve in self.curves)])
        for i, value in enumerate(self.values.tolist()):
            cells = [_plain(curve.epsilon[i]) for curve in self.curves]
            table.writerow([repr(value), *("" if x is None else repr(x) for x in cells)])
        if path is not None:
            write_file(path, text.getvalue())
        return text.getvalue()

    def __str__(self) -> str:
        rows = [[self.parameter, *(curve.name for curve in self.curves)]]
        for i, value in enumerate(self.values.tolist()):
            numbers = [
                column([_plain(curve.epsilon[i])], "down" if curve.name == "lower bound" else "up")
                for curve in self.curves
            ]
            rows.append([f"{value:.6g}", *(number for (number,) in numbers)])
        return "\n".join([self.epsilon_label, *aligned(rows, right=range(len(rows[0])))])


def frontier(
    run: Run,
    geometry: Geometry,
    *,
    parameter: str,
    values: Iterable[float],
    delta: float,
    curves: Sequence[str] = CURVES,
    theorems: Iterable[Theorem] = (),
    progress: Callable[[int, int], object] | None = None,
) -> Frontier:
    """Epsilon along the values of one parameter of the run or of its losses.

    Args:
        run: what is run; the parameter is replaced, all else stays (n and the batch size of
            NoisyCGD are changed at the same number of epochs).
        geometry: what is assumed of the losses.
        parameter: `epochs`, `steps`, `noise`, `n`, `learning_rate`, `batch_size`, or a number of
            the geometry, such as `strong_convexity`.
        values: what it is set to; `math.inf` where that means something.
        delta: where epsilon is read.
        curves: which of `CURVES` to compute.
        theorems: your own (see docs/theorems.md), which have a curve each, by their names.
        progress: called after each value with how many are done, and how many there are.

    >>> from shiftdp.last_iterate import NoisyCGD
    >>> geometry = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
    >>> run = NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)
    >>> print(frontier(run, geometry, parameter="epochs", values=[50, 100, math.inf], delta=1e-5))
    epsilon at delta = 1e-05
    epochs  composition  prior Renyi    paper     best  lower bound
    ---------------------------------------------------------------
        50      30.5063       5.8224   4.3392   4.3392       4.3391
       100      49.8838       7.6104   5.6013   5.6013       5.6012
       inf            -      13.7749  12.8411  12.8411      12.8410
    """
    choice("parameter", parameter, parameters_of(run, geometry))
    delta = delta_in(delta)
    own = own_theorems(theorems)
    wanted = tuple(choice("curves", name, CURVES) for name in curves)
    given: Any = values
    if not isinstance(given, Iterable) or getattr(given, "ndim", 1) == 0:
        raise InvalidInput("values", values, "is no list", f"give some values of {parameter}")
    points = [_value(parameter, value) for value in values]
    if not points:
        raise InvalidInput("values", points, "is empty", f"give some values of {parameter}")
    settings = [with_parameter(run, geometry, parameter, value) for value in points]
    rows = []
    for done, setting in enumerate(settings, 1):
        compared = Compared(*setting, delta)
        rows.append([*map(compared.point, wanted), *map(compared.by, own)])
        if progress is not None:
            progress(done, len(settings))
    kinds = [(name, kind_of(name)) for name in wanted] + [(one.name, CONDITIONAL) for one in own]
    columns = zip(kinds, zip(*rows, strict=True), strict=True)
    made = tuple(_curve(name, kind, column, delta) for (name, kind), column in columns)
    values = np.array(points, dtype=np.float64)
    return Frontier(parameter, _LABELS[parameter], values, delta, run, geometry, made)


def _curve(name: str, kind: str, points: Sequence[Point], delta: float) -> Curve:
    epsilon = _epsilons(points, delta) * (ATTAINED_DOWN if name == "lower bound" else 1.0)
    mu = np.array([math.nan if point.mu is None else point.mu for point in points])
    for array in (epsilon, mu):
        array.flags.writeable = False
    theorems, notes = zip(*((point.theorem, point.note) for point in points), strict=True)
    return Curve(name, kind, epsilon, mu, theorems, notes)


def _epsilons(points: Sequence[Point], delta: float) -> Array:
    """The epsilon of each point; those of one kind are converted all at once, which is quicker."""
    epsilon = np.full(len(points), math.nan)
    for i, point in enumerate(points):
        if point.attained is not None:
            epsilon[i] = point.attained
    mu = {i: point.mu for i, point in enumerate(points) if point.mu is not None}
    rho = {i: point.rho for i, point in enumerate(points) if point.rho is not None}
    others = {i: point.f for i, point in enumerate(points) if point.f is not None and i not in mu}
    mixtures = {i: f for i, f in others.items() if is_gaussian_mixture(f)}
    if mu:
        deltas = np.full(len(mu), delta)
        exact = gaussian_epsilon_array(np.array([*mu.values()]), deltas)
        epsilon[[*mu]] = exact * (1.0 + RELATIVE_ERROR)
    if rho:
        epsilon[[*rho]] = zcdp_epsilons(np.array([*rho.values()]), delta)
    if mixtures:
        epsilon[[*mixtures]] = mixture_epsilons([*mixtures.values()], delta)
    for i in others.keys() - mixtures.keys():
        epsilon[i] = others[i].epsilon(delta)
    return epsilon


def _value(parameter: str, value: Any) -> float:
    """Whole numbers stay whole."""
    number = number_in(parameter, value, -math.inf)
    whole = parameter in _WHOLE and math.isfinite(number) and number.is_integer()
    return int(number) if whole else number


def _plain(value: Any) -> float | None:
    number = float(value)
    return None if math.isnan(number) else number
