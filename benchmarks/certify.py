"""Claim: a closed-form certificate with its epsilon costs less than 500 microseconds.

`certify` and `epsilon` on the MNIST setting of the paper, in fixed order (Theorem B1 in closed
form), beside a floor measured in the same run: 200 NumPy calls on an array of one number. Beside
the epsilon stands what no bound can be below (Theorem B5). Run by itself, the file also times the
other orders, a schedule given step by step, verification and the JSON round trip, without a claim.

    python benchmarks/certify.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from _timing import best_of, print_table
from wall import Claim, Here, Limit, Reads, show, within

from shiftdp import Certificate, Geometry, NoisyCGD, certify

CLAIM, CALLS = 500e-6, 200
DELTA = 1e-5
GEOMETRY = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
FIXED = NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)


def claims(full: bool) -> Iterator[Claim]:
    one = np.ones(1)
    known = certify(FIXED, GEOMETRY)
    epsilon, least = known.epsilon(DELTA), known.lower_epsilon(DELTA)

    def floor() -> float:
        for _ in range(CALLS):
            np.exp(one)
        return epsilon

    what = "a certificate of 50 epochs, and its epsilon"
    ours = Here("certify + epsilon", lambda: certify(FIXED, GEOMETRY).epsilon(DELTA))
    yield Claim(
        name="certify/limit",
        what=what,
        ours=ours,
        other=Limit("limit", CLAIM, epsilon),
        agree=within(relative=1e-12),
        accuracy="the same epsilon each time",
        kind="limit",
        goal=1.0,
    )
    yield Claim(
        name="certify/NumPy",
        what=what,
        ours=ours,
        other=Here(f"{CALLS} calls of NumPy on one number", floor),
        agree=within(relative=1e-12),
        kind="floor",
    )
    yield Claim(
        name="certify/lower bound",
        what="that epsilon, beside what no bound can be below",
        ours=Reads("Theorem B1", lambda: (epsilon, DELTA)),
        other=Reads("Theorem B5", lambda: (least, DELTA)),
        agree=within(),
        accuracy="the same delta",
        kind="floor",
        goal=1.001,
        rounds=1,
        unit="",
    )


def main() -> None:
    show(claims(full=False))
    print()
    one = np.ones(1)
    ufunc = best_of(lambda: np.exp(one))
    certificate = certify(FIXED, GEOMETRY)
    text = certificate.to_json()
    steps = FIXED.steps
    rates = [0.05] * steps

    def order(name: str) -> NoisyCGD:
        return NoisyCGD(**{**vars(FIXED), "order": name})

    stepwise = NoisyCGD(**{**vars(FIXED), "learning_rate": rates})
    rows: dict[str, Callable[[], object]] = {
        "certify": lambda: certify(FIXED, GEOMETRY),
        "epsilon": lambda: certificate.epsilon(DELTA),
        "shuffled_once": lambda: certify(order("shuffled_once"), GEOMETRY).epsilon(DELTA),
        "reshuffled": lambda: certify(order("reshuffled"), GEOMETRY).epsilon(DELTA),
        f"{steps} steps one by one": lambda: certify(stepwise, GEOMETRY).epsilon(DELTA),
        "lower_mu": lambda: certificate.lower_mu,
        "verify": certificate.verify,
        "JSON round trip": lambda: Certificate.from_json(text).to_json(),
    }
    taken = {name: best_of(call) for name, call in rows.items()}
    print_table(
        ("", "microseconds", "NumPy calls"),
        [(name, f"{t * 1e6:.1f}", f"{t / ufunc:.0f}") for name, t in taken.items()],
    )


if __name__ == "__main__":
    main()
