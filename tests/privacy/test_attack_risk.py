"""What an attacker can do: bounds that hold, that some mechanism attains, and that read right."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import norm

from shiftdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    Identity,
    InvalidInput,
    LaplaceTradeoff,
    Mixture,
    TradeoffFunction,
)
from shiftdp.fdp import PoissonZeroOut
from shiftdp.privacy import Ledger, Risk, risk
from tests.privacy.ledger.workers import certificate

ADJACENCIES = ("zero_out", "replace_one")
mus = st.floats(0.0, 6.0)
priors = st.floats(0.0, 1.0)


def numbers(found: Risk) -> list[float]:
    rows = [x for row in found.accusations for x in (row.tpr, row.precision)]
    return [found.advantage, found.membership, found.reconstruction, *rows]


def ask(f: TradeoffFunction, adjacency: Any = "replace_one", **options: Any) -> Risk:
    return risk(f, adjacency=adjacency, **options)


# --- attained by Gaussians ---


@given(mus, st.floats(0.01, 0.99))
def test_membership_is_the_best_test_between_two_gaussians(mu: float, prior: float) -> None:
    """The likelihood ratio test, in closed form: accuse where x > mu/2 + log((1-pi)/pi)/mu."""
    assume(mu > 1e-3)
    cut = mu / 2 + math.log((1 - prior) / prior) / mu
    best = prior * norm.sf(cut - mu) + (1 - prior) * norm.cdf(cut)
    found = ask(GaussianTradeoff(mu), prior=prior)
    assert found.membership >= best * (1 - 1e-14)
    assert found.membership == pytest.approx(best, rel=1e-9)
    assert found.advantage == pytest.approx(2 * norm.cdf(mu / 2) - 1, rel=1e-9)


@given(mus, st.floats(1e-6, 0.99), st.floats(0.01, 0.99))
def test_accusations_are_those_of_a_threshold(mu: float, fpr: float, prior: float) -> None:
    tpr = norm.sf(norm.isf(fpr) - mu)
    (row,) = ask(GaussianTradeoff(mu), fpr=[fpr], prior=prior).accusations
    assert row.fpr == fpr
    # f is near 1, and known to some 1e-15 of that
    assert row.tpr == pytest.approx(tpr, rel=1e-9, abs=1e-14)
    right = prior * tpr / (prior * tpr + (1 - prior) * fpr)
    assert row.precision == pytest.approx(right, rel=1e-9 + 1e-14 / tpr)


@given(mus)
def test_zero_out_reconstruction_is_attained_by_opposite_records(mu: float) -> None:
    """Two equally likely records move the model by +mu and -mu from where nothing leaves it."""
    found = ask(GaussianTradeoff(mu), "zero_out", candidates=2)
    assert found.reconstruction == pytest.approx(norm.cdf(mu), rel=1e-9)  # by the sign
    assert found.reconstruction >= norm.cdf(mu) * (1 - 1e-14)


@given(mus)
def test_replace_one_reconstruction_is_attained_by_two_records(mu: float) -> None:
    """Two equally likely records, mu apart: the best guess is the nearer one."""
    found = ask(GaussianTradeoff(mu), candidates=2)
    assert found.reconstruction == pytest.approx(norm.cdf(mu / 2), rel=1e-9)
    assert found.reconstruction >= norm.cdf(mu / 2) * (1 - 1e-14)
    assert found.reconstruction == pytest.approx(found.membership, rel=1e-9)


@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
def test_no_simulated_attack_beats_the_bound(k: int, mu: float) -> None:
    """The Gaussian mechanism and the best guess of one of k records, 200,000 times."""
    rng = np.random.default_rng(k)
    # a regular simplex: any two records are mu apart, and mu / sqrt(2) from nothing
    records = np.eye(k) * mu / math.sqrt(2)
    truth = rng.integers(k, size=200_000)
    seen = records[truth] + rng.normal(size=(truth.size, k))
    hits = np.mean(np.argmax(seen, axis=1) == truth)  # maximum likelihood
    spread = 5 * math.sqrt(0.25 / truth.size)
    sharp = ask(GaussianTradeoff(mu), candidates=k).reconstruction
    removed = ask(GaussianTradeoff(mu / math.sqrt(2)), "zero_out", candidates=k).reconstruction
    assert 1 / k - spread < hits < min(sharp, removed) + spread
    assert sharp <= ask(GaussianTradeoff(mu), blind=1 / k).reconstruction
    if k == 2:
        assert sharp < hits + spread


def test_randomised_response_attains_the_bound() -> None:
    """k answers, the true one with weight e^eps: the worst that eps-DP allows."""
    for k, eps in ((2, 1.0), (5, 0.7), (20, 2.0)):
        hit = math.exp(eps) / (math.exp(eps) + k - 1)
        bound = ask(ApproxDPTradeoff(eps), candidates=k).reconstruction
        assert hit * (1 - 1e-12) <= bound
        if k == 2:
            assert bound == pytest.approx(hit, rel=1e-12)


# --- properties ---


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@given(mu=mus, more=st.floats(0.0, 2.0), prior=priors, kappa=st.floats(0.0, 1.0))
def test_less_privacy_is_never_less_risk(
    adjacency: str, mu: float, more: float, prior: float, kappa: float
) -> None:
    options = {"prior": prior, "blind": kappa, "fpr": [1e-4, 0.1]}
    small = ask(GaussianTradeoff(mu), adjacency, **options)
    large = ask(GaussianTradeoff(mu + more), adjacency, **options)
    for a, b in zip(numbers(small), numbers(large), strict=True):
        assert 0.0 <= a <= 1.0
        assert a <= b * (1 + 1e-12) + 1e-15
    assert small.membership >= small.blind_membership * (1 - 1e-15)
    assert small.reconstruction >= kappa


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@given(prior=priors, k=st.integers(1, 10**6))
def test_perfect_privacy_leaves_a_blind_guess(adjacency: str, prior: float, k: int) -> None:
    found = ask(Identity(), adjacency, prior=prior, candidates=k, fpr=[0.01])
    assert found.membership == pytest.approx(max(prior, 1 - prior), rel=1e-14)
    assert found.reconstruction == pytest.approx(1 / k, rel=1e-14)
    assert found.reconstruction >= 1 / k
    assert found.advantage == 0.0
    assert found.accusations[0].tpr == pytest.approx(0.01, rel=1e-14)
    assert found.accusations[0].precision == pytest.approx(prior, rel=1e-13)


@pytest.mark.parametrize("f", [GaussianTradeoff(1.0), LaplaceTradeoff(2.0)], ids=repr)
def test_who_is_sure_learns_nothing(f: TradeoffFunction) -> None:
    for prior in (0.0, 1.0):
        found = ask(f, prior=prior, fpr=[0.0, 0.5, 1.0])
        assert found.membership == found.blind_membership == 1.0
        assert {row.precision for row in found.accusations} == {prior}
    for kappa in (0.0, 1.0):
        for adjacency in ADJACENCIES:
            assert ask(f, adjacency, blind=kappa).reconstruction == kappa
    assert ask(f, candidates=1).reconstruction == 1.0


@pytest.mark.parametrize("prior", [1e-300, 0.1, 0.5, 1 - 1e-12])
def test_who_accuses_nobody_may_be_certain_in_the_limit(prior: float) -> None:
    """At no false alarms the precision is the limit of tests that accuse ever fewer."""
    for f in (GaussianTradeoff(1e-3), GaussianTradeoff(1.0), GaussianTradeoff(math.inf)):
        assert ask(f, prior=prior, fpr=[0.0]).accusations[0].precision == 1.0
    for epsilon in (0.0, 1e-3, 1.0, 30.0):
        odds = prior / (1.0 - prior) * math.exp(epsilon)
        for pure in (ApproxDPTradeoff(epsilon), LaplaceTradeoff(epsilon)):
            rows = ask(pure, prior=prior, fpr=[0.0, 1e-300, 1e-3, 1.0]).accusations
            assert rows[0].precision == pytest.approx(odds / (1.0 + odds), rel=1e-13)
            assert rows[0].precision >= rows[1].precision >= rows[2].precision >= prior
            assert rows[3].precision == pytest.approx(prior, rel=1e-13)
    leaky = ask(ApproxDPTradeoff(1.0, 1e-3), prior=prior, fpr=[0.0]).accusations[0]
    assert leaky.tpr == pytest.approx(1e-3)
    assert leaky.precision == 1.0


def test_an_infinite_epsilon_promises_nothing() -> None:
    for delta in (0.0, 0.5, 1.0):
        f = ApproxDPTradeoff(math.inf, delta)
        for adjacency in ADJACENCIES:
            found = ask(f, adjacency, fpr=[0.0], blind=0.0)
            assert numbers(found) == [1.0] * 5
        assert f(0.0) == 0.0
        assert f.delta(math.inf) == f.delta(0.0) == 1.0


def test_no_privacy_is_full_risk() -> None:
    for adjacency in ADJACENCIES:
        found = ask(GaussianTradeoff(math.inf), adjacency, fpr=[0.0, 0.25])
        assert numbers(found)[:5] == [1.0] * 5
        assert numbers(found)[5:] == [1.0, pytest.approx(0.8, rel=1e-14)]


@given(mus, st.integers(2, 10**5))
def test_an_exact_hit_is_a_maximum_over_the_curve(mu: float, k: int) -> None:
    """Against a direct search of kappa + (1-kappa) max {1 - f(x) - x}, from below."""
    f = GaussianTradeoff(mu)
    kappa = 1 / k
    x = np.linspace(0.0, min(1.0, kappa / (1 - kappa)), 20_001)
    direct = kappa + (1 - kappa) * float(np.max(1.0 - np.asarray(f(x)) - x))
    bound = ask(f, candidates=k).reconstruction
    # f itself is rounded down, by some 1e-15, which the search takes for a gain
    assert direct - 1e-13 <= bound <= direct * (1 + 1e-4)
    assert bound <= ask(f, blind=kappa * (1 + 1e-15)).reconstruction


@pytest.mark.parametrize(
    "f",
    [
        LaplaceTradeoff(0.7),
        ApproxDPTradeoff(1.0, 1e-3),
        Mixture([GaussianTradeoff(0.5), GaussianTradeoff(2.0)]),
        GaussianTradeoff(1.0).subsample(0.1).power(50),
    ],
    ids=["laplace", "approx", "mixture", "product"],
)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_other_functions(f: TradeoffFunction, adjacency: str) -> None:
    found = ask(f, adjacency, candidates=4, prior=0.3)
    assert 0.7 <= found.membership < 1.0
    assert 0.25 < found.reconstruction <= 1.0 - f(0.25) + 1e-12
    x = np.linspace(0.0, 1.0, 2001)
    errors = 0.7 * x + 0.3 * np.asarray(f(x))
    # the direct search is from below; products know f to the width of their interval only
    assert found.membership == pytest.approx(1 - errors.min(), abs=2e-3)


# --- what may be asked, and how it reads ---


def test_certificates_and_ledgers_know_their_adjacency(tmp_path: Path) -> None:
    cert = certificate()
    ledger = Ledger.create(tmp_path / "ledger", epsilon=3.0, delta=1e-5)
    ledger.reserve(cert, times=4)
    assert cert.mu is not None
    assert risk(cert) == ask(GaussianTradeoff(cert.mu))
    assert risk(ledger) == ask(GaussianTradeoff(cert.mu).power(4))
    adaptive = Ledger.create(tmp_path / "adaptive", epsilon=3.0, delta=1e-5, adaptive=True)
    assert risk(adaptive) == ask(adaptive.guarantee())
    assert risk(adaptive).membership > 0.6  # before anything is spent
    with pytest.raises(InvalidInput, match="is known already"):
        risk(cert, adjacency="replace_one")


@pytest.mark.parametrize(
    ("f", "options", "name"),
    [
        (GaussianTradeoff(1.0), {}, "adjacency"),
        (GaussianTradeoff(1.0), {"adjacency": "add_remove"}, "adjacency"),
        (0.5, {"adjacency": "zero_out"}, "guarantee"),
        (PoissonZeroOut(0.1, 0.0, 1.0), {"adjacency": "zero_out"}, "guarantee"),
        (Identity(), {"adjacency": "zero_out", "prior": 1.5}, "prior"),
        (Identity(), {"adjacency": "zero_out", "fpr": [2.0]}, "fpr"),
        (Identity(), {"adjacency": "zero_out", "fpr": "x"}, "fpr"),
        (Identity(), {"adjacency": "zero_out", "fpr": []}, "fpr"),
        (Identity(), {"adjacency": "zero_out", "candidates": 0}, "candidates"),
        (Identity(), {"adjacency": "zero_out", "blind": -0.1}, "blind"),
        (
            Identity(),
            {"adjacency": "zero_out", "blind": 0.1, "candidates": 10},
            "candidates, blind",
        ),
    ],
)
def test_bad_questions(f: Any, options: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        risk(f, **options)
    assert caught.value.name == name


def test_the_statement_says_the_numbers_rounded_up() -> None:
    found = ask(GaussianTradeoff(1.0), "zero_out", candidates=1000, fpr=[1e-3])
    text = found.statement()
    assert str(found) == text
    assert norm.cdf(0.5) == pytest.approx(0.691462, abs=1e-6)
    assert "with probability at most 69.15 %. Without the model it is 50 %" in text
    assert norm.sf(norm.isf(1e-3) - 1) == pytest.approx(0.018298, abs=1e-6)
    assert "at most 1.83 % of the used records" in text
    assert "one of 1,000 equally likely records" in text
    assert "at most 1.83 %, instead of 0.1 %" in text
    assert "used or left out" in text
    assert "another in its place" in ask(GaussianTradeoff(1.0)).statement()
    assert "guessed with probability 30 % at best" in ask(Identity(), blind=0.3).statement()
    tiny = ask(GaussianTradeoff(1e-6))
    assert "by at most 0.0000399 percentage points" in tiny.statement()


def test_more_candidates_than_floats_count_are_refused() -> None:
    with pytest.raises(InvalidInput, match="candidates="):
        risk(GaussianTradeoff(1.0), candidates=10**400, adjacency="replace_one")
