"""Claims that are at least what is proved, by tails or by integrals, are accepted; no others."""

from __future__ import annotations

import numpy as np
import pytest

from shiftdp._errors import VerificationFailed
from shiftdp.fdp.pairs.law_splitting import split_law
from shiftdp.interpolation.participation.law import ParticipationLaw
from shiftdp.interpolation.participation.verification.order import require_dominated

AT = np.linspace(0.0, 4.0, 801)
WEIGHT = np.exp(-((AT - 1.0) ** 2) / 0.1) + 1e-3 * np.exp(-AT)
TAIL = np.cumsum((WEIGHT / WEIGHT.sum())[::-1])[::-1]


def claim(most: int, raised: float = 1e-6) -> ParticipationLaw:
    above = np.minimum(TAIL * (1.0 + raised), 1.0)
    weight = above - np.append(above[1:], 0.0)
    weight[0] += 1.0 - above[0]
    kept = weight > 0.0
    return ParticipationLaw(*split_law(AT[kept].tolist(), weight[kept].tolist(), most))


@pytest.mark.parametrize("most", [20, 100, 400])
def test_split_laws_are_accepted_in_the_scale_they_are_made_for(most: int) -> None:
    law = claim(most)
    require_dominated(AT, TAIL, law, 1.0)
    with pytest.raises(VerificationFailed, match="only prove"):
        require_dominated(AT, TAIL, law, None)  # tails are not all larger


def test_the_scale_counts() -> None:
    law = claim(20)
    with pytest.raises(VerificationFailed, match="only prove"):
        require_dominated(AT, TAIL, law, 3.0)  # where the density falls faster


def test_laws_that_were_not_raised_have_no_room() -> None:
    with pytest.raises(VerificationFailed, match="only prove"):
        require_dominated(AT, TAIL, claim(20, -1e-6), 1.0)


def forged_at(law: ParticipationLaw, n: int, by: float) -> ParticipationLaw:
    """So much of one weight, as a part, goes to the value below it."""
    weight = np.array(law.weight)
    weight[n - 1] += by * weight[n]
    weight[n] *= 1.0 - by
    return ParticipationLaw(law.mu, tuple(weight.tolist()))


@pytest.mark.parametrize("n", [3, 40, 80, 99])
def test_mass_that_moves_down_anywhere_is_found(n: int) -> None:
    law = claim(100)
    require_dominated(AT, TAIL, law, 1.0)
    with pytest.raises(VerificationFailed, match="only prove"):
        require_dominated(AT, TAIL, forged_at(law, n, 0.05), 1.0)


def test_the_lower_integral_counts_by_itself() -> None:
    """Spread to both sides: no upper integral falls, but the smallest values are smaller."""
    tail = np.where(AT <= 1.0, 1.0, 0.0)
    wide = ParticipationLaw((0.5, 2.0), (0.3, 0.7))
    with pytest.raises(VerificationFailed, match="only prove"):
        require_dominated(AT, tail, wide, 1.0)


def test_far_out_tails_are_compared_one_by_one() -> None:
    at, tail = np.array([0.0, 1.0, 40.0, 41.0]), np.array([1.0, 1.0, 1e-3, 5e-4])
    honest = ParticipationLaw((1.0, 40.0, 41.0), (0.999, 5e-4, 5e-4))
    require_dominated(at, tail * (1.0 - 1e-9), honest, 1.0)
    spread = ParticipationLaw((1.0, 39.0, 42.0), (0.998, 1e-3, 1e-3))
    require_dominated(at, tail * (1.0 - 1e-9), spread, 1.0)  # larger in every tail
    lower = ParticipationLaw((1.0, 40.0, 40.5), (0.99, 5e-3, 5e-3))
    with pytest.raises(VerificationFailed, match="only prove"):
        require_dominated(at, tail, lower, 1.0)


def test_no_more_values_than_certificates_have() -> None:
    """400 are stated; 1,000 were, and are read still."""

    def law(values: int) -> ParticipationLaw:
        rest = [1e-6] * (values - 1)
        return ParticipationLaw(tuple(np.linspace(4.0, 5.0, values)), (1.0 - sum(rest), *rest))

    require_dominated(AT, TAIL, law(1000), 1.0)
    with pytest.raises(VerificationFailed, match="the law has 1001 values, more than 1000"):
        require_dominated(AT, TAIL, law(1001), 1.0)


def test_what_is_no_number_proves_nothing() -> None:
    with pytest.raises(VerificationFailed):
        require_dominated(AT, np.full(AT.size, np.nan), claim(100), 1.0)
