"""Where does the last iterate need noise? One pass over small batches, with rates that fall.

python examples/placed_noise.py placed_noise.svg
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import shiftdp as sdp
from shiftdp.ui.plots.style import LINES, loaded, new_figure, tidy, write


def main(path: Path) -> None:
    geometry = sdp.Geometry(
        strong_convexity=0, smoothness=0.25, sensitivity=1, adjacency="zero_out"
    )
    rates = np.linspace(4.0, 0.5, 250)
    run = sdp.NoisyCGD(n=2_000, batch_size=8, epochs=1, learning_rate=rates, noise=1.0)
    flat = sdp.calibrate_noise(run, geometry, epsilon=1.0, delta=1e-5)
    placed = sdp.placed_noise(run, geometry, epsilon=1.0, delta=1e-5)
    steps = np.arange(1, 251)
    with loaded():
        figure, (axes,) = new_figure()
        for name, each, colour in (
            ("equal noise", flat, LINES["composition"].colour),
            ("placed noise", placed, LINES["best"].colour),
        ):
            moved = rates * np.broadcast_to(
                each.noise, 250
            )  # of the weights, by the noise of a step
            total, places = np.hypot.reduce(moved), np.count_nonzero(moved)
            print(f"{name}: in {places} steps, which together move the weights by {total:.3f}")
            axes.plot(
                steps[moved > 0], moved[moved > 0], ".", color=colour, markersize=3, label=name
            )
        axes.set(xlabel="step", ylabel="noise on the weights (deviation)", ylim=(0, None))
        axes.legend()
        tidy(axes, r"one pass, batches of 8 of 2,000, $\varepsilon = 1$ at $\delta = 10^{-5}$")
    write(figure, path, outlines=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
