"""`PrivateHead`: plan, certify, read the data, charge the ledger, train; in this order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from shiftdp._checks import count
from shiftdp._errors import InvalidInput
from shiftdp.last_iterate import Certificate
from shiftdp.last_iterate.certification import Bounds
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.last_iterate.runs import LastBatch, Order, Sampling, has_releases
from shiftdp.training.assumed_bound import ASSUMED_BOUND, warn_of_assumed_bound
from shiftdp.training.centring import refuse_to_centre
from shiftdp.training.charging import charged
from shiftdp.training.descent.entropy import entropy_of
from shiftdp.training.descent.loop import descend_on, require_certified
from shiftdp.training.descent.records import prepare
from shiftdp.training.descent.source import Source
from shiftdp.training.heads.data import Cache, Reader, gathered
from shiftdp.training.heads.linear import CertifiedLinear
from shiftdp.training.heads.loaders import reader_of
from shiftdp.training.heads.ranks import Ranks
from shiftdp.training.heads.recomputed import RecomputedSource, first_of
from shiftdp.training.heads.source import source_of, usable_device
from shiftdp.training.heads.tensors import numbers_of
from shiftdp.training.large_delta import warn_of_large_delta
from shiftdp.training.losses.base import Loss
from shiftdp.training.losses.joint import Joint
from shiftdp.training.losses.scalar import Logistic
from shiftdp.training.losses.softmax import Softmax
from shiftdp.training.plan import Oversized
from shiftdp.training.planning.checkpoints import Checkpoints, average_of
from shiftdp.training.planning.outlook import warn_if_hopeless
from shiftdp.training.planning.planner import Planned, plan_for
from shiftdp.training.planning.problem import COMPUTE, Algorithm, Overrides, Problem

_CHOICES = tuple(Overrides.__dataclass_fields__)
_DELTA = 1e-5  # unless another is given, as for the estimators
_COMPARED = 64  # records by which ranks that hold the same ones are found
_MOST_NUMBERS = 10**9  # of a head: 8 GB, and as much again for its gradient


class Release(NamedTuple):
    """A head that was released after some step."""

    step: int
    head: CertifiedLinear


class _Found(NamedTuple):
    """The records of this rank: all of them, or the first and what reads them in each step."""

    reader: Reader | None
    X: NDArray[Any]
    y: NDArray[Any]

    @property
    def records(self) -> int:
        return len(self.X) if self.reader is None else self.reader.number

    @property
    def features(self) -> int:
        return int(self.X.shape[1]) if self.X.ndim > 1 else 1

    @property
    def kind(self) -> torch.dtype:
        return torch.float32 if self.X.dtype == np.float32 else torch.float64


@dataclass(eq=False)
class PrivateHead:
    """Trains a linear head on frozen features, with the certificate of what it releases.

    The head is a linear layer with a convex loss: `Logistic()`, `SmoothedHinge()`, `Huber()` or
    `Softmax(classes=...)` of `shiftdp.training`. Several losses are several heads on the same
    features, trained as one run on the concatenated weights. If no gradient of head h is longer
    than G_h, the gradient of all heads has the norm sqrt(|g_1|^2 + ... + |g_H|^2) |x|, at most
    G = sqrt(G_1^2 + ... + G_H^2): that is the sensitivity that is certified (2G for replace_one),
    and the certificate is about all heads together. [docs/losses.md, Lemma 7]

    All parameters are public: whatever is given must not be read off the data.

    Args:
        epsilon, delta: what the released head, or all heads together, may cost.
        feature_bound: rows of features that are longer are scaled down to it. Put
            `BoundedFeatures(feature_bound)` before the head to predict. If it is not given, 1 is
            assumed, and `fit` warns.
        loss: of one record, or one loss for each of several heads.
        classes: instead of `loss`: softmax; for 2 classes logistic regression, whose score is that
            of the second class, beside 0 for the first.
        backbone: a frozen network from inputs to features, called in evaluation mode. What it has
            learnt from the same records is not covered.
        cache: True keeps the features that were read in memory, "disk" in a file without a name;
            False computes them again in each step.
        device: what sums gradients; it has to compute in float64. The backbone stays where it is.
        distributed: whether the ranks of `torch.distributed`, if it has a process group, train one
            head together, each with records of its own; all of them have to call `fit` then.
        adjacency, bias: which data sets are neighbours; whether the head has an intercept.
        algorithm, order, last_batch, sampling: which batches there are; this and what follows,
            to `average`, is chosen by the planner unless it is given, and means what it does for
            the estimators of `shiftdp.sklearn`.
        batch_size, epochs, learning_rate, l2, clip, noise, bounds: of the run.
        checkpoints, average: which heads are released beside the last one, in `releases_`.
        centre: whether a tenth of the budget at most finds out with noise where the features lie,
            so that the head is trained on their distances from there; it is for features as they
            are. None: where public numbers say that it pays, if all features are in this process.
        compute: how many multiplications a fit may take, those of the backbone apart.
        oversized: what happens to rows above the bound: "scale" or "refuse".
        ledger: charged before each fit.
        random_state: None draws from the operating system; a seed makes the run reproducible and
            NOT private, which the certificate says.

    After `fit` there are `plan_`, `certificate_`, `head_` and, with checkpoints or an average,
    `releases_`.

    >>> X = torch.randn(500, 2, generator=torch.Generator().manual_seed(0))
    >>> head = PrivateHead(epsilon=1.0, delta=1e-5, feature_bound=2.0, classes=2)
    >>> layer = head.fit(X, (X[:, 0] > 0).long())
    >>> layer, layer.certificate.epsilon(1e-5) <= 1.0
    (CertifiedLinear(in_features=2, out_features=2, bias=True), True)
    """

    epsilon: float = 1.0
    delta: float = _DELTA
    feature_bound: float | None = None
    _: KW_ONLY
    loss: Loss | Sequence[Loss] | None = None
    classes: int | None = None
    backbone: nn.Module | None = None
    cache: Cache = True
    device: Any = "cpu"
    distributed: bool = True
    adjacency: Adjacency = "replace_one"
    bias: bool = True
    algorithm: Algorithm | None = None
    order: Order | None = None
    last_batch: LastBatch | None = None
    sampling: Sampling | None = None
    batch_size: int | None = None
    epochs: float | None = None
    learning_rate: float | None = None
    l2: float | None = None
    clip: float | None = None
    noise: float | None = None
    bounds: Bounds | None = None
    checkpoints: Checkpoints = None
    average: int | None = None
    centre: bool | None = None
    compute: float = COMPUTE
    oversized: Oversized = "scale"
    ledger: Any = None
    random_state: int | None = None

    plan_: Planned = field(init=False, repr=False)
    certificate_: Certificate = field(init=False, repr=False)
    head_: CertifiedLinear = field(init=False, repr=False)
    releases_: tuple[Release, ...] = field(init=False, repr=False)

    def plan(self, n: int, features: int, *, dense: bool = True) -> Planned:
        """What `fit` would run on so many records with so many features, without any data.

        Args:
            n: how many records.
            features: how many features.
            dense: whether all features are in this process, so that they can be centred.
        """
        problem = Problem(
            n=n,
            features=features,
            loss=self._loss(),
            feature_bound=ASSUMED_BOUND if self.feature_bound is None else self.feature_bound,
            epsilon=self.epsilon,
            delta=self.delta,
            adjacency=self.adjacency,
            intercept=bool(self.bias),
            compute=self.compute,
        )
        entropy = entropy_of(self.random_state)
        chosen = self._overrides(centre=None if dense else False)
        return plan_for(problem, chosen, entropy=entropy, oversized=self.oversized)

    def fit(self, data: Any, y: Any = None) -> CertifiedLinear:
        """Release a head that is trained on these records; if it is refused, nothing is.

        Where `torch.distributed` has several processes, each calls this with records of its own,
        and gets the head of all of them; what is planned, charged and drawn is the first rank's.

        Args:
            data: inputs, a row a record; or a Dataset, or a DataLoader, of pairs of inputs and
                target. A loader says how records are read: which of them make a batch is the
                plan's to say, whether the loader shuffles or not. A collate_fn has to treat each
                record by itself.
            y: targets beside a tensor: a vector, or a column for each head.

        Returns:
            A linear layer in the type of the features, with `certificate`.
        """
        ranks = Ranks(bool(self.distributed))
        device = ranks.agreed(lambda: usable_device(self.device))
        found = ranks.agreed(lambda: self._read(data, y))
        sizes = self._sizes(ranks, found)
        dense = ranks.number == 1 and found.reader is None
        planned, certificate = ranks.from_first(
            lambda: self._certified(sum(sizes), found.features, dense)
        )
        warn_if_hopeless(planned, self._overrides())
        warn_of_large_delta(self.delta, sum(sizes), stacklevel=2)
        if self.feature_bound is None:
            warn_of_assumed_bound(stacklevel=2)
        plan = planned.plan
        source = ranks.agreed(lambda: self._source(planned, found, device, ranks.threads))

        def run(records: Source) -> _Shown:
            shown: _Shown = []
            with charged(
                self.ledger, certificate, plan.entropy, type(self).__name__, self.random_state
            ):
                descend_on(plan, records, checkpoints=lambda *one: shown.append(one))
            return shown

        shown = ranks.descend(plan, source, sizes, run)
        self._keep(planned, certificate, shown, found.kind)
        return self.head_

    def _loss(self) -> Loss:
        if (self.loss is None) == (self.classes is None):
            raise InvalidInput(
                "loss, classes",
                (self.loss, self.classes),
                "are both missing, or both given",
                "give classes=2 or more, or a loss, or one for each head",
            )
        if self.classes is not None:
            number = count("classes", self.classes, 2)
            return Logistic() if number == 2 else Softmax(classes=number)
        if isinstance(self.loss, Loss):
            return self.loss
        if not isinstance(self.loss, Sequence) or isinstance(self.loss, str):
            raise InvalidInput(
                "loss", self.loss, "is no loss", "give one of shiftdp.training, or several"
            )
        several = Joint(tuple(self.loss))  # refuses what is no loss
        return several.heads[0] if len(several.heads) == 1 else several

    def _overrides(self, centre: bool | None = False) -> Overrides:
        """What the user has chosen; `centre` is what holds where nothing is said of it."""
        chosen = {name: getattr(self, name) for name in _CHOICES}
        if self.centre is None:
            chosen["centre"] = centre
        return Overrides(**chosen)

    def _certified(self, n: int, features: int, dense: bool) -> tuple[Planned, Certificate]:
        """The plan, and its certificate with the name of what was fitted."""
        if self.centre is True and not dense:
            raise refuse_to_centre("features that are computed anew, or on several ranks")
        numbers = self._loss().outputs * (features + 1)
        if numbers > _MOST_NUMBERS:
            raise InvalidInput(
                "classes",
                self.classes,
                f"makes a head of {numbers:.2g} numbers, more than {_MOST_NUMBERS:.0e}",
                "give as many classes as there are",
            )
        planned = self.plan(n, features, dense=dense)
        require_certified(planned.plan)
        certificate = planned.plan.certificate
        if certificate.training is None:
            return planned, certificate
        signed = replace(certificate.training, estimator=type(self).__name__)
        return planned, replace(certificate, training=signed)

    # --- the records ---

    def _read(self, data: Any, y: Any) -> _Found:
        word = isinstance(self.cache, str) and self.cache in ("memory", "disk")
        if not (word or isinstance(self.cache, bool)):
            raise InvalidInput(
                "cache", self.cache, "is no place to keep features", 'give True, "disk" or False'
            )
        self._loss()
        matrix = isinstance(data, np.ndarray) and data.ndim == 2
        if matrix and y is not None and self.backbone is None:
            return _Found(None, data, numbers_of(y))  # it may be a file, which stays one
        reader = reader_of(data, y, self.backbone)
        again = self.cache is False and (self.backbone is not None or not reader.in_memory)
        if again:
            return _Found(reader, *first_of(reader))
        return _Found(None, *gathered(reader, self.cache))

    def _sizes(self, ranks: Ranks, found: _Found) -> list[int]:
        """How many records each rank has.

        Refuses ranks whose features differ in number or type, and ranks with the same records.
        """
        kinds = ranks.shared((found.features, str(found.kind)))
        if len(set(kinds)) > 1:
            raise InvalidInput(
                "data", kinds, "are features that differ from rank to rank", "give all the same"
            )
        ranks.require_apart(found.X[:_COMPARED], found.y[:_COMPARED])
        return ranks.shared(found.records)

    def _source(
        self, planned: Planned, found: _Found, device: torch.device, threads: int
    ) -> Source:
        """The records of this rank, checked."""
        plan = planned.plan
        if found.reader is not None:
            return RecomputedSource.of(plan, found.reader, device, threads)
        records = prepare(plan, found.X, found.y, part=found.records)
        return source_of(plan, records, device, threads)

    # --- what is released ---

    def _keep(
        self, planned: Planned, certificate: Certificate, shown: _Shown, kind: torch.dtype
    ) -> None:
        plan = planned.plan
        heads = plan.loss.heads if isinstance(plan.loss, Joint) else (plan.loss,)
        outputs = tuple(head.outputs for head in heads)

        two = self.classes is not None and outputs == (1,)

        def layer(released: NDArray[Any]) -> CertifiedLinear:
            rows = np.atleast_2d(released)
            if two:  # so that the class is where the largest score is, as for more of them
                rows = np.concatenate([np.zeros_like(rows), rows])
            shown = (2,) if two else outputs
            return CertifiedLinear(rows, plan.intercept, certificate, shown, kind)

        last = shown[-1][1]
        if self.average is not None:
            last = average_of(plan.run, self.average, shown)
        self.plan_, self.certificate_, self.head_ = planned, certificate, layer(last)
        vars(self).pop("releases_", None)
        if has_releases(plan.run):
            self.releases_ = tuple(Release(step, layer(one)) for step, one in shown)


_Shown = list[tuple[int, NDArray[Any]]]
"""Steps after which something was released, and what."""
