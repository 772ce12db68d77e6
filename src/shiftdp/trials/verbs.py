"""The public ways to train an estimator, as an attacker sees them: what is shown, and of whom.

- `fit`, with `groups` if people have several records: the model, or every checkpoint of it.
- `partial_fit`, three windows of new records: the models after each; the canary is in the second.
- `forget`, of the last record after a `fit`: the model without it.
- `forget_others`, of the first record after a `fit`: both models, by which the canary stays.

The person of the last record is the one whose records are exchanged, all of them. A guarantee for
those who stay is the composition of that of `fit` with that of the further steps, which begin from
what was released and hold for any start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import magnitude
from shiftdp._errors import InvalidInput

Verb = Literal["fit", "partial_fit", "forget", "forget_others"]

_LEFT = 0.5  # of the estimator's epsilon: what `forget` is asked to leave, unless told
_WINDOWS = 3  # before the one that is attacked, that one, and after it


@dataclass(frozen=True)
class Way:
    """How an estimator is trained.

    Args:
        verb: see above.
        groups: whose record each is, or None if everybody has one.
        forget_epsilon: what `forget` is asked to leave, at the estimator's delta.
        words: further arguments of `partial_fit`.
    """

    verb: Verb
    groups: NDArray[Any] | None
    forget_epsilon: float | None
    words: dict[str, Any]

    @property
    def canary(self) -> tuple[int, ...]:
        """The places of the records that are exchanged, from the end."""
        if self.groups is None:
            return (-1,)
        n = len(self.groups)
        return tuple(int(place) - n for place in np.flatnonzero(self.groups == self.groups[-1]))

    def released(self, model: Any, X: Any, y: Any) -> tuple[Any, ...]:
        """Train the model, and return all that an attacker sees of it."""
        if self.verb == "partial_fit":
            return self._windows(model, X, y)
        everybody = np.ones(len(X), dtype=bool)
        model.fit(X, y, **self._people(everybody))
        if self.verb == "fit":
            return _shown(model)
        before = _shown(model) if self.verb == "forget_others" else ()
        stay = everybody
        stay[self._forgotten(len(X))] = False
        try:
            model.forget(
                X[stay],
                y[stay],
                epsilon=self.forget_epsilon,
                delta=model.delta,
                **self._people(stay),
            )
        except InvalidInput as error:
            if error.name != "epsilon":
                raise
            raise InvalidInput(
                "forget_epsilon", error.value, error.problem, error.remedy
            ) from error
        return (*before, model.coef_, model.intercept_)

    def guarantee(self, model: Any) -> Any:
        """What is certified of all that was seen of the model."""
        if self.verb == "forget":
            return model.deletions_[-1].certificate
        if self.verb == "forget_others" and hasattr(model, "further_certificate_"):
            return model.certificate_.f.compose(model.further_certificate_.f)
        return model.certificate_

    def _windows(self, model: Any, X: Any, y: Any) -> tuple[Any, ...]:
        size, n = len(X) // _WINDOWS, len(X)
        shown: list[Any] = []
        for part in (slice(0, size), slice(n - size, n), slice(size, n - size)):
            model.partial_fit(X[part], y[part], **self.words)
            shown.extend((np.copy(model.coef_), np.copy(model.intercept_)))
        return tuple(shown)

    def _forgotten(self, n: int) -> NDArray[np.intp]:
        """The records of the last person, or of the first if those of the last stay."""
        whose = np.arange(n) if self.groups is None else self.groups
        return np.flatnonzero(whose == whose[-1 if self.verb == "forget" else 0])

    def _people(self, stay: NDArray[np.bool_]) -> dict[str, Any]:
        return {} if self.groups is None else {"groups": self.groups[stay]}


def _shown(model: Any) -> tuple[Any, ...]:
    """All that a fitted model releases; a copy, as the model may go on."""
    if hasattr(model, "releases_"):
        return tuple(part for each in model.releases_ for part in (each.coef, each.intercept))
    return np.copy(model.coef_), np.copy(model.intercept_)


def way_of(
    estimator: Any,
    verb: Verb,
    n: Callable[[], int],
    *,
    groups: Any,
    forget_epsilon: float | None,
    labels: tuple[Any, Any] | None,
) -> Way:
    """The way to train this estimator; refused if it has none like it.

    Args:
        n: how many records there are, if no groups tell.
        groups: as given, or None; the last so many records are then one person's if the estimator
            allows a person several.
        labels: of a classifier that does not know them, else None.
    """
    method = verb.removesuffix("_others")
    if not hasattr(estimator, method):
        raise InvalidInput(
            "verb", verb, f"is nothing that {type(estimator).__name__} does", 'give verb="fit"'
        )
    if forget_epsilon is not None and method != "forget":
        raise InvalidInput(
            "forget_epsilon",
            forget_epsilon,
            f"is of forget, and verb={verb!r} forgets nothing",
            'give verb="forget" or verb="forget_others", or leave it out',
        )
    k = getattr(estimator, "records_per_person", 1)
    people = None if groups is None else np.asarray(groups)
    if people is not None and not (people.ndim == 1 and people.size and people.dtype.kind in "iuU"):
        raise InvalidInput(
            "groups",
            f"<{type(groups).__name__}>",
            "is not one whole number or word a record",
            "give whose record each is",
        )
    if people is None and isinstance(k, int) and k > 1:
        people = np.minimum(np.arange(n()), max(n() - k, 0))
    asked = None
    if method == "forget":
        asked = _LEFT * estimator.epsilon if forget_epsilon is None else forget_epsilon
        asked = magnitude("forget_epsilon", asked)
    words = {} if labels is None or verb != "partial_fit" else {"classes": list(labels)}
    return Way(verb, people, asked, words)


def planned_once(model: Any, plans: dict[Any, Any]) -> Any:
    """The model, which plans for each shape of data only once for all that share `plans`.

    Plans, streams and deletions are made of parameters and of public numbers alone, so that they
    are the same for all clones that did the same before; random numbers are drawn in every run
    afresh.
    """
    from shiftdp.training.estimators.base import PrivateLinearModel

    if not isinstance(model, PrivateLinearModel):
        return model

    def once(name: str) -> Callable[..., Any]:
        made = getattr(model, name)

        def known(*given: Any, **named: Any) -> Any:
            key = (name, hasattr(model, "coef_"), given, *named.items())
            if name == "_state" and hasattr(model, "stream_"):
                return made(*given, **named)  # the stream that goes on, and not the first call's
            if key not in plans:
                plans[key] = made(*given, **named)
            return plans[key]

        return known

    for name in ("plan", "_state", "_deletion"):
        if hasattr(model, name):
            model.__dict__[name] = once(name)
    return model
