"""Hypotheses as objects: a certificate lists those it rests on, and a failed one is named."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import FOUR_ROUNDINGS
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisyCGD, NoisySGD, NoisyStream, Order, PerStep, has_releases
from shiftdp.last_iterate.schedules.releases import number_of_releases, release_steps
from shiftdp.last_iterate.schedules.visits import BatchRun


@dataclass(frozen=True)
class Assumption:
    """One hypothesis of the theorem that was used, with the values it was used with."""

    name: str
    statement: str

    def __str__(self) -> str:
        return f"{self.name}: {self.statement}"


Assumptions = tuple[Assumption, ...]

_TRUST = "theorem of a user"
_MOST_NAMED = 8  # released steps that are named one by one


LOOP_ASSUMPTIONS: dict[str, Assumption] = {
    "records": Assumption(
        "records",
        "the data set has one index for each record: what it returns for an index depends on that "
        "record alone, and no record is returned for two",
    ),
    "gradients": Assumption(
        "gradients",
        "the loss of a step is made of the model's outputs and the labels of the loader's batch of "
        "that step, the part of a record of that record alone, and nothing else adds to gradients",
    ),
    "inputs": Assumption(
        "inputs",
        "what the model is given in a step is computed from the loader's batch of that step, for "
        "each record from that record alone",
    ),
    "curvature": Assumption(
        "declared curvature",
        "the curvature of each record's loss, as its gradient is clipped, is as it was declared",
    ),
}
"""What is assumed of a training loop that is not ours, beside the hypotheses of a theorem.

No accountant can watch these. A certificate may list them; it is then a promise under more
conditions, and `verify` checks the rest of it.
"""


GAUSSIAN_NOISE = Assumption(
    "noise",
    "each step adds fresh Gaussian noise, of the stated deviation on the mean gradient, and both "
    "runs start alike",
)


def hidden_iterates(run: Any = None) -> Assumption:
    """What is released of a run: its last iterate, unless it has `releases`."""
    if run is not None and run.streams:
        k = run.batches_per_release
        each = "each batch" if k == 1 else f"each window of {k} batches"
        return Assumption(
            "hidden iterates",
            f"the iterate after {each} is released, and no other one leaves the process; records "
            "that come later may depend on what was released, and none of the parameters were "
            "chosen by looking at the data in any other way",
        )
    if not has_releases(run):
        return Assumption(
            "hidden iterates",
            "only the last iterate is released; no earlier one leaves the process, and none of the "
            "parameters were chosen by looking at the data",
        )
    return Assumption(
        "hidden iterates",
        f"the iterates after {_released(run)} are released; no other one leaves the process, and "
        "none of the parameters, these steps among them, were chosen by looking at the data",
    )


def _released(run: Any) -> str:
    if run.releases == "all":
        return "all steps"
    number = number_of_releases(run)
    if run.releases == "epochs" and number > _MOST_NAMED:
        return f"each epoch, {number} of them,"
    steps = release_steps(run)
    if number <= _MOST_NAMED:
        return f"the steps {', '.join(map(str, steps[:-1]))} and {steps[-1]}"
    return f"{len(steps)} of the steps, from {steps[0]} to {steps[-1]},"


def refuse_released_prox(run: Any, geometry: Geometry) -> None:
    """Refuse several releases, and streams, of steps with a strongly convex prox.

    Theorem V5 counts the contraction of a prox in the step after it, and a release lies between the
    two: nobody has proved Theorems V1 and V2 with it.
    """
    if geometry.prox_convexity and (run.streams or has_releases(run)):
        what = "a stream" if run.streams else "several releases"
        raise UnmetHypothesis(
            "prox_convexity",
            geometry.prox_convexity,
            f"is not covered with {what}: the theorem on it is about steps without a prox",
            "give a run that releases its last iterate alone, or prox_convexity=0 and no prox",
        )


CENTRED_ROWS = Assumption(
    "centred rows",
    "the first two steps measure where the rows lie, and how far from there most of them are: two "
    "sums over all records with noise, in which a record counts for no more than in a gradient; "
    "the steps after them see the rows as distances from there",
)
_HIDDEN_BESIDE_SUMS = Assumption(
    "hidden iterates",
    "only the last iterate and the two noisy sums are released; no earlier iterate leaves the "
    "process, and none of the parameters were chosen by looking at the data",
)


def of_centred_rows(hypotheses: tuple[Assumption, ...]) -> tuple[Assumption, ...]:
    """The hypotheses of a composed run whose first two steps are sums that centre the rows."""
    found = (_HIDDEN_BESIDE_SUMS if one == hidden_iterates() else one for one in hypotheses)
    return (*found, CENTRED_ROWS)


def seeded_noise() -> Assumption:
    """The stamp on the certificate of a run that anybody can repeat: it is not private."""
    return Assumption(
        "reproducible run: not private",
        "the noise comes from a seed, so whoever knows it can undo it; the numbers would hold for "
        "the same run with the entropy of the operating system",
    )


def trusted_theorem(name: str, citation: str) -> Assumption:
    """What a certificate by a theorem of the user rests on beside its hypotheses."""
    return Assumption(
        _TRUST, f"{name} ({citation}) is true: its author says so, shiftdp has not checked it"
    )


def is_trust(assumption: Assumption) -> bool:
    """Whether it is of the kind that `trusted_theorem` makes."""
    return assumption.name == _TRUST


def adjacency(geometry: Geometry, run: Any = None) -> Assumption:
    """Which data sets are neighbours. A stream has no n: what is public is when records come."""
    known = "how many records arrive, and when," if run is not None and run.streams else "n"
    if geometry.adjacency == "replace_one":
        return Assumption(
            "adjacency", f"replace_one: neighbours differ in one record, {known} is public"
        )
    return Assumption(
        "adjacency",
        "zero_out: the loss of one record is replaced by nothing, but the regulariser stays; "
        f"{known} is public",
    )


def sensitivity(geometry: Geometry) -> Assumption:
    pair = "two records" if geometry.adjacency == "replace_one" else "one record and nothing"
    return Assumption(
        "sensitivity",
        f"the gradients of {pair} at one point are at most {geometry.sensitivity:g} apart",
    )


def smooth_losses(geometry: Geometry) -> Assumption:
    m, M = geometry.strong_convexity, geometry.smoothness
    if m > 0:
        kind = f"{m:g}-strongly convex"
    elif m == 0:
        kind = "convex"
    else:
        kind = f"weakly convex (curvature at least {m:g})"
    return Assumption("losses", f"each loss is {kind} and {M:g}-smooth{_proximal(geometry)}")


def summed_losses(geometry: Geometry, where: str) -> Assumption:
    """For convex losses where a batch's sum is divided by more than its size."""
    m, own = geometry.strong_convexity, geometry.smoothness - geometry.strong_convexity
    ridge = f"; the ridge ({m:g}/2)|w|^2 is added outside of {where}" if m > 0 else ""
    text = f"each record's loss is convex and {own:g}-smooth{ridge}{_proximal(geometry)}"
    return Assumption("losses", text)


