"""dp_accounting: last-iterate runs as its events, and certificates as its privacy losses.

Needs `pip install shiftdp[dp-accounting]`. Neighbouring relations correspond as follows:

    REPLACE_ONE        adjacency="replace_one"
    REPLACE_SPECIAL    adjacency="zero_out": the special record has gradient 0
    ADD_OR_REMOVE_ONE  refused: the number of records is public here, and sets the batches
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from functools import singledispatchmethod
from typing import Any, get_args

from shiftdp._checks import choice, delta_in, finite, number_in
from shiftdp._errors import InvalidInput, UnmetHypothesis
from shiftdp._rounding import NINE_ROUNDINGS, ULP
from shiftdp.fdp import (
    GaussianTradeoff,
    LaplaceTradeoff,
    PoissonReplaceOne,
    PoissonZeroOut,
    TradeoffFunction,
)
from shiftdp.fdp.composition.product import compose
from shiftdp.last_iterate.certification import Bounds, certify
from shiftdp.last_iterate.geometry import Adjacency, Geometry
from shiftdp.last_iterate.runs import NoisyCGD, NoisyGD, NoisySGD, Run
from shiftdp.last_iterate.theorems.theorem import DELTA

try:
    import attr
    from dp_accounting import (
        ComposedDpEvent,
        DpEvent,
        GaussianDpEvent,
        LaplaceDpEvent,
        NeighboringRelation,
        NonPrivateDpEvent,
        NoOpDpEvent,
        PoissonSampledDpEvent,
        PrivacyAccountant,
        SampledWithoutReplacementDpEvent,
        SelfComposedDpEvent,
    )

    from shiftdp.privacy.dp_accounting.export import dominating_event, to_pld
except ImportError as missing:  # pragma: no cover
    raise ImportError(
        "shiftdp.privacy.dp_accounting needs dp-accounting: pip install shiftdp[dp-accounting]"
    ) from missing

__all__ = [
    "LastIterateAccountant",
    "LastIterateDpEvent",
    "dominating_event",
    "relation_of",
    "to_pld",
    "with_noise",
]

_RELATIONS: dict[Adjacency, NeighboringRelation] = {
    "replace_one": NeighboringRelation.REPLACE_ONE,
    "zero_out": NeighboringRelation.REPLACE_SPECIAL,
}


def relation_of(geometry: Geometry) -> NeighboringRelation:
    """Their name for the adjacency.

    >>> geometry = Geometry(strong_convexity=0, smoothness=1, sensitivity=1, adjacency="zero_out")
    >>> relation_of(geometry).name
    'REPLACE_SPECIAL'
    """
    return _RELATIONS[geometry.adjacency]


class BoundsChoice(enum.Enum):
    """`bounds` of `certify`: dp_accounting cannot make tuples of events that hold strings."""

    BEST = "best"
    PAPER = "paper"
    COMPOSITION = "composition"


def _bounds(value: Any) -> BoundsChoice:
    if isinstance(value, BoundsChoice):
        return value
    return BoundsChoice(choice("bounds", value, get_args(Bounds)))


@attr.s(frozen=True, slots=True, auto_attribs=True)
class LastIterateDpEvent(DpEvent):  # type: ignore[misc]
    """A run of which the last iterate alone is released.

    >>> run = NoisyGD(n=100, steps=50, learning_rate=0.1, noise=0.05)
    >>> geometry = Geometry(strong_convexity=1, smoothness=5, sensitivity=2)
    >>> event = LastIterateDpEvent(run, geometry)
    >>> accountant = LastIterateAccountant(NeighboringRelation.REPLACE_ONE)
    >>> round(accountant.compose(event, 2).get_epsilon(1e-5), 6)
    12.894528
    """

    run: Run
    geometry: Geometry
    bounds: BoundsChoice = attr.ib(default=BoundsChoice.BEST, converter=_bounds)


def with_noise(
    run: NoisyGD | NoisyCGD | NoisySGD, geometry: Geometry, bounds: Bounds = "best"
) -> Callable[[float], DpEvent]:
    """noise -> the event of this run with that noise, for `calibrate_dp_mechanism`.

    No noise is a non-private event, so that their default bracket, which begins at 0, will do.
    """

    def event(noise: float) -> DpEvent:
        if finite("noise", noise, 0.0) == 0.0:
            return NonPrivateDpEvent()
        return LastIterateDpEvent(_renoised(run, noise), geometry, bounds)

    return event


def _renoised(run: Any, noise: float) -> Run:
    if not isinstance(run, (NoisyGD, NoisyCGD, NoisySGD)):
        raise InvalidInput("run", run, "has no noise to set", "give NoisyGD, NoisyCGD or NoisySGD")
    fields = {**vars(run), "noise": noise}
    return type(run)(**fields)


class _Unsupported(Exception):
    """Why an event cannot be composed here."""


class LastIterateAccountant(PrivacyAccountant):  # type: ignore[misc]
    """Composes last-iterate runs with each other and with their events; every answer is a bound.

    Supported: LastIterateDpEvent, Gaussian, Laplace, PoissonSampled and SampledWithoutReplacement
    Gaussian, Composed, SelfComposed, NoOp and NonPrivate. As in their PLDAccountant a noise
    multiplier is relative to the norm of a record, so that REPLACE_ONE counts it twice.

    Args:
        neighboring_relation: REPLACE_ONE or REPLACE_SPECIAL, and that of every run.
        delta: where bounds with free parameters (NoisySGD) are made to be tightest; what they give
            is valid at every delta.
    """

    def __init__(self, neighboring_relation: NeighboringRelation, *, delta: float = DELTA) -> None:
        if neighboring_relation not in _RELATIONS.values():
            raise UnmetHypothesis(
                "neighboring_relation",
                neighboring_relation,
                "changes the number of records, which sets the batches and is public",
                "give REPLACE_SPECIAL (zero_out) or REPLACE_ONE (replace_one)",
            )
        super().__init__(neighboring_relation)
        self._aim = delta_in(delta)
        self._factors: list[tuple[TradeoffFunction, int]] = []
        self._certified: dict[LastIterateDpEvent, TradeoffFunction] = {}
        self._private = True

    def get_epsilon(self, target_delta: float) -> float:
        return float(self._product().epsilon(target_delta)) if self._private else math.inf

    def get_delta(self, target_epsilon: float) -> float:
        return float(self._product().delta(target_epsilon)) if self._private else 1.0

    def _product(self) -> TradeoffFunction:
        if not self._factors:
            return GaussianTradeoff(0.0)
        return compose([f.power(count) for f, count in self._factors]).worse_direction()

    def _maybe_compose(self, event: DpEvent, count: int, do_compose: bool) -> Any:
        if isinstance(event, NoOpDpEvent):
            return None
        if isinstance(event, NonPrivateDpEvent):
            self._private = self._private and not do_compose
            return None
        if isinstance(event, SelfComposedDpEvent):
            return self._maybe_compose(event.event, event.count * count, do_compose)
        if isinstance(event, ComposedDpEvent):
            details = (self._maybe_compose(part, count, do_compose) for part in event.events)
            return next((problem for problem in details if problem is not None), None)
        # all that can fail does so before anything is entered in the ledger
        try:
            f = self._law(event)
        except (_Unsupported, InvalidInput) as problem:
            return self.CompositionErrorDetails(invalid_event=event, error_message=str(problem))
        if do_compose and f is None:
            self._private = False
        elif do_compose and f is not None and count > 0:
            self._factors.append((f, count))
        return None

    @property
    def _replaces(self) -> bool:
        return bool(self.neighboring_relation == NeighboringRelation.REPLACE_ONE)

    @singledispatchmethod
    def _law(self, event: DpEvent) -> TradeoffFunction | None:
        """T(with the record, without it) of an event; None if it has no noise."""
        raise _Unsupported("Unsupported event")

    @_law.register(LastIterateDpEvent)
    def _(self, event: LastIterateDpEvent) -> TradeoffFunction:
        if relation_of(event.geometry) != self.neighboring_relation:
            adjacency = event.geometry.adjacency
            raise _Unsupported(f"{adjacency=} is not {self.neighboring_relation.name}")
        if event not in self._certified:
            cert = certify(event.run, event.geometry, bounds=event.bounds.value, delta=self._aim)
            self._certified[event] = cert.f.directions[1]
        return self._certified[event]

    @_law.register(LaplaceDpEvent)
    def _(self, event: Any) -> TradeoffFunction | None:
        if self._replaces:
            raise _Unsupported("neighboring_relation must be REPLACE_SPECIAL")
        shift = _inverse_up(event.noise_multiplier)
        return None if shift is None else LaplaceTradeoff(shift)

    @_law.register(GaussianDpEvent)
    def _(self, event: Any) -> TradeoffFunction | None:
        shift = _inverse_up(event.noise_multiplier)
        return None if shift is None else GaussianTradeoff(self._moved(shift))

    @_law.register(PoissonSampledDpEvent)
    def _(self, event: Any) -> TradeoffFunction | None:
        shift = _inverse_up(_sampled(event).noise_multiplier)
        p = number_in("sampling_probability", event.sampling_probability, 0.0, 1.0)
        if shift is None:
            return GaussianTradeoff(0.0) if p == 0.0 else None
        return PoissonReplaceOne(p, 0.0, shift) if self._replaces else PoissonZeroOut(p, 0.0, shift)

    @_law.register(SampledWithoutReplacementDpEvent)
    def _(self, event: Any) -> TradeoffFunction | None:
        inner = _sampled(event)
        if not self._replaces:  # another record takes the place of the one that is zeroed out
            raise _Unsupported("neighboring_relation must be REPLACE_ONE")
        shift = _inverse_up(inner.noise_multiplier)
        p = event.sample_size / event.source_dataset_size * (1.0 + ULP)
        p = number_in("sample_size", min(p, 1.0) if p < 1.0 + NINE_ROUNDINGS else p, 0.0, 1.0)
        if shift is None:
            return GaussianTradeoff(0.0) if p == 0.0 else None
        return GaussianTradeoff(self._moved(shift)).subsample(p)

    def _moved(self, shift: float) -> float:
        """How far a record moves the mean: two gradients are up to 2 norms apart."""
        return 2.0 * shift if self._replaces else shift


def _sampled(event: Any) -> Any:
    """What is run on the sample: a Gaussian mechanism, or it is not supported."""
    if not isinstance(event.event, GaussianDpEvent):
        raise _Unsupported("only a GaussianDpEvent may be sampled")
    return event.event


def _inverse_up(multiplier: float) -> float | None:
    """1/multiplier, rounded up; None for no noise."""
    value = finite("noise_multiplier", multiplier, 0.0)
    return None if value == 0.0 else math.nextafter(1.0 / value, math.inf)
