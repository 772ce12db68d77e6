"""What the bounds on NoisySGD ask for: listed, and refused where it is not met."""

from __future__ import annotations

from shiftdp._errors import UnmetHypothesis
from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.assumptions import Assumption
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.stochastic_run import NoisySGD
from shiftdp.last_iterate.stochastic_shifts import StochasticProof, record_move

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
    contracted = not name.endswith("(composition)")
    poisson = run.sampling == "poisson"
    if contracted:
        found.append(
            given.summed_losses(geometry, "the sampled sum")
            if poisson
            else given.smooth_losses(geometry)
        )
        if geometry.bounded and name != "Thm sgd-sc":
            found.append(given.constraint(geometry))
    found.append(_poisson_sensitivity(geometry) if poisson else given.sensitivity(geometry))
    found += [given.adjacency(geometry), _sampling(run)]
    if cap is not None and contracted:
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


def require_theorem(
    name: str, run: NoisySGD, geometry: Geometry, proof: StochasticProof | None
) -> tuple[Assumption, ...]:
    """Refuse a theorem that does not apply to the run; else list what it asks for."""
    poisson = run.sampling == "poisson"
    if poisson != (name in ("Poisson (composition)", "Theorem B3 (Poisson)")):
        raise UnmetHypothesis(
            "sampling", run.sampling, f"is not that of {name}", "certify the run anew"
        )
    contracted = not name.endswith("(composition)")
    if contracted == (proof is None):
        raise UnmetHypothesis("proof", proof, f"is not one of {name}", "certify the run anew")
    if proof is not None:
        if not 0 <= proof.tau < run.steps or (proof.split is None) == (not proof.groups):
            raise UnmetHypothesis("proof", proof, f"is not one of {name}", "certify the run anew")
        require_contraction(run, geometry)
        if poisson or name.startswith("Thm"):
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
