"""The certificate: what was run, what is assumed, which theorem applies, and what it proves."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from shiftdp._checks import GREATEST_ORDER, LEAST_DELTA, Array, array_in, number_in
from shiftdp._kinds import CERTIFIED, CONDITIONAL, Kind
from shiftdp._printed import percent, schedule, trimmed, up
from shiftdp.fdp import TradeoffFunction
from shiftdp.last_iterate.assumptions import Assumption, is_trust
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import LangevinMC, Run, has_releases, people, stated
from shiftdp.last_iterate.schedules.releases import number_of_releases
from shiftdp.last_iterate.theorems.proofs import Proofs
from shiftdp.last_iterate.training_record import TrainingRecord

if TYPE_CHECKING:
    from shiftdp.last_iterate.theorems.theorem import Theorem

# How much lower mu may truly be: it carries the rounding of its formula upwards, and, for each step
# that the run remembers, the rounding of the contraction.
_SPREAD, _SPREAD_STEP = 4e-12, 2.0**-49
# The usual delta of a statement in words, and the false positive rate of its attacker.
_STATED_DELTA, _STATED_FPR = 1e-5, 0.01


@dataclass(frozen=True)
class Certificate:
    """A proved privacy guarantee of one run. Every number it returns is an upper bound on the leak.

    Make one with `certify`; take one apart with `to_json`, `statement` and `verify`. That of a
    trained model also has a `training` record: loss, bounds, arithmetic, version and date.
    """

    run: Run
    geometry: Geometry
    bound: str
    f: TradeoffFunction = field(repr=False)
    assumptions: tuple[Assumption, ...] = field(repr=False)
    proofs: Proofs = field(repr=False, default=())
    training: TrainingRecord | None = field(repr=False, default=None)

    @property
    def kind(self) -> Kind:
        """`certified`, or `conditional` where it rests on a theorem of the user's own."""
        return CONDITIONAL if any(map(is_trust, self.assumptions)) else CERTIFIED

    @property
    def mu(self) -> float | None:
        """The GDP parameter, or None where the bound is not Gaussian."""
        return self.f.gdp_mu

    def epsilon(self, delta: float) -> float:
        """The least epsilon that is proved at this delta.

        A bound with free parameters is tightest at the delta that `certify` was given. Where
        composition gives less, as it may at far smaller ones, that is the answer.
        """
        delta = number_in("delta", delta, LEAST_DELTA, 1.0, open_high=True)
        epsilon = self.f.epsilon(delta)
        composed = self._composition_below(epsilon, delta)
        return epsilon if composed is None else min(epsilon, composed.epsilon(delta))

    def epsilon_interval(self, delta: float) -> tuple[float, float]:
        """The numerical error of `epsilon`: the exact value of this bound lies in between."""
        high = self.epsilon(delta)
        f = self._composition_below(self.f.epsilon(delta), delta) or self.f
        return min(high, f.epsilon_below(delta, _spread(self.run, self.geometry))), high

    def delta(self, epsilon: float) -> float:
        """The least delta that is proved at this epsilon, by the bound or by composition."""
        epsilon = number_in("epsilon", epsilon, 0.0)
        delta = self.f.delta(epsilon)
        composed = self._composition_below(epsilon, delta) if LEAST_DELTA <= delta < 1.0 else None
        return delta if composed is None else min(delta, composed.delta(epsilon))

    def _composition_below(self, epsilon: float, delta: float) -> TradeoffFunction | None:
        """Composition, which holds for every run of NoisySGD, where it gives less than epsilon."""
        if not self.run.sampled or not self.proofs or math.isinf(self.run.steps):
            return None
        if people(self.run) > 1:  # that of one record is not theirs
            return None
        from shiftdp.last_iterate.theorems.sampled.composition import composition_below

        return composition_below(self.run, self.geometry, epsilon, delta)

    def tradeoff(self, alpha: ArrayLike) -> float | Array:
        """f(alpha): the least false negative rate of any test at false positive rate alpha."""
        return self.f(array_in("alpha", alpha, 0.0, 1.0))

    def renyi(self, order: float) -> float:
        """An upper bound on the Renyi divergence of this order, in either direction.

        A bound that may fail has none that is finite. There, and wherever it is less, composition
        counts: it holds for every run of NoisySGD.
        """
        from shiftdp.last_iterate.theorems.sampled.composition import composed_renyi

        order = number_in("order", order, 1.0, GREATEST_ORDER, open_low=True)
        found = max(part.renyi(order) for part in {*self.f.directions})
        single = people(self.run) == 1
        if single and self.run.sampled and math.isfinite(self.run.steps):
            found = min(found, composed_renyi(self.run, self.geometry, order))
        return found

    def advantage(self) -> float:
        """The most by which an attacker's true positive rate can exceed the false positive rate."""
        return self.f.advantage()

    def tpr(self, fpr: float) -> float:
        """The most true positives that an attacker can have at this false positive rate."""
        return self.f.tpr(fpr)

    def for_group(self, k: int) -> TradeoffFunction:
        """Group privacy: what the certificate says of k people, or records, at once.

        1 - (1 - f)^{o k} [DRS22, Thm 2.14], for any run and any bound. Where the k records are one
        person's, `records_per_person` on the run often proves more.

        >>> from shiftdp.last_iterate import Geometry, NoisyGD, certify
        >>> geometry = Geometry(strong_convexity=0.1, smoothness=1.0, sensitivity=1.0)
        >>> run = NoisyGD(n=100, steps=50, learning_rate=0.5, noise=0.1)
        >>> cert = certify(run, geometry)
        >>> round(cert.mu, 4), round(cert.for_group(3).gdp_mu, 4)
        (0.5782, 1.7345)
        """
        return self.f.group(k)

    @property
    def lower_mu(self) -> float | None:
        """The largest mu that some losses of the class are known to attain, or None. Theorem B5."""
        from shiftdp.last_iterate.attained import attained_mu

        return attained_mu(self.run, self.geometry)

    def lower_epsilon(self, delta: float) -> float | None:
        """The largest epsilon that some losses of the class are known to need, or None.

        No bound for the whole class can be below it, whatever its proof: what lies between it and
        `epsilon` is all that is left to gain. Theorem B5 and, for random batches, Theorem B8. It is
        computed when it is asked for, in a second at most.

        >>> from shiftdp import Geometry, NoisySGD, certify
        >>> run = NoisySGD(n=200, batch_size=10, steps=30, learning_rate=0.5, noise=1.0)
        >>> cert = certify(run, Geometry(strong_convexity=0.4, smoothness=2, sensitivity=20))
        >>> 5.6 < cert.lower_epsilon(1e-5) < cert.epsilon(1e-5) < 7.2
        True
        """
        from shiftdp.last_iterate.attained import attained_epsilon

        delta = number_in("delta", delta, LEAST_DELTA, 1.0, open_high=True)
        return attained_epsilon(self.run, self.geometry, delta)

    def after(self, i: int) -> Certificate:
        """The certificate of the first i releases alone, of a run with `releases`. Theorem V1.

        What it costs to stop there, if that was planned: whoever decides by what was released how
        many more there are to be has the cost of all that were planned.

        >>> from shiftdp import Geometry, NoisyCGD, certify
        >>> geometry = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
        >>> shape = dict(n=60_000, batch_size=1_500, learning_rate=0.05, noise=0.01)
        >>> cert = certify(NoisyCGD(**shape, epochs=50, releases=[400, 1000]), geometry)
        >>> [round(cert.after(i).epsilon(1e-5), 3) for i in (1, 2, 3)]
        [3.088, 4.731, 6.282]
        """
        from shiftdp.last_iterate.certification import first_releases_of

        return first_releases_of(self, i)

    def by_position(self) -> dict[int, float]:
        """mu for a record in each batch of the epoch: early ones are better protected.

        >>> from shiftdp import Geometry, NoisyCGD, certify
        >>> run = NoisyCGD(n=300, batch_size=100, epochs=5, learning_rate=0.1, noise=1.0)
        >>> cert = certify(run, Geometry(strong_convexity=1, smoothness=10, sensitivity=50))
        >>> {j: round(mu, 3) for j, mu in cert.by_position().items()}
        {1: 0.529, 2: 0.59, 3: 0.698}
        """
        from shiftdp.last_iterate.certification import mu_by_position

        return mu_by_position(self.run, self.geometry)

    def verify(self, *, theorems: Iterable[Theorem] = ()) -> None:
        """Check the proof without the solver; raises `VerificationFailed`.

        At once for equal steps, in O(t) otherwise. The certificate of a seeded run is refused as
        NOT PRIVATE, whatever it proves. One that rests on a theorem of your own needs that theorem,
        in `theorems`.
        """
        from shiftdp.last_iterate.verification import verify_certificate

        verify_certificate(self, theorems)

    def same_guarantee(self, other: Certificate) -> bool:
        """Whether two certificates say the same, apart from who made them when.

        Run, losses, theorem, tradeoff function, hypotheses, proofs and training are compared; the
        estimator, the version of shiftdp and the date are not.
        """
        from shiftdp.last_iterate.serialisation import document_of

        return document_of(self._unsigned()) == document_of(other._unsigned())

    def _unsigned(self) -> Certificate:
        training = self.training
        return self if training is None else replace(self, training=training.unsigned())

    def to_json(self, indent: int | None = None) -> str:
        """Everything that somebody else needs to check the guarantee."""
        from shiftdp.last_iterate.serialisation import dumps

        return dumps(self, indent)

    @staticmethod
    def from_json(text: str, *, theorems: Iterable[Theorem] = ()) -> Certificate:
        """The certificate that `to_json` wrote. It is not trusted: `verify` it.

        One by a theorem of your own needs that theorem, in `theorems`, if its proofs are its own.
        """
        from shiftdp.last_iterate.serialisation import loads

        return loads(text, theorems)

    def statement(self, *, delta: float = _STATED_DELTA) -> str:
        """The guarantee in words."""
        epsilon = self.epsilon(delta)
        lines = [
            f"{type(self.run).__name__}: ({trimmed(up(epsilon))}, {delta:g})-differential privacy "
            f"of {released_words(self.run)} [{self.kind} bound]",
            f"  theorem      {self.bound}"
            + (f", mu = {up(self.mu, 6)}" if self.mu is not None else ", not Gaussian"),
            f"  run          {_parameters(self.run)}",
            f"  attacker     at most {percent(self.tpr(_STATED_FPR))} true positives at 1% false "
            f"positives; advantage at most {percent(self.advantage())}",
        ]
        if self.training is not None:
            lines += [f"  {title:<12} {text}" for title, text in self.training.lines()]
        lines.append("  provided that")
        return "\n".join([*lines, *(f"    - {item}" for item in self.assumptions)])

    def __str__(self) -> str:
        return self.statement()


