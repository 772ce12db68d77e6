"""Claim: eps of a product by contour costs under half a millisecond, whatever the multiplicity.

C_p(G(2/3)) at p = .025, delta = 1e-5: time of `estimate_epsilon`, set-up included. Beside it, in
the same run: the trigonometric functions that the line cannot do without; and dp_accounting, fed
with the same law on a lattice of 1e-4 and composed by its own FFT. The claims are t = 10^6 at most
1.2 times t = 2000, and 200 times dp_accounting.

    python benchmarks/contour_estimate.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from wall import Claim, Here, Limit, Peer, as_accurate, show

from shiftdp.fdp import GaussianTradeoff
from shiftdp.fdp.contour.estimate import ContourEstimate, estimate_epsilon

P, MU, DELTA = 0.025, 2 / 3, 1e-5
STEP = GaussianTradeoff(MU).subsample(P)
LATTICE = 1e-4
EXACT = {2000: 4.438137906, 4000: 6.653814024, 8000: 10.113130500}
LONG = 10**6
GROWTH, SPEEDUP, LIMIT = 1.2, 200.0, 0.5e-3


def estimated(t: int) -> float:
    found = estimate_epsilon([(STEP, t)], DELTA)
    assert found is not None
    return float(found.value)


def finite(ours: Any, other: Any) -> str | None:
    return None if np.all(np.isfinite([ours, other])) else "an answer is not a number"


def claims(full: bool) -> Iterator[Claim]:
    for t, exact in EXACT.items():
        given = {"p": P, "mu": MU, "steps": t, "lattice": LATTICE, "delta": DELTA}
        yield Claim(
            name=f"contour_estimate/dp_accounting {t}",
            what=f"an estimate of epsilon of C_.025(G(2/3)) composed {t} times, delta = 1e-5",
            ours=Here("estimate_epsilon", lambda t=t: estimated(t)),
            other=Peer("dp_accounting", "symmetric_epsilon", given),
            agree=as_accurate(lambda found, exact=exact: abs(found - exact), 1e-3),
            accuracy="ours closer to the known value, both within 1e-3",
            goal=SPEEDUP,
        )
    yield Claim(
        name="contour_estimate/limit",
        what=f"the same estimate, {LONG:,} times",
        ours=Here("estimate_epsilon", lambda: estimated(LONG)),
        other=Limit("limit", LIMIT, 0.0),
        agree=finite,
        kind="limit",
        goal=1.0,
    )
    yield Claim(
        name="contour_estimate/growth",
        what=f"the same estimate, {LONG:,} times, beside 2,000 times",
        ours=Here("estimate_epsilon", lambda: estimated(LONG)),
        other=Here("estimate_epsilon, t = 2000", lambda: estimated(2000)),
        agree=finite,
        kind="floor",
        goal=GROWTH,
    )
    turn = np.random.default_rng(0).uniform(0.0, 20.0, (20, 64))
    yield Claim(
        name="contour_estimate/sines",
        what="the same estimate, 2,000 times, beside two sines on a typical line of 20 nodes by 64",
        ours=Here("estimate_epsilon", lambda: estimated(2000)),
        other=Here("sines", lambda: float((np.sin(turn) + np.sin(0.5 * turn))[0, 0])),
        agree=finite,
        kind="floor",
    )
    grid = np.linspace(0.0, 12.0, 1000)
    yield Claim(
        name="contour_estimate/curve",
        what="a curve of 1,000 points, set-up included, beside one point",
        ours=Here("curve", lambda: float(ContourEstimate.of([(STEP, 2000)]).delta(grid).value[0])),
        other=Here("estimate_epsilon", lambda: estimated(2000)),
        agree=finite,
        kind="floor",
    )


if __name__ == "__main__":
    show(claims(full=False))
