"""Epsilon against one parameter, under every accountant at once: the data behind a plot."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from shiftdp._checks import Array, choice, delta_in, number_in
from shiftdp._errors import InvalidInput, UnmetHypothesis
from shiftdp._files import write_file
from shiftdp._kinds import CERTIFIED
from shiftdp._printed import aligned, column
from shiftdp.fdp import Mixture
from shiftdp.fdp.functions.many_mixtures import is_gaussian_mixture, mixture_epsilons
from shiftdp.fdp.pairs.gaussian_profile import RELATIVE_ERROR, gaussian_epsilon_array
from shiftdp.fdp.renyi.conversions import zcdp_epsilons
from shiftdp.last_iterate.attained import attained_mu
from shiftdp.last_iterate.certification import certify, evaluate
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisyGD, NoisySGD, Run
from shiftdp.privacy.comparison import compare, prior_rho
from shiftdp.privacy.parameters import parameters_of, with_parameter

__all__ = ["CURVES", "Curve", "Frontier", "frontier"]

CURVES = ("composition", "prior Renyi", "paper", "best", "lower bound")
"""The names of the curves, as in `compare`."""

_LABELS = {
    "epochs": "epochs",
    "steps": "steps",
    "n": "number of records n",
    "batch_size": "batch size",
    "batch_cap": "largest batch",
    "noise": "noise on the mean gradient (standard deviation)",
    "learning_rate": "learning rate",
    "strong_convexity": "strong convexity m",
    "smoothness": "smoothness M",
    "sensitivity": "gradient sensitivity L",
    "gradient_bound": "gradient bound G",
    "diameter": "diameter D",
}
_WHOLE = ("epochs", "steps", "n", "batch_size", "batch_cap")
_LOWERED = 1.0 - 1e-12  # as `compare` rounds what is attained


@dataclass(frozen=True, eq=False)
class Curve:
    """One accountant along the values: `epsilon` and `mu` are nan where it does not apply.

    `kind` is `certified`, or `attained` for the lower bound; `theorems` names one theorem a value
    (empty where none applies), `notes` says why.
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
        used = dict.fromkeys(name for name in self.theorems if name)
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
        """Whether the values are better shown by magnitude."""
        finite = self.values[np.isfinite(self.values)]
        return bool(finite.size and finite.min() > 0.0 and finite.max() >= 30.0 * finite.min())

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
    wanted = tuple(choice("curves", name, CURVES) for name in curves)
    points = [_value(parameter, value) for value in values]
    if not points:
        raise InvalidInput("values", points, "is empty", f"give some values of {parameter}")
    settings = [with_parameter(run, geometry, parameter, value) for value in points]
    made = _stochastic if isinstance(run, NoisySGD) else _closed
    found = made(settings, delta, wanted)
    return Frontier(
        parameter,
        _LABELS[parameter],
        np.array(points, dtype=np.float64),
        delta,
        run,
        geometry,
        found,
    )


@dataclass
class _Draft:
    """A curve in the making: conversions to epsilon wait, to be computed all together."""

    name: str
    kind: str
    epsilon: list[float]
    mu: list[float]
    theorems: list[str]
    notes: list[str]
    # what waits as well, by position
    rho: dict[int, float] = field(default_factory=dict)
    mixtures: dict[int, Mixture] = field(default_factory=dict)

    def add(
        self, theorem: str = "", epsilon: float = math.nan, mu: float = math.nan, note: str = ""
    ) -> None:
        self.epsilon.append(epsilon)
        self.mu.append(mu)
        self.theorems.append(theorem)
        self.notes.append(note)

    def finished(self, delta: float) -> Curve:
        epsilon, mu = np.array(self.epsilon), np.array(self.mu)
        waiting = np.isnan(epsilon) & ~np.isnan(mu)
        if waiting.any():
            side = _LOWERED if self.kind == "attained" else 1.0
            deltas = np.full(int(waiting.sum()), delta)
            exact = gaussian_epsilon_array(mu[waiting], deltas)
            epsilon[waiting] = exact * (1.0 + RELATIVE_ERROR) * side
        if self.rho:
            epsilon[[*self.rho]] = zcdp_epsilons(np.array([*self.rho.values()]), delta)
        if self.mixtures:
            epsilon[[*self.mixtures]] = mixture_epsilons([*self.mixtures.values()], delta)
        for array in (epsilon, mu):
            array.flags.writeable = False
        return Curve(self.name, self.kind, epsilon, mu, tuple(self.theorems), tuple(self.notes))


