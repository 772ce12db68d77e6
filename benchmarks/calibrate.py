"""Claim: the noise for a budget is found 60 times faster than by dp_accounting, 25 by Opacus.

The same mechanism for all: Poisson-sampled Gaussian sums, add or remove (`zero_out`), the least
noise multiplier with epsilon <= 2 at delta = 1e-5. dp_accounting searches with
`calibrate_dp_mechanism` on privacy loss distributions, Opacus with `get_noise_multiplier` on its
PRV accountant, both at their defaults.

The accuracy of an answer is how far its exact epsilon, by the contour estimate of `shiftdp`, is
below the budget. All claims are for an answer of ours that is as accurate as the other one or more
so: `accuracy=4e-5` is chosen to match dp_accounting. The other way round, dp_accounting is given a
coarser discretisation and tolerance, to match our default. Beside each answer stands its epsilon
under every accountant, if the file is run by itself. Then the same call with all last-iterate
bounds, tau searched.

    python benchmarks/calibrate.py
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from _timing import print_table
from wall import Claim, Here, Limit, Peer, as_accurate, show
from wall.environments import server

import shiftdp as sdp
from shiftdp.fdp.contour.estimate import estimate_epsilon
from shiftdp.fdp.functions.poisson import PoissonZeroOut
from shiftdp.privacy import calibrate_noise

N, BATCH, STEPS = 60_000, 600, 3_000
EPSILON, DELTA = 2.0, 1e-5
SPEEDUP_PLD, SPEEDUP_PRV, SEARCH = 60.0, 25.0, 1.5
FINE = 4e-5
COARSE = {"interval": 2e-4, "tolerance": 3e-5}
P = BATCH / N
PROBLEM = {"rate": P, "steps": STEPS, "epsilon": EPSILON, "delta": DELTA}
LOSSES = sdp.Geometry(strong_convexity=0.02, smoothness=1.02, sensitivity=1.0, adjacency="zero_out")


def run(multiplier: float) -> sdp.NoisySGD:
    return sdp.NoisySGD(
        n=N, batch_size=BATCH, steps=STEPS, learning_rate=0.5, noise=multiplier / BATCH,
        sampling="poisson",
    )  # fmt: skip


def composition(accuracy: float | None = None) -> float:
    """The noise multiplier by composition."""
    more = {} if accuracy is None else {"accuracy": accuracy}
    found = calibrate_noise(
        run(1.0), LOSSES, bounds="composition", epsilon=EPSILON, delta=DELTA, **more
    )
    return float(found.noise) * BATCH


def last_iterate() -> float:
    return float(calibrate_noise(run(1.0), LOSSES, epsilon=EPSILON, delta=DELTA).noise) * BATCH


def exact(sigma: float) -> float:
    """epsilon of all iterates by the contour estimate: the worse of the two directions."""
    step = PoissonZeroOut(P, 0.0, 1.0 / sigma)
    estimates = [estimate_epsilon([(f, STEPS)], DELTA) for f in (step, step.inverse())]
    return max(math.nan if found is None else float(found.value) for found in estimates)


def slack(sigma: float) -> float:
    """How much of the budget a noise leaves over."""
    return EPSILON - exact(sigma)


def claims(full: bool) -> Iterator[Claim]:
    what = f"least noise for epsilon = {EPSILON:g}: Poisson batches, p = {P:g}, {STEPS:,} steps"
    default = Here("calibrate_noise", composition)
    fine = Here(f"calibrate_noise, accuracy={FINE:g}", partial(composition, FINE))
    for name, ours, other, factor, goal in (
        ("dp_accounting", fine, Peer("dp_accounting", "calibrate", PROBLEM), 1.1, SPEEDUP_PLD),
        (
            "dp_accounting, coarser",
            default,
            Peer("dp_accounting", "calibrate", {**PROBLEM, **COARSE}),
            1.1,
            None,
        ),
        ("opacus", default, Peer("opacus", "calibrate", PROBLEM), 1.0, SPEEDUP_PRV),
        ("opacus, finer", fine, Peer("opacus", "calibrate", PROBLEM), 1.0, None),
    ):
        yield Claim(
            name=f"calibrate/{name}",
            what=what,
            ours=ours,
            other=other,
            agree=as_accurate(slack, 0.05, factor),
            accuracy=f"ours leaves no more of the budget, up to a factor of {factor:g}",
            goal=goal,
            rounds=3,
        )
    yield Claim(
        name="calibrate/last iterate",
        what=f"{what}, by the best bound of the last iterate",
        ours=Here("calibrate_noise", last_iterate),
        other=Limit("limit", SEARCH),
        agree=lambda sigma, _: (
            None if sdp.certify(run(sigma), LOSSES).epsilon(DELTA) <= EPSILON else "over the budget"
        ),
        kind="limit",
        goal=1.0,
        rounds=3,
    )


def main() -> None:
    show(claims(full=False))
    rows = []
    for name, sigma in {
        "dp_accounting, PLD": server("dp_accounting").ask("calibrate", PROBLEM)[1],
        "Opacus, PRV": server("opacus").ask("calibrate", PROBLEM)[1],
        "shiftdp, composition": composition(),
        f"shiftdp, composition, accuracy={FINE:g}": composition(FINE),
        "shiftdp, last iterate": last_iterate(),
    }.items():
        given = {"sigma": sigma, "rate": P, "steps": STEPS, "delta": DELTA}
        shown = [
            server("dp_accounting").ask("poisson_epsilon", given)[1],
            server("opacus").ask("poisson_epsilon", given)[1],
            sdp.certify(run(sigma), LOSSES, bounds="composition").epsilon(DELTA),
            exact(sigma),
        ]
        rows.append([name, f"{sigma:.6f}", *(f"{x:.5f}" for x in shown)])
    print("\nthe columns on the right are what composition charges for that noise\n")
    print_table(["solver", "multiplier", "by PLD", "by PRV", "certified", "exact"], rows)


if __name__ == "__main__":
    main()
