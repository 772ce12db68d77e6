"""The paper's theorems on NoisySGD, which split the noise: [BSA24, Thm sgd-sc, Thm sgd-proj].

With p = b/n, s = L/(b sigma), D' = D/(eta sigma), c the Lipschitz constant of a step and
T = t - tau steps looked back, for any tau and any split 1/alpha^2 + 1/beta^2 = 1 of the noise:

    [BSA24, Thm sgd-sc]    G(2 alpha s (c^{T+1} - c^t)/(1-c)) (x) C_p(G(2 beta s)) (x) C_p(G(2 s))^T
    [BSA24, Thm sgd-proj]  G(alpha D'/sqrt(T)) (x) C_p(G(2 beta s))^T
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftdp._checks import Array
from shiftdp._errors import InvalidInput, UnmetHypothesis
from shiftdp._rounding import AMPLE
from shiftdp.fdp import GaussianTradeoff, TradeoffFunction
from shiftdp.fdp.search.sampled_estimates import log_moments
from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisySGD, Run
from shiftdp.last_iterate.theorems.checks import require
from shiftdp.last_iterate.theorems.proofs import LEAST_SPLIT, MOST_SPLIT, Proofs, StochasticProof
from shiftdp.last_iterate.theorems.sampled.checks import verify_gap
from shiftdp.last_iterate.theorems.sampled.composition import product, subsampled
from shiftdp.last_iterate.theorems.sampled.on_sampled import ROUGH, Found, OnSampled
from shiftdp.last_iterate.theorems.sampled.search import Cumulants, best_split
from shiftdp.last_iterate.theorems.sampled.shifted import limit_reached
from shiftdp.last_iterate.theorems.sampled.shifts import (
    UP,
    StochasticSteps,
    longest,
    refuse_adjacency,
    require_equal_steps,
    steps_of,
)


class _Split(OnSampled):
    """Part of the noise hides the distance at tau, the rest the steps after; B3 is no worse.

    S_p(a, s) dominates G(alpha a) (x) C_p(G(beta s)), without the factor 2 that these have on s, so
    that Theorem B3 (at t = 1: composition) is at least as good for every tau and split.
    """

    anchor = "random-batches-in-the-paper"
    family = "paper"
    contained = True
    place = 11
    sampling = None  # others are refused by name

    def require(self, run: NoisySGD, geometry: Geometry) -> None:
        require_paper(run, geometry)

    @abstractmethod
    def cumulants(self, steps: StochasticSteps, beta: float) -> Cumulants:
        """What the search for the best parameters needs to know of the bound."""

    @abstractmethod
    def most(self, steps: StochasticSteps) -> int:
        """How many steps to look back at most."""

    @abstractmethod
    def gap(self, steps: StochasticSteps, proof: StochasticProof) -> float:
        """mu of the Gaussian factor, rounded up."""

    @abstractmethod
    def charged(
        self, steps: StochasticSteps, beta: float, count: int
    ) -> list[tuple[TradeoffFunction, int]]:
        """The laws of the steps that are looked back, and how many there are of each."""

    def rebuild(
        self, run: Any, geometry: Geometry, proofs: Proofs, accuracy: float
    ) -> TradeoffFunction:
        (proof,), steps = StochasticProof.among(proofs), steps_of(run, geometry)
        after = self.charged(steps, split_of(proof), steps.steps - proof.tau)
        return product([(GaussianTradeoff(self.gap(steps, proof)), 1), *after], accuracy)

    def search(self, run: NoisySGD, geometry: Geometry, delta: float) -> Found:
        steps = steps_of(run, geometry)
        return best_split(
            lambda beta: self.cumulants(steps, beta),
            lambda proof: self.rebuild(run, geometry, (proof,), ROUGH),
            steps,
            self.most(steps),
            delta,
        )

    def check_proof(
        self, run: NoisySGD, geometry: Geometry, proof: Any, failure: float, endless: bool
    ) -> None:
        require(proof is not None and proof.split is not None, "it has no split of the noise")
        require(not proof.groups and proof.cap is None, "it has parameters of another theorem")
        require(LEAST_SPLIT <= proof.split <= MOST_SPLIT, "the split is out of range")
        require(not failure, "it cannot fail")
        gap = self.gap(steps_of(run, geometry), proof)
        verify_gap(run, geometry, proof, gap, projected=self.projects)


class _SgdStronglyConvex(_Split):
    """G(2 alpha s (c^{T+1} - c^t)/(1-c)) (x) C_p(G(2 beta s)) (x) C_p(G(2 s))^T."""

    name = "Thm sgd-sc"
    citation = "[BSA24, Thm sgd-sc]"
    projects = False

    def require(self, run: NoisySGD, geometry: Geometry) -> None:
        super().require(run, geometry)
        c = steps_of(run, geometry).c
        if not c < 1.0:
            raise UnmetHypothesis(
                "strong_convexity",
                geometry.strong_convexity,
                f"with this learning rate gives contraction {c:g}, not below 1",
                "add a ridge, or lower the learning rate below 2/smoothness",
            )

    def cumulants(self, steps: StochasticSteps, beta: float) -> Cumulants:
        alpha, zero = other_split(beta), np.zeros(1)

        def rows(counts: Sequence[int], theta: Array) -> Array:
            each = log_moments("symmetric", steps.p, zero, 2.0 * steps.s, theta)[0]
            once = log_moments("symmetric", steps.p, zero, 2.0 * beta * steps.s, theta)[0]
            gaps = np.array([2.0 * alpha * series_tail(steps, T) for T in counts])
            gauss = 0.5 * theta * (theta + 1.0) * np.square(gaps)[:, None]
            return np.asarray(gauss + once + np.array(counts, dtype=float)[:, None] * each)

        return rows

    def most(self, steps: StochasticSteps) -> int:
        return min(steps.steps, max(1, longest(steps)))

    def gap(self, steps: StochasticSteps, proof: StochasticProof) -> float:
        tail = series_tail(steps, steps.steps - proof.tau)
        return 2.0 * other_split(split_of(proof)) * tail * UP

    def charged(
        self, steps: StochasticSteps, beta: float, count: int
    ) -> list[tuple[TradeoffFunction, int]]:
        first = subsampled(steps.p, 2.0 * beta * steps.s * UP)
        return [(first, 1), (subsampled(steps.p, 2.0 * steps.s), count)]

    def forgets(self, run: Run, geometry: Geometry, proofs: Proofs) -> bool:
        """The sum lacks the last of the steps before tau."""
        found = StochasticProof.among(proofs)
        return all(limit_reached(run, geometry, proof, proof.tau - 1) for proof in found)


class _SgdConstrained(_Split):
    """G(alpha D'/sqrt(T)) (x) C_p(G(2 beta s))^T."""

    name = "Thm sgd-proj"
    citation = "[BSA24, Thm sgd-proj]"

    def require(self, run: NoisySGD, geometry: Geometry) -> None:
        super().require(run, geometry)
        given.require_bounded(geometry)

    def cumulants(self, steps: StochasticSteps, beta: float) -> Cumulants:
        alpha, zero = other_split(beta), np.zeros(1)

        def rows(counts: Sequence[int], theta: Array) -> Array:
            each = log_moments("symmetric", steps.p, zero, 2.0 * beta * steps.s, theta)[0]
            T = np.array(counts, dtype=float)[:, None]
            gauss = 0.5 * theta * (theta + 1.0) * (alpha * steps.diameter) ** 2 / T
            return np.asarray(gauss + T * each)

        return rows

    def most(self, steps: StochasticSteps) -> int:
        return steps.steps

    def gap(self, steps: StochasticSteps, proof: StochasticProof) -> float:
        count = steps.steps - proof.tau
        return other_split(split_of(proof)) * steps.diameter / math.sqrt(count) * UP

    def charged(
        self, steps: StochasticSteps, beta: float, count: int
    ) -> list[tuple[TradeoffFunction, int]]:
        return [(subsampled(steps.p, 2.0 * beta * steps.s * UP), count)]

    def forgets(self, run: Run, geometry: Geometry, proofs: Proofs) -> bool:
        return True


def split_of(proof: StochasticProof) -> float:
    """beta, which has to be in its range."""
    if proof.split is None or not LEAST_SPLIT <= proof.split <= MOST_SPLIT:
        raise InvalidInput(
            "split",
            proof.split,
            "is no split of the noise",
            f"give beta between {LEAST_SPLIT:g} and {MOST_SPLIT:g}",
        )
    return proof.split


def series_tail(steps: StochasticSteps, count: int) -> float:
    """s (c^{T+1} - c^t)/(1 - c), rounded up; not below 0."""
    if steps.c == 0.0 or count + 1 >= steps.steps:
        return 0.0
    log_c = math.log(steps.c)
    series = math.expm1((steps.steps - count - 1) * log_c) / math.expm1(log_c)
    return steps.s * math.exp((count + 1) * log_c) * series * (1.0 + AMPLE)


def other_split(beta: float) -> float:
    """alpha with 1/alpha^2 + 1/beta^2 = 1, rounded up."""
    return beta / math.sqrt((beta - 1.0) * (beta + 1.0)) * UP


def require_paper(run: NoisySGD, geometry: Geometry) -> None:
    """What all theorems of the paper on NoisySGD ask for."""
    refuse_adjacency(run, geometry)
    if run.has_random_sizes:
        raise UnmetHypothesis(
            "sampling",
            run.sampling,
            "is not what the paper's theorems are about",
            "ask for bounds='best', whose theorems have a form for it",
        )
    require_equal_steps(run)
    given.require_smooth(geometry)
    given.require_contractive(run.learning_rate, geometry)
    given.require_convex(geometry)


SGD_SC, SGD_PROJ = THEOREMS = _SgdStronglyConvex(), _SgdConstrained()