def _closed(
    settings: Sequence[tuple[Run, Geometry]], delta: float, wanted: tuple[str, ...]
) -> tuple[Curve, ...]:
    """Runs with closed forms: bounds one by one, conversions to epsilon all at once."""
    drafts = {name: _draft(name) for name in wanted}
    for run, geometry in settings:
        if {"composition", "paper"} & drafts.keys():
            _families(drafts, run, geometry, delta)
        if "prior Renyi" in drafts:
            _prior(drafts["prior Renyi"], run, geometry)
        if "best" in drafts:
            _best(drafts["best"], run, geometry, delta)
        if "lower bound" in drafts:
            _lower(drafts["lower bound"], run, geometry)
    return tuple(draft.finished(delta) for draft in drafts.values())


def _draft(name: str) -> _Draft:
    return _Draft(name, "attained" if name == "lower bound" else CERTIFIED, [], [], [], [])


def _families(drafts: dict[str, _Draft], run: Run, geometry: Geometry, delta: float) -> None:
    try:
        known = evaluate(run, geometry, "paper", delta=delta).found
        problem = "no theorem applies"
    except UnmetHypothesis as unmet:
        known, problem = (), str(unmet)
    for family in {"composition", "paper"} & drafts.keys():
        bounds = [bound for bound in known if bound.family == family]
        if not bounds:
            drafts[family].add(note=problem)
            continue
        if all(bound.mu is not None for bound in bounds):
            best = min(bounds, key=lambda bound: bound.mu or 0.0)
            drafts[family].add(best.name, mu=math.nan if best.mu is None else best.mu)
            continue
        epsilons = [bound.f.epsilon(delta) for bound in bounds]
        i = int(np.argmin(epsilons))
        mu = bounds[i].mu
        drafts[family].add(bounds[i].name, epsilons[i], math.nan if mu is None else mu)


def _prior(draft: _Draft, run: Run, geometry: Geometry) -> None:
    try:
        rho = prior_rho(run, geometry)
    except UnmetHypothesis as unmet:
        draft.add(note=str(unmet))
        return
    name = "[YS22, Thm D.6]" if isinstance(run, NoisyGD) else "[YS22, Thm 3.3]"
    draft.add(name)
    draft.rho[len(draft.epsilon) - 1] = rho


def _best(draft: _Draft, run: Run, geometry: Geometry, delta: float) -> None:
    """The certificate."""
    try:
        certificate = certify(run, geometry, delta=delta)
    except UnmetHypothesis as unmet:
        draft.add(note=str(unmet))
        return
    f = certificate.f
    if certificate.mu is not None:
        draft.add(certificate.bound, mu=certificate.mu)
    elif is_gaussian_mixture(f):
        draft.add(certificate.bound)
        draft.mixtures[len(draft.epsilon) - 1] = f
    else:
        draft.add(certificate.bound, f.epsilon(delta))


def _lower(draft: _Draft, run: Run, geometry: Geometry) -> None:
    try:
        lower = attained_mu(run, geometry)
    except UnmetHypothesis as unmet:
        draft.add(note=str(unmet))
        return
    if lower is None:
        draft.add(note="not known for this class")
    else:
        draft.add("two Gaussians" if not hasattr(run, "steps") else "Theorem B5", mu=lower)


def _stochastic(
    settings: Sequence[tuple[Run, Geometry]], delta: float, wanted: tuple[str, ...]
) -> tuple[Curve, ...]:
    """NoisySGD: what is not asked for is not searched."""
    drafts = {name: _draft(name) for name in wanted}
    for run, geometry in settings:
        if "paper" in drafts:
            _table(drafts, run, geometry, delta)
            continue
        for name, draft in drafts.items():
            if name in ("prior Renyi", "lower bound"):
                note = "is not covered by [YS22]" if name == "prior Renyi" else "not known"
                draft.add(note=note)
                continue
            try:
                bounds: Any = "composition" if name == "composition" else "best"
                certificate = certify(run, geometry, bounds=bounds, delta=delta)
            except UnmetHypothesis as unmet:
                draft.add(note=str(unmet))
                continue
            mu = math.nan if certificate.mu is None else certificate.mu
            draft.add(certificate.bound, certificate.epsilon(delta), mu)
    return tuple(draft.finished(delta) for draft in drafts.values())


def _table(drafts: dict[str, _Draft], run: Run, geometry: Geometry, delta: float) -> None:
    try:
        table = compare(run, geometry, delta=delta)
    except UnmetHypothesis as unmet:
        for draft in drafts.values():
            draft.add(note=str(unmet))
        return
    for name, draft in drafts.items():
        row = table[name]
        epsilon, mu = (math.nan if x is None else x for x in (row.epsilon, row.mu))
        draft.add(row.bound, epsilon, mu, row.note)


def _value(parameter: str, value: Any) -> float:
    """Whole numbers stay whole."""
    number = number_in(parameter, value, -math.inf)
    whole = parameter in _WHOLE and math.isfinite(number) and number.is_integer()
    return int(number) if whole else number


def _plain(value: Any) -> float | None:
    number = float(value)
    return None if math.isnan(number) else number
