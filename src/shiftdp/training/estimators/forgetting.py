"""`forget`: further steps without some records, until these are forgotten. [Theorem V3]"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from shiftdp._errors import InvalidInput
from shiftdp.last_iterate import Certificate, NoisyCGD, NoisyGD, Unlearning, certify
from shiftdp.last_iterate.assumptions import seeded_noise
from shiftdp.last_iterate.runs import people as people_in
from shiftdp.privacy.unlearning import calibrate_unlearning
from shiftdp.training.descent.batches import TrainingRun
from shiftdp.training.descent.loop import certified_records, descend_on
from shiftdp.training.estimators.base import PrivateLinearModel, Records, entropy_of
from shiftdp.training.estimators.combinations import refuse_forgetting
from shiftdp.training.plan import Plan


class Forgetting(PrivateLinearModel):
    """A model with `forget`."""

    def forget(
        self, X: Any, y: Any, *, epsilon: float, delta: float, groups: Any = None
    ) -> Certificate:
        """Go on without some records until they are forgotten: certified unlearning. [Theorem V3]

        The model becomes that after the further steps. For the records that stay they are one
        release more, with the certificate `further_certificate_`, which a ledger is charged.

        Args:
            X: the records that stay: those of `fit` but for the ones to be forgotten.
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
        shape: dict[str, Any] = {
            "records": _forgotten(plan, stay.X.shape[0]),
            "grid": plan.grid,
            "dimension": weights.size,
        }
        asked: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
        steps = calibrate_unlearning(plan.run, plan.geometry, **shape, **asked)
        deletion = Unlearning(training=plan.run, further_steps=steps, **shape)
        certificate = certify(deletion, plan.geometry, delta=delta)
        if not plan.entropy.private:
            stamped = (seeded_noise(), *certificate.assumptions)
            certificate = replace(certificate, assumptions=stamped)
        if steps > 0:
            self._take_steps(_going_on(plan.run, stay.X.shape[0], steps), stay, weights)
        return certificate

    def _take_steps(self, run: TrainingRun, stay: Records, weights: NDArray[Any]) -> None:
        """The further steps, from the released weights: for those who stay, one release more."""
        further = replace(self.plan_.plan, run=run, entropy=entropy_of(self.random_state))
        certificate = self._signed(further.certificate)
        records = certified_records(further, stay.X, stay.targets)
        with self._charged(certificate, further.entropy, f"{type(self).__name__}.forget"):
            released = descend_on(further, records, start=weights)
        self.further_certificate_ = certificate
        self._keep(released)

    def _require_countable(self) -> None:
        """Refuse a second deletion, and models of which it is not known whose records were used."""
        if "further_certificate_" in self.__dict__:
            raise InvalidInput(
                "forget", "a second time", "is not covered by this method", "fit anew"
            )
        if "_cap" not in vars(self):
            raise InvalidInput(
                "model",
                f"<{type(self).__name__}>",
                "was read from a file, which does not say how many records of a person fit kept",
                "fit anew, and forget in the same process",
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


def _forgotten(plan: Plan, left: int) -> int:
    """How many records are forgotten, or 1 for a person who may have several. [Theorem V4]"""
    if plan.bounds == "composition":
        raise InvalidInput(
            "bounds",
            plan.bounds,
            "was planned, with steps so long that nothing is proved to be forgotten",
            'fit with bounds="best" and a ridge (l2), or train anew',
        )
    gone = plan.run.n - left
    if gone < 1:
        raise InvalidInput(
            "X",
            f"<{left} records>",
            f"are not fewer than the {plan.run.n} of fit",
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


def _going_on(run: TrainingRun, n: int, steps: int) -> TrainingRun:
    """The further steps on the records that stay: those of training, in batches of its size."""
    rate, noise = (x if isinstance(x, float) else x[-1] for x in (run.learning_rate, run.noise))
    k = min(run.records_per_person, n)
    if isinstance(run, NoisyGD):
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
