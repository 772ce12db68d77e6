"""Claim: eps(delta) of G(mu) is solved 50 times faster than by autodp, and below 0.5 us in arrays.

Scalars side by side with `autodp.dp_bank.get_eps_ana_gaussian(sigma = 1/mu, delta)`, arrays over
pairs drawn log-uniformly from mu in [1e-6, 1e3] and delta in [1e-300, 1/2]. Then, if the file is
run by itself, how many of 88 such cases each answers right, to a relative 1e-9 of what 80-digit
arithmetic gives.

    python benchmarks/gdp_epsilon.py
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
from _timing import print_table
from mpmath import mpf
from wall import Claim, Here, Limit, Peer, show, within
from wall.environments import server

from shiftdp import GaussianTradeoff
from shiftdp.fdp.pairs.gaussian_arrays import gaussian_epsilon_array
from shiftdp.fdp.pairs.gaussian_profile import gaussian_epsilon

SPEEDUP, VECTORISED = 50.0, 0.5e-6
MUS = [1e-6, 1e-4, 1e-2, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1e3]
DELTAS = [1e-300, 1e-100, 1e-30, 1e-12, 1e-8, 1e-5, 1e-2, 0.5]
CASES = list(itertools.product(MUS, DELTAS))
TYPICAL = (1.0, 1e-5)
RIGHT = 1e-9
SIZE = 100_000
CHECKED = range(0, SIZE, SIZE // 5)  # of the array, in arithmetic of 80 digits


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


def claims(full: bool) -> Iterator[Claim]:
    mu, delta = TYPICAL
    peer = Peer("autodp", "gaussian_epsilon", {"mu": mu, "delta": delta})
    for name, call in (
        ("GaussianTradeoff(mu).epsilon", lambda: shiftdp(mu, delta)),
        ("gaussian_epsilon", lambda: gaussian_epsilon(mu, delta)),
    ):
        yield Claim(
            name=f"gdp_epsilon/{'autodp' if '(' in name else 'autodp, bare'}",
            what=f"epsilon of G({mu:g}) at delta = {delta:g}",
            ours=Here(name, call),
            other=peer,
            agree=within(relative=RIGHT),
            accuracy=f"equal to a relative {RIGHT:g}",
            goal=SPEEDUP,
        )
    rng = np.random.default_rng(0)
    mus = 10.0 ** rng.uniform(-6, 3, SIZE)
    deltas = 10.0 ** rng.uniform(-300, math.log10(0.5), SIZE)

    def checked(found: Any, _: object) -> str | None:
        wrong = [i for i in CHECKED if not is_right(float(found[i]), mus[i], deltas[i])]
        return f"{len(wrong)} of {len(CHECKED)} are not right to 1e-9" if wrong else None

    yield Claim(
        name="gdp_epsilon/arrays",
        what=f"epsilon of {SIZE:,} pairs of mu in [1e-6, 1e3] and delta in [1e-300, 1/2], a value",
        ours=Here("gaussian_epsilon_array", lambda: gaussian_epsilon_array(mus, deltas), per=SIZE),
        other=Limit("limit", VECTORISED),
        agree=checked,
        accuracy="some looked at, right to a relative 1e-9",
        kind="limit",
        goal=1.0,
    )


def right(found: list[float | None]) -> tuple[int, int]:
    """How many cases are right, and how many end in an exception."""
    values = zip(found, CASES, strict=True)
    good = sum(value is not None and is_right(float(value), *case) for value, case in values)
    return good, sum(value is None for value in found)


def main() -> None:
    show(claims(full=False))
    answers = {
        "autodp": server("autodp").ask("gaussian_epsilons", {"cases": CASES})[1],
        "shiftdp": [shiftdp(*case) for case in CASES],
    }
    rows = []
    for name, found in answers.items():
        good, failed = right(found)
        rows.append([name, f"{good}/{len(CASES)}", str(failed)])
    print(f"\n{len(CASES)} cases, mu in [1e-6, 1e3] and delta in [1e-300, 1/2]\n")
    print_table(["library", "right to 1e-9", "exceptions"], rows)


if __name__ == "__main__":
    main()
