"""The plan: what runs, on which loss, with which sampler, noise and certificate, in one piece.

Trainers accept nothing else, so the loop and the theorem cannot disagree: the geometry that is
certified is derived here from the loss, the bound on the features, the ridge, the clipping and the
projection that the loop applies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from shiftdp._checks import DATA_GREATEST, DATA_LEAST, RIDGE_GREATEST, choice, count, magnitude
from shiftdp._errors import UnmetHypothesis
from shiftdp._kinds import Uncertified
from shiftdp._rounding import EIGHT_ROUNDINGS
from shiftdp.fdp import TradeoffFunction
from shiftdp.last_iterate import Certificate, Geometry, NoisyCGD, NoisyGD, NoisySGD, certify
from shiftdp.last_iterate.assumptions import of_centred_rows, seeded_noise
from shiftdp.last_iterate.certification import Bounds
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.last_iterate.sum_rounding import arithmetic_words, residual_error, sum_error
from shiftdp.last_iterate.training_record import TrainingRecord
from shiftdp.training.descent.batches import TrainingRun
from shiftdp.training.descent.entropy import Entropy, System
from shiftdp.training.descent.projection import Projection
from shiftdp.training.descent.proximal import Prox
from shiftdp.training.losses.base import Loss, numbers_of
from shiftdp.training.plan_checks import multiclass, require_kind, require_sound

Clipping = Literal["none", "envelope", "plain", "uncertified"]
Oversized = Literal["scale", "refuse"]

_UP = 1.0 + EIGHT_ROUNDINGS  # for a root, a product or two, and this one


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A run on a linear model, with the certificate of exactly that.

    Args:
        run: NoisyGD, NoisyCGD or NoisySGD: the batches, the steps, the noise.
        loss: of one record; Logistic, Softmax, SmoothedHinge, Huber or ClippedSquared, or one of
            them Weighted by class.
        feature_bound: no feature vector is longer, because the loop scales down (or refuses) those
            that are. It must not be read off the data.
        l2: m; (m/2)|w|^2 is added to every record's loss, intercept included.
        intercept: whether a constant 1 is joined to the features, which makes the bound
            R = sqrt(feature_bound^2 + 1).
        clipping: `none`; `envelope`, which keeps the loss convex and smooth; `plain`, which scales
            long gradients down as DP-SGD does: for one score or two classes this is the envelope,
            for more classes only `bounds="composition"` covers it; or `uncertified`, the same
            scaling of three classes or more with an estimate in place of a certificate.
        clip: the norm that a record's gradient is clipped to.
        projection: the set that holds the iterates: Ball, Box or Simplex.
        prox: a penalty that each step ends with: L1 or ElasticNet, beside the ridge `l2`, which is
            part of the gradient.
        centred: whether the first two steps of a composed run of full batches measure where the
            rows lie, so that the others train on their distances from there (Theorem P2).
        adjacency: which data sets are neighbours, `replace_one` or `zero_out`.
        oversized: what happens to rows above the bound: `scale` or `refuse`.
        features: how many there are, if it matters (Box) or is to be checked.
        bounds: which theorems the certificate may use, as in `certify`. Composition asks nothing of
            the losses but their sensitivity, so it also covers learning rates above 2/smoothness
            and plain clipping.
        entropy: where the randomness comes from: System(), Aes(), or Seeded(...) in tests.

    >>> from shiftdp.training import Softmax
    >>> run = NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)
    >>> plan = Plan(
    ...     run=run,
    ...     loss=Softmax(classes=10),
    ...     feature_bound=8.0,
    ...     l2=0.002,
    ...     clipping="envelope",
    ...     clip=5.0,
    ... )
    >>> plan.geometry.smoothness, round(plan.geometry.sensitivity, 5)
    (32.502, 10.0)
    >>> round(plan.certificate.epsilon(delta=1e-5), 3)
    4.339
    """

    run: TrainingRun
    loss: Loss
    feature_bound: float
    l2: float = 0.0
    intercept: bool = True
    clipping: Clipping = "none"
    clip: float | None = None
    projection: Projection | None = None
    prox: Prox | None = None
    centred: bool = False
    adjacency: Adjacency = "replace_one"
    oversized: Oversized = "scale"
    features: int | None = None
    bounds: Bounds = "best"
    entropy: Entropy = field(default_factory=System)

    def __post_init__(self) -> None:
        require_kind("run", self.run, (NoisyGD, NoisyCGD, NoisySGD))
        require_kind("loss", self.loss, (Loss,))
        require_kind("entropy", self.entropy, (Entropy,))
        require_kind("intercept", self.intercept, (bool, np.bool_))
        if self.projection is not None:
            require_kind("projection", self.projection, (Projection,))
        if self.prox is not None:
            require_kind("prox", self.prox, (Prox,))
        require_kind("centred", self.centred, (bool, np.bool_))
        checked = {
            "feature_bound": magnitude(
                "feature_bound", self.feature_bound, DATA_LEAST, DATA_GREATEST
            ),
            "l2": magnitude("l2", self.l2, greatest=RIDGE_GREATEST, zero=True),
            "intercept": bool(self.intercept),
            "centred": bool(self.centred),
            "clipping": choice("clipping", self.clipping, get_args(Clipping)),
            "adjacency": choice("adjacency", self.adjacency, get_args(Adjacency)),
            "oversized": choice("oversized", self.oversized, get_args(Oversized)),
            "bounds": choice("bounds", self.bounds, get_args(Bounds)),
        }
        if self.features is not None:
            checked["features"] = count("features", self.features, 1)
        if self.clip is not None:
            checked["clip"] = magnitude("clip", self.clip, DATA_LEAST, DATA_GREATEST)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        require_sound(self)

    @property
    def norm_bound(self) -> float:
        """R, the bound on a feature vector with its constant, rounded up."""
        if not self.intercept:
            return self.feature_bound
        return math.hypot(self.feature_bound, 1.0) * _UP

    @property
    def gradient_bound(self) -> float:
        """G, the largest norm of one record's gradient, the ridge apart."""
        own = self.loss.slope * self.norm_bound * (1.0 if math.isinf(self.loss.slope) else _UP)
        return own if self.clip is None else min(own, self.clip)

    @property
    def residual_clip(self) -> float | None:
        """The clip, or None where it cannot touch a gradient."""
        own = self.loss.slope * self.norm_bound
        return None if self.clip is None or own <= self.clip else self.clip

    @property
    def dimension(self) -> int | None:
        """How many parameters there are, if the number of features is known."""
        if self.features is None:
            return None
        return self.loss.outputs * (self.features + self.intercept)

    @property
    def _diameter(self) -> float:
        return math.inf if self.projection is None else self.projection.diameter(self.dimension)

    @cached_property
    def geometry(self) -> Geometry:
        """What is proved of the losses that the loop uses. [docs/losses.md, Theorem 1]

        Of softmax as plainly clipped, and of steps that measure rows, nothing is known but the
        sensitivity: composition remains.
        """
        if self.plainly_clipped or self.centred:
            return replace(self._ideal, strong_convexity=-math.inf, smoothness=math.inf)
        return self._ideal

    @property
    def plainly_clipped(self) -> bool:
        """Whether gradients are scaled down in a way that is not the envelope's.

        For one score and for two classes the two are the same. [docs/losses.md, Lemma 2]
        """
        scaled = self.clipping in ("plain", "uncertified")
        return scaled and multiclass(self.loss) and self.residual_clip is not None

    @property
    def residuals(self) -> Callable[[Any, Any, Any], None]:
        """The residuals of the loss, clipped as the plan says."""
        return self.loss.scaled_residuals if self.plainly_clipped else self.loss.residuals

    @property
    def sensitivity(self) -> float:
        """L for the loop as it computes: what one record can change the sum over a batch by.

        G or 2G in real numbers, and what rounding adds for any data. [Theorem F1]
        """
        return self._computed(1.0 if self.adjacency == "zero_out" else 2.0)

    def _computed(self, times: float) -> float:
        """How far the computed sums over a batch are apart if one gradient changes by `times` G."""
        G, rho = self.gradient_bound, self._residual_error
        return (times + 2.0 * sum_error(self.run.largest_batch, rho)) * G * _UP

    @property
    def _residual_error(self) -> float:
        solved = self.residual_clip is not None and not self.plainly_clipped
        return residual_error(self.loss.outputs, solved=solved and self.loss.outputs > 1)

    @property
    def arithmetic(self) -> str:
        """How the loop computes, and what that adds to the sensitivity."""
        apart = self.gradient_bound * (1.0 if self.adjacency == "zero_out" else 2.0)
        return arithmetic_words(self.sensitivity / apart - 1.0)

    @property
    def _ideal(self) -> Geometry:
        return Geometry(
            strong_convexity=self.l2,
            smoothness=self._smoothness,
            sensitivity=self.sensitivity,
            diameter=self._diameter,
            adjacency=self.adjacency,
            gradient_bound=self._computed(1.0),
            prox_convexity=self._prox_convexity,
        )

    @property
    def _prox_convexity(self) -> float:
        """What the prox brings two points together by, where Theorem V5 uses it: equal steps."""
        equal = isinstance(self.run.learning_rate, float)
        return self.prox.strong_convexity if self.prox is not None and equal else 0.0

    @property
    def _smoothness(self) -> float:
        """curvature R^2 + m, never rounded down."""
        squared = Fraction(self.feature_bound) ** 2 + int(self.intercept)
        exact = Fraction(self.loss.curvature) * squared + Fraction(self.l2)
        try:
            value = float(exact)
        except OverflowError:
            return math.inf
        return value if Fraction(value) >= exact else math.nextafter(value, math.inf)

    @cached_property
    def certificate(self) -> Certificate:
        """The proved guarantee of what this plan releases: its last iterate, or its `releases`.

        With seeded entropy it is stamped "reproducible run: not private", and does not `verify`.
        """
        if self.clipping == "uncertified" and self.plainly_clipped:
            raise UnmetHypothesis(
                "clipping",
                self.clipping,
                "is not the gradient of a convex function: the theorems do not cover this run",
                'give clipping="envelope", read plan.estimate, or give clipping="plain" with '
                'bounds="composition", which asks for no convexity',
            )
        certificate = certify(self.run, self.geometry, bounds=self.bounds)
        certificate = replace(certificate, training=self.training_record())
        if self.centred:
            stated = of_centred_rows(certificate.assumptions)
            certificate = replace(certificate, assumptions=stated)
        if self.entropy.private:
            return certificate
        return replace(certificate, assumptions=(seeded_noise(), *certificate.assumptions))

    def training_record(self) -> TrainingRecord:
        """What was signed, and today's date."""
        from shiftdp._version import VERSION

        return TrainingRecord(
            loss=self.loss.name,
            loss_parameters=self.loss.parameters,
            outputs=self.loss.outputs,
            slope=self.loss.slope,
            curvature=self.loss.curvature,
            feature_bound=self.feature_bound,
            intercept=self.intercept,
            l2=self.l2,
            clipping=self.clipping,
            clip=self.clip,
            projection=None if self.projection is None else type(self.projection).__name__,
            projection_parameters=numbers_of(self.projection),
            prox=None if self.prox is None else type(self.prox).__name__,
            prox_parameters=numbers_of(self.prox),
            centred=self.centred,
            features=self.features,
            oversized=self.oversized,
            noise_source=type(self.entropy).__name__,
            private=self.entropy.private,
            arithmetic=self.arithmetic,
            version=VERSION,
            date=datetime.now(UTC).date().isoformat(),
        )

    @property
    def estimate(self) -> Uncertified[TradeoffFunction]:
        """What the theorems give if clipping is taken to keep the loss convex: no certified bound.

        >>> from shiftdp.training import Softmax
        >>> run = NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)
        >>> plan = Plan(
        ...     run=run,
        ...     loss=Softmax(classes=10),
        ...     feature_bound=8.0,
        ...     l2=0.002,
        ...     clipping="uncertified",
        ...     clip=5.0,
        ... )
        >>> plan.estimate.kind, round(plan.estimate.value.epsilon(1e-5), 2)
        ('estimate', 4.34)
        """
        source = (
            "plain clipping treated as if it kept the loss convex"
            if self.clipping == "uncertified" and self.plainly_clipped
            else "the certificate's own bound"
        )
        if not self.entropy.private:
            source += "; reproducible run: not private"
        ideal = certify(self.run, self._ideal, bounds=self.bounds)
        return Uncertified(ideal.f, "estimate", source)

    @property
    def grid(self) -> float:
        """The released parameters are multiples of this power of two, which is public.

        At most 2^-8 of the last step's noise: rounding costs no accuracy worth the name.
        """
        return self.grid_at(0)

    def grid_at(self, step: int) -> float:
        """`grid` for parameters released after any step, counted from 1; 0 means the last step."""
        eta, sigma = (
            value if isinstance(value, float) else value[step - 1]
            for value in (self.run.learning_rate, self.run.noise)
        )
        return 2.0 ** (math.floor(math.log2(eta * sigma)) - 8)
