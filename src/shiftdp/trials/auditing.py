"""`shiftdp.audit`: attack a trainer, and hold what is found against what is certified."""

from __future__ import annotations

from typing import Any, Literal, get_args

from shiftdp._checks import LEAST_DELTA, choice, count, magnitude, number_in
from shiftdp._errors import InvalidInput
from shiftdp.fdp import TradeoffFunction
from shiftdp.trials.attack import Score, attack, require_enough
from shiftdp.trials.canaries import Neighbours, Targets, pairs, table_of
from shiftdp.trials.confidence import contradicts, lower_epsilon, lower_mu
from shiftdp.trials.guesses import one_run_findings
from shiftdp.trials.report import AuditReport, Finding, Method
from shiftdp.trials.shared_noise import SEEDS, hard_sums, shared_noise_findings
from shiftdp.trials.trainers import Guarantee, Told, Trainer, trainer_of
from shiftdp.trials.verbs import Verb

RUNS = 1000
"""Trainings on each data set, unless told."""

CONFIDENCE = 0.99
"""Unless told."""

DELTA = 1e-5
"""Where epsilon is read, unless told."""

_METHODS: dict[str, Method] = {
    "runs": "many runs",
    "one_run": "one run",
    "shared_noise": "shared noise",
}
_MOST_RUNS = 10_000_000  # their outputs are all in memory
_CANARIES = 1000  # in one run, unless told, or as many as half of the records


