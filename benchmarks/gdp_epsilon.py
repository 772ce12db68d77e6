"""Claim: eps(delta) of G(mu) is solved 50 times faster than by autodp, and below 0.5 us in arrays.

Scalars side by side with `autodp.dp_bank.get_eps_ana_gaussian(sigma = 1/mu, delta)`, arrays over
pairs drawn log-uniformly from mu in [1e-6, 1e3] and delta in [1e-300, 1/2]. Then how many of 88
such cases each answers right, to a relative 1e-9 of what 80-digit arithmetic gives. All times are
of the same run, in processor time.

    python benchmarks/gdp_epsilon.py
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable

import mpmath
import numpy as np
from _timing import best_of, print_table
from mpmath import mpf

from shiftdp import GaussianTradeoff
from shiftdp.fdp.pairs.gaussian_profile import gaussian_epsilon, gaussian_epsilon_array

try:
    from autodp.dp_bank import get_eps_ana_gaussian
except ImportError:
    raise SystemExit("this benchmark needs autodp: pip install 'shiftdp[bench]'") from None

SPEEDUP, VECTORISED = 50.0, 0.5e-6
MUS = [1e-6, 1e-4, 1e-2, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1e3]
DELTAS = [1e-300, 1e-100, 1e-30, 1e-12, 1e-8, 1e-5, 1e-2, 0.5]
CASES = list(itertools.product(MUS, DELTAS))
TYPICAL = (1.0, 1e-5)
RIGHT = 1e-9
SIZE = 100_000

Solver = Callable[[float, float], float]


def autodp(mu: float, delta: float) -> float:
    return float(get_eps_ana_gaussian(1.0 / mu, delta))


def shiftdp(mu: float, delta: float) -> float:
    return GaussianTradeoff(mu).epsilon(delta)


def exact_delta(mu: float, epsilon: mpf) -> mpf:
    with mpmath.workdps(80):
        u, h = epsilon / mpf(mu), mpf(mu) / 2
        tails = [mpmath.erfc(v / mpmath.sqrt(2)) / 2 for v in (u - h, u + h)]
        return tails[0] - mpmath.exp(epsilon) * tails[1]


def is_right(epsilon: float, mu: float, delta: float) -> bool:
    """Within 1e-9 of the solution, which lies where the profile passes delta."""
    if exact_delta(mu, mpf(0)) <= mpf(delta):
        return epsilon == 0.0
    if not 0.0 < epsilon < math.inf:
        return False
    low, high = mpf(epsilon) * (1 - mpf(RIGHT)), mpf(epsilon) * (1 + mpf(RIGHT))
    return bool(exact_delta(mu, low) >= mpf(delta) >= exact_delta(mu, high))


def answers(solver: Solver) -> tuple[int, int]:
    """How many cases are right, and how many end in an exception."""
    right = failed = 0
    for mu, delta in CASES:
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                epsilon = solver(mu, delta)
        except Exception:
            failed += 1
        else:
            right += is_right(epsilon, mu, delta)
    return right, failed


def main() -> None:
    warnings.simplefilter("ignore")
    speed: list[list[str]] = []
    peer = best_of(lambda: autodp(*TYPICAL))
    ours = best_of(lambda: gaussian_epsilon(*TYPICAL))
    object_ = best_of(lambda: shiftdp(*TYPICAL))
    for name, seconds in (
        ("autodp.dp_bank.get_eps_ana_gaussian", peer),
        ("shiftdp gaussian_epsilon", ours),
        ("shiftdp GaussianTradeoff(mu).epsilon, checked and certified", object_),
    ):
        speed.append([name, f"{seconds * 1e6:.2f}", f"{peer / seconds:.0f}x"])
    rng = np.random.default_rng(0)
    mu = 10.0 ** rng.uniform(-6, 3, SIZE)
    delta = 10.0 ** rng.uniform(-300, math.log10(0.5), SIZE)
    array = best_of(lambda: gaussian_epsilon_array(mu, delta), 2.0) / mu.size
    speed.append(
        [f"shiftdp gaussian_epsilon_array, of {SIZE}", f"{array * 1e6:.3f}", f"{peer / array:.0f}x"]
    )
    print(f"eps(delta) of G(mu); scalars at mu = {TYPICAL[0]:g}, delta = {TYPICAL[1]:g}\n")
    print_table(["solver", "us a value", "against autodp"], speed)

    rows = []
    for name, solver in (("autodp", autodp), ("shiftdp", shiftdp)):
        right, failed = answers(solver)
        total = best_of(lambda solver=solver: [_quiet(solver, *case) for case in CASES], 0.5)  # type: ignore[misc]
        rows.append([name, f"{right}/{len(CASES)}", str(failed), f"{total / len(CASES) * 1e6:.1f}"])
    print(f"\n{len(CASES)} cases, mu in [1e-6, 1e3] and delta in [1e-300, 1/2]\n")
    print_table(["library", "right to 1e-9", "exceptions", "us a case"], rows)

    met = peer / ours >= SPEEDUP and peer / object_ >= SPEEDUP and array <= VECTORISED
    print(f"\nclaim {'met' if met else 'MISSED'}: {SPEEDUP:g}x and {VECTORISED * 1e6:g} us")


def _quiet(solver: Solver, mu: float, delta: float) -> float:
    try:
        return solver(mu, delta)
    except Exception:
        return math.nan


if __name__ == "__main__":
    main()
