"""`forget`: further steps without some records, until these are forgotten. [Theorem V3]"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from shiftdp._errors import InvalidInput, UnmetHypothesis
from shiftdp._printed import up
from shiftdp._rounding import AMPLE
from shiftdp.last_iterate import Certificate, NoisyCGD, NoisyGD, Unlearning, certify
from shiftdp.last_iterate.assumptions import seeded_noise
from shiftdp.last_iterate.runs import people as people_in
from shiftdp.privacy.budget import ImpossibleBudget
from shiftdp.privacy.unlearning import calibrate_unlearning
from shiftdp.training.descent.batches import TrainingRun
from shiftdp.training.descent.loop import certified_records, descend_on
from shiftdp.training.estimators.base import PrivateLinearModel, Records, entropy_of
from shiftdp.training.estimators.combinations import refuse_forgetting
from shiftdp.training.plan import Plan
from shiftdp.training.planning.setting import MOST_STEPS

_RIDGE = 0.05  # of the smoothness: a thousand steps or so forget, and models lose little by it


@dataclass(frozen=True)
class Deletion:
    """What one call of `forget` did.

    Attributes:
        certificate: how well the model can be told from one that never had any of the records that
            were forgotten in this call, or in one before.
        steps: the further steps of this call.
        further: what these steps cost the records that stay; None if there were none.
        retraining: the steps that training anew would take.
    """

    certificate: Certificate
    steps: int
    further: Certificate | None
    retraining: int

    def summary(self) -> str:
        """What was done, beside the cost of training anew."""
        run: Any = self.certificate.run
        share = self.steps / self.retraining
        return (
            f"{self.steps} further steps, {share:.3g} of the {self.retraining} of training anew; "
            f"{run.further_steps} since training, in all"
        )


class Forgetting(PrivateLinearModel):
    """A model with `forget`."""

    def forget(
        self, X: Any, y: Any, *, epsilon: float, delta: float, groups: Any = None
    ) -> Certificate:
        """Go on without some records until they are forgotten: certified unlearning. [Theorem V3]

        The model becomes that after the further steps. For the records that stay they are one
        release more, with the certificate `further_certificate_`, which a ledger is charged. It may
        be called again when more records are to be forgotten, also on a model that was read from a
        file; what comes back is then about all of them. `deletions_` has an entry for each call,
        whose `summary()` puts the further steps beside the cost of training anew.

        Args:
            X: the records that stay: those of `fit`, or of the last call, but for the ones to be
                forgotten.
            y: their labels, or numbers.
            epsilon: what may be left of those that are forgotten, at `delta`.
            delta: likewise.
            groups: as in `fit`, of the records that stay; all records of a person are forgotten.

        Returns:
            How well the model can be told from one that never had them. Its `run` has
            `further_steps`, and `training.steps`, which training anew would take.
        """
        check_is_fitted(self)
        refuse_forgetting(self)
        with self._all_or_nothing():
            stay = self._read(X, y, reset=False)
            self._require_countable()
            stay = self._of_people(stay, groups)
            self._require_same_cap(stay)
            return self._go_on_without(stay, epsilon, delta)

    def _go_on_without(self, stay: Records, epsilon: float, delta: float) -> Certificate:
        """Certify the deletion, charge the ledger for those who stay, go on: in this order."""
        plan: Plan = self.plan_.plan
        weights = self._weights()
        before = self._before()
        slower, certificate = self._deletion(stay.X.shape[0], weights.size, epsilon, delta)
        steps: int = certificate.run.further_steps  # type: ignore[union-attr]
        done = before[-1].certificate.run.further_steps if before else 0  # type: ignore[union-attr]
        further = None
        if steps > done:
            run = _going_on(slower.run, stay.X.shape[0], steps - done)
            further = self._take_steps(replace(slower, run=run), stay, weights)
        own = Deletion(certificate, steps - done, further, plan.run.steps)
        self.deletions_ = (*before, own)
        return certificate

    def _deletion(
        self, left: int, dimension: int, epsilon: float, delta: float
    ) -> tuple[Plan, Certificate]:
        """The plan of the further steps, at a rate that contracts, and the certificate of the
        deletion after the least number of them that is enough: from public numbers alone."""
        plan: Plan = self.plan_.plan
        before = self._before()
        asked: dict[str, Any] = {
            **_requests(before, _forgotten(plan, before, left)),
            "grid": plan.grid,
            "dimension": dimension,
        }
        slower = plan if _contracts(plan) else _slowed(plan)
        steps = _least_steps(plan, slower, asked, epsilon, delta)
        if steps > MOST_STEPS:
            raise InvalidInput(
                "epsilon",
                epsilon,
                f"needs {steps} further steps, more than {MOST_STEPS}",
                "give a larger one, train with a larger l2, or fit the records that stay afresh",
            )
        deletion = _deletion(plan, slower, steps, asked)
        certificate = certify(deletion, plan.geometry, delta=delta)
        if not plan.entropy.private:
            stamped = (seeded_noise(), *certificate.assumptions)
            certificate = replace(certificate, assumptions=stamped)
        return slower, certificate

    def _take_steps(self, plan: Plan, stay: Records, weights: NDArray[Any]) -> Certificate:
        """The further steps, from the released weights: for those who stay, one release more."""
        further = replace(plan, entropy=entropy_of(self.random_state))
        certificate = self._signed(further.certificate)
        records = certified_records(further, stay.X, stay.targets)
        with self._charged(certificate, further.entropy, f"{type(self).__name__}.forget"):
            released = descend_on(further, records, start=weights)
        self.further_certificate_ = certificate
        self._keep(released)
        return certificate

    def _before(self) -> tuple[Deletion, ...]:
        found: tuple[Deletion, ...] = vars(self).get("deletions_", ())
        return found

    def _require_countable(self) -> None:
        """Refuse models of which it is not known whose records were used."""
        if "_cap" not in vars(self):
            raise InvalidInput(
                "model",
                f"<{type(self).__name__}>",
                "was read from a file of an earlier version, which does not say how many records "
                "of a person fit kept",
                "fit anew",
            )
        if self._before() and people_in(self.plan_.plan.run) > 1:
            raise InvalidInput(
                "forget",
                "a second time",
                "is covered for one record a person",
                "fit anew without both people",
            )

    def _require_same_cap(self, stay: Records) -> None:
        """Refuse another cap than that of `fit`: rows that it left out would be counted."""
        cap = None if stay.people is None else int(self.records_per_person)
        if self._cap not in (None, cap):
            raise InvalidInput(
                "groups",
                "<given>" if stay.people is not None else None,
                f"with records_per_person={self.records_per_person} is not as in fit, so that it "
                "is not known how many records are forgotten",
                "give groups, and records_per_person, as in fit",
            )


# --- what was forgotten ---


def _forgotten(plan: Plan, before: tuple[Deletion, ...], left: int) -> int:
    """How many records are forgotten now, or 1 for a person who may have several. [Theorem V4]"""
    known = plan.run.n - sum(records for _, records in _past(before))
    gone = known - left
    if gone < 1:
        raise InvalidInput(
            "X",
            f"<{left} records>",
            f"are not fewer than the {known} of {'the last call' if before else 'fit'}",
            "leave some out",
        )
    most = people_in(plan.run)  # of `fit`: the parameter may have been set since
    if most == 1:
        return gone
    if gone > most:
        raise InvalidInput(
            "X",
            f"<{left} records>",
            f"are {gone} fewer than in fit, and a person has at most {most}",
            "forget one person at a time",
        )
    return 1


def _past(before: tuple[Deletion, ...]) -> list[tuple[int, int]]:
    """After how many further steps how many records were deleted, in all calls so far."""
    if not before:
        return []
    run: Any = before[-1].certificate.run
    return [(0, run.records), *run.later_requests]


def _requests(before: tuple[Deletion, ...], gone: int) -> dict[str, Any]:
    """`records` and `later_requests` of a deletion, this one included."""
    done = before[-1].certificate.run.further_steps if before else 0  # type: ignore[union-attr]
    every = [*_past(before), (done, gone)]
    first = sum(records for after, records in every if after == 0)
    return {
        "records": first,
        "later_requests": tuple((after, records) for after, records in every if after > 0),
    }


# --- further steps ---


def _contracts(plan: Plan) -> bool:
    """Whether the steps of training forget: no one of them expands."""
    rates = plan.run.learning_rate
    largest = rates if isinstance(rates, float) else max(rates)
    return plan.geometry.contraction(largest) <= 1.0


def _slowed(plan: Plan) -> Plan:
    """The plan with the learning rate that contracts most, 2/(m + M), for the further steps."""
    geometry = plan.geometry
    m, M = geometry.strong_convexity, geometry.smoothness
    if not (0.0 <= m <= M < float("inf")) or plan.plainly_clipped:
        raise InvalidInput(
            "forget",
            "after steps under composition alone",
            "is not possible: of losses that are clipped like this no step is known to contract, "
            "so that nothing is proved to be forgotten",
            _remedy(plan),
        )
    rate = 2.0 / (m + M) * (1.0 - AMPLE)
    run = type(plan.run)(**{**vars(plan.run), "learning_rate": rate})
    return replace(plan, run=run, bounds="best")


def _deletion(plan: Plan, slower: Plan, steps: int, asked: dict[str, Any]) -> Unlearning:
    more: dict[str, Any] = {}
    if slower is not plan:
        more = {"learning_rate": slower.run.learning_rate}
    return Unlearning(training=plan.run, further_steps=steps, **asked, **more)


def _least_steps(
    plan: Plan, slower: Plan, asked: dict[str, Any], epsilon: float, delta: float
) -> int:
    """The least further steps, at the rate of training or at that of a slower plan."""
    if slower is not plan:
        asked = {**asked, "learning_rate": cast(float, slower.run.learning_rate)}
    try:
        return calibrate_unlearning(plan.run, plan.geometry, **asked, epsilon=epsilon, delta=delta)
    except UnmetHypothesis as unmet:
        why = []
        if plan.geometry.strong_convexity <= 0.0:
            why.append("without a ridge (l2)")
        if slower is not plan:
            why.append("with steps too long to contract")
        if not why:
            raise
        left = ""
        if isinstance(unmet, ImpossibleBudget):
            left = f", and epsilon={up(unmet.nearest.limit)} is left"
        raise InvalidInput(
            "epsilon",
            epsilon,
            f"is not reached by further steps: fit ran {' and '.join(why)}, so that they are not "
            f"proved to make anything forgotten{left}",
            _remedy(plan),
        ) from unmet


def _remedy(plan: Plan) -> str:
    """What to fit with, so that steps contract: a ridge, and no rate above 2/(m + M)."""
    M = plan.loss.curvature * plan.norm_bound**2
    ridge = _one_digit(_RIDGE * M, math.ceil)
    rate = _one_digit(2.0 / (M + 2.0 * ridge), math.floor)
    return (
        f"fit with l2={ridge:g} and learning_rate={rate:g}, say, before somebody asks to be "
        "forgotten; this model has to be trained anew without the records"
    )


def _one_digit(value: float, rounded: Callable[[float], int]) -> float:
    """
    >>> _one_digit(0.0312, math.ceil), _one_digit(37.0, math.floor)
    (0.04, 30.0)
    """
    digits = math.floor(math.log10(value))
    return rounded(value / 10.0**digits) * 10.0**digits


def _going_on(run: TrainingRun, n: int, steps: int) -> TrainingRun:
    """The further steps on the records that stay: those of training, in batches of its size."""
    rate, noise = (x if isinstance(x, float) else x[-1] for x in (run.learning_rate, run.noise))
    k = min(run.records_per_person, n)
    if run.full_batches:
        return NoisyGD(n=n, steps=steps, learning_rate=rate, noise=noise, records_per_person=k)
    return NoisyCGD(
        n=n,
        batch_size=min(run.batch_size, n),
        steps=steps,
        learning_rate=rate,
        noise=noise,
        last_batch="divide_by_b",
        records_per_person=k,
    )