def _proximal(geometry: Geometry) -> str:
    if geometry.prox_convexity == 0.0:
        return ""
    return (
        f"; each step ends with the prox of a {geometry.prox_convexity:g}-strongly convex function"
    )


def batch_losses(geometry: Geometry, run: BatchRun) -> Assumption:
    """What is asked of the losses, given what sums over batches are divided by.

    A sum over r records that is divided by b > r has r/b times the curvature of their mean. If the
    ridge (m/2)|w|^2 is added outside, the curvature of what a step descends is from m to
    m + (r/b) (M - m), and of losses that are not strongly convex from (r/b) m to (r/b) M: within
    m and M both times, so such a step has no larger Lipschitz constant than a full one.
    """
    divides_by_more = run.divisor_of(run.batches) > run.size_of(run.batches)
    if geometry.strong_convexity > 0 and divides_by_more:
        return summed_losses(geometry, "the sum over the batch, in full")
    return smooth_losses(geometry)


def constraint(geometry: Geometry) -> Assumption:
    return Assumption(
        "constraint",
        f"each iterate is projected onto a convex set of diameter {geometry.diameter:g}",
    )


def batch_order(order: Order, batches: int) -> Assumption:
    statements = {
        "fixed": "batches are used in an order that does not depend on the data",
        "shuffled_once": "records are dealt into batches by one uniform permutation, independent "
        "of the data, chosen by nobody and not published before the run",
        "reshuffled": "records are dealt into batches by a fresh uniform permutation each epoch, "
        "independent of the data, chosen by nobody and not published before the run",
    }
    if batches == 1:
        return Assumption("batches", "every step uses all records")
    return Assumption("batches", statements[order])


