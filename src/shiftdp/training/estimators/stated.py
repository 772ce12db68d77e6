"""What a fitted model says of its guarantee: in words, and as a page to sign."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.utils.validation import check_is_fitted

from shiftdp._errors import InvalidInput
from shiftdp._printed import up
from shiftdp.last_iterate import Certificate
from shiftdp.privacy.statement import ModelFacts, Statement, statement_of
from shiftdp.training.estimators.scored import PrivatelyScored, stated_delta
from shiftdp.training.planning.planner import Planned

CLASSES_LEARNT = "the classes were read off the labels, and are released without noise"
"""What no certificate covers of a classifier whose classes were not given."""


class Stating(PrivatelyScored):
    """A fitted model with a plan and a certificate, which can be stated."""

    certificate_: Any  # a Certificate; that of the search where one chose the model
    plan_: Planned

    def statement(self) -> str:
        """The guarantee of the released model in words, and what it does not cover."""
        check_is_fitted(self)
        plan = self.plan_.plan
        delta = self.plan_.problem.delta
        lines = [*self._of_those_who_stay(delta), *self._guarantee(delta)]
        if plan.oversized == "scale":
            lines.append(
                f"Rows longer than feature_bound={plan.feature_bound:g} were scaled to it."
            )
        lines += self._caveats()
        return "\n".join(lines)

    def _stated_model(self) -> Any:
        if self._further():
            raise InvalidInput(
                "model",
                f"<{type(self).__name__}>",
                "has forgotten records: those who stay are in several releases, and a page states "
                "one",
                "publish statement(), with certificate_ and the certificates of deletions_",
            )
        return self

    def _further(self) -> list[Certificate]:
        """What the further steps of `forget` cost those who stay, beside `certificate_`."""
        deletions = vars(self).get("deletions_", ())
        return [one.further for one in deletions if one.further is not None]

    def _of_those_who_stay(self, delta: float) -> list[str]:
        """After `forget`: what training and all further steps cost together."""
        further = self._further()
        if not further:
            return []
        f = self.certificate_.f
        for one in further:
            f = f.compose(one.f)
        return [
            f"Records were forgotten. Those who stay are in {1 + len(further)} releases, training "
            f"and the further steps, which together cost epsilon = {up(f.epsilon(delta))} at "
            f"delta = {delta:g}.",
            "Training by itself:",
        ]

    def _caveats(self) -> list[str]:
        lines = [f"Not covered: {leak}." for leak in getattr(self, "not_covered_", ())]
        if hasattr(self, "stream_") and self.stream_.before is not None:
            lines.append(
                "It began from a model of other records, whose own certificate is stream_.before."
            )
        if not self.plan_.plan.entropy.private:
            lines.append("NOT PRIVATE: random_state made this run reproducible.")
        return lines


def reasons_of(planned: Planned) -> tuple[str, ...]:
    """What the plan chose, and why, a line each."""
    found = []
    for name, value in planned.choices().items():
        why = planned.reasons.get(name, "").removesuffix(", see below")
        shown = f"{value:.4g}" if isinstance(value, float) else str(value)
        found.append(f"{name.replace('_', ' ')} {shown}{f': {why}' if why else ''}")
    return tuple(found)


def stated_model(
    whole: Any,
    model: Any,
    *,
    date: str | None,
    ledger: Any,
    about: Mapping[str, str] | None,
) -> Statement:
    """The statement of a model, or of a pipeline that ends in it.

    Args:
        whole: what is stated: it has the certificate of everything that was released.
        model: the private estimator.
        date, ledger, about: as for `statement_of`.
    """
    leaks = dict.fromkeys(
        [*getattr(whole, "not_covered_", ()), *getattr(model, "not_covered_", ())]
    )
    if getattr(model, "classes_learnt_", False):
        leaks[CLASSES_LEARNT] = None
    stream = getattr(model, "stream_", None)
    if stream is not None and stream.before is not None:
        leaks["it began from a model of other records, which has a certificate of its own"] = None
    facts = ModelFacts(
        estimator=type(model).__name__,
        not_covered=tuple(leaks),
        reasons=reasons_of(model.plan_),
    )
    return statement_of(
        whole.certificate_,
        delta=stated_delta(getattr(model, "selected_", None), model.plan_.problem.delta),
        date=date,
        model=facts,
        ledger=ledger,
        about=about,
    )
