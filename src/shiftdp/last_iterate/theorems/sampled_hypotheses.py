"""What the bounds on NoisySGD ask for: listed, and refused where it is not met."""

from __future__ import annotations

from shiftdp._errors import UnmetHypothesis
from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.assumptions import Assumption
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.sampled_run import NoisySGD
from shiftdp.last_iterate.theorems.sampled_shifts import (
    LEAST_SPLIT,
    MOST_SPLIT,
    StochasticProof,
    record_move,
)
from shiftdp.last_iterate.theorems.theorem import theorem_of

__all__ = [
    "refuse_adjacency",
    "require_contraction",
    "require_convex",
    "require_fixed_size",
    "require_steps",
    "require_theorem",
    "stochastic_hypotheses",
]


def refuse_adjacency(run: NoisySGD, geometry: Geometry) -> None:
    """Pairs of a sampling and an adjacency for which the sensitivity says too little.

    Without replacement, another record takes the place of the one that is zeroed out. Poisson
    sampling needs the norm of one gradient.
    """
    record_move(run, geometry)
    if run.sampling == "without_replacement" and geometry.adjacency == "zero_out":
        raise UnmetHypothesis(
            "adjacency",
            geometry.adjacency,
            "does not fit sampling without replacement, where another record takes the place",
            "give adjacency='replace_one' with sensitivity L = 2G, which is a valid upper bound "
            "for it, or sampling='poisson'",
        )


def stochastic_hypotheses(
    name: str, run: NoisySGD, geometry: Geometry, cap: int | None = None
) -> tuple[Assumption, ...]:
    """What the theorem of this name asks of NoisySGD."""
    found: list[Assumption] = []
    theorem = theorem_of(name)
    poisson = run.sampling == "poisson"
    if theorem.contracts:
        found.append(
            given.summed_losses(geometry, "the sampled sum")
            if poisson
            else given.smooth_losses(geometry)
        )
        if geometry.bounded and theorem.projects:
            found.append(given.constraint(geometry))
    found.append(_poisson_sensitivity(geometry) if poisson else given.sensitivity(geometry))
    found += [given.adjacency(geometry), _sampling(run)]
    if cap is not None and theorem.contracts:
        found.append(
            Assumption(
                "batch cap",
                f"none on the run: batches of more than {cap} records may occur, and their "
                "probability is part of delta",
            )
        )
    return (*found, given.gaussian_noise(), given.hidden_iterates())


def _poisson_sensitivity(geometry: Geometry) -> Assumption:
    norm = f"a record's gradient, without the ridge, has norm at most {geometry.record_bound:g}"
    if geometry.adjacency == "zero_out":
        return Assumption("sensitivity", norm)
    return Assumption(
        "sensitivity",
        f"{norm}, and those of two records at one point are at most {geometry.sensitivity:g} apart",
    )


def _sampling(run: NoisySGD) -> Assumption:
    if run.sampling == "poisson":
        return Assumption(
            "sampling",
            f"each record is in a batch independently with probability {run.batch_size}/{run.n}, "
            f"afresh each step and unseen; sums are divided by {run.batch_size} whatever the size "
            "of the batch",
        )
    return Assumption(
        "sampling",
        f"each batch is a uniform set of {run.batch_size} of the {run.n} records, drawn afresh "
        "each step and unseen",
    )


def require_fixed_size(run: NoisySGD) -> None:
    if run.sampling != "without_replacement":
        raise UnmetHypothesis(
            "sampling",
            run.sampling,
            "is not what the paper's theorems are about",
            "use Theorem B3, which has a form for it",
        )


def require_contraction(run: NoisySGD, geometry: Geometry) -> None:
    given.require_smooth(geometry)
    given.require_contractive(run.learning_rate, geometry)


def require_convex(geometry: Geometry) -> None:
    if not geometry.convex:
        raise UnmetHypothesis(
            "strong_convexity",
            geometry.strong_convexity,
            "is negative, and this theorem is for convex losses",
            "add a ridge, or ask for composition",
        )


def require_steps(run: NoisySGD) -> None:
    if run.steps < 2:
        raise UnmetHypothesis(
            "steps", run.steps, "leaves nothing to look back on", "use composition"
        )


_FIXED_SIZE = ("Thm sgd (composition)", "Thm sgd-sc", "Thm sgd-proj", "Theorem B3")
_POISSON = ("Poisson (composition)", "Theorem B3 (Poisson)")


def _is_of(name: str, proof: StochasticProof | None, run: NoisySGD) -> bool:
    """Whether a proof has the free parameters of the theorem, in their range, and no others."""
    by = theorem_of(name).by
    if proof is None:
        return by == "formula"
    if not 0 <= proof.tau < run.steps or by == "formula":
        return False
    capped = run.sampling == "poisson"
    if capped != (proof.cap is not None) or (proof.cap is not None and proof.cap < 1):
        return False
    if run.batch_cap is not None and proof.cap != run.batch_cap:
        return False
    if by == "split":
        split = proof.split
        return not proof.groups and split is not None and LEAST_SPLIT <= split <= MOST_SPLIT
    return bool(proof.groups) and proof.split is None


def require_theorem(
    name: str, run: NoisySGD, geometry: Geometry, proof: StochasticProof | None
) -> tuple[Assumption, ...]:
    """Refuse a theorem that does not apply to the run; else list what it asks for."""
    poisson = run.sampling == "poisson"
    if name not in (_POISSON if poisson else _FIXED_SIZE):
        raise UnmetHypothesis(
            "sampling", run.sampling, f"is not that of {name}", "certify the run anew"
        )
    if not _is_of(name, proof, run):
        raise UnmetHypothesis("proof", proof, f"is not one of {name}", "certify the run anew")
    if proof is not None:
        require_contraction(run, geometry)
        if poisson or proof.split is not None:
            require_convex(geometry)
        if name == "Thm sgd-proj" and not geometry.bounded:
            raise UnmetHypothesis(
                "diameter", geometry.diameter, "is infinite", "give a bounded set"
            )
        if name == "Thm sgd-sc" and not geometry.contraction(run.learning_rate) < 1.0:
            raise UnmetHypothesis(
                "strong_convexity", geometry.strong_convexity, "does not contract", "add a ridge"
            )
    return stochastic_hypotheses(name, run, geometry, None if proof is None else proof.cap)