def audit(
    train: Any,
    certificate: Guarantee | None = None,
    *,
    method: Literal["runs", "one_run", "shared_noise"] = "runs",
    data: Any = None,
    neighbour: Any = None,
    runs: int = RUNS,
    canaries: int | None = None,
    confidence: float = CONFIDENCE,
    delta: float = DELTA,
    score: Score | None = None,
    features: int | None = None,
    feature_bound: float | None = None,
    targets: Targets | None = None,
    verb: Verb = "fit",
    groups: Any = None,
    forget_epsilon: float | None = None,
    progress: Told | None = None,
) -> AuditReport:
    """Attack a trainer: a lower bound on what it leaks, and whether its certificate survives.

    With `method="runs"` it trains 2 * `runs` times for each of up to three canaries, 6,000 times
    unless told otherwise; an estimator is planned once, and fitted as often, and once more for its
    certificate. Try `runs=100` first, and give `progress` to see how far it is.

    Args:
        train: a function from a data set to parameters, `train(X, y)`, that trains afresh in every
            call; or a `shiftdp.training.Plan`; or an estimator, which is cloned and fitted.
        certificate: what is claimed: a Certificate, or any tradeoff function, such as
            `ApproxDPTradeoff(1.0, 1e-5)`. A plan and an estimator bring their own. A tradeoff
            function is held against the exchange of one record; if it is claimed of leaving one
            out, give `data` and `neighbour`.
        method: `runs`, many trainings on each of two neighbouring data sets. `one_run`, a single
            training with many canaries [Steinke 2023]. `shared_noise`, two trainings with the same
            noise, which is no statistics: `train(X, y, seed=...)` has to take a seed, and what is
            tested is the sensitivity and the contraction that the certificate rests on.
        data: the data set to put canaries into, (X, y); records of 0 if not given, which hide
            nothing. With `neighbour`, anything that `train` takes as its arguments.
        neighbour: the adjacent data set; made of `data` and the worst record if not given. By
            zero_out a record that is left out is then a row of 0, which must have no gradient: for
            a function with an intercept or biases give a neighbour of your own.
        runs: trainings on each data set and for each canary.
        canaries: how many records of one run are canaries.
        confidence: of the verdict and of each bound, one-sided.
        delta: where epsilon is read.
        score: a test of your own for `runs`: from outputs, one a row, to a number each.
        features, feature_bound, targets: of canaries, where neither the data nor the certificate
            tell; `targets` is `labels` (0 and 1) or `numbers`.
        verb: of an estimator, how it is trained and what is seen of it: `fit`, the model or all of
            its checkpoints; `partial_fit`, the models after each of three windows; `forget`, the
            model without a record that was fitted and forgotten; `forget_others`, the models before
            and after somebody else was forgotten.
        groups: of an estimator, whose record each is; all records of the last one's person are
            exchanged. If not given, with `records_per_person=k` the last k are one person's.
        forget_epsilon: what `forget` is asked to leave, at the estimator's delta; half of the
            estimator's epsilon if not given.
        progress: called with the number of trainings done, and of all; such as
            `lambda done, all: print(f"{done} of {all}", end="\\r")`.

    >>> import numpy as np
    >>> from shiftdp import ApproxDPTradeoff, audit
    >>> rng = np.random.default_rng(0)
    >>> def no_noise(X, y):
    ...     return X.T @ y + rng.normal(scale=0.01, size=X.shape[1])
    >>> audit(no_noise, ApproxDPTradeoff(1.0, 1e-5), runs=200).verdict
    'violated'
    """
    choice("method", method, _METHODS)
    choice("verb", verb, get_args(Verb))
    confidence = number_in("confidence", confidence, 0.0, 1.0, open_low=True, open_high=True)
    delta = number_in("delta", delta, LEAST_DELTA, 1.0, open_high=True)
    runs = count("runs", runs, 1)
    if runs > _MOST_RUNS:
        raise InvalidInput("runs", runs, "is more than can be kept", f"give at most {_MOST_RUNS}")
    if method == "runs":
        require_enough(runs)
    elif verb != "fit" or groups is not None:
        raise InvalidInput(
            "method", method, "is about one record of fit", 'give method="runs" for other verbs'
        )
    if targets is not None:
        choice("targets", targets, get_args(Targets))
    shape = {
        "features": None if features is None else count("features", features, 1),
        "feature_bound": None
        if feature_bound is None
        else magnitude("feature_bound", feature_bound),
        "targets": targets,
        "verb": verb,
        "groups": groups,
        "forget_epsilon": forget_epsilon,
    }
    done = [0.0, 0.0]

    def told(more: float) -> None:
        done[0] += more
        if progress is not None:
            progress(int(min(done)), int(done[1]))

    given = None if data is None or neighbour is not None else table_of(data)
    sample = given if neighbour is None else _sample(data)
    trainer = trainer_of(train, certificate, sample, told, **shape)
    f = tradeoff_of(trainer.guarantee)
    certified = float(trainer.guarantee.epsilon(delta))
    if method == "one_run":
        number = canaries if canaries is not None else min(_CANARIES, trainer.records.n // 2)
        done[1] = 1.0
        found = one_run_findings(
            trainer, given, f, count("canaries", number, 1), delta=delta, confidence=confidence
        )
        total = 1
    else:
        attacked = _attacked(trainer, data, neighbour)
        if not callable(train):
            for name, each in (("data", attacked[0].one), ("neighbour", attacked[0].other)):
                _require_pair(name, each)
        if method == "shared_noise" and data is None:
            attacked.append(hard_sums(trainer.records))
        total = 2 * len(attacked) * (runs if method == "runs" else len(SEEDS))
        done[1] = float(total)
        if method == "runs":
            found = _many_runs(trainer, f, attacked, runs, delta, confidence, score)
        else:
            found = shared_noise_findings(train, trainer.guarantee, attacked)
    return AuditReport(
        method=_METHODS[method],
        verdict="violated" if any(each.contradicts for each in found) else "consistent",
        epsilon=max(each.epsilon for each in found),
        mu=max(each.mu for each in found),
        delta=delta,
        confidence=1.0 if method == "shared_noise" else confidence,
        certified_epsilon=certified,
        certified_mu=f.gdp_mu,
        runs=total,
        findings=tuple(found),
    )


def tradeoff_of(guarantee: Any) -> TradeoffFunction:
    """The tradeoff function that a guarantee states."""
    f = guarantee if isinstance(guarantee, TradeoffFunction) else getattr(guarantee, "f", None)
    if not isinstance(f, TradeoffFunction):
        raise InvalidInput(
            "certificate",
            f"<{type(guarantee).__name__}>",
            "is no certificate and no tradeoff function",
            "give certify(...), or ApproxDPTradeoff(epsilon, delta)",
        )
    return f


def _sample(data: Any) -> tuple[Any, Any] | None:
    """Data that are given with their neighbour, if they are a table: it says how large they are."""
    known = isinstance(data, tuple) and len(data) == 2 and getattr(data[0], "ndim", 0) == 2
    return data if known else None


def _attacked(trainer: Trainer, data: Any, neighbour: Any) -> list[Neighbours]:
    """The pairs of data sets; the user's own, or those with the worst records."""
    if neighbour is None:
        return pairs(trainer.records, None if data is None else table_of(data))
    if data is None:
        raise InvalidInput("data", None, "is missing beside its neighbour", "give both, or neither")
    one, other = (each if isinstance(each, tuple) else (each,) for each in (data, neighbour))
    return [Neighbours("as given", one, other)]


def _require_pair(name: str, data: tuple[Any, ...]) -> None:
    """What a plan or an estimator is trained on."""
    if len(data) != 2:
        raise InvalidInput(name, f"<{len(data)} parts>", "is no (X, y)", "give a table and labels")


def _many_runs(
    trainer: Trainer,
    f: TradeoffFunction,
    attacked: list[Neighbours],
    runs: int,
    delta: float,
    confidence: float,
    score: Score | None,
) -> list[Finding]:
    """Each canary by itself; two events a canary share the risk that is left to it."""
    trust = 1.0 - (1.0 - confidence) / (2.0 * len(attacked))
    found = []
    for pair in attacked:
        one, other = (trainer.outputs(data, runs) for data in (pair.one, pair.other))
        events = attack(one, other, delta=delta, confidence=trust, score=score)
        seen = "; ".join(
            f"{each.score}: {each.rates.hits}/{each.rates.tried} against "
            f"{each.rates.alarms}/{each.rates.tried_without}"
            for each in events
        )
        found.append(
            Finding(
                canary=pair.name,
                epsilon=max(
                    lower_epsilon(each.rates, delta=delta, confidence=trust) for each in events
                ),
                mu=max(lower_mu(each.rates, confidence=trust) for each in events),
                contradicts=any(contradicts(f, each.rates, confidence=trust) for each in events),
                seen=seen,
            )
        )
    return found
