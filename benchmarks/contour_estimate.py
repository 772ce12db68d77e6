"""Claim: eps of a product by contour costs under half a millisecond, whatever the multiplicity.

C_p(G(2/3)) at p = .025, delta = 1e-5: time of `estimate_epsilon`, set-up included, at t = 2000 and
10^6. Beside it, in the same run: the floor, which is the trigonometric functions that the line
cannot do without; and dp_accounting, fed with the same law on a lattice of 1e-4 and composed by its
own FFT. The claims are t = 10^6 at most 1.2 times t = 2000, and 300 times dp_accounting.

    python benchmarks/contour_estimate.py
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from shiftdp.fdp import GaussianTradeoff
from shiftdp.fdp.contour.estimate import ContourEstimate, estimate_epsilon

P, MU, DELTA = 0.025, 2 / 3, 1e-5
STEP = GaussianTradeoff(MU).subsample(P)
LATTICE = 1e-4
EXACT = {2000: 4.438137906, 4000: 6.653814024, 8000: 10.113130500}


def best(call: Callable[[], object], seconds: float = 1.0) -> float:
    """The shortest time of a call, in milliseconds: what an idle core would need."""
    call()
    shortest, begin = math.inf, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        call()
        shortest = min(shortest, time.perf_counter() - start)
    return 1e3 * shortest


def floor() -> float:
    """Two sines of tau x on a typical line: 20 nodes by 64."""
    turn = np.random.default_rng(0).uniform(0.0, 20.0, (20, 64))
    return best(lambda: (np.sin(turn), np.sin(0.5 * turn)))


def peer() -> dict[int, tuple[float, float]] | None:
    """dp_accounting: eps and milliseconds for each t, or None if it is not installed."""
    try:
        from dp_accounting.pld import pld_pmf, privacy_loss_distribution
    except ImportError:
        return None

    def law() -> privacy_loss_distribution.PrivacyLossDistribution:
        reach = math.log1p(P * math.expm1(0.5 * MU * MU + 9.5 * MU))
        m = math.ceil(reach / LATTICE)
        eps = LATTICE * np.arange(-m, m + 1)
        pmf = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(
            LATTICE, -m, m, np.asarray(STEP.delta(eps))
        )
        return privacy_loss_distribution.PrivacyLossDistribution(pmf)

    results = {}
    for t in EXACT:
        value = law().self_compose(t).get_epsilon_for_delta(DELTA)
        results[t] = (
            value,
            best(lambda t=t: law().self_compose(t).get_epsilon_for_delta(DELTA), seconds=3.0),
        )
    return results


def main() -> None:
    print(f"floor: {floor():.3f} ms")
    times = {}
    for t in (2000, 10**6, 4000, 8000):
        times[t] = best(lambda t=t: estimate_epsilon([(STEP, t)], DELTA))
        estimate = estimate_epsilon([(STEP, t)], DELTA)
        assert estimate is not None
        off = f", off by {abs(estimate.value - EXACT[t]):.0e}" if t in EXACT else ""
        print(f"estimate, t = {t}: eps = {estimate.value:.9f} in {times[t]:.3f} ms{off}")
    print(f"t = 10^6 against 2000: {times[10**6] / times[2000]:.2f} (claim: at most 1.2)")
    grid = np.linspace(0.0, 12.0, 1000)
    curve = best(lambda: ContourEstimate.of([(STEP, 2000)]).delta(grid))
    print(f"curve of 1,000 points, set-up included: {curve:.2f} ms")
    peers = peer()
    if peers is None:
        print("dp_accounting is not installed: pip install 'shiftdp[bench]'")
        return
    for t, (value, took) in peers.items():
        print(
            f"dp_accounting, t = {t}: eps = {value:.9f} in {took:.1f} ms, off by "
            f"{abs(value - EXACT[t]):.0e}: {took / times[t]:.0f} times (claim: 300)"
        )


if __name__ == "__main__":
    main()
