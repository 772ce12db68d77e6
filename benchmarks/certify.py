"""Claim: a closed-form certificate with its epsilon costs less than 500 microseconds.

`certify` and `epsilon` on the MNIST setting of the paper, in fixed order (Theorem B1 in closed
form), beside two floors measured in the same run: one NumPy call on an array of one number, and 200
of them. The other orders, a schedule given step by step, verification and the JSON round trip
follow, without a claim.

    python benchmarks/certify.py
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from _timing import best_of, print_table

from shiftdp import Certificate, Geometry, NoisyCGD, certify

CLAIM = 500e-6
GEOMETRY = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
FIXED = NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)


def main() -> None:
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
        "epsilon": lambda: certificate.epsilon(1e-5),
        "certify + epsilon": lambda: certify(FIXED, GEOMETRY).epsilon(1e-5),
        "shuffled_once": lambda: certify(order("shuffled_once"), GEOMETRY).epsilon(1e-5),
        "reshuffled": lambda: certify(order("reshuffled"), GEOMETRY).epsilon(1e-5),
        f"{steps} steps one by one": lambda: certify(stepwise, GEOMETRY).epsilon(1e-5),
        "lower_mu": lambda: certificate.lower_mu,
        "verify": certificate.verify,
        "JSON round trip": lambda: Certificate.from_json(text).to_json(),
    }
    taken = {"floor: one NumPy call": ufunc, "floor: 200 of them": 200 * ufunc}
    taken |= {name: best_of(call) for name, call in rows.items()}
    print_table(
        ("", "microseconds", "NumPy calls"),
        [(name, f"{t * 1e6:.1f}", f"{t / ufunc:.0f}") for name, t in taken.items()],
    )
    held = taken["certify + epsilon"] < CLAIM
    print(f"\ncertify + epsilon below {CLAIM * 1e6:.0f} microseconds: {'yes' if held else 'NO'}")


if __name__ == "__main__":
    main()
