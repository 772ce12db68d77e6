"""Claim: certifying 50 releases, or a deletion, takes at most 2 s of processor time at 10^6 steps.

For every order and sampling, on the losses of the paper's MNIST example, each in a process of its
own, so that nothing is remembered. Beside it the floor: sorting as many floats as there are steps.

    python benchmarks/long_runs.py
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
from _timing import best_of, print_table
from wall import Claim, Limit, Reads, same

import shiftdp as sdp

STEPS, SECONDS = 10**6, 2.0
RUNS = (
    "full", "fixed", "shuffled_once", "reshuffled",
    "without_replacement", "poisson", "random_allocation",
)  # fmt: skip
SHAPES = ("50 releases", "deletion, 1 step", "deletion, 100 steps", "deletion, 10000 steps")


def seconds(run: str, shape: str) -> float:
    """Processor time of `certify`, or infinity if there is no such bound."""
    sampled = run in ("without_replacement", "poisson", "random_allocation")
    geometry = sdp.Geometry(
        strong_convexity=0.002,
        smoothness=32.502,
        sensitivity=10.0,
        adjacency="zero_out" if run in ("poisson", "random_allocation") else "replace_one",
    )
    step = {"n": 60_000, "learning_rate": 0.05, "noise": 0.01}
    more = {"releases": [STEPS // 50 * k for k in range(1, 51)]} if "rele" in shape else {}
    training: sdp.NoisyGD | sdp.NoisyCGD | sdp.NoisySGD
    if sampled:
        training = sdp.NoisySGD(**step, **more, batch_size=1500, steps=STEPS, sampling=run)
    elif run == "full":
        training = sdp.NoisyGD(**step, **more, steps=STEPS)
    else:
        training = sdp.NoisyCGD(**step, **more, batch_size=1500, epochs=STEPS // 40, order=run)
    asked = training
    if not more:
        asked = sdp.Unlearning(training=training, further_steps=int(shape.split()[1]))
    begin = time.process_time()
    sdp.certify(asked, geometry).epsilon(1e-5)
    return time.process_time() - begin


def alone(run: str, shape: str) -> float:
    """`seconds`, in a process of its own."""
    answer = subprocess.run(
        [sys.executable, __file__, run, shape], capture_output=True, text=True, check=True
    )
    return float(answer.stdout)


def claims(full: bool) -> Iterator[Claim]:
    for run in RUNS if full else ("fixed", "without_replacement", "poisson"):
        for shape in SHAPES:
            yield Claim(
                name=f"long_runs/{run}, {shape}",
                what=f"certify {shape} of 10^6 steps ({run})",
                ours=Reads("certify", lambda run=run, shape=shape: (alone(run, shape), STEPS)),
                other=Limit("limit", SECONDS, STEPS),
                agree=same(),
                kind="limit",
                goal=1.0,
                rounds=3,
            )


def main() -> None:
    numbers = np.random.default_rng(1).random(STEPS)
    floor = best_of(lambda: np.sort(numbers))
    rows, held = [], True
    for run in RUNS:
        for shape in SHAPES:
            taken = alone(run, shape)
            held = held and taken <= SECONDS
            rows.append([f"{run}, {shape}", f"{taken:.2f}", f"{taken / floor:.0f}"])
    print_table(["t = 10^6", "seconds", "of sorting 10^6 floats"], rows)
    print(f"\nclaim {'met' if held else 'MISSED'}: at most {SECONDS:g} s")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(seconds(*sys.argv[1:]))
    else:
        main()
