"""Every accountant at the run as it is set, and along its length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftdp._errors import InvalidInput, ShiftdpError
from shiftdp.last_iterate import Certificate, Unlearning
from shiftdp.last_iterate.certification import certify
from shiftdp.privacy.comparison import ATTAINED_DOWN, CURVES, Compared, Row, kind_of
from shiftdp.privacy.parameter_sweep import frontier
from shiftdp.privacy.parameters import parameters_of, refuse_schedules
from shiftdp.ui.explorer.settings import CertifyArguments

_POINTS = 9  # along a length, where each costs milliseconds
_FEW = (0.25, 0.5, 2.0)  # parts of the length, where each costs tenths of a second
_FEWEST = (0.5, 2.0)  # where each costs seconds
_REFERENCE = 500.0  # the length around which a run without end is shown
_LABELS = {
    "epochs": "epochs",
    "steps": "steps",
    "batches_per_release": "batches for each release",
    "further_steps": "further steps without what is deleted",
}


@dataclass(frozen=True)
class Sweep:
    """Epsilon along the length of a run; nan where an accountant does not apply."""

    parameter: str
    values: tuple[float, ...]
    curves: dict[str, tuple[float, ...]]

    @property
    def label(self) -> str:
        return _LABELS[self.parameter]

    def joined(self, other: Sweep) -> Sweep:
        """Both together, by rising length."""
        order = np.argsort((*self.values, *other.values), kind="stable")
        values = np.array((*self.values, *other.values))[order]
        curves = {
            name: tuple(np.array((*self.curves[name], *other.curves[name]))[order].tolist())
            for name in self.curves
        }
        return Sweep(self.parameter, tuple(values.tolist()), curves)


def is_sampled(run: Any) -> bool:
    """Whether bounds on it are composed numerically, which takes tenths of a second."""
    return bool(run.with_records.sampled)


def parameter_of(run: Any) -> str | None:
    """What the length of a run is called; None if it has none."""
    if run.deletes:
        return "further_steps"
    if run.streams:
        return "batches_per_release"
    if run.in_epochs:
        return "epochs"
    return "steps" if hasattr(run, "steps") else None


def why_no_sweep(run: Any) -> str | None:
    """Why the length of a run cannot be changed; None if it can."""
    name = parameter_of(run)
    if name is None:
        return "The exponential mechanism is one draw: it has no steps."
    if name == "further_steps":
        return None
    try:
        refuse_schedules(run, name)
        if run.streams:
            values = (run.learning_rate, run.noise)
            if not all(isinstance(value, float) for value in values):
                raise InvalidInput(name, "", "cannot change: a window has a schedule", "give one")
    except InvalidInput as error:
        return str(error)
    return None


def lengths_of(run: Any) -> tuple[float, ...]:
    """The lengths to show: evenly by ratio from 1 to twice that of the run, which is among them.

    >>> from shiftdp import NoisyGD
    >>> lengths_of(NoisyGD(n=10, steps=60, learning_rate=0.1, noise=1.0))
    (1.0, 2.0, 3.0, 6.0, 11.0, 20.0, 36.0, 60.0, 66.0, 120.0)
    """
    own = float(getattr(run, parameter_of(run) or ""))
    around = _REFERENCE if math.isinf(own) else max(own, 1.0)
    if is_sampled(run):
        spread = [part * around for part in (_FEWEST if run.deletes else _FEW)]
    else:
        spread = np.geomspace(1.0, 2.0 * around, _POINTS).tolist()
    return tuple(sorted({own, *(max(1.0, float(round(x))) for x in spread)}))


def sweep(asked: CertifyArguments, values: Sequence[float]) -> Sweep:
    """Every accountant at these lengths."""
    run, geometry, delta, _ = asked
    name = parameter_of(run)
    if name is None:
        raise InvalidInput("run", type(run).__name__, "has no length", "give a run with steps")
    if name == "further_steps":
        return _deletions(asked, values)
    whole = [int(x) if math.isfinite(x) and x == int(x) else x for x in values]
    if name not in parameters_of(run, geometry):
        raise InvalidInput("run", type(run).__name__, f"has no {name}", "give another run")
    found = frontier(run, geometry, parameter=name, values=whole, delta=delta)
    curves = {curve.name: tuple(curve.epsilon.tolist()) for curve in found}
    return Sweep(name, tuple(float(x) for x in values), curves)


def _deletions(asked: CertifyArguments, values: Sequence[float]) -> Sweep:
    """What is left of what is deleted; composition and the paper know no deletion."""
    run: Any = asked.run
    epsilons, lower = [], []
    for value in values:
        fields = {**vars(run), "further_steps": int(value)}
        try:
            found = certify(Unlearning(**fields), asked.geometry, delta=asked.delta)
            epsilons.append(found.epsilon(asked.delta))
            least = found.lower_epsilon(asked.delta)
            lower.append(math.nan if least is None else least * ATTAINED_DOWN)
        except ShiftdpError:
            epsilons.append(math.nan)
            lower.append(math.nan)
    curves = {"best": tuple(epsilons), "lower bound": tuple(lower)}
    return Sweep("further_steps", tuple(map(float, values)), curves)


def accountants(asked: CertifyArguments, certificate: Certificate) -> list[Row]:
    """What every accountant says of the run; the certificate, if all theorems may be used, is the
    best one, so that its number is the one of the page."""
    compared = Compared(asked.run, asked.geometry, asked.delta)
    rows = []
    for name in CURVES:
        if name == "best" and asked.bounds == "best":
            epsilon: float | None = certificate.epsilon(asked.delta)
            rows.append(Row(name, certificate.bound, epsilon, certificate.mu, certificate.kind))
            continue
        try:
            point = compared.point(name)
            epsilon = point.epsilon(asked.delta)
        except ShiftdpError as error:
            rows.append(Row(name, "", None, None, kind_of(name), str(error)))
            continue
        if name == "lower bound" and epsilon is not None:
            epsilon *= ATTAINED_DOWN
        rows.append(Row(name, point.theorem, epsilon, point.mu, kind_of(name), point.note))
    return rows
