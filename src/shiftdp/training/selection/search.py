"""Choosing parameters of a private model by private trials, under one budget."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, Self, get_args

import numpy as np

from shiftdp._checks import choice, count, delta_in, finite, number_in
from shiftdp._errors import InvalidInput
from shiftdp.fdp.selection.trials import Trials
from shiftdp.privacy.ledger.entry import Account
from shiftdp.privacy.ledger.ledger import Ledger
from shiftdp.privacy.noisy_sums import NoisySum, noise_for
from shiftdp.privacy.selection.selection_certificate import SelectionCertificate
from shiftdp.training.assumed_bound import warn_of_assumed_bound
from shiftdp.training.charging import rehearse, seeds_of
from shiftdp.training.descent.entropy import Entropy, Seeded, Stream
from shiftdp.training.estimators.base import entropy_of, learnt_classes
from shiftdp.training.estimators.inputs import labels_of
from shiftdp.training.estimators.parameters import DELTA, with_own_methods
from shiftdp.training.estimators.scored import adopt
from shiftdp.training.estimators.surroundings import PrivacyLeakWarning, uncovered, warn_of
from shiftdp.training.large_delta import warn_of_large_delta
from shiftdp.training.preparation.pipeline import PrivatePipeline
from shiftdp.training.selection.candidates import (
    Candidate,
    assumes_bound,
    candidates_of,
    certified,
    common_adjacency,
    is_private,
    require_certified,
    searchable,
)
from shiftdp.training.selection.chosen import ChosenModel
from shiftdp.training.selection.parts import Parts, split_records
from shiftdp.training.selection.shares import aims
from shiftdp.training.selection.trial_score import Scoring, TrialScore

from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier  # isort: skip

SearchLaw = Literal["logarithmic", "geometric", "negative_binomial", "poisson"]
_SHAPES: dict[str, float | None] = {
    "logarithmic": 0.0, "geometric": 1.0, "negative_binomial": 3.0, "poisson": None,
}  # fmt: skip
SCORE_SHARE = 0.1
"""The part of mu^2 of a trial that its score may cost where it is on the records of the fit."""


@with_own_methods
class PrivateSearchCV(ChosenModel, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # not typed
    """The best of a random number of private fits, released within one budget. Theorem S3.

    Each trial draws one of the candidates, fits it and scores it with noise; the trial with the
    largest score is released. How many trials there are is random and stays secret, which is what
    makes the cost small: it hardly grows with the number of trials. There are no folds, and nothing
    is fitted again.

    Parameters
    ----------
    estimator : a private estimator, or a PrivatePipeline
        Its own epsilon and delta are set by the search.
    param_distributions : dict, or list of dicts
        What to try, as in scikit-learn: lists, or distributions with a method `rvs`. They must be
        public. Budgets and neighbours are no candidates.
    epsilon, delta : float
        What the search may cost, the released model and its score included.
    n_iter : float, default=10
        How many trials there are on average.
    law : {"geometric", "logarithmic", "negative_binomial", "poisson"}, default="geometric"
        Of their number. Of these, `logarithmic` is the cheapest, and often makes one trial only;
        `negative_binomial` (of shape 3) and `poisson` rarely make few.
    n_candidates : int, default=20
        How many are drawn from distributions beforehand; lists alone are tried in all combinations.
    scoring : str, default=None
        `accuracy`, `brier`, `log_loss` or `auc` of classifiers (`accuracy` unless told);
        `absolute_error` or `squared_error` of regressors, on a scale of 0 (the whole range off) to
        1.
    targets : (low, high), default=None
        Of a regressor, the range that y is clipped to in scores, which is public.
    holdout : float, default=0.0
        The part of the records that is scored and not trained on. A record is then in one of the
        two, and pays for one of the two. With 0, trials are scored on the records that they are
        fitted to, and pay for both.
    score_share : float, default=0.1
        Without a holdout, the part of mu^2 of a trial that its score may cost.
    ledger : Ledger or path, default=None
        Charged once, before anything is fitted.
    random_state : int, RandomState or None, default=None
        None draws from the operating system. Anything else makes the search reproducible and NOT
        private.

    Attributes
    ----------
    best_estimator_, best_params_ : what was chosen. How often it was tried is not released.
    best_score_ : its noisy score, which is paid for. As the largest of several it is too good.
    certificate_ : the proved guarantee of the whole search.
    candidates_ : the candidates, which are public.
    not_covered_ : what was learnt without noise, if anything.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3_000, 3))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> from shiftdp.sklearn import PrivateLogisticRegression
    >>> search = PrivateSearchCV(
    ...     PrivateLogisticRegression(classes=[0, 1]),
    ...     {"feature_bound": [1.0, 2.0, 4.0]},
    ...     epsilon=1.0,
    ... ).fit(X, y)
    >>> search.certificate_.epsilon(1e-5) <= 1.0, search.score(X, y) > 0.9
    (True, True)
    """

    _pays_for_its_steps = True

    def __init__(
        self,
        estimator: Any,
        param_distributions: Mapping[str, Any] | list[Mapping[str, Any]],
        epsilon: float = 1.0,
        delta: float = DELTA,
        *,
        n_iter: float = 10.0,
        law: SearchLaw = "geometric",
        n_candidates: int = 20,
        scoring: Scoring | None = None,
        targets: tuple[float, float] | None = None,
        holdout: float = 0.0,
        score_share: float = SCORE_SHARE,
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.param_distributions = param_distributions
        self.epsilon = epsilon
        self.delta = delta
        self.n_iter = n_iter
        self.law = law
        self.n_candidates = n_candidates
        self.scoring = scoring
        self.targets = targets
        self.holdout = holdout
        self.score_share = score_share
        self.ledger = ledger
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Release the best of several fits; if it is refused, the search stays as it was.

        Public numbers come first: candidates, plans, noise and certificate. Then the records are
        checked, the ledger is charged, and only then anything is fitted.

        Args:
            X: records, as the estimator wants them.
            y: labels or numbers.
        """
        if y is None:
            problem = "is missing: a search requires y to be passed, but the target y is None"
            raise InvalidInput("y", None, problem, "give labels or numbers")
        model = searchable(self.estimator)
        trials = self._checked_parameters()
        entropy = entropy_of(self.random_state)
        stream = entropy.open("batches")
        leaks = uncovered(self.ledger is not None, beyond=self)
        warn_of(leaks)
        base, learnt = self._with_classes(model, y)
        if learnt:
            leaks = (*leaks, "the classes were read off the labels")
        parts = split_records(X, y, self.holdout, stream)
        score = TrialScore.of(base, self.scoring, self.targets)
        chosen = candidates_of(self.param_distributions, int(self.n_candidates), base, stream)
        aimed, certificate = self._certified(chosen, base, parts, score, trials, entropy.private)
        warn_of_large_delta(self.delta, certificate.n, stacklevel=2)
        if any(assumes_bound(one.estimator) for one in aimed):
            warn_of_assumed_bound(stacklevel=2)
        with _quiet():
            for one in aimed:  # a refusal later would tell which of them were drawn
                TrialScore.of(one.estimator, self.scoring, self.targets)
                rehearse(one.estimator, *parts.train)
        account = self._account(certificate)
        entry = None if account is None else account.reserve(certificate, label=type(self).__name__)
        if account is not None and entry is not None:
            account.complete(entry)  # a ledger notes times: after the trials it would tell how many
        with _quiet():  # how often something is said would tell the number of trials
            best, value = self._best(aimed, parts, score, certificate, stream, entropy)
        self._keep(best, value, certificate, aimed, leaks)
        return self

    def _best(
        self,
        aimed: list[Candidate],
        parts: Parts,
        score: TrialScore,
        certificate: SelectionCertificate,
        stream: Stream,
        entropy: Entropy,
    ) -> tuple[Candidate, float]:
        """The trials. Of equal scores the first counts, and all trials have the same law."""
        noise = entropy.open("noise")
        number = certificate.trials.number(int.from_bytes(stream.draw(8), "little") >> 2)
        best, value = aimed[0], -np.inf
        for _ in range(number):  # at least one
            drawn = aimed[_uniform(stream, len(aimed))]
            fitted = clone(drawn.estimator)
            if isinstance(entropy, Seeded):
                seed = int.from_bytes(stream.draw(4), "little") >> 1
                fitted.set_params(**dict.fromkeys(seeds_of(fitted), seed))
            fitted.fit(*parts.train)
            require_certified(fitted, drawn.certificate, seeded=isinstance(entropy, Seeded))
            found = score.measure(fitted, *parts.scored, certificate.score.noise, noise)
            if found > value:
                best, value = drawn._replace(estimator=fitted), found
        return best, value

    # --- public numbers ---

    def _checked_parameters(self) -> Trials:
        finite("epsilon", self.epsilon, 0.0, open_low=True)
        delta_in(self.delta)
        number_in("holdout", self.holdout, 0.0, 1.0, open_high=True)
        number_in("score_share", self.score_share, 0.0, 1.0, open_low=True, open_high=True)
        count("n_candidates", self.n_candidates, 1)
        law = choice("law", self.law, get_args(SearchLaw))
        family: Any = "poisson" if law == "poisson" else "negative_binomial"
        try:
            return Trials.with_mean(family, self.n_iter, _SHAPES[law])
        except InvalidInput as error:
            raise InvalidInput("n_iter", self.n_iter, error.problem, error.remedy) from error

    def _with_classes(self, model: Any, y: Any) -> tuple[Any, bool]:
        """The estimator with all classes; read off the labels, with a warning, if not given."""
        base = clone(self.estimator)
        if not is_classifier(model) or model.classes is not None:
            return base, False
        labels = np.asarray(labels_of(y))
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels[:, 0]
        known, _ = learnt_classes(labels)
        warnings.warn(
            "classes are read off the labels and released without noise: a class that one person "
            "alone has gives that person away. Give classes=...",
            PrivacyLeakWarning,
            stacklevel=3,
        )
        prefix = f"{base.steps[-1][0]}__" if isinstance(base, PrivatePipeline) else ""
        return base.set_params(**{f"{prefix}classes": known}), True

    def _certified(
        self,
        chosen: list[dict[str, Any]],
        base: Any,
        parts: Parts,
        score: TrialScore,
        trials: Trials,
        private: bool,
    ) -> tuple[list[Candidate], SelectionCertificate]:
        """The candidates with budgets at which the whole search meets its own."""
        share = None if parts.held_out else self.score_share
        spent = self.epsilon
        for aim in aims(trials, self.epsilon, self.delta, share):
            trial = aim(spent)
            aimed = [
                certified(base, parameters, trial.epsilon, trial.delta, parts.train)
                for parameters in chosen
            ]
            adjacency = common_adjacency(aimed)
            noise = noise_for(score.kind, parts.n, adjacency, trial.score_mu)
            different = {one.certificate.to_json(): one.certificate for one in aimed}
            certificate = SelectionCertificate(
                n=parts.n,
                held_out=parts.held_out,
                adjacency=adjacency,
                trials=trials,
                score=NoisySum(kind=score.kind, column=score.name, noise=noise),
                candidates=tuple(different.values()),
                private=private and all(is_private(one.certificate) for one in aimed),
            )
            spent = certificate.epsilon(self.delta)
            if spent <= self.epsilon:
                return aimed, certificate
        raise InvalidInput(
            "epsilon", self.epsilon, "is not met by any noise that was tried", "give more"
        )

    def _account(self, certificate: SelectionCertificate) -> Account | None:
        if self.ledger is None:
            return None
        if not certificate.private:
            raise InvalidInput(
                "random_state", "<seed>", "makes noise that is not private and cannot be charged",
                "give random_state=None to search and estimator, or no ledger",
            )  # fmt: skip
        return self.ledger if isinstance(self.ledger, Account) else Ledger(self.ledger)

    # --- what was fitted ---

    def _keep(
        self,
        best: Candidate,
        value: float,
        certificate: SelectionCertificate,
        aimed: list[Candidate],
        leaks: tuple[str, ...],
    ) -> None:
        self.best_estimator_ = best.estimator
        self.best_params_ = best.parameters
        self.best_score_ = value
        self.certificate_ = certificate
        self.candidates_ = tuple(one.parameters for one in aimed)
        self.not_covered_ = leaks
        adopt(self.best_estimator_, certificate)
        known = getattr(self.best_estimator_, "not_covered_", ())
        if leaks or known:
            self.best_estimator_.not_covered_ = tuple(dict.fromkeys((*leaks, *known)))
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.best_estimator_, name):
                setattr(self, name, getattr(self.best_estimator_, name))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.input_tags, tags.target_tags = inner.input_tags, inner.target_tags
        tags.non_deterministic = self.random_state is None
        return tags


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _uniform(stream: Stream, below: int) -> int:
    """A uniform whole number below this: those of 62 bits that would be too many are drawn anew."""
    limit = (1 << 62) - (1 << 62) % below
    while True:
        drawn = int.from_bytes(stream.draw(8), "little") >> 2
        if drawn < limit:
            return drawn % below
