"""What a guarantee means for one person, in numbers and in words that can be signed.

The attacker knows every other record, the algorithm and the released model, and has no bound on
computing power. f = T(P, Q) bounds every test between the worlds P and Q that the adjacency
compares:

* `zero_out`: in Q the record was used, in P its place was empty (how many places there are is
  public);
* `replace_one`: in Q the record was used, in P another record stood in its place, any one, or one
  drawn at random (by the joint convexity of hockey-stick divergences).

**Membership.** A test with false positive rate alpha has at most 1 - f(alpha) true positives; the
least Bayes error at prior pi is min_alpha (1 - pi) alpha + pi f(alpha).

**Reconstruction.** The attacker names the record z of the person, which is drawn from a known law;
a hit is z in the set that the guess covers, and kappa is the probability of a hit by the best guess
without the model. Let M_z be the law of the model and E_z the set of models that lead to a hit.
For any fixed law N with T(N, M_z) >= f for all z,

    P(hit) = E_z M_z(E_z) <= E_z [1 - f(N(E_z))] <= 1 - f(E_z N(E_z)) <= 1 - f(kappa),

as 1 - f is concave and increasing, and E_z N(E_z) is the probability of a hit by a guess that does
not depend on z [Hayes, Mahloujifar & Balle 2023]. N is the empty place, or some fixed record.

Under `replace_one`, with the record to be named exactly, N can be the law of the likeliest record,
whose weight is kappa. The sets E_z are disjoint then, and with x = sum of w_z N(E_z) over the other
records, divided by 1 - kappa, the same steps give

    P(hit) <= kappa + (1 - kappa) max {1 - f(x) - x : 0 <= x <= kappa / (1 - kappa)},

never worse than 1 - f(kappa); for two candidates it is the Bayes success of the test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import get_args

import numpy as np

from shiftdp._checks import array_in, choice, countable, number_in
from shiftdp._errors import InvalidInput
from shiftdp._rounding import (
    EIGHTEEN_ROUNDINGS,
    LARGEST_EXPONENT,
    NINE_ROUNDINGS,
    NOT_ZERO,
    THREE_ROUNDINGS,
)
from shiftdp.fdp import TradeoffFunction
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.privacy.ledger.ledger import Ledger
from shiftdp.privacy.selection.kinds import AnyCertificate

_UP = 1 + THREE_ROUNDINGS  # of a quotient
_SLOPES = 400  # epsilons that are tried at first
_RATES = (1e-3, 1e-2)  # false positive rates that are reported by default


@dataclass(frozen=True)
class Accusation:
    """A membership test that accuses a share `fpr` of those whose record was not used.

    `tpr` is the most that it can accuse of the others, and `precision` the most that an accusation
    of such a test, or of one that accuses more, can be worth: the share that is right. At `fpr` = 0
    it is what tests that accuse ever fewer can approach.
    """

    fpr: float
    tpr: float
    precision: float


@dataclass(frozen=True)
class Risk:
    """Upper bounds on what the best attacker can do to any one person. Make one with `risk`.

    Attributes:
        adjacency: which two worlds are compared.
        prior: how likely the attacker held it before that the record was used.
        advantage: the most by which true positives exceed false positives.
        membership: the most probable success at telling whether the record was used.
        blind_membership: the same for a guess without the model.
        accusations: at the false positive rates that were asked for.
        candidates: how many equally likely records the person could have; None if `blind` is given.
        blind: the probability of the best guess of the record without the model.
        reconstruction: the same with the model.
    """

    adjacency: Adjacency
    prior: float
    advantage: float
    membership: float
    blind_membership: float
    accusations: tuple[Accusation, ...]
    candidates: int | None
    blind: float
    reconstruction: float

    def statement(self) -> str:
        """The numbers in sentences; probabilities that are bounds are rounded up."""
        world = (
            "whether the record was used or left out"
            if self.adjacency == "zero_out"
            else "whether it is this record that was used or another in its place"
        )
        lines = [
            "This holds for every person in the data, also for the least typical one, against "
            "anybody who knows all other records, the method and the released model, with any "
            "amount of computing.",
            f"Membership: someone who knows everything about a person except {world}, and who "
            f"before held it for {_plain(self.prior)} likely that it was used, is right about it "
            f"with probability at most {_percent(self.membership)}. Without the model it is "
            f"{_plain(self.blind_membership)}.",
            "The share of used records that such a person recognises exceeds the share of false "
            f"alarms by at most {_points(self.advantage)} percentage points.",
        ]
        lines += [
            f"With false alarms in {_plain(row.fpr)} of the cases, at most {_percent(row.tpr)} of "
            f"the used records are recognised, and an alarm is right with probability at most "
            f"{_percent(row.precision)}."
            for row in self.accusations
        ]
        known = (
            f"one of {self.candidates:,} equally likely records"
            if self.candidates is not None
            else f"to be guessed with probability {_plain(self.blind)} at best"
        )
        lines.append(
            f"Reconstruction: if without the model a person's record is {known}, then with the "
            f"model it is guessed with probability at most {_percent(self.reconstruction)}, "
            f"instead of {_plain(self.blind)}."
        )
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.statement()


def risk(
    guarantee: AnyCertificate | Ledger | TradeoffFunction,
    *,
    prior: float = 0.5,
    fpr: Sequence[float] = _RATES,
    candidates: int | None = None,
    blind: float | None = None,
    adjacency: Adjacency | None = None,
) -> Risk:
    """What the best attacker can learn about one person, at most.

    Args:
        guarantee: a certificate, of a run or of a whole pipeline, a ledger (all of its releases
            together), or a tradeoff function.
        prior: how likely the attacker holds it, beforehand, that the record was used.
        fpr: false positive rates at which the power of a membership test is wanted.
        candidates: how many records, equally likely, the person could have; 10 by default. A hit
            is the very record.
        blind: instead, the probability that the best guess without the model is a hit, whatever a
            hit is (the record, a part of it, something close to it).
        adjacency: of a tradeoff function; certificates and ledgers know theirs.

    >>> from shiftdp import GaussianTradeoff
    >>> found = risk(GaussianTradeoff(1.0), adjacency="zero_out", candidates=10)
    >>> round(found.membership, 4), round(found.accusations[0].tpr, 4)
    (0.6915, 0.0183)
    >>> round(found.reconstruction, 4)
    0.3891
    """
    f, known = _tradeoff_of(guarantee, adjacency)
    pi = number_in("prior", prior, 0.0, 1.0)
    rows = tuple(_accusation(f, rate, pi) for rate in array_in("fpr", fpr, 0.0, 1.0).ravel())
    if candidates is not None and blind is not None:
        raise InvalidInput(
            "candidates, blind", (candidates, blind), "are both given", "give one of the two"
        )
    kappa, number = _blind(candidates, blind)
    # up, so that the bound is one for 1/number itself
    up = kappa if number in (None, 1) else math.nextafter(kappa, 1.0)
    exact = known == "replace_one" and number is not None
    return Risk(
        adjacency=known,
        prior=pi,
        advantage=f.advantage(),
        membership=min(1.0, (1.0 - f.bayes_risk(pi)) * _UP),
        blind_membership=max(pi, 1.0 - pi),
        accusations=rows,
        candidates=number,
        blind=kappa,
        reconstruction=_exact_hit(f, up) if exact else f.tpr(up),
    )


def _tradeoff_of(
    guarantee: AnyCertificate | Ledger | TradeoffFunction,
    adjacency: Adjacency | None,
) -> tuple[TradeoffFunction, Adjacency]:
    if isinstance(guarantee, AnyCertificate | Ledger):
        if adjacency is not None:
            raise InvalidInput(
                "adjacency", adjacency, "is known already", "give it with tradeoff functions only"
            )
        if isinstance(guarantee, Ledger):
            return guarantee.guarantee(), guarantee.terms.adjacency
        if isinstance(guarantee, Certificate):
            return guarantee.f, guarantee.geometry.adjacency
        return guarantee.f, guarantee.adjacency
    if not isinstance(guarantee, TradeoffFunction):
        raise InvalidInput(
            "guarantee",
            guarantee,
            "is no guarantee",
            "give a Certificate, a Ledger or a tradeoff function",
        )
    if not guarantee.symmetric:
        raise InvalidInput(
            "guarantee",
            guarantee,
            "bounds one direction only",
            "give f.worse_direction(), which holds whichever is meant",
        )
    choice("adjacency", adjacency, get_args(Adjacency))
    return guarantee, adjacency or "replace_one"


def _accusation(f: TradeoffFunction, rate: float, prior: float) -> Accusation:
    """The power of a test, and what its accusations are worth: prior tpr against (1 - prior) fpr.

    1 - f is concave, so that tpr/fpr falls in fpr, and what is worth most among the tests that
    accuse more is the test itself. At fpr = 0 with tpr = 0 it accuses nobody; what is then meant is
    the limit of tests that accuse few, whose tpr/fpr tends to e^epsilon at delta = 0: to infinity,
    an accusation that is certainly right, unless f is that of pure differential privacy.
    """
    fpr = float(rate)
    tpr = f.tpr(fpr)
    if prior in (0.0, 1.0):
        return Accusation(fpr, tpr, prior)
    # fpr/tpr from below; it is 0 where no false alarm is needed
    least = math.exp(-f.epsilon(0.0)) * (1 - NINE_ROUNDINGS)
    share = max(least, fpr / tpr if tpr else 0.0)
    precision = 1.0 / (1.0 + (1.0 - prior) / prior * share * (1 - EIGHTEEN_ROUNDINGS))
    # one that is not above the prior's share may have been lost to rounding
    return Accusation(fpr, tpr, max(prior, min(1.0, precision * (1 + NINE_ROUNDINGS))))


def _blind(candidates: int | None, blind: float | None) -> tuple[float, int | None]:
    if blind is not None:
        return number_in("blind", blind, 0.0, 1.0), None
    number = 10 if candidates is None else countable("candidates", candidates)
    return 1.0 / number, number


def _exact_hit(f: TradeoffFunction, kappa: float) -> float:
    """kappa + (1 - kappa) max {1 - f(x) - x : x <= kappa/(1 - kappa)}, from above.

    By 1 - f(x) <= delta(eps) + e^eps x, the maximum is at most delta(eps) + (e^eps - 1) x at the
    largest x, for every eps >= 0; the best one makes it exact.
    """
    if kappa >= 1.0:
        return 1.0
    most = min(1.0, kappa / (1.0 - kappa) * _UP)
    steepest = min(LARGEST_EXPONENT, max(1.0, -2.0 * math.log(max(kappa, NOT_ZERO))))
    eps = np.linspace(0.0, steepest, _SLOPES)
    best = math.inf
    for _ in range(3):
        gain = np.asarray(f.delta(eps)) + np.expm1(eps) * most * (1 + NINE_ROUNDINGS)
        i = int(np.argmin(gain))
        best = min(best, float(gain[i]))
        low, high = eps[max(0, i - 1)], eps[min(eps.size - 1, i + 1)]
        eps = np.linspace(low, high, 21)
    hit = (kappa + (1.0 - kappa) * best) * (1 + NINE_ROUNDINGS)
    return min(1.0, hit, f.tpr(kappa))


def _percent(share: float) -> str:
    """A share in per cent, rounded up."""
    return f"{_points(share)} %"


def _points(share: float) -> str:
    """Hundredths, rounded up, to two decimals or three digits.

    >>> _points(0.69146), _points(1.2345e-5), _points(1.0)
    ('69.15', '0.00124', '100.00')
    """
    value = Decimal(share) * 100
    small = 0 < value < 1
    places = Decimal(1).scaleb(value.adjusted() - 2) if small else Decimal("0.01")
    return f"{value.quantize(places, rounding=ROUND_CEILING):f}"


def _plain(share: float) -> str:
    """A share in per cent that is no bound."""
    return f"{share * 100:.6g} %"
