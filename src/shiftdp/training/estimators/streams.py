"""`partial_fit`: a stream of records, one window a call. [Theorem V2]

The records of a call are new ones. They are dealt into batches of the size that the first call
chose, each is used in one step, and the model is released when the call returns; the next call
begins from what was released. A call must have as many full batches as the first one, or more:
longer windows are never worse [docs/theory.md, Theorem V2].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp._printed import up
from shiftdp.last_iterate import Certificate, NoisyCGD, NoisyStream, certify
from shiftdp.last_iterate.assumptions import seeded_noise
from shiftdp.last_iterate.runs import Order
from shiftdp.privacy.calibration import calibrate_noise
from shiftdp.training.assumed_bound import warn_of_assumed_bound
from shiftdp.training.descent.entropy import Entropy, Seeded
from shiftdp.training.descent.loop import certified_records, descend_on
from shiftdp.training.estimators.base import PrivateLinearModel, Records, entropy_of
from shiftdp.training.estimators.combinations import refuse_stream
from shiftdp.training.plan import Plan
from shiftdp.training.planning.planner import Planned, plan_for
from shiftdp.training.planning.problem import Overrides, Problem

_FOREIGN = ("epochs", "sampling", "checkpoints", "average")
"""Choices that have no meaning where each record is used once and each call is a release."""

_PARAMETERS = {"intercept": "fit_intercept"}
"""Parts of a problem that an estimator calls by another name."""


@dataclass(frozen=True)
class StreamState:
    """A stream that a model is fitted by: what is run, how it was chosen, and how many windows.

    `before` is the certificate of the model that it began from, if `fit` had made one: that of the
    records of `fit`, which the stream does not use. `chosen` is what the user had chosen when it
    was planned, and `charged` whether a ledger has paid for it.
    """

    stream: NoisyStream
    planned: Planned
    chosen: Overrides
    windows: int = 0
    charged: bool = False
    before: Certificate | None = None


class Streaming(PrivateLinearModel):
    """A model with `partial_fit`."""

    def partial_fit(self, X: Any, y: Any, *, groups: None = None) -> Self:
        """Go on with new records, each of which is used once, and release the model. Theorem V2.

        The first call plans the stream; each later one begins from what the last released. The
        guarantee of a record does not depend on how many calls there are, as long as no record is
        given twice. If a call is refused, the model stays as it was. `epochs` is refused here, and
        so are parameters that were set after the first call.
        A model that `fit` has made goes on from there; its records keep the certificate that they
        had, `stream_.before`.

        Args:
            X: features, as in `fit`; as many records as in the first call, about, or more.
            y: labels of a classifier, numbers of a regressor.
            groups: refused: a stream protects one record a person.
        """
        return self._next_window(X, y, groups=groups)

    def _next_window(self, X: Any, y: Any, classes: Any = None, *, groups: Any = None) -> Self:
        refuse_stream(self, groups)
        with self._all_or_nothing():
            records = self._read(X, y, reset=not hasattr(self, "coef_"), classes=classes)
            self._keep(self._run_window(records))
        return self

    def _run_window(self, records: Records) -> NDArray[Any]:
        """Plan, certify, check the data, charge the ledger for all windows to come, train."""
        X, targets, outputs, _ = records
        fitted = hasattr(self, "coef_")
        state = self._state(self._problem(X.shape[0], X.shape[1], outputs))
        plan = next_window(state, X.shape[0], entropy_of(self.random_state))
        certificate = self._signed(stream_certificate(state, plan))
        checked = certified_records(plan, X, targets)
        start = self._weights() if fitted else None
        if state.windows == 0:
            if self.feature_bound is None:
                warn_of_assumed_bound(stacklevel=4)
            with self._charged(certificate, plan.entropy, type(self).__name__):
                released = descend_on(plan, checked, start=start)
        else:
            released = descend_on(plan, checked, start=start)
        for name in ("centre_", "distance_"):  # of a fit before
            self.__dict__.pop(name, None)
        self.plan_, self.certificate_ = replace(state.planned, plan=plan), certificate
        charged = state.charged or self.ledger is not None
        self.stream_ = replace(state, windows=state.windows + 1, charged=charged)
        return released

    def _state(self, problem: Problem) -> StreamState:
        """The stream that goes on, which nothing may have changed, or a new one."""
        state: StreamState | None = getattr(self, "stream_", None)
        if state is not None:
            require_unchanged(state, problem, self._overrides())
            if self.ledger is not None and not state.charged:
                raise InvalidInput(
                    "ledger",
                    f"<{type(self.ledger).__name__}>",
                    "comes too late: a stream is charged in its first call",
                    "charge certificate_ to it yourself, and set ledger=None",
                )
            return state
        fitted = hasattr(self, "coef_")
        before = self.certificate_ if fitted else None
        state = first_window(problem, self._overrides(), self.oversized, before)
        if fitted and self.plan_.plan.intercept != problem.intercept:
            raise InvalidInput(
                "fit_intercept",
                self.fit_intercept,
                "is not that of the model to go on from",
                "leave it as it was, or begin with a new model",
            )
        return state


def first_window(
    problem: Problem, chosen: Overrides, oversized: Any, before: Certificate | None
) -> StreamState:
    """The stream that meets the budget, from the number of records of the first call."""
    for name in _FOREIGN:
        if getattr(chosen, name) is not None:
            raise InvalidInput(
                name,
                getattr(chosen, name),
                "is no choice of partial_fit, which uses each record once and releases the model "
                "of each call",
                "leave it out, or use fit",
            )
    if chosen.algorithm not in (None, "cgd"):
        raise InvalidInput(
            "algorithm",
            chosen.algorithm,
            "is no choice of partial_fit, whose batches come in turn",
            'leave it out, or give "cgd"',
        )
    order: Order = "fixed" if chosen.order == "fixed" else "shuffled_once"
    # average=1 is the last iterate: it asks for steps that are all alike
    one_pass = replace(chosen, algorithm="cgd", epochs=1.0, order=order, average=1)
    planned = plan_for(problem, one_pass, oversized=oversized)
    run = planned.plan.run
    size, eta, sigma = run.batch_size, run.learning_rate, run.noise  # type: ignore[union-attr]
    stream = NoisyStream(
        batch_size=size,
        batches_per_release=max(1, problem.n // size),
        learning_rate=eta,
        noise=sigma,
        order="fixed" if order == "fixed" else "shuffled",
    )
    if chosen.noise is None:
        bounds = planned.plan.bounds
        budget = {"epsilon": problem.epsilon, "delta": problem.delta}
        stream = calibrate_noise(stream, planned.plan.geometry, bounds=bounds, **budget)
    spent = certify(stream, planned.plan.geometry, bounds=planned.plan.bounds)
    if spent.epsilon(problem.delta) > problem.epsilon:
        raise InvalidInput(
            "noise",
            chosen.noise,
            f"makes epsilon={up(spent.epsilon(problem.delta))} at delta={problem.delta:g}, which "
            f"is above {problem.epsilon:g}",
            "leave the noise to the planner, or give more",
        )
    return StreamState(stream, planned, chosen, before=before)


def require_unchanged(state: StreamState, problem: Problem, chosen: Overrides) -> None:
    """Refuse parameters that were set after the first call: the stream is planned, and goes on."""
    was = {**vars(state.planned.problem), **vars(state.chosen)}
    for name, value in {**vars(problem), **vars(chosen)}.items():
        if name != "n" and value != was[name]:
            raise InvalidInput(
                _PARAMETERS.get(name, name),
                value,
                f"is not that of the stream, {was[name]}, which the first partial_fit has planned",
                "set it back, or begin a new model, whose stream costs anew",
            )


def next_window(state: StreamState, n: int, entropy: Entropy) -> Plan:
    """The plan of the next call, which has n records."""
    stream = state.stream
    least = stream.batch_size * stream.batches_per_release
    if n < least:
        raise InvalidInput(
            "X",
            f"<{n} records>",
            f"is less than the {least} records of a window of this stream: fewer steps would hide "
            "its records",
            f"collect {least} records, or more, before partial_fit",
        )
    run = NoisyCGD(
        n=n,
        batch_size=stream.batch_size,
        epochs=1,
        learning_rate=stream.learning_rate,
        noise=stream.noise,
        order="fixed" if stream.order == "fixed" else "shuffled_once",
        last_batch="divide_by_b",
    )
    if isinstance(entropy, Seeded):  # each window has noise of its own
        entropy = entropy.several(state.windows + 1)[-1]
    return replace(state.planned.plan, run=run, entropy=entropy)


def stream_certificate(state: StreamState, plan: Plan) -> Certificate:
    """The guarantee of all calls together, past and to come."""
    certificate = certify(state.stream, plan.geometry, bounds=plan.bounds)
    certificate = replace(certificate, training=plan.training_record())
    if plan.entropy.private:
        return certificate
    return replace(certificate, assumptions=(seeded_noise(), *certificate.assumptions))
