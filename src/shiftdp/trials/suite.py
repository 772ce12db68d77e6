"""The library's own trainers, attacked one after the other: the loop, and the public estimators by
each way to train them.

Each is a small problem in which the canary is seen as well as it can be, at a noise that leaves a
mu of about 1: what is far smaller cannot be told from nothing by some thousand runs, and what is
far larger cannot be told from infinity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from shiftdp._checks import count, number_in
from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.runs import NoisyCGD, NoisyGD, NoisySGD
from shiftdp.trials.attack import LEAST_RUNS
from shiftdp.trials.auditing import CONFIDENCE, DELTA, audit
from shiftdp.trials.report import AuditReport
from shiftdp.trials.trainers import Told

if TYPE_CHECKING:
    from shiftdp.training.plan import Plan

# Small problems: a gradient in five weighs 0.4, beside noise of about as much.
_TURNS: dict[str, Any] = {"n": 20, "batch_size": 5, "epochs": 3, "learning_rate": 0.5, "noise": 0.3}
# The same with batches that are drawn: participation hides, so that less noise is needed.
_DRAWN: dict[str, Any] = {"n": 20, "batch_size": 5, "learning_rate": 0.5, "noise": 0.4}
_FITS = 5  # times as long as a run of the loop takes a fit, at least
_EPSILON = 12.0  # above what the noise of the estimators here costs
_LARGE = 20.0  # the same where several models are shown
_LEFT = 4.0  # of a record that is forgotten, far below that


@dataclass(frozen=True)
class Trial:
    """One trainer of the suite, and what the attack on it found."""

    name: str
    report: AuditReport


# What the plans of the loop share.
_CHOICES: dict[str, Any] = {"feature_bound": 1.0, "intercept": False, "l2": 0.1}
# And what the estimators do, which leaves nothing to the planner but the order.
_PARAMETERS: dict[str, Any] = {
    "epsilon": _EPSILON, "delta": 1e-5, "algorithm": "cgd", "batch_size": 10, "epochs": 3,
    "learning_rate": 0.5, "noise": 0.15, "l2": 0.1, "fit_intercept": False,
}  # fmt: skip
# Two batches of 25, in the second of which a canary moves a step by 4/3 of its noise.
_HALVES: dict[str, Any] = {"order": "fixed", "batch_size": 25, "noise": 0.06, "epsilon": _LARGE}
_FULL = NoisyGD(n=20, steps=10, learning_rate=0.5, noise=0.2)  # mu = 1.6
_LONG = NoisyGD(n=20, steps=30, learning_rate=0.5, noise=0.3)  # the set is felt
_RADIUS = 0.2  # of that set, about a deviation of the noise of one step


def _plan(run: Any, **choices: Any) -> Plan:
    from shiftdp.training.losses.scalar import Huber
    from shiftdp.training.plan import Plan

    return Plan(run=run, loss=Huber(), **{**_CHOICES, **choices})


def _ball() -> Plan:
    from shiftdp.training.descent.projection import Ball

    return _plan(_LONG, projection=Ball(_RADIUS), l2=0.0)


def _estimator(name: str, **choices: Any) -> Any:
    import shiftdp.training.estimators.linear as linear

    return getattr(linear, name)(**{**_PARAMETERS, **choices})


# each way to draw batches, in a run of a few steps
_LOOP: dict[str, Callable[[], Any]] = {
    "full batches": lambda: _plan(_FULL),
    "batches in turn": lambda: _plan(NoisyCGD(**_TURNS)),
    "shuffled once": lambda: _plan(NoisyCGD(**_TURNS, order="shuffled_once")),
    "reshuffled": lambda: _plan(NoisyCGD(**_TURNS, order="reshuffled")),
    "several releases": lambda: _plan(NoisyCGD(**_TURNS, releases="epochs")),
    "without replacement": lambda: _plan(NoisySGD(**_DRAWN, steps=12)),
    "poisson": lambda: _plan(
        NoisySGD(**_DRAWN, steps=12, sampling="poisson"), adjacency="zero_out"
    ),
    "random allocation": lambda: _plan(
        NoisySGD(**_DRAWN, epochs=3, sampling="random_allocation"), adjacency="zero_out"
    ),
    "projected": _ball,
}
_ESTIMATORS: dict[str, Callable[[], Any]] = {
    "PrivateHuberRegressor": lambda: _estimator("PrivateHuberRegressor"),
    "PrivateLogisticRegression": lambda: _estimator("PrivateLogisticRegression", classes=[0, 1]),
    "PrivateLinearSVC": lambda: _estimator("PrivateLinearSVC", classes=[0, 1]),
}


def _in_turn(**choices: Any) -> Callable[[], Any]:
    """A regressor whose two batches come in turn, so that the canary is in every other step."""
    return lambda: _estimator("PrivateHuberRegressor", **{**_HALVES, **choices})


# the other ways to train an estimator, and what the audit is told of them
_VERBS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "checkpoints": (_in_turn(checkpoints="epochs"), {}),
    "groups": (_in_turn(noise=0.12, records_per_person=2), {}),
    "partial_fit": (_in_turn(batch_size=8, noise=0.2, epochs=None), {"verb": "partial_fit"}),
    "forget": (_in_turn(), {"verb": "forget", "forget_epsilon": _LEFT}),
    "forget_others": (_in_turn(), {"verb": "forget_others", "forget_epsilon": _LEFT}),
}

NAMES = (*_LOOP, *_ESTIMATORS, *_VERBS)
"""What the suite has; the estimators need scikit-learn."""


def trainer_audit(
    *,
    runs: int,
    names: Iterable[str] | None = None,
    confidence: float = CONFIDENCE,
    delta: float = DELTA,
    progress: Told | None = None,
) -> list[Trial]:
    """Attack the trainers of the library; the confidence is that of all verdicts together.

    Args:
        runs: trainings on each data set, for each canary; a fifth of them for estimators.
        names: of `NAMES`; all that can be run if not given.
        confidence: that no trainer that keeps its promise is called violated.
        delta: where epsilon is read.
        progress: called with the trainers done, and all of them.
    """
    wanted = list(names) if names is not None else available()
    if not wanted:
        raise InvalidInput("names", [], "is empty", f"give any of {', '.join(NAMES)}")
    for name in wanted:
        if name not in NAMES:
            raise InvalidInput("names", name, "is no trainer here", f"give {', '.join(NAMES)}")
    runs = _enough(count("runs", runs, 1), wanted)
    confidence = number_in("confidence", confidence, 0.0, 1.0, open_low=True, open_high=True)
    trust = 1.0 - (1.0 - confidence) / len(wanted)
    trials = []
    for k, name in enumerate(wanted, 1):
        made, told = trained(name)
        number = runs if name in _LOOP else runs // _FITS
        report = audit(made, runs=number, confidence=trust, delta=delta, **told)
        trials.append(Trial(name, report))
        if progress is not None:
            progress(k, len(wanted))
    return trials


def _enough(runs: int, wanted: list[str]) -> int:
    """Refuse too few runs before anything is trained; estimators have a fifth of them."""
    fitted = [name for name in wanted if name not in _LOOP]
    least = _FITS * LEAST_RUNS if fitted else LEAST_RUNS
    if runs >= least:
        return runs
    why = f", a fifth of which are left to {fitted[0]!r}" if fitted else ""
    raise InvalidInput(
        "runs", runs, f"are too few to learn a test and count{why}", f"give {least} or more"
    )


def trained(name: str) -> tuple[Any, dict[str, Any]]:
    """A trainer of the suite, and what the audit is told of how to train it."""
    if name in _VERBS:
        make, told = _VERBS[name]
        return make(), told
    return {**_LOOP, **_ESTIMATORS}[name](), {}


def plan_named(name: str) -> Plan:
    """The plan of a trainer of the loop."""
    plan: Plan = _LOOP[name]()
    return plan


def available() -> list[str]:
    """The trainers that can be run with what is installed."""
    return list(NAMES) if find_spec("sklearn") is not None else list(_LOOP)