def stream_batches(run: NoisyStream) -> tuple[Assumption, ...]:
    """Each record of a stream is used once, and is all that its person has."""
    once = (
        f"each record is in one batch of {run.batch_size}, and is never used again, and a person "
        "has one record in the whole stream"
    )
    if run.order == "fixed" or run.batches_per_release == 1:
        return (Assumption("batches", f"{once}; into which batch it comes is not chosen by it"),)
    return (
        Assumption(
            "batches",
            f"{once}; the records of a window are dealt into its batches by a uniform permutation, "
            "drawn afresh for each window, independent of the data, chosen by nobody and not "
            "published",
        ),
    )


def batches_used(run: BatchRun) -> tuple[Assumption, ...]:
    """The order of the batches, and what becomes of records that do not fill one."""
    size = run.size_of(1)
    order = batch_order(run.order, -(-run.n // size))
    if not isinstance(run, NoisyCGD) or not run.left_over or run.last_batch == "own_size":
        return (order,)
    statements = {
        "divide_by_b": f"the sum of gradients over the last batch, of {run.left_over} records, is "
        f"divided by {size} like all others",
        "drop": f"the {run.left_over} records of an epoch that do not fill a batch of {size} are "
        "not used in it",
    }
    return order, Assumption("last batch", statements[run.last_batch])


def record_norm(geometry: Geometry) -> Assumption:
    """The sensitivity under Poisson sampling, where a record that is not drawn leaves a gap."""
    norm = f"a record's gradient, without the ridge, has norm at most {geometry.record_bound:g}"
    if geometry.adjacency == "zero_out":
        return Assumption("sensitivity", norm)
    return Assumption(
        "sensitivity",
        f"{norm}, and those of two records at one point are at most {geometry.sensitivity:g} apart",
    )


def random_batches(run: NoisySGD) -> Assumption:
    said = run.sampler.assumption.format(n=run.n, b=run.batch_size, l=run.batches)
    return Assumption("sampling", said)


def batch_cap(cap: int) -> Assumption:
    return Assumption(
        "batch cap",
        f"none on the run: batches of more than {cap} records may occur, and their probability is "
        "part of delta",
    )


def require_contractive(learning_rate: PerStep, geometry: Geometry) -> None:
    """eta <= 2/M for each step of a convex problem, which makes it contractive.

    >>> require_contractive(0.07, Geometry(strong_convexity=0, smoothness=32.502, sensitivity=1))
    Traceback (most recent call last):
    ...
    shiftdp._errors.UnmetHypothesis: learning_rate=0.07 exceeds 2/smoothness=0.0615347: the step \
is not contractive; lower it to 0.0615347, or ask for bounds="composition", which does not need it
    """
    largest = learning_rate if isinstance(learning_rate, float) else max(learning_rate)
    if math.isinf(geometry.smoothness) or not geometry.convex:
        return
    if largest * geometry.smoothness > 2.0 * (1 + FOUR_ROUNDINGS):
        limit = 2.0 / geometry.smoothness
        raise UnmetHypothesis(
            "learning_rate",
            largest,
            f"exceeds 2/smoothness={limit:.6g}: the step is not contractive",
            f'lower it to {limit:.6g}, or ask for bounds="composition", which does not need it',
        )


def require_smooth(geometry: Geometry) -> None:
    """Both curvature bounds are finite, which makes a step Lipschitz."""
    for name in ("smoothness", "strong_convexity"):
        value = getattr(geometry, name)
        if math.isinf(value):
            raise UnmetHypothesis(
                name,
                value,
                "is not finite: nothing is known of how far a step moves two points apart",
                "give it, or rely on composition",
            )


def require_convex(geometry: Geometry) -> None:
    if not geometry.convex:
        raise UnmetHypothesis(
            "strong_convexity",
            geometry.strong_convexity,
            "is negative, and this theorem is for convex losses",
            "add a ridge, or ask for composition",
        )


def require_bounded(geometry: Geometry) -> None:
    if not geometry.bounded:
        raise UnmetHypothesis(
            "diameter", geometry.diameter, "is infinite", "project onto a bounded set"
        )


def require_equal_steps(learning_rate: PerStep, noise: PerStep) -> tuple[float, float]:
    """The paper's closed forms are for constant step size and noise."""
    for name, value in (("learning_rate", learning_rate), ("noise", noise)):
        if not isinstance(value, float):
            raise UnmetHypothesis(
                name,
                f"<{len(value)} entries>",
                "changes from step to step, and this closed form is for equal steps",
                "use Theorem B1, which holds for any schedule",
            )
    return float(learning_rate), float(noise)  # type: ignore[arg-type]
