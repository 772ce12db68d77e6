"""What a trained model was trained with, so that a steward can tell what was signed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from shiftdp._errors import VerificationFailed
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.loss_constants import (
    MOST,
    Parameters,
    constants_of,
    flaw_of,
    in_range,
    is_known,
)
from shiftdp.last_iterate.runs import Run, has_releases
from shiftdp.last_iterate.sum_rounding import residual_error, stated_excess, sum_error


@dataclass(frozen=True, kw_only=True)
class TrainingRecord:
    """The public side of a training run, as it stands in its certificate.

    Args:
        loss, loss_parameters: of one record, by name.
        outputs: how many scores a record has.
        slope, curvature: the Lipschitz constant and the smoothness of the loss in the scores.
        feature_bound, intercept, l2: as in `Plan`.
        clipping, clip, projection, prox, features, oversized: as in `Plan`.
        centred: whether the first two steps measure the rows, to centre and to scale them.
        noise_source: where the randomness came from.
        private: whether that source is secret; a seed is not.
        arithmetic: how sums were computed, and what that adds to the sensitivity.
        estimator: which one was fitted, if any.
        version, date: of shiftdp, and the day (UTC) on which the certificate was made.
    """

    loss: str
    loss_parameters: Parameters = ()
    outputs: int = 1
    slope: float
    curvature: float
    feature_bound: float
    intercept: bool
    l2: float
    clipping: str
    clip: float | None
    projection: str | None
    projection_parameters: Parameters = ()
    prox: str | None = None
    prox_parameters: Parameters = ()
    centred: bool = False
    features: int | None
    oversized: str
    noise_source: str
    private: bool
    arithmetic: str
    estimator: str | None = None
    version: str
    date: str

    def unsigned(self) -> TrainingRecord:
        """This record without estimator, version and date, which do not affect the guarantee."""
        return replace(self, estimator=None, version="", date="")

    def lines(self) -> list[tuple[str, str]]:
        """What a statement says of the training, in pairs of a title and a text."""
        bound = f"features within {self.feature_bound:g} ({self.oversized})"
        parts = [_called(self.loss, self.loss_parameters), bound, f"l2={self.l2:g}"]
        parts.append("with an intercept" if self.intercept else "without an intercept")
        if self.centred:
            parts.append("on rows as distances from their noisy mean, measured by two steps first")
        if self.clip is not None:
            parts.append(f"clipping={self.clipping} at {self.clip:g}")
        if self.projection is not None:
            parts.append(_called(self.projection, self.projection_parameters))
        if self.prox is not None:
            parts.append(f"prox of {_called(self.prox, self.prox_parameters)}")
        by = f"shiftdp {self.version} on {self.date}"
        own = {"loss": is_known(self.loss), "noise source": self.noise_source in _SOURCES}
        own["prox"] = self.prox is None or self.prox in _PROXES
        own["projection"] = self.projection is None or self.projection in _PROJECTIONS
        foreign = [name for name, known in own.items() if not known]
        if foreign:
            parts.append(f"the {' and the '.join(foreign)} as declared, not checked")
        return [
            ("trained", ", ".join(parts)),
            ("noise from", self.noise_source),
            ("arithmetic", self.arithmetic),
            ("made by", by if self.estimator is None else f"{self.estimator}, {by}"),
        ]


def _called(name: str, parameters: Parameters) -> str:
    return f"{name}({', '.join(f'{key}={value:g}' for key, value in parameters)})"


MEASURING = 2
"""Steps that measure the rows before those that move the model. [docs/theory.md, Theorem P2]"""
_PROJECTIONS = ("Ball", "Box", "Simplex")
_PROXES = ("L1", "ElasticNet")
_SOURCES = {"System": True, "Aes": True, "Seeded": False}
_TWO_DIGITS, _LAST_DIGITS = 0.06, 4e-15  # rounding to two digits, and of a quotient minus 1


def verify_training(
    record: TrainingRecord, run: Run, geometry: Geometry, *, contracts: bool
) -> None:
    """Raise `VerificationFailed` unless the geometry follows from what the record says.

    With R^2 = feature_bound^2, and 1 more for an intercept, the loss is (slope R)-Lipschitz and
    (curvature R^2 + l2)-smooth, and a clip bounds its gradients further. Sensitivity (with what
    rounding adds to it, Theorem F1), smoothness and diameter may be more than that, never less. In
    rational arithmetic. `contracts` is whether the theorem asks for losses that are convex as
    clipped. Weights of classes are at most 1, so that they change none of this.
    """
    known = _SOURCES.get(record.noise_source, record.private)
    _require(known == record.private or not record.private, "noise source")
    if not record.private:
        raise VerificationFailed(
            f"NOT PRIVATE: the noise came from a seed ({record.noise_source}), and whoever knows "
            "it can undo it; the numbers would hold with the entropy of the operating system"
        )
    _require_parameters(record)
    least = constants_of(record.loss, record.loss_parameters)
    slope = None if math.isinf(record.slope) else Fraction(record.slope) ** 2
    curvature = Fraction(record.curvature)
    if least is not None:
        steepest, bend = least
        _require(slope is None or (steepest is not None and slope >= steepest), "slope")
        _require(curvature >= bend, "curvature")
    R2 = Fraction(record.feature_bound) ** 2 + int(record.intercept)
    clip = None if record.clip is None else Fraction(record.clip) ** 2
    own = None if slope is None else slope * R2
    norms = [norm for norm in (own, clip) if norm is not None]
    _require(bool(norms) and (record.clip is None) == (record.clipping == "none"), "clipping")
    G2 = min(norms)
    acts = clip is not None and (own is None or clip < own)
    scaled = record.clipping in ("plain", "uncertified") and record.outputs > 2
    rounding = _rounding(record, run, solved=acts and not scaled and record.outputs > 1)
    times = 2 if geometry.adjacency == "replace_one" else 1
    _require(Fraction(geometry.sensitivity) ** 2 >= (times + rounding) ** 2 * G2, "sensitivity")
    if geometry.gradient_bound is not None:
        enough = Fraction(geometry.gradient_bound) ** 2 >= (1 + rounding) ** 2 * G2
        _require(enough, "gradient_bound")
    _require_arithmetic(record, rounding / times, Fraction(geometry.sensitivity) ** 2 / G2, times)
    if record.centred:
        own_steps = run.window.full_batches and run.window.steps > MEASURING
        alone = record.prox is None and record.projection is None and not has_releases(run)
        _require(own_steps and alone and not contracts and record.intercept, "centring")
    if contracts:
        monotone = record.clipping in ("none", "envelope") or record.outputs <= 2
        _require(monotone or not acts, "clipping")
        smooth = curvature * R2 + Fraction(record.l2)
        _require(
            math.isinf(geometry.smoothness) or Fraction(geometry.smoothness) >= smooth, "smoothness"
        )
        _require(geometry.strong_convexity <= record.l2, "strong_convexity")
    _require_diameter(record, geometry)
    _require_prox(record, geometry)


def _rounding(record: TrainingRecord, run: Run, *, solved: bool) -> Fraction:
    """What the rounding of sums adds to the sensitivity, in units of G. [Theorem F1]"""
    run = run.window
    if not run.trainable:
        raise VerificationFailed("the run is none that is trained")
    rho = residual_error(record.outputs, solved=solved)
    return 2 * Fraction(sum_error(run.largest_batch, rho))


def _require_arithmetic(
    record: TrainingRecord, needed: Fraction, squared: Fraction, times: int
) -> None:
    """What is said of the arithmetic: the loop's words, and a part of the sensitivity that rounding
    needs and that the sensitivity has.

    Args:
        record: with the words.
        needed: what rounding adds, in units of the sensitivity in real numbers.
        squared: of the sensitivity that is certified, in units of G.
        times: the sensitivity in real numbers, in units of G.
    """
    stated = stated_excess(record.arithmetic)
    above = max(0.0, float(squared / times**2 - 1))
    included = above / (1.0 + math.sqrt(1.0 + above))  # sqrt(1 + above) - 1
    low = float(needed) * (1.0 - _TWO_DIGITS) - _LAST_DIGITS
    high = included * (1.0 + _TWO_DIGITS) + _LAST_DIGITS
    _require(stated is not None and low <= stated <= high, "arithmetic")


def _require_parameters(record: TrainingRecord) -> None:
    """Losses and sets of ours have the parameters that they can have."""
    flaw = flaw_of(record.loss, record.loss_parameters, record.outputs)
    _require(flaw is None, flaw or "")
    positive: list[float] = []
    if record.projection in ("Ball", "Simplex"):
        positive = [value for _, value in record.projection_parameters]
    _require(all(map(in_range, positive)), "parameter of the loss or of the set")
    if record.projection == "Box":
        ends = dict(record.projection_parameters)
        _require(-MOST <= ends["low"] < ends["high"] <= MOST, "box")


def _require_diameter(record: TrainingRecord, geometry: Geometry) -> None:
    if record.projection is None:
        _require(not geometry.bounded, "diameter")
        return
    if not geometry.bounded:
        return
    given = {name: Fraction(x) for name, x in record.projection_parameters if math.isfinite(x)}
    squared = {
        "Ball": lambda: 4 * given["radius"] ** 2,
        "Simplex": lambda: 2 * given["total"] ** 2,
        "Box": lambda: (
            record.outputs
            * ((record.features or 2**53) + int(record.intercept))
            * (given["high"] - given["low"]) ** 2
        ),
    }.get(record.projection)
    if squared is not None:
        _require(Fraction(geometry.diameter) ** 2 >= squared(), "diameter")


def _require_prox(record: TrainingRecord, geometry: Geometry) -> None:
    """The prox is as strongly convex as is used: by its ridge, if it is one of ours."""
    if not geometry.prox_convexity:
        return
    _require(record.prox is not None, "prox")
    if record.prox in _PROXES:
        ridge = dict(record.prox_parameters).get("l2", 0.0)
        _require(geometry.prox_convexity <= ridge, "prox_convexity")


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise VerificationFailed(f"the {what} does not follow from the training that is stated")
