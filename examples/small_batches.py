"""How much noise do small batches need? The figure of docs/small_batches.md.

    python examples/small_batches.py docs/images/small_batches.svg

For one number of steps and one budget: the noise on the mean gradient that is needed at each batch
size, by composition, by Theorem B7, by Theorem B7 with a cool-down, and by full batches. Some
minutes.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np

import shiftdp as sdp
from shiftdp.ui.plots.style import LINES, Line, loaded, new_figure, power, tidy, write

N, STEPS, EPSILON, DELTA = 20_000, 400, 1.0, 1e-5
BATCHES = (20, 60, 200, 600, 2_000, 6_000)
GEOMETRY = sdp.Geometry(strong_convexity=0, smoothness=1, sensitivity=1, adjacency="zero_out")


def noise_by_batch() -> dict[str, list[float]]:
    """For each way, the noise at each batch size: of a cool-down, the root of its mean square."""
    found: dict[str, list[float]] = {"composition": [], "Theorem B7": [], "with a cool-down": []}
    budget = {"epsilon": EPSILON, "delta": DELTA}
    for b in BATCHES:
        run = sdp.NoisySGD(
            n=N, batch_size=b, steps=STEPS, learning_rate=0.05, noise=1 / b, sampling="poisson"
        )
        composed = sdp.calibrate_noise(run, GEOMETRY, bounds="composition", **budget)  # type: ignore[arg-type]
        flat = sdp.calibrate_noise(run, GEOMETRY, **budget)  # type: ignore[arg-type]
        cooled = sdp.calibrate_cooldown(run, GEOMETRY, **budget)
        for name, each in zip(found, (composed, flat, cooled), strict=True):
            found[name].append(math.sqrt(float(np.mean(np.square(each.noise)))))
        print(b, *(f"{values[-1]:.3g}" for values in found.values()))
    full = sdp.NoisyGD(n=N, steps=STEPS, learning_rate=0.05, noise=1 / N)
    noise = sdp.calibrate_noise(full, GEOMETRY, **budget).noise  # type: ignore[arg-type]
    return {**found, "full batches": [float(noise)] * len(BATCHES)}  # type: ignore[arg-type]


def main(path: Path) -> None:
    looks = {
        "composition": LINES["composition"],
        "Theorem B7": LINES["best"],
        "with a cool-down": Line("#009E73", "-", 1.8, "D"),
        "full batches": LINES["lower bound"],
    }
    noises = noise_by_batch()
    with loaded():
        figure, (axes,) = new_figure()
        for name, values in noises.items():
            axes.plot(BATCHES, values, label=name, marker=looks[name].marker, **looks[name].look)
        axes.set(xscale="log", yscale="log", xlabel=f"batch size (of n = {N:,})")
        axes.set_ylabel("noise on the mean gradient")
        axes.legend()
        tidy(axes, rf"$\epsilon = {EPSILON:g}$, $\delta = {power(DELTA)}$, {STEPS} steps")
    write(figure, path, outlines=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
