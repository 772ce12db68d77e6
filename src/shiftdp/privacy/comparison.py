"""The same run under every accountant: what others would charge, and how much room is left."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from shiftdp._checks import delta_in
from shiftdp._errors import UnmetHypothesis
from shiftdp._kinds import Kind
from shiftdp._printed import aligned, column
from shiftdp.fdp import GaussianTradeoff, zcdp_epsilon
from shiftdp.interpolation.closed_forms.renyi_baseline import renyi_cyclic, renyi_full_batch
from shiftdp.last_iterate.attained import attained_mu
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.certification import certify, evaluate, tightest
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.last_batch import warn_of_last_batch
from shiftdp.last_iterate.runs import ExponentialMechanism, NoisyCGD, NoisyGD, NoisySGD, Run
from shiftdp.last_iterate.theorems.theorem import Bound

__all__ = ["Row", "Table", "best_certificate", "compare", "prior_rho"]

_KNOWN = ("composition", "paper")


@dataclass(frozen=True)
class Row:
    """One bound on the run; `epsilon` and `mu` are None where it does not apply, see `note`."""

    name: str
    bound: str
    epsilon: float | None
    mu: float | None
    kind: Kind | str
    note: str = ""


@dataclass(frozen=True)
class Table:
    """Rows from the loosest idea to the best bound, then what is known to be unavoidable."""

    delta: float
    rows: tuple[Row, ...]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, name: str) -> Row:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(name)

    def __str__(self) -> str:
        rows = [("", f"epsilon (delta={self.delta:g})", "mu", "theorem")]
        for row in self.rows:
            side = "down" if row.name == "lower bound" else "up"
            epsilon, mu = (column([value], side)[0] for value in (row.epsilon, row.mu))
            rows.append((row.name, epsilon, mu, row.bound or row.note))
        return "\n".join(aligned(rows, right=(1, 2)))


def compare(run: Run, geometry: Geometry, *, delta: float) -> Table:
    """Rows `composition`, `prior Renyi`, `paper`, `best` and `lower bound` for one run.

    Warns (`SmallLastBatch`) where a smaller last batch makes it cost noticeably more.

    >>> from shiftdp.last_iterate import NoisyCGD
    >>> geometry = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
    >>> run = NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)
    >>> table = compare(run, geometry, delta=1e-5)
    >>> [round(row.epsilon, 2) for row in table]
    [30.51, 5.82, 4.34, 4.34, 4.34]
    """
    delta = delta_in(delta)
    best = best_certificate(run, geometry, delta)
    warn_of_last_batch(best, delta)
    known = evaluate(run, geometry, "paper", delta=delta).found
    if isinstance(run, NoisySGD):
        # one of each family, composed to an accuracy that can be had
        kinds = [[bound for bound in known if bound.family == kind] for kind in _KNOWN]
        known = tuple(tightest(kind, run, geometry, delta) for kind in kinds if kind)
    rows = [
        _family("composition", known, delta),
        _prior(run, geometry, delta),
        _family("paper", known, delta),
        Row("best", best.bound, best.epsilon(delta), best.mu, best.kind),
    ]
    lower = attained_mu(run, geometry)
    if lower is None:
        rows.append(Row("lower bound", "", None, None, "attained", "not known for this class"))
    else:
        # rounded down: no bound of this class can be below it
        epsilon = GaussianTradeoff(lower).epsilon(delta) * (1.0 - 1e-12)
        name = "two Gaussians" if isinstance(run, ExponentialMechanism) else "Theorem B5"
        rows.append(Row("lower bound", name, epsilon, lower, "attained"))
    return Table(delta, tuple(rows))


def best_certificate(run: Run, geometry: Geometry, delta: float) -> Certificate:
    """The tightest certificate there is; composition where no other theorem admits the run.

    `certify` refuses a learning rate above 2/smoothness unless it is asked for composition. Here
    all bounds are asked for, and composition is one of them.
    """
    try:
        return certify(run, geometry, delta=delta)
    except UnmetHypothesis as unmet:
        refused = unmet
    try:
        return certify(run, geometry, bounds="composition", delta=delta)
    except UnmetHypothesis:
        raise refused from None


def _family(family: str, known: tuple[Bound, ...], delta: float) -> Row:
    """The best bound of one family alone."""
    found = [bound for bound in known if bound.family == family]
    if not found:
        return Row(family, "", None, None, "certified", "no theorem applies")
    best = min(found, key=lambda bound: bound.f.epsilon(delta))
    return Row(family, best.name, best.f.epsilon(delta), best.mu, "certified")


def _prior(run: Run, geometry: Geometry, delta: float) -> Row:
    """[YS22], converted by all four formulas."""
    try:
        rho = prior_rho(run, geometry)
    except UnmetHypothesis as unmet:
        return Row("prior Renyi", "", None, None, "certified", str(unmet))
    name = "[YS22, Thm D.6]" if isinstance(run, NoisyGD) else "[YS22, Thm 3.3]"
    return Row("prior Renyi", name, zcdp_epsilon(rho, delta).epsilon, None, "certified")


def prior_rho(run: Run, geometry: Geometry) -> float:
    """rho of [YS22], with (alpha, rho alpha)-RDP for every alpha > 1."""
    if not isinstance(run, (NoisyGD, NoisyCGD)):
        raise UnmetHypothesis("run", type(run).__name__, "is not covered by [YS22]", "use the rest")
    if not (isinstance(run.learning_rate, float) and isinstance(run.noise, float)):
        raise UnmetHypothesis("learning_rate", "<many>", "is not constant", "use Theorem B1")
    eta, sd = run.learning_rate, run.learning_rate * run.noise
    c = geometry.contraction(eta)
    if isinstance(run, NoisyGD):
        return renyi_full_batch(
            c,
            eta * geometry.sensitivity / run.n,
            sd,
            run.steps,
            learning_rate=eta,
            strong_convexity=geometry.strong_convexity,
        )
    unfinished = math.isfinite(run.steps) and run.steps % run.batches
    unequal = run.divisor_of(run.batches) != run.batch_size
    if run.order == "reshuffled" or unfinished or unequal:
        raise UnmetHypothesis(
            "run", run, "is not cyclic, in whole epochs of equal batches", "use Theorem B1 or B4"
        )
    s = eta * geometry.sensitivity / run.batch_size
    return renyi_cyclic(c, s, sd, run.batches, run.epochs)