def release_in_words(certificate: Certificate) -> str:
    """What may be published of a run, in sentences."""
    record = certificate.training
    if record is None or not record.centred:
        return certificate.run.release_in_words
    return f"{certificate.run.release_in_words} And where the rows lie, as its first steps say."


def released_words(run: Run) -> str:
    """What of a run is released, in words."""
    if run.streams:
        return "all releases of the stream, however long it is"
    if not has_releases(run):
        return "the last iterate"
    return f"{number_of_releases(run)} released iterates together"


def _spread(run: Run, geometry: Geometry) -> float:
    """The part of mu that may be rounding."""
    if run.one_draw:
        return _SPREAD
    run = run.window
    remembered: float = run.steps
    if isinstance(run.learning_rate, float):
        gap = abs(1.0 - geometry.contraction(run.learning_rate))
        batches = 1 if isinstance(run, LangevinMC) or run.sampled else run.batches
        # a contraction of exactly 1 is not rounded
        remembered = 2.0 * batches + (min(run.steps, 1.0 / gap) if gap else 0.0)
    return min(0.5, _SPREAD + _SPREAD_STEP * remembered)


def _parameters(run: Run) -> str:
    return _listed(stated(run)) or "one draw"


def _listed(fields: dict[str, Any]) -> str:
    shown = []
    for name, value in fields.items():
        if isinstance(value, dict):
            shown.append(f"{name}=({_listed(value)})")
            continue
        text = schedule(value) if isinstance(value, tuple) else value
        shown.append(f"{name}={text}")
    return ", ".join(shown)
